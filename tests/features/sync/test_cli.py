"""`muster sync` beside a real API server: what it writes, repairs, prunes, and leaves alone."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from muster.data.tree import Tree, dig
from muster.features.sync.wanted import SCHEDULING_DISABLED
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository
from tests.support.hub import Hub, RefusedError, foreign_kind, needs_hub, path_of
from tests.support.hub import hub as hub
from tests.support.programs import MADE

pytestmark = needs_hub
NOON = "2026-01-01T12:00:00Z"
SETS = (
    "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSet\nmetadata: {{name: {ns}}}\n"
    "spec: {{clusterSelector: {{selectorType: LabelSelector, labelSelector: {{}}}}}}\n---\n"
    "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSetBinding\n"
    "metadata: {{name: {ns}, namespace: {ns}}}\nspec: {{clusterSet: {ns}}}\n"
)
PLACEMENT = (
    "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n"
    "metadata: {{name: {name}, namespace: {ns}}}\nspec: {{}}\n"
)


class Synced:
    """A fleet, its namespace on a hub, and the account there that `--print-rbac` prints."""

    def __init__(self, muster: Run, hub: Hub, folder: Path, namespace: str, parent: tuple[str, ...] = ()) -> None:
        """`parent`: the options that name the set; none: one of the default name in the fleet's namespace."""
        self.muster, self.hub, self.namespace, self._folder = muster, hub, namespace, folder
        self.parent = parent or ("--namespace", namespace)
        self.access = ("--kubeconfig", str(folder / "kubeconfig"), "--context", "account")
        self.repo: Repo = new_repository(folder / "fleet")
        self.now = NOON
        self.repo.commit({"sets.yaml": SETS.format(ns=namespace), "web.yaml": self.placement("web")})
        for name in ("c1", "c2"):
            self.join(name)
        hub.make_namespaces([{"metadata": {"namespace": namespace}}])
        hub.apply(yaml.safe_load(self.placement("web")))
        self.grant()

    def grant(self, *arguments: str) -> str:
        """Make the account with the rights that are printed, and a kubeconfig with it; return what is printed."""
        access = ("--kubeconfig", str(self.hub.kubeconfig), "--context", "admin")
        of = ("--repo", self.repo.path, *self.parent)
        code, printed, errors = self.muster("sync", *of, "--print-rbac", *access, *arguments)
        assert code == 0, errors
        self.printed = [*yaml.safe_load_all(printed)]
        account = self.printed[0]
        self.hub.make_namespaces([account])
        for body in self.printed:
            self.hub.apply(body)
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = self.hub.request("POST", f"{path_of(account)}/token", request)["status"]["token"]
        config = yaml.safe_load(self.hub.kubeconfig.read_text())
        config["users"].append({"name": "account", "user": {"token": token}})
        config["contexts"].append({"name": "account", "context": {"cluster": "hub", "user": "account"}})
        (self._folder / "kubeconfig").write_text(json.dumps(config))
        return printed + errors

    def placement(self, name: str) -> str:
        return PLACEMENT.format(name=name, ns=self.namespace)

    def join(self, name: str) -> None:
        body = (
            "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
            f"metadata: {{name: {name}}}\nspec: {{hubAcceptsClient: true}}\nstatus:\n  conditions:\n"
            "  - {type: ManagedClusterConditionAvailable, status: 'True', reason: ManagedClusterAvailable}\n---\n"
            "apiVersion: coordination.k8s.io/v1\nkind: Lease\n"
            f"metadata: {{name: managed-cluster-lease, namespace: {name}}}\n"
            f"spec: {{leaseDurationSeconds: 60, renewTime: '{self.now}'}}\n"
        )
        self.repo.commit({f"clusters/{name}.yaml": body})

    def reconciled(self) -> None:
        code, _, errors = self.muster("reconcile", "--repo", self.repo.path, "--now", self.now)
        assert code in (0, 1), errors

    def __call__(self, *arguments: str, code: int = 0) -> str:
        found, out, errors = self.muster("sync", "--repo", self.repo.path, *self.parent, *self.access, *arguments)
        assert found == code, errors + out
        return out + errors

    def document(self, *arguments: str, code: int = 0) -> Tree:
        return json.loads(self("-o", "json", *arguments, code=code))

    def decision(self, name: str = "web") -> Tree:
        body = {
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "PlacementDecision",
            "metadata": {"name": f"{name}-decision-1", "namespace": self.namespace},
        }
        return self.hub.get(body)

    def chosen(self) -> list[str]:
        return [one["clusterName"] for one in dig(self.decision(), "status", "decisions") or ()]


