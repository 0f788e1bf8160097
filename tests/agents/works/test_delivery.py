"""A fleet that delivers without any other tool: hub, engine, relay, agents and a real API server."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import urllib3
import yaml

from muster.agents.hub.local import LocalHub
from muster.cli import exits
from tests.agents.relay.test_relay import Site, serving, site
from tests.agents.works.site import config_map
from tests.rules.works.repository import API, WORK
from tests.support.commandline import Run, muster
from tests.support.git import Repo
from tests.support.hub import Hub, needs_hub
from tests.support.hub import hub as hub

__all__ = ["muster", "site"]  # fixtures
CLUSTERS = ("direct", "edge-h")  # the first pushes to the hub, the second speaks to the relay


def set_of_works(version: str) -> str:
    rules = [{"type": "CEL", "condition": "Progressing", "celExpressions": ["object.data.version == 'stuck'"]}]
    feedback = [{"type": "JSONPaths", "jsonPaths": [{"name": "version", "path": ".data.version"}]}]
    config = {
        "resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "store", "name": "web"},
        "conditionRules": rules,
        "feedbackRules": feedback,
    }
    strategy = {"type": "Progressive", "progressive": {"maxConcurrency": 1}}
    return yaml.safe_dump(
        {
            "apiVersion": f"{WORK}/v1alpha1",
            "kind": "ManifestWorkReplicaSet",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "manifestWorkTemplate": {
                    "workload": {"manifests": [config_map("web", "store", version=version)]},
                    "manifestConfigs": [config],
                },
                "placementRefs": [{"name": "web", "rolloutStrategy": strategy}],
            },
        }
    )


FILES = {
    "binding.yaml": f"{{apiVersion: {API}/v1beta2, kind: ManagedClusterSetBinding, "
    "metadata: {name: default, namespace: shop}, spec: {clusterSet: default}}\n",
    "placement.yaml": f"{{apiVersion: {API}/v1beta1, kind: Placement, metadata: {{name: web, namespace: shop}}, "
    "spec: {}}\n",
}


@needs_hub
def test_a_rollout_reaches_one_cluster_after_the_other(site: Site, hub: Hub, muster: Run, tmp_path: Path) -> None:
    hub.make_namespaces([config_map("x", "muster-agent"), config_map("x", "store")])
    person = Repo(tmp_path / "person", site.hub.environ)
    (tmp_path / "tokens").write_text(f"edge-h {hashlib.sha256(b'secret').hexdigest()}\n")
    (tmp_path / "token").write_text("secret")
    common = ("--kubeconfig", str(hub.kubeconfig), "--works")

    def version() -> str | None:
        bodies = hub.request("GET", "/api/v1/namespaces/store/configmaps")["items"]
        return next((one["data"]["version"] for one in bodies if one["metadata"]["name"] == "web"), None)

    copy = LocalHub(site.relay.repository, "main")
    with serving(site, tmp_path / "tokens", copy=copy) as url:
        ways = {
            "direct": ("--remote", str(site.hub.path)),
            "edge-h": ("--relay", url, "--token-file", str(tmp_path / "token")),
        }

        def beat(cluster: str) -> None:
            code, out, err = muster("heartbeat", "--cluster", cluster, *ways[cluster], *common)
            assert (code, err) == (0, ""), out
            site.relay.step()

        def decides(files: Mapping[str, str | None] | None = None) -> str:
            person.git("pull", "--quiet", "--rebase", "origin", "main")
            if files:
                person.commit(dict(files))
                person.git("push", "--quiet", "origin", "main")
            code, out, err = muster("reconcile", "--repo", str(site.hub.path), "--branch", "main")
            assert code in (exits.FINE, exits.FINDINGS), (out, err)
            site.relay.fetch_hub()
            copy.refresh()
            if "derived/manifestworkreplicasets/shop/web.yaml" not in site.hub.paths("main"):
                return ""
            body = yaml.safe_load(site.hub.show("derived/manifestworkreplicasets/shop/web.yaml", "main"))
            found = {one["type"]: one for one in body["status"]["conditions"]}["PlacementRolledOut"]
            summary = body["status"]["summary"]
            return f"{found['reason']}: {summary['applied']} of {summary['total']} applied"

        for name in CLUSTERS:
            beat(name)
        decides()
        muster("accept", "--repo", str(site.hub.path), "--branch", "main", "--clusters", ",".join(CLUSTERS))
        decides()
        for name in CLUSTERS:
            beat(name)
        assert decides(FILES | {"web.yaml": set_of_works("1")}) == "Progressing: 0 of 1 applied"
        beat("edge-h")
        assert version() is None, "its turn has not come"
        beat("direct")
        assert version() == "1"
        assert decides() == "Progressing: 1 of 2 applied"
        beat("edge-h")
        assert decides() == "Complete: 2 of 2 applied"
        shown = yaml.safe_load_all(muster("get", "works", "--repo", str(site.hub.path), "-o", "yaml")[1])
        feedback = [one["status"]["resourceStatus"]["manifests"][0]["statusFeedback"]["values"] for one in shown]
        assert feedback == [[{"name": "version", "fieldValue": {"type": "String", "string": "1"}}]] * 2

        foreign = urllib3.request(
            "GET", f"{url}/v1/agents/direct/hub?works=", headers={"Authorization": "Bearer secret"}
        )
        assert foreign.status == 401, "the works of a cluster are for its own agent"

        assert decides({"web.yaml": set_of_works("stuck")}).startswith("Progressing")
        beat("direct")
        assert (version(), decides()) == ("stuck", "Progressing: 1 of 1 applied")
        beat("edge-h")
        assert decides() == "Progressing: 1 of 1 applied", "the first cluster still progresses"
        assert decides({"web.yaml": None}) == ""
        for name in CLUSTERS:
            beat(name)
        assert version() is None
