"""docs/import.md: the three stages of a move, and the ways back, between a real API server and a real repository."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from muster.data.kinds import (
    LEASE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_SET,
    MANAGED_CLUSTER_SET_BINDING,
    PLACEMENT,
    PLACEMENT_DECISION,
    Kind,
)
from muster.data.tree import Tree, dig
from muster.features.sync.wanted import SCHEDULING_DISABLED
from tests.support.commandline import Run, muster
from tests.support.git import new_repository
from tests.support.hub import Hub, RefusedError, needs_hub
from tests.support.hub import hub as hub
from tests.support.klusterlets import Klusterlets

__all__ = ["muster"]  # a fixture
KUBECTL = shutil.which("kubectl")
pytestmark = [needs_hub, pytest.mark.skipif(KUBECTL is None, reason="kubectl not installed")]
PAGE = (
    (Path(__file__).parents[2] / "docs/import.md").read_text(encoding="utf-8").partition("## Move in three stages")[2]
)
(SETTINGS,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
MIRROR, COMPARE, TAKE_OVER, BACK = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
SPACE = "moving"
NAMES = ("mv-1", "mv-2")


def shop(kind: Kind, name: str, **sections: Tree) -> Tree:
    return kind.body({"name": name, "namespace": SPACE}, **sections)


class Moving:
    """A hub with two clusters and a Placement that its scheduler has decided, and an empty fleet."""

    def __init__(self, muster: Run, hub: Hub, folder: Path) -> None:
        self.muster, self.hub, self.folder = muster, hub, folder
        self.fleet = new_repository(folder / "fleet.git", bare=True)
        self.klusterlets = Klusterlets(hub, NAMES, 60)
        hub.make_namespaces([{"metadata": {"namespace": SPACE}}])
        selector = {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"moving": "yes"}}}
        for name in NAMES:
            hub.apply(MANAGED_CLUSTER.body({"name": name, "labels": {"moving": "yes"}}, spec={}), manager="person")
        hub.apply(MANAGED_CLUSTER_SET.body({"name": SPACE}, spec={"clusterSelector": selector}))
        hub.apply(shop(MANAGED_CLUSTER_SET_BINDING, SPACE, spec={"clusterSet": SPACE}))
        self.placement = hub.apply(shop(PLACEMENT, "web", spec={"numberOfClusters": 1}))
        self.schedule("mv-2")

    def schedule(self, cluster: str, name: str = "web-decision-1") -> None:
        """Decide as the hub's scheduler does."""
        placement = name.partition("-")[0]
        owner = {
            "apiVersion": PLACEMENT.api_version,
            "kind": "Placement",
            "name": placement,
            "controller": True,
            "blockOwnerDeletion": True,
            "uid": self.placement["metadata"]["uid"],
        }
        labels = {
            "cluster.open-cluster-management.io/placement": placement,
            "cluster.open-cluster-management.io/decision-group-index": "0",
            "cluster.open-cluster-management.io/decision-group-name": "",
        }
        body = shop(PLACEMENT_DECISION, name)
        metadata = {**body["metadata"], "labels": labels, "ownerReferences": [owner]}
        self.hub.apply({**body, "metadata": metadata}, manager="scheduler")
        self.hub.apply(
            {**body, "status": {"decisions": [{"clusterName": cluster, "reason": ""}]}},
            status=True,
            manager="scheduler",
        )

    def dump(self, path: Path) -> None:
        """Write what kubectl get prints."""
        kinds = (
            MANAGED_CLUSTER,
            MANAGED_CLUSTER_SET,
            MANAGED_CLUSTER_SET_BINDING,
            PLACEMENT,
            PLACEMENT_DECISION,
            LEASE,
        )
        items = []
        for kind in kinds:
            found = self.hub.request("GET", f"/apis/{kind.api_version}/{kind.plural}")["items"]
            items += [{"apiVersion": kind.api_version, "kind": kind.name, **item} for item in found]
        own = [item for item in items if item["metadata"].get("namespace", item["metadata"]["name"]) in (SPACE, *NAMES)]
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": own}))

    def run(self, block: str, change: Callable[[str], str] = str) -> str:
        """Run the lines of a block; return what they print. A pipe to kubectl is run as one."""
        config, said = self.hub.kubeconfig, ""
        environ = {**os.environ, "KUBECONFIG": str(config)}
        for line in block.replace("https://git.example.com/fleet.git", str(self.fleet.path)).splitlines():
            line = change(line.replace("hub.kubeconfig", str(config)))
            command, _, pipe = line.partition(" | ")
            text = None
            if command.startswith("muster "):
                code, text, err = self.muster(*command.split()[1:])
                assert code == 0, f"{line}: {text}{err}"
                said += text + err
                command = pipe
            if command:
                done = subprocess.run(
                    ["bash", "-ec", command], input=text, env=environ, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
                said += done.stdout
        return said

    def chosen(self) -> list[str]:
        decision = self.hub.get(shop(PLACEMENT_DECISION, "web-decision-1"))
        return [one["clusterName"] for one in dig(decision, "status", "decisions") or ()]

    def annotations(self) -> Tree:
        return dig(self.hub.get(shop(PLACEMENT, "web")), "metadata", "annotations") or {}


@pytest.fixture
def moving(muster: Run, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Moving]:
    made = Moving(muster, hub, tmp_path)
    assert muster("init", tmp_path / "work")[0] == 0
    monkeypatch.chdir(tmp_path / "work")
    shutil.rmtree("clusters/example")
    Path("fleet.yaml").write_text(SETTINGS)
    for line in (
        f"git remote add origin {made.fleet.path}",
        "git branch -M main",
        "git add --all",
        "git commit --quiet -m Start",
        "git push --quiet -u origin main",
    ):
        subprocess.run(line.split(), check=True, capture_output=True)
    yield made


def test_the_three_stages_and_their_ways_back(moving: Moving, tmp_path: Path) -> None:
    moving.dump(tmp_path / "hub.yaml")
    before = moving.hub.get(shop(PLACEMENT_DECISION, "web-decision-1"))
    said = moving.run(MIRROR, lambda line: f"{line} --once --clusters mv-*" if "--from-hub" in line else line)
    assert "Lease: mv-1/managed-cluster-lease, mv-2/managed-cluster-lease left to a relay" in said
    found = json.loads(moving.muster("get", "clusters", "-o", "json")[1])["items"]
    on_hub = [moving.hub.get(MANAGED_CLUSTER.body({"name": name})) for name in NAMES]
    assert [available(body) for body in found] == [available(body) for body in on_hub], "no clock restarts"
    # The hub has chosen mv-2, so muster does; nothing on the hub has changed.
    assert re.search(r"taken over \(placementdecision/moving/web-decision-1\)", said := moving.run(COMPARE)), said
    assert "decision-1 status" not in said
    assert "1 changed (placement/moving/web)" in said, "the annotation"
    moving.schedule("mv-1")
    assert "placementdecision/moving/web-decision-1 status" in moving.run(COMPARE), "here they differ"
    assert (moving.chosen(), moving.annotations()) == (["mv-1"], {})

    moving.schedule("mv-1", "web-decision-2")
    moving.schedule("mv-1", "other-decision-1")
    moving.run(TAKE_OVER)
    assert (moving.chosen(), moving.annotations()) == (["mv-2"], {SCHEDULING_DISABLED: "true"})
    after = moving.hub.get(shop(PLACEMENT_DECISION, "web-decision-1"))
    assert after["metadata"]["uid"] == before["metadata"]["uid"], "it was taken over in place"
    with pytest.raises(RefusedError):
        moving.hub.get(shop(PLACEMENT_DECISION, "web-decision-2"))
    moving.hub.get(shop(PLACEMENT_DECISION, "other-decision-1"))  # of a Placement that the fleet does not have

    moving.run(BACK)
    assert (moving.chosen(), moving.annotations()) == (["mv-2"], {})
    moving.schedule("mv-1")
    assert moving.chosen() == ["mv-1"]
    # And forward once more: a later take-over finds the decision as its own.
    moving.run(TAKE_OVER.splitlines()[1])
    assert moving.chosen() == ["mv-2"]
    moving.run(BACK)


def available(body: Tree) -> tuple[str, str, str]:
    """A cluster, whether it is available, and since when."""
    found = next(c for c in body["status"]["conditions"] if c["type"] == MANAGED_CLUSTER.headline)
    return body["metadata"]["name"], found["status"], found["lastTransitionTime"]


def test_the_settings_are_a_fleet() -> None:
    assert yaml.safe_load(SETTINGS)["spec"]["agents"]["relays"] == [{"name": "hub", "clusters": ["*"]}]