@pytest.fixture
def synced(muster: Run, hub: Hub, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Synced]:
    name = request.node.name.removeprefix("test_").lower()
    namespace = "".join(one if one.isalnum() else "-" for one in f"{name[:30]}{name[30:][-16:]}").strip("-")
    made = Synced(muster, hub, tmp_path, namespace)
    made.reconciled()
    yield made
    made.hub.apply(yaml.safe_load(made.placement("web")))


def test_decisions_arrive_and_the_second_pass_changes_nothing(synced: Synced) -> None:
    first = synced.document()
    assert (len(first["created"]), first["failed"]) == (1, [])
    assert synced.chosen() == ["c1", "c2"]
    placement = synced.hub.get(yaml.safe_load(synced.placement("web")))
    assert placement["metadata"]["annotations"] == {SCHEDULING_DISABLED: "true"}
    before = synced.decision()
    second = synced.document()
    assert [second[sort] for sort in ("created", "changed", "healed", "pruned", "failed")] == [[]] * 5
    assert second["unchanged"] == 3
    assert synced.decision() == before


def test_outputs_in_the_format_of_sig_multicluster_come_and_go(synced: Synced) -> None:
    fleet = (
        "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec:\n  outputs:\n"
        "  - placementdecisions.multicluster.x-k8s.io\n  - clusterprofiles.multicluster.x-k8s.io\n"
    )
    synced.repo.commit({"fleet.yaml": fleet})
    synced.reconciled()
    made = synced.document()
    assert made["failed"] == []
    kinds = sorted((one["group"], one["kind"]) for one in made["created"])
    assert kinds.count(("multicluster.x-k8s.io", "ClusterProfile")) == 2
    assert kinds.count(("multicluster.x-k8s.io", "PlacementDecision")) == 1
    assert not any(synced.document()[sort] for sort in ("created", "changed", "healed", "pruned", "failed"))
    synced.repo.commit({"fleet.yaml": None})
    synced.reconciled()
    assert len(synced.document()["pruned"]) == 3
    assert synced.chosen() == ["c1", "c2"]


def test_a_dead_cluster_leaves_the_hub_s_decision(synced: Synced) -> None:
    synced.document()
    synced.now = "2026-01-01T12:20:00Z"
    synced.join("c2")
    synced.reconciled()
    assert synced.document()["changed"]
    assert synced.chosen() == ["c2"]


def test_a_change_made_by_hand_is_repaired(synced: Synced) -> None:
    synced.document()
    decision = synced.decision()
    stolen = {**decision, "status": {"decisions": [{"clusterName": "c9", "reason": "by hand"}]}}
    stolen["metadata"] = {name: decision["metadata"][name] for name in ("name", "namespace")}
    synced.hub.apply(stolen, status=True, manager="somebody")
    assert synced.chosen() == ["c9"]
    assert "changed" in synced()
    assert synced.chosen() == ["c1", "c2"]


def test_what_lost_its_reason_goes_and_nothing_else(synced: Synced) -> None:
    synced.document()
    other = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {"name": "of-somebody-else", "namespace": synced.namespace},
    }
    synced.hub.apply(other)
    before = synced.hub.get(other)
    synced.repo.commit({"web.yaml": None})
    synced.reconciled()
    done = synced.document()
    assert {(one["kind"], one["name"]) for one in done["pruned"]} >= {
        ("PlacementDecision", "web-decision-1"),
        ("Placement", "web"),
    }
    with pytest.raises(RefusedError, match="404"):
        synced.decision()
    assert synced.hub.get(other) == before
    placement = synced.hub.get(yaml.safe_load(synced.placement("web")))
    assert "annotations" not in placement["metadata"], "the hub's scheduler may decide it again"


