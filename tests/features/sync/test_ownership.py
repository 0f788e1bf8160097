"""Several fleets on one real hub: each set writes its own objects and fields, whoever syncs in whatever order."""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from itertools import permutations
from pathlib import Path

import pytest
import yaml

from muster.agents.kube.kubeconfig import from_kubeconfig
from muster.data.tree import Tree, dig
from muster.features.sync.ownership import COMMON_MANAGER, PART_OF, SyncParent
from muster.features.sync.wanted import SCHEDULING_DISABLED
from tests.features.sync.test_cli import Synced
from tests.features.sync.test_cli import synced as synced
from tests.support.commandline import Run
from tests.support.hub import Hub, RefusedError, needs_hub, path_of
from tests.support.hub import hub as hub

pytestmark = needs_hub
OCM = "cluster.open-cluster-management.io"


@pytest.fixture
def fleets(muster: Run, hub: Hub, tmp_path: Path, request: pytest.FixtureRequest) -> list[Synced]:
    """Three fleets. The parents of two are in one namespace, and the names of all three are easily mixed up."""
    short = request.node.name.removeprefix("test_")[:12].strip("_").replace("_", "-")
    parents = [(short, "b-c"), (short, "c"), (f"{short}-b", "c")]
    found = []
    for number, (namespace, name) in enumerate(parents):
        options = ("--namespace", namespace, "--name", name)
        (tmp_path / str(number)).mkdir()
        one = Synced(muster, hub, tmp_path / str(number), f"{short}-{number}", options)
        one.reconciled()
        found.append(one)
    return found


def sorts(done: Tree) -> dict[str, list[str]]:
    """What a pass did, without what it left unchanged: names by sort."""
    return {
        sort: [f"{one['kind']}/{one['name']}" for one in entries]
        for sort, entries in done.items()
        if isinstance(entries, list) and entries
    }


def versions(fleets: Iterable[Synced]) -> list[Tree]:
    """All that others could change of these fleets on the hub."""
    found = []
    for fleet in fleets:
        for kind in ("placementdecisions", "placements"):
            path = f"/apis/{OCM}/v1beta1/namespaces/{fleet.namespace}/{kind}"
            found += [one["metadata"] for one in fleet.hub.request("GET", path)["items"]]
    return found


def schedule(fleet: Synced, name: str, placement: str, cluster: str) -> Tree:
    """Decide as OCM's scheduler does."""
    owner = {
        "apiVersion": f"{OCM}/v1beta1",
        "kind": "Placement",
        "name": placement,
        "controller": True,
        "uid": fleet.hub.get(yaml.safe_load(fleet.placement(placement)))["metadata"]["uid"],
    }
    body: dict[str, Tree] = {
        "apiVersion": f"{OCM}/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {"name": name, "namespace": fleet.namespace},
    }
    metadata: Tree = {"labels": {f"{OCM}/placement": placement}, "ownerReferences": [owner]}
    fleet.hub.apply({**body, "metadata": body["metadata"] | metadata}, manager="scheduler")
    decisions = [{"clusterName": cluster, "reason": ""}]
    return fleet.hub.apply({**body, "status": {"decisions": decisions}}, status=True, manager="scheduler")


def test_three_fleets_in_all_orders_never_touch_one_another(fleets: list[Synced]) -> None:
    for number, order in enumerate(permutations(fleets)):
        name, last = f"more-{number}", f"more-{number - 1}"
        for fleet in fleets:
            fleet.hub.apply(yaml.safe_load(fleet.placement(name)))
            gone = {f"{last}.yaml": None} if number else {}
            fleet.repo.commit({**gone, f"{name}.yaml": fleet.placement(name)})
            fleet.reconciled()
        superseded = schedule(order[1], f"{name}-decision-2", name, "c1")
        for fleet in order:
            others = [one for one in fleets if one is not fleet]
            before = versions(others)
            done = sorts(fleet.document("--take-over") if number % 2 else fleet.document())
            assert "failed" not in done, done
            assert f"PlacementDecision/{name}-decision-1" in done["created"]
            taken = [f"PlacementDecision/{name}-decision-2"] if number % 2 and fleet is order[1] else []
            gone_now = [f"Placement/{last}", f"PlacementDecision/{last}-decision-1"] if number else []
            assert sorted(done.get("pruned", [])) == sorted(gone_now + taken)
            assert versions(others) == before, "nothing of another fleet changes"
            assert sorts(fleet.document()) == {}
        for fleet in fleets:
            assert fleet.chosen() == ["c1", "c2"]
            assert dig(fleet.decision(name), "status", "decisions")
        if not number % 2:
            order[0].hub.get(superseded)  # without --take-over it stays
            order[0].hub.delete(superseded)


def test_the_rights_of_several_accounts_do_not_collide(fleets: list[Synced]) -> None:
    places = [path_of(body) for fleet in fleets for body in fleet.printed]
    assert len({*places}) == len(places) == 15
    default = SyncParent("default", "muster", "x")
    assert default.account == "muster-sync", "the account that exists already"
    for fleet in fleets:
        assert sorts(fleet.document())["created"] == ["PlacementDecision/web-decision-1"]


