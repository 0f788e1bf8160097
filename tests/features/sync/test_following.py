"""`muster sync --watch` over twenty commits, a hub that goes away, a kill, and a change by hand; the rest stays."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.data.tree import Tree
from tests.features.sync.test_cli import Synced
from tests.features.sync.test_cli import synced as synced
from tests.support.hub import Hub, needs_hub, running_hub
from tests.support.patience import wait_until
from tests.support.processes import Process, running

pytestmark = needs_hub
OCM = "cluster.open-cluster-management.io"


@pytest.fixture(name="hub")
def _hub(tmp_path: Path) -> Iterator[Hub]:
    """A hub of its own, because it is stopped."""
    with running_hub(tmp_path / "hub") as made:
        yield made


def passes(process: Process) -> list[Tree]:
    """What a process says of its passes."""
    return [json.loads(line) for line in process.lines if line.startswith("{")]


def of_others(hub: Hub, synced: Synced) -> dict[str, Tree]:
    """Who manages which fields of all objects but those that muster writes."""
    inside = f"/{synced.namespace}/"
    mine = ("placementdecisions" + inside + "web-", "placements" + inside + "web", "configmaps" + inside + "muster")
    return {path: value for path, value in hub.histories().items() if not any(one in path for one in mine)}


def test_twenty_commits_with_a_hub_that_goes_away(synced: Synced, hub: Hub) -> None:
    cluster = {"apiVersion": f"{OCM}/v1", "kind": "ManagedCluster", "metadata": {"name": "c1"}}
    taint = {"key": "a", "effect": "NoSelect", "timeAdded": synced.now}
    condition = {
        "type": "ManagedClusterConditionAvailable",
        "status": "False",
        "reason": "A",
        "message": "",
        "lastTransitionTime": synced.now,
    }
    hub.apply({**cluster, "spec": {"hubAcceptsClient": True, "taints": [taint]}}, manager="registration")
    hub.apply({**cluster, "status": {"conditions": [condition]}}, status=True, manager="registration")
    other = {
        "apiVersion": f"{OCM}/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {"name": "of-another", "namespace": synced.namespace},
    }
    hub.apply(other)
    before = of_others(hub, synced)
    arguments = (
        "sync",
        "--repo",
        str(synced.repo.path),
        "--namespace",
        synced.namespace,
        "--watch",
        "--interval",
        "0.2",
        *synced.access,
        "-o",
        "json",
    )
    first = Process(arguments, os.environ)
    for number in range(3, 18):
        if number == 10:
            hub.stop()
        if number == 14:
            hub.start()
        synced.join(f"c{number}")
        synced.reconciled()
    wait_until(lambda: "c14" in synced.chosen(), lambda: f"{first.lines[-3:]}")
    first.kill()
    with running(*arguments, environ=os.environ) as second:
        for number in range(18, 23):
            synced.join(f"c{number}")
            synced.reconciled()
        names = sorted(f"c{number}" for number in range(1, 23))
        wait_until(lambda: sorted(synced.chosen()) == names, lambda: f"{synced.chosen()} {second.lines[-3:]}")
        decision = synced.decision()
        metadata = {name: decision["metadata"][name] for name in ("name", "namespace")}
        hub.apply({**decision, "metadata": metadata, "status": {"decisions": []}}, status=True, manager="somebody")
        wait_until(lambda: any(done["healed"] for done in passes(second)), lambda: f"{second.lines[-3:]}")
        assert sorted(synced.chosen()) == names
    done = [*passes(first), *passes(second)]
    assert not any(one["failed"] or one["pruned"] for one in done)
    assert [one["name"] for each in done for one in each["created"]] == ["web-decision-1"]
    assert of_others(hub, synced) == before, "nothing else is touched"


def errors(process: Process) -> int:
    return sum(line.startswith("error: ") for line in process.lines)


def answers(process: Process) -> int:
    return process.lines.count("the hub answers again")


def test_a_restart_of_the_hub_is_one_line(synced: Synced, hub: Hub) -> None:
    """A server that starts refuses what it allows later: that is no lack of rights, and fails no object."""
    arguments = (
        "sync",
        "--repo",
        str(synced.repo.path),
        "--namespace",
        synced.namespace,
        "--watch",
        "--interval",
        "0.1",
        *synced.access,
        "-o",
        "json",
    )
    with running(*arguments, environ=os.environ) as process:
        wait_until(lambda: bool(passes(process)), lambda: f"{process.lines}")
        for number in range(3, 7):
            hub.kill()
            wait_until(lambda count=number - 2: errors(process) == count, lambda: f"{process.lines}")  # type: ignore[misc]
            synced.join(f"c{number}")
            synced.reconciled()
            hub.start()
            wait_until(lambda name=f"c{number}": name in synced.chosen(), lambda: f"{process.lines}")  # type: ignore[misc]
            wait_until(lambda count=number - 2: answers(process) == count, lambda: f"{process.lines}")  # type: ignore[misc]
    said = [line for line in process.lines if not line.startswith("{")]
    assert [line.partition(":")[0] for line in said] == [*["error", "the hub answers again"] * 4, "stopped"], said
    assert not any(one["failed"] or one["pruned"] or one["healed"] for one in passes(process))