def test_what_cannot_be_read_is_not_pruned(synced: Synced) -> None:
    synced.document()
    (path,) = [path for path in synced.repo.paths() if "/web-decision-1" in path]
    synced.repo.commit({path: "<<<<<<< HEAD\n", "web.yaml": "a: [\n"})
    done = synced(code=0)
    assert f"{path} cannot be read, so nothing is pruned" in done
    assert synced.chosen() == ["c1", "c2"]
    placement = synced.hub.get(yaml.safe_load(synced.placement("web")))
    assert placement["metadata"]["annotations"] == {SCHEDULING_DISABLED: "true"}


def test_a_namespace_that_is_missing_costs_its_objects_only(synced: Synced) -> None:
    absent = f"{synced.namespace}-absent"
    sets = (
        SETS.format(ns=synced.namespace)
        .split("---\n")[1]
        .replace(f"namespace: {synced.namespace}", f"namespace: {absent}")
    )
    synced.repo.commit({"more.yaml": sets + "---\n" + PLACEMENT.format(name="far", ns=absent)})
    synced.reconciled()
    done = synced.document(code=1)
    assert [one["name"] for one in done["failed"]] == ["far-decision-1"] * 2
    assert [one["name"] for one in done["absent"]] == ["far"]
    assert synced.chosen() == ["c1", "c2"]


def test_a_dry_run_changes_nothing(synced: Synced) -> None:
    assert len(synced.document("--dry-run")["created"]) == 1
    with pytest.raises(RefusedError, match="404"):
        synced.decision()
    synced.document()
    before = synced.decision()
    synced.repo.commit({"web.yaml": None})
    synced.reconciled()
    assert "PlacementDecision/web-decision-1" in names(synced.document("--dry-run")["pruned"])
    assert synced.decision() == before


def test_another_repository_is_refused(synced: Synced) -> None:
    synced.document()
    said = synced("--repository", "another", code=4)
    assert "another repository feeds this hub" in said


def test_an_object_that_somebody_else_made_is_left_alone(synced: Synced) -> None:
    body = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {"name": "web-decision-1", "namespace": synced.namespace, "labels": {"of": "somebody"}},
    }
    synced.hub.apply(body)
    assert "muster did not make it" in synced(code=1)
    assert synced.decision().get("status") is None


POOL = (
    "apiVersion: hive.openshift.io/v1\nkind: ClusterImageSet\nmetadata: {{name: {ns}}}\nspec: {{releaseImage: x}}\n"
    "---\napiVersion: hive.openshift.io/v1\nkind: ClusterPool\nmetadata: {{name: {ns}, namespace: {ns}}}\n"
    "spec: {{size: 1, baseDomain: example.com, imageSetRef: {{name: {ns}}}, platform: {{aws: {{region: x, "
    "credentialsSecretRef: {{name: x}}}}}}}}\n---\n"
    "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\n"
    "spec: {{pools: {{externalDependencies: [Secret/{ns}/x]}}}}\n"
)


def test_without_its_option_what_was_written_for_a_system_stays(synced: Synced) -> None:
    """A forgotten `--hive` must not delete every cluster of a pool."""
    synced.repo.commit({"pool.yaml": POOL.format(ns=synced.namespace)})
    synced.reconciled()
    cluster = f"{synced.namespace}-1"
    synced.hub.make_namespaces([{"metadata": {"namespace": cluster}}])
    admin = ("--context", "admin")
    made = synced.document("--hive", *admin)
    assert ("ClusterDeployment", cluster) in {(one["kind"], one["name"]) for one in made["created"]}
    synced.repo.commit({"pool.yaml": None, f"derived/clusterdeployments/{cluster}/{cluster}.yaml": None})
    without = synced.document()
    assert [one["name"] for one in without["kept"]] == [cluster]
    assert (without["pruned"], without["failed"]) == ([], [])
    assert (
        f"kept from an earlier run with --karmada, --hive or --projections: clusterdeployment/{cluster}/{cluster}"
        in synced()
    )
    after = synced.document("--hive", *admin)
    assert [one["name"] for one in after["pruned"]] == [cluster]


@pytest.fixture(scope="module")
def with_tools(hub: Hub) -> None:
    hub.install_crds([foreign_kind("tools.example.com/v1alpha1", "Delivery", {"cluster": "string"})])