def test_of_two_fleets_that_decide_one_placement_the_first_keeps_it(fleets: list[Synced]) -> None:
    first, second, _ = fleets
    first.document()
    second.repo.commit({"sets.yaml": (first.repo.path / "sets.yaml").read_text(), "web.yaml": first.placement("web")})
    second.reconciled()
    for options in ((), ("--take-over",)):
        said = second(*options, code=1)
        assert "part of another ApplySet" in said
        assert first.chosen() == ["c1", "c2"]
    first.repo.commit({"web.yaml": None})
    first.reconciled()
    first.document()
    placement = first.hub.get(yaml.safe_load(first.placement("web")))
    assert placement["metadata"]["annotations"] == {SCHEDULING_DISABLED: "true"}, "the second fleet decides it"
    assert "failed" not in sorts(second.document())
    assert first.chosen() == ["c1", "c2"]


def managers(fleet: Synced) -> set[str]:
    return {entry["manager"] for metadata in versions([fleet]) for entry in metadata["managedFields"]} - {"test"}


def age(fleet: Synced) -> None:
    """Make what the fleet's sync wrote look as an older version left it: with the field manager of all sets."""
    namespace, name = fleet.parent[1], fleet.parent[-1] if len(fleet.parent) > 2 else "muster"
    hub, manager = fleet.hub, SyncParent(namespace, name, "").manager
    places = [f"/api/v1/namespaces/{namespace}/configmaps/{name}"]
    for kind in ("placementdecisions", "placements"):
        path = f"/apis/{OCM}/v1beta1/namespaces/{fleet.namespace}/{kind}"
        places += [f"{path}/{one['metadata']['name']}" for one in hub.request("GET", path)["items"]]
    for place in places:
        entries = [
            {**entry, "manager": COMMON_MANAGER if entry["manager"] == manager else entry["manager"]}
            for entry in hub.request("GET", place)["metadata"]["managedFields"]
        ]
        hub.request("PATCH", place, {"metadata": {"managedFields": entries}}, form="merge-patch+json")


def test_a_hub_that_an_older_version_fed_is_taken_over_without_a_gap(fleets: list[Synced]) -> None:
    first, second, third = fleets
    gone = first.placement("gone")
    first.hub.apply(yaml.safe_load(gone))
    first.repo.commit({"gone.yaml": gone})
    first.reconciled()
    for fleet in (first, second):
        fleet.document()
        age(fleet)
    assert managers(first) == {COMMON_MANAGER}
    parent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b-c", "namespace": first.parent[1]}}
    assert {entry["manager"] for entry in first.hub.get(parent)["metadata"]["managedFields"]} == {COMMON_MANAGER}
    first.repo.commit({"gone.yaml": None})
    first.reconciled()
    third.document()  # another fleet that is new here has nothing to do with it
    assert (first.chosen(), managers(first)) == (["c1", "c2"], {COMMON_MANAGER})
    before = first.decision()["metadata"]["resourceVersion"]
    assert sorts(first.document("--dry-run"))["pruned"] == ["PlacementDecision/gone-decision-1"]
    assert managers(first) == {COMMON_MANAGER}
    assert sorts(first.document())["pruned"] == ["PlacementDecision/gone-decision-1"]
    assert all(len(decisions) == 2 for decisions in states(first, before)), "at no instant was there another decision"
    ours = SyncParent(first.parent[1], "b-c", "").manager
    assert {entry["manager"] for entry in first.hub.get(parent)["metadata"]["managedFields"]} == {ours}
    unsure = first.hub.get(yaml.safe_load(gone))["metadata"]
    assert "annotations" in unsure, "while the second fleet is as the old version left it, this may be of that one"
    assert "failed" not in sorts(second.document())
    assert second.chosen() == ["c1", "c2"]
    first.document()
    assert "annotations" not in first.hub.get(yaml.safe_load(gone))["metadata"]
    assert managers(first) == {ours}
    for fleet in fleets:
        assert fleet.chosen() == ["c1", "c2"]
        fleet.document()
        assert sorts(fleet.document()) == {}


def test_a_decision_that_another_set_emptied_is_filled_again(synced: Synced, fleets: list[Synced]) -> None:
    """As older versions did, which had one field manager."""
    synced.document()
    age(synced)
    decision = synced.decision()
    nothing = {**decision, "metadata": {name: decision["metadata"][name] for name in ("name", "namespace")}}
    del nothing["status"]
    for status in (False, True):
        synced.hub.apply(nothing, status=status, manager=COMMON_MANAGER)
    emptied = synced.decision()
    assert (emptied["metadata"].get("labels"), emptied.get("status")) == (None, None)
    fleets[0].document()
    placement = synced.hub.get(yaml.safe_load(synced.placement("web")))
    assert placement["metadata"]["annotations"] == {SCHEDULING_DISABLED: "true"}, "it is not in that fleet's namespaces"
    assert "PlacementDecision/web-decision-1" in sorts(synced.document())["changed"]
    assert synced.chosen() == ["c1", "c2"]


