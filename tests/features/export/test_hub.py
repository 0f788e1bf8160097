"""`muster export objects` beside a real API server with upstream's kinds, under strict validation of fields."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from muster.data.times import format_time
from muster.data.tree import Tree
from tests.support.commandline import Run
from tests.support.example import EXAMPLE, NOON
from tests.support.forking import search_path
from tests.support.hub import Hub, RefusedError, foreign_kind, needs_hub
from tests.support.hub import hub as hub

pytestmark = needs_hub
PAGE = (Path(__file__).parents[3] / "docs" / "hub.md").read_text(encoding="utf-8")


@pytest.fixture
def printed(muster: Run) -> "Printed":
    """What the command prints of the example fleet."""
    return Printed(muster)


class Printed:
    def __init__(self, muster: Run) -> None:
        self._muster = muster

    def __call__(self, *arguments: str, repo: Path = EXAMPLE) -> list[Tree]:
        """The objects of a document or of a List."""
        code, out, errors = self._muster(
            "export", "objects", *arguments, "--repo", repo, "--worktree", "--now", format_time(NOON)
        )
        assert code == 0, errors
        documents = list(yaml.safe_load_all(out))
        return documents[0]["items"] if documents and documents[0]["kind"] == "List" else documents


NAMED = {"name": "string"}
KUSTOMIZATION = foreign_kind(
    "kustomize.toolkit.fluxcd.io/v1",
    "Kustomization",
    {
        "interval": "string",
        "prune": "boolean",
        "path": "string",
        "sourceRef": {"kind": "string", **NAMED},
        "kubeConfig": {"secretRef": NAMED},
    },
)


def test_the_whole_example_is_accepted_and_the_second_time_nothing_changes(hub: Hub, printed: Printed) -> None:
    hub.install_crds([KUSTOMIZATION])
    objects, statuses = printed("--projections", "all"), printed("--status")
    assert len(objects) > 41
    hub.make_namespaces(objects)
    for body in objects:
        hub.apply(body)
    for body in statuses:
        hub.apply(body, status=True)
    before = {str(body["metadata"]): hub.get(body) for body in objects}
    for body in objects:
        hub.apply(body)
    for body in statuses:
        hub.apply(body, status=True)
    assert {str(body["metadata"]): hub.get(body) for body in objects} == before


def test_a_plain_create_takes_them_too(hub: Hub, printed: Printed) -> None:
    named = [body for kind in ("leases", "csr", "resourcebindings", "remedies") for body in printed(kind)]
    hub.make_namespaces(named)
    for body in named:
        body["metadata"]["name"] += "-created"
        hub.create(body)


def test_decisions_and_conditions_arrive_as_statuses(hub: Hub, printed: Printed) -> None:
    (decision,) = printed("placementdecision/shop/web-decision-1")
    (status,) = printed("placementdecision/shop/web-decision-1", "--status")
    for body in (decision, status):
        body["metadata"]["namespace"] = "decisions-alone"
    hub.make_namespaces([decision])
    assert "status" not in hub.apply(decision)
    assert hub.apply(status, status=True)["status"] == status["status"] != {}


def test_standard_outputs_are_accepted(hub: Hub, printed: Printed, tmp_path: Path) -> None:
    kinds = [f"{plural}.multicluster.x-k8s.io" for plural in ("placementdecisions", "clusterprofiles")]
    fleet = shutil.copytree(EXAMPLE, tmp_path / "fleet")
    settings = (fleet / "fleet.yaml").read_text()
    (fleet / "fleet.yaml").write_text(settings.replace("\nspec:\n", f"\nspec:\n  outputs: [{', '.join(kinds)}]\n"))
    decisions, profiles = (printed(kind, repo=fleet) for kind in kinds)
    assert (len(decisions), len(profiles)) == (2, 10)
    hub.make_namespaces(decisions)
    for body in (*decisions, *profiles):
        hub.apply(body)
    assert hub.get(decisions[0])["decisions"] == decisions[0]["decisions"]
    assert printed(kinds[0], "--status", repo=fleet) == []
    for body in printed(kinds[1], "--status", repo=fleet):
        assert hub.apply(body, status=True)["status"] == body["status"]


def test_deletes_name_what_the_hub_has_to_delete(hub: Hub, printed: Printed) -> None:
    deleted = printed("--deletes")
    assert [body["metadata"]["name"] for body in deleted] == ["nightly", "ci-2"]
    spec = {
        "ClusterClaim": {"clusterPoolName": "ci"},
        "ClusterDeployment": printed("clusterdeployment/ci-1")[0]["spec"],
    }
    hub.make_namespaces(deleted)
    for body in deleted:
        hub.apply({**body, "spec": spec[body["kind"]]})
        hub.delete(body)
        with pytest.raises(RefusedError, match="404"):
            hub.get(body)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("output", ["yaml", "json"])
def test_the_commands_of_the_page(hub: Hub, printed: Printed, output: str) -> None:
    """docs/hub.md: one after the other, twice."""
    hub.make_namespaces([*printed(), *printed("--deletes")])
    block = re.findall(r"^```text\n(.*?)^```$", PAGE, re.M | re.S)[0]
    source = f"--repo {EXAMPLE} --worktree --now {format_time(NOON)} -o {output}"
    for line in block.splitlines() * 2:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line.replace(" |", f" {source} |", 1)],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": search_path(), "KUBECONFIG": str(hub.kubeconfig)},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr


def test_the_server_is_as_strict_as_upstreams(hub: Hub, printed: Printed, tmp_path: Path) -> None:
    (pool,) = printed("clusterpool/ci")
    hub.make_namespaces([pool])
    pool["spec"]["powerstateTransitionToRunningTimeout"] = "20m"
    with pytest.raises(RefusedError, match=r"powerstateTransitionToRunningTimeout.*not declared|unknown field"):
        hub.apply(pool)
    (lease,) = printed("lease/prod-eu-1/managed-cluster-lease")
    hub.make_namespaces([lease])
    lease["spec"]["renewTime"] = "2026-01-01T11:59:35Z"
    with pytest.raises(RefusedError, match="cannot parse"):
        hub.create({**lease, "metadata": {**lease["metadata"], "name": "coarse"}})