PROJECTIONS = """
apiVersion: muster.dev/v1alpha1
kind: Projection
metadata: {{name: deliveries}}
spec:
  forEach: {{placement: {ns}/web}}
  path: cluster.metadata.name + '.yaml'
  object: |
    {{'apiVersion': 'tools.example.com/v1alpha1', 'kind': 'Delivery',
      'metadata': {{'name': cluster.metadata.name, 'namespace': '{ns}'}}, 'spec': {{'cluster': cluster.metadata.name}}}}
---
apiVersion: muster.dev/v1alpha1
kind: Projection
metadata: {{name: settings}}
spec:
  forEach: all
  path: "'settings.json'"
  object: |
    {{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {{'name': 'settings', 'namespace': '{ns}'}},
      'data': {{'clusters': string(clusters.size())}}}}
---
apiVersion: muster.dev/v1alpha1
kind: Projection
metadata: {{name: targets}}
spec: {{forEach: all, path: "'targets.txt'", text: "'a text'"}}
"""


def delivery(synced: Synced, name: str) -> Tree:
    return {
        "apiVersion": "tools.example.com/v1alpha1",
        "kind": "Delivery",
        "metadata": {"name": name, "namespace": synced.namespace},
    }


def deliveries(synced: Synced) -> list[str]:
    path = f"/apis/tools.example.com/v1alpha1/namespaces/{synced.namespace}/deliveries"
    return [one["metadata"]["name"] for one in synced.hub.request("GET", path)["items"]]


def names(entries: list[Tree]) -> list[str]:
    return sorted(f"{one['kind']}/{one['name']}" for one in entries)


@pytest.fixture
def projected(synced: Synced, with_tools: None) -> Synced:
    synced.repo.commit({"projections.yaml": PROJECTIONS.format(ns=synced.namespace)})
    synced.reconciled()
    rights = synced.grant("--projections", "all")
    assert "deliveries" in rights
    assert "configmaps" in rights
    return synced


def test_objects_of_projections_are_synced_if_they_are_chosen(projected: Synced) -> None:
    synced = projected
    assert names(synced.document()["created"]) == ["PlacementDecision/web-decision-1"], "none is chosen"
    dry = synced.document("--projections", "all", "--dry-run")
    assert (names(dry["created"]), dry["failed"]) == (["ConfigMap/settings", "Delivery/c1", "Delivery/c2"], [])
    assert deliveries(synced) == []
    first = synced.document("--projections", "deliveries")
    assert (names(first["created"]), first["failed"]) == (["Delivery/c1", "Delivery/c2"], [])
    every = synced.document("--projections", "all")
    assert (names(every["created"]), every["otherFiles"]) == (["ConfigMap/settings"], {"targets": 1})
    assert "not synced: 1 of targets" in synced("--projections", "all", "-v")

    body = {**delivery(synced, "c1"), "spec": {"cluster": "by hand"}}
    synced.hub.apply(body, manager="somebody")
    assert names(synced.document("--projections", "all")["changed"]) == ["Delivery/c1"]
    assert synced.hub.get(body)["spec"] == {"cluster": "c1"}
    before = synced.hub.get(body)
    assert not any(synced.document("--projections", "all")[sort] for sort in ("created", "changed", "healed", "pruned"))
    assert synced.hub.get(body) == before

    synced.now = "2026-01-01T12:20:00Z"
    synced.join("c2")
    synced.reconciled()
    assert names(synced.document("--projections", "all")["pruned"]) == ["Delivery/c1"], "its cluster is dead"
    kept = synced.document("--projections", "settings")
    assert (names(kept["kept"]), kept["pruned"]) == (["Delivery/c2"], [])
    synced.repo.commit({"projections.yaml": None})
    synced.reconciled()
    assert names(synced.document()["kept"]) == ["ConfigMap/settings", "Delivery/c2"]
    said = synced("--projections", "deliveries,settings")
    assert "no Projection is called 'deliveries'" in said
    assert "2 pruned" in said
    assert deliveries(synced) == []
    parent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "muster", "namespace": synced.namespace}}
    kinds = synced.hub.get(parent)["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"]
    assert "tools.example.com" not in kinds