def states(fleet: Synced, since: str) -> Iterator[Tree]:
    """The decisions of `web` after each write since a version, up to the last."""
    decision = fleet.decision()
    server = from_kubeconfig(fleet.hub.kubeconfig, None)
    path = path_of(decision).rpartition("/")[0]
    for event in server.watch(path, 30, resourceVersion=since, fieldSelector="metadata.name=web-decision-1"):
        yield dig(event, "object", "status", "decisions") or []
        if event["object"]["metadata"]["resourceVersion"] == decision["metadata"]["resourceVersion"]:
            return


def relabel(hub: Hub, body: Tree, labels: Tree) -> None:
    """Change labels by hand, as `kubectl label` does."""
    hub.request("PATCH", path_of(body), {"metadata": {"labels": labels}}, form="merge-patch+json")


@pytest.mark.parametrize("labels", [{PART_OF: None}, None], ids=["its label", "all labels"])
@pytest.mark.parametrize("manager", ["its own", COMMON_MANAGER])
def test_a_label_that_was_taken_away_is_put_back(synced: Synced, labels: Tree, manager: str) -> None:
    synced.document()
    if manager == COMMON_MANAGER:
        age(synced)
    before = synced.decision()["metadata"]["labels"]
    relabel(synced.hub, synced.decision(), labels)
    assert sorts(synced.document())["changed"] == ["PlacementDecision/web-decision-1"]
    assert (synced.decision()["metadata"]["labels"], synced.chosen()) == (before, ["c1", "c2"])
    relabel(synced.hub, synced.decision(), {PART_OF: "another"})
    assert "part of another ApplySet, another" in synced("--take-over", code=1)


def test_without_a_label_and_a_reason_only_fields_go(synced: Synced) -> None:
    """Who takes an object out of its set may want to keep it."""
    synced.document()
    relabel(synced.hub, synced.decision(), {PART_OF: None})
    synced.repo.commit({"web.yaml": None})
    synced.reconciled()
    assert "failed" not in sorts(synced.document())
    assert "status" not in synced.decision()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl not installed")
@pytest.mark.parametrize("apply", [("--server-side",), ()], ids=["server", "client"])
def test_from_kubectl_apply_to_sync(synced: Synced, apply: tuple[str, ...], tmp_path: Path) -> None:
    """What `muster export objects` gave to kubectl becomes the set's by --take-over, and nothing else does."""

    def export(*options: str) -> None:
        code, text, _ = synced.muster("export", "objects", "--repo", synced.repo.path, "--now", synced.now, *options)
        assert code == 0
        status = ("--server-side", "--subresource=status", "--force-conflicts") if "--status" in options else apply
        done = subprocess.run(
            ["kubectl", "apply", f"--kubeconfig={synced.hub.kubeconfig}", "-f", "-", *status],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    export("placementdecisions")
    export("placementdecisions", "--status")
    stale = {**synced.decision(), "metadata": {**synced.decision()["metadata"], "name": "web-decision-2"}}
    stale["metadata"] = {name: stale["metadata"][name] for name in ("name", "namespace", "labels")}
    synced.hub.apply({name: value for name, value in stale.items() if name != "status"}, manager="kubectl")
    other = {**stale, "metadata": {**stale["metadata"], "name": "other", "labels": {f"{OCM}/placement": "other"}}}
    synced.hub.apply({name: value for name, value in other.items() if name != "status"}, manager="kubectl")
    before = synced.decision()
    assert "muster did not make it; --take-over" in synced(code=1)
    page = (Path(__file__).parents[3] / "docs/hub.md").read_text(encoding="utf-8")
    section = page.partition("### From kubectl apply to sync")[2].partition("```text\n")[2].partition("```")[0]
    first, then = (
        line.removeprefix("muster sync --kubeconfig hub.kubeconfig ").split() for line in section.splitlines()
    )
    dry = sorts(synced.document(*first))
    decision, uid = "PlacementDecision/web-decision-1", before["metadata"]["uid"]
    assert (dry["taken"], dry["pruned"]) == ([decision], ["PlacementDecision/web-decision-2"])
    assert synced.decision() == before
    assert sorts(synced.document(*then)) == dry
    assert (synced.decision()["metadata"]["uid"], synced.chosen()) == (uid, ["c1", "c2"])
    with pytest.raises(RefusedError, match="404"):
        synced.hub.get(stale)
    synced.hub.get(other)
    synced.now = "2026-01-01T12:20:00Z"
    synced.join("c2")
    synced.reconciled()
    assert decision in sorts(synced.document())["changed"]
    assert synced.chosen() == ["c2"]
    synced.repo.commit({"web.yaml": None})
    synced.reconciled()
    assert decision in sorts(synced.document())["pruned"]