def test_objects_of_projections_that_a_hub_does_not_take_are_reported(projected: Synced) -> None:
    synced = projected
    taken = delivery(synced, "c2")
    synced.hub.apply(taken)
    wrong = PROJECTIONS.split("---")[1]
    for number, (old, new) in enumerate(
        (
            ("'kind': 'ConfigMap'", "'kind': 'Nothing'"),
            ("'v1', 'kind': 'ConfigMap'", "'v1', 'kind': 'Secret'"),
            ("'v1', 'kind': 'ConfigMap'", "'coordination.k8s.io/v1', 'kind': 'Lease'"),
            ("'name': 'settings'", "'name': 'settings/status'"),
        )
    ):
        text = wrong.replace(old, new).replace("{{name: settings}}", f"{{{{name: wrong-{number}}}}}")
        synced.repo.commit({f"wrong-{number}.yaml": text.format(ns=synced.namespace)})
    synced.reconciled()
    done = synced.document("--projections", "all", code=1)
    assert names(done["created"]) == ["ConfigMap/settings", "Delivery/c1", "PlacementDecision/web-decision-1"]
    found = {one["kind"]: one["reason"] for one in done["failed"]}
    assert found["Nothing"] == "the hub has no kind Nothing in v1 (Projection wrong-0)"
    assert "secrets is forbidden" in found["Secret"]
    assert "a Projection may not (Projection wrong-2)" in found["Lease"]
    assert "not one that Kubernetes takes (Projection wrong-3)" in found["ConfigMap"]
    assert "muster did not make it" in found["Delivery"]
    assert "spec" not in synced.hub.get(taken)
    assert "no rule for Nothing of v1: the hub has no such kind" in synced.grant("--projections", "all")
    another = ("--name", "other", "--repository", "x", "--projections", "deliveries", "--context", "admin")
    assert "part of another ApplySet" in synced(*another, code=1)


def test_a_projected_object_without_its_label_is_healed_too(projected: Synced) -> None:
    projected.document("--projections", "all")
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": projected.namespace},
    }
    body = {"metadata": {"labels": None}}
    projected.hub.request("PATCH", path_of(settings), body, form="merge-patch+json")
    assert names(projected.document("--projections", "all")["changed"]) == ["ConfigMap/settings"]
    projected.hub.delete(settings)
    projected.hub.apply({**settings, "data": {"clusters": "many"}}, manager="somebody")
    assert "muster did not make it; --take-over" in projected("--projections", "all", code=1)
    taken = projected.document("--projections", "all", "--take-over")
    assert (names(taken["taken"]), taken["changed"], taken["failed"]) == (["ConfigMap/settings"], [], [])
    assert projected.hub.get(settings)["data"] == {"clusters": "2"}


def test_a_projection_s_file_that_was_edited_is_neither_synced_nor_a_reason_to_prune(projected: Synced) -> None:
    synced = projected
    synced.document("--projections", "all")
    (path,) = [path for path in synced.repo.paths() if path.endswith("/c1.yaml") and "projections" in path]
    synced.repo.commit({path: "a: b\n", "derived/projections/settings/settings.json": None})
    said = synced("--projections", "all")
    assert f"{path} is not as muster wrote it" in said
    assert deliveries(synced) == ["c1", "c2"]


CLUSTER_API = MADE / "crds" / "cluster-api.yaml"


@pytest.mark.skipif(not CLUSTER_API.exists(), reason="Cluster API's definitions are not there (make servers)")
def test_clusters_of_cluster_api(synced: Synced) -> None:
    """docs/act/cluster-api.md: a management cluster takes them under strict validation by Cluster API's own schema."""
    synced.hub.install_crds([yaml.safe_load(CLUSTER_API.read_text())])
    page = (Path(__file__).parents[3] / "docs/act/cluster-api.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S)
    name, cluster = synced.namespace, f"{synced.namespace}-1"
    projections = block.replace("pools/ci", f"{name}/{name}").replace("'ci'", f"'{name}'")
    synced.repo.commit({"projections.yaml": projections, "pool.yaml": POOL.format(ns=name)})
    synced.reconciled()
    synced.grant("--projections", "cluster-api")
    done = synced.document("--projections", "all", code=1)
    assert f"Cluster/{cluster}" in names(done["created"])
    assert [one["reason"] for one in done["failed"]] == [
        "the hub has no kind PoolCluster in platform.example.com/v1alpha1 (Projection crossplane)"
    ]
    synced.repo.commit({"pool.yaml": None, f"derived/clusterdeployments/{cluster}/{cluster}.yaml": None})
    synced.reconciled()
    assert names(synced.document("--projections", "cluster-api")["pruned"]) == [f"Cluster/{cluster}"]
