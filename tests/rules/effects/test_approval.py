"""Effects that wait for a person: what is asked for, what exactly an Approval covers, and when a wait is over."""

from collections.abc import Iterable, Mapping

import pytest
import yaml

from muster.data.tree import Tree, dig
from muster.rules.effects.approval import Approvals
from muster.run.run import Run
from tests.rules.pools.playing import Play
from tests.support.outages import Fleet, disrupted, effects

UNREACHABLE = "taint cluster.open-cluster-management.io/unreachable:NoSelect"


def asking(*sorts: str, **more: Tree) -> Tree:
    """A Fleet that has these effects proposed under a topic."""
    spec = {"approval": {"topics": [{"name": "careful", "effects": list(sorts)}]}, **more}
    return {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": spec}


def waiting(run: Run | None) -> dict[str, Tree]:
    """What waits for approval, as an Approval names it, by the object's name."""
    assert run is not None
    return {
        held.object.name: {"object": str(held.object), "effect": held.effect, "since": held.wait.since.isoformat()}
        for held in run.fleet.held
        if held.wait and not held.wait.approved
    }


def approval(entries: Iterable[Tree]) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "Approval",
            "metadata": {"name": "careful"},
            "spec": {"effects": [{**entry, "since": entry["since"].replace("+00:00", "Z")} for entry in entries]},
        }
    )


def told(run: Run) -> set[tuple[str, str]]:
    return {(entry["name"], entry["effect"]) for entry in run.held}


def outage(*sorts: str, size: int = 4) -> Fleet:
    fleet = Fleet(size)
    fleet.texts["fleet.yaml"] = yaml.safe_dump(asking(*sorts))
    fleet.evaluate()
    return fleet


@pytest.mark.parametrize(
    ("effect", "asked", "topic"),
    [
        ("taint k=v:NoExecute", {"taint": "t", "eviction": "e"}, "e"),
        ("taint k:NoSelect", {"taint": "t", "eviction": "e"}, "t"),
        ("taint k:NoExecute", {"taint": "t"}, "t"),
        ("taint k:NoSchedule", {"eviction": "e"}, ""),
        ("remedy taint k:NoExecute", {"taint": "t", "eviction": "e"}, ""),
        ("replacement", {"deletion": "d"}, ""),
    ],
)
def test_an_effect_has_the_topic_of_its_sort(effect: str, asked: Mapping[str, str], topic: str) -> None:
    assert Approvals(asked).topic(effect) == topic


def test_a_taint_waits_and_happens_when_it_is_approved() -> None:
    fleet = outage("taint")
    fleet.dark("c00", "c01")
    run = fleet.evaluate()
    assert disrupted(run) == set()
    assert told(run) == {("c00", UNREACHABLE), ("c01", UNREACHABLE)}
    assert {entry["reason"] for entry in run.held} == {"awaits approval: merge muster/proposals/careful"}
    assert {entry["topic"] for entry in run.held} == {"careful"}
    since = waiting(run)
    assert fleet.evaluate(5).files == {}, "a wait that goes on changes nothing"
    fleet.texts["approval.yaml"] = approval([since["c00"]])
    run = fleet.evaluate()
    assert effects(run) == {("c00", UNREACHABLE.removesuffix(":NoSelect"))}
    assert waiting(run) == {"c01": since["c01"]}
    assert fleet.evaluate(5).files == {}, "what stands is not asked for again"


def test_an_approval_covers_one_wait_and_not_the_next() -> None:
    fleet = outage("taint")
    fleet.dark("c00")
    fleet.texts["approval.yaml"] = approval(waiting(fleet.evaluate()).values())
    assert disrupted(fleet.evaluate()) == {"c00"}
    fleet.heard("c00")
    assert disrupted(fleet.evaluate()) == set()
    fleet.dark("c00")
    again = fleet.evaluate()
    assert disrupted(again) == set(), "that was approved of another outage"
    assert waiting(again)


def test_a_wait_is_over_when_nothing_is_asked_for() -> None:
    fleet = outage("taint")
    fleet.dark("c00")
    first = waiting(fleet.evaluate())
    fleet.heard("c00")
    assert waiting(fleet.evaluate()) == {}
    fleet.dark("c00")
    assert waiting(fleet.evaluate()) != first
    fleet.texts["approval.yaml"] = approval(first.values())
    assert disrupted(fleet.evaluate()) == set()


def test_a_slip_ends_no_wait() -> None:
    fleet = outage("taint")
    fleet.dark("c00", "c01")
    since = waiting(fleet.evaluate())
    files = fleet.files
    fleet.files = lambda: {  # type: ignore[method-assign]
        path: text.replace("leaseDurationSeconds: 60", "leaseDurationSeconds: soon")
        if path.endswith("c00.yaml") and not path.startswith("derived/")
        else text
        for path, text in files().items()
    }
    fleet.texts["approval.yaml"] = approval([since["c00"]])
    run = fleet.evaluate()
    assert waiting(run) == {"c01": since["c01"]}
    assert {held.object.name: held.reason[:14] for held in run.fleet.held} == {
        "c00": "it is approved",
        "c01": "awaits approva",
    }
    assert fleet.evaluate().files == {}
    fleet.files = files  # type: ignore[method-assign]
    assert disrupted(fleet.evaluate()) == {"c00"}


def test_a_remedy_waits_and_what_nobody_named_does_not() -> None:
    fleet = outage("remedy")
    fleet.broken_dns.add("c01")
    fleet.dark("c00")
    run = fleet.evaluate()
    assert told(run) == {("c01", "remedy TrafficControl")}
    assert disrupted(run) == {"c00"}
    fleet.texts["approval.yaml"] = approval(waiting(run).values())
    assert disrupted(fleet.evaluate()) == {"c00", "c01"}


def test_what_is_approved_a_budget_may_still_hold_and_the_approval_lasts() -> None:
    fleet = outage("taint", size=12)
    fleet.dark(*fleet.names[:9])
    since = waiting(fleet.evaluate())
    assert len(since) == 9, "the budget holds as well, and the want of an approval is told first"
    fleet.texts["approval.yaml"] = approval([since["c00"]])
    run = fleet.evaluate()
    (held,) = [held for held in run.fleet.held if held.object.name == "c00"]
    assert held.because.rule == "DisruptionBudget/default"
    assert held.wait is not None
    assert held.wait.approved
    fleet.heard(*fleet.names[1:9])
    fleet.evaluate()
    assert disrupted(fleet.evaluate(15)) == {"c00"}


def test_removals_beyond_a_budget_go_as_they_were_approved() -> None:
    fleet = outage("removal", size=12)
    fleet.texts["budget.yaml"] = (
        "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {name: default}\nspec: {maxRemoved: 1}\n"
    )
    fleet.evaluate()
    gone, files = {"c00", "c01", "c02"}, fleet.files

    def left() -> Mapping[str, str]:
        return {
            path: text
            for path, text in files().items()
            if not any(name in path for name in gone) or path.startswith("derived/")
        }

    fleet.files = left  # type: ignore[method-assign]
    run = fleet.evaluate()
    since = waiting(run)
    assert since.keys() == gone
    assert all("merge muster/proposals/careful" in entry["reason"] for entry in run.held)
    fleet.texts["approval.yaml"] = approval([since["c00"], since["c01"]])
    gone.add("c03")
    run = fleet.evaluate()
    assert waiting(run).keys() == {"c02", "c03"}, "what was not approved stays, as more than one of them would go"
    there = {path.split("/")[-1] for path in fleet.derived}
    assert there & {"c00.yaml", "c01.yaml", "c02.yaml", "c03.yaml"} == {"c02.yaml", "c03.yaml"}
    assert fleet.evaluate().files == {}


@pytest.fixture
def play() -> Play:
    play = Play()
    play.fleet()
    fleet = yaml.safe_load(play.files["fleet.yaml"])
    fleet["spec"] |= asking("deletion")["spec"]
    play.put("fleet.yaml", fleet)
    play.pool(size=3, maxConcurrent=1)
    play.settle("06:00")
    return play


def installed(play: Play, clock: str) -> list[str]:
    """Let all that is asked for be installed and run."""
    for _ in range(5):
        play.settle(clock)
        for name in play.clusters():
            if f"reports/{name}.yaml" not in play.files:
                play.report(name, "Running", clock)
    return play.clusters()


def deleting(play: Play, names: Iterable[str]) -> set[str]:
    return {name for name in names if dig(play.cluster(name), "metadata", "deletionTimestamp")}


def test_a_pool_that_shrinks_deletes_what_was_approved_one_at_a_time(play: Play) -> None:
    names = installed(play, "06:10")
    assert len(names) == 3
    play.pool(size=0, maxConcurrent=1)
    play.settle("07:00")
    since = waiting(play.run)
    assert since.keys() == set(names), "all are proposed at once"
    assert deleting(play, names) == set()
    before = dict(play.files)
    play.settle("07:30")
    assert play.files == before
    play.files["approval.yaml"] = approval([since[names[0]], since[names[1]]])
    play.settle("08:00")
    assert len(deleting(play, names)) == 1, "one at a time, as the pool says"
    assert waiting(play.run).keys() == {names[2]}
    assert play.run is not None
    (turn,) = [held.reason for held in play.run.fleet.held if held.wait and held.wait.approved]
    assert "waits for its turn" in turn
    (first,) = deleting(play, names)
    del play.files[f"reports/{first}.yaml"]
    play.settle("08:10")
    assert deleting(play, set(names) - {first}) == {names[0], names[1]} - {first}
    assert waiting(play.run).keys() == {names[2]}


def test_a_cluster_that_waits_to_be_deleted_takes_nobodys_turn(play: Play) -> None:
    """A pool of which one cluster may not go yet is still filled, however few it may do at one time."""
    names = installed(play, "06:10")
    for name in names[:1]:
        play.files[f"reports/{name}.yaml"] = play.files[f"reports/{name}.yaml"].replace(
            "metadata:\n", "metadata:\n  annotations: {hive.openshift.io/remove-cluster-from-pool: 'true'}\n"
        )
    play.settle("07:00")
    assert waiting(play.run).keys() == {names[0]}
    assert len(installed(play, "07:10")) == 4


def test_a_pool_that_goes_waits_as_well(play: Play) -> None:
    names = installed(play, "06:10")
    path = next(path for path in play.files if path.startswith("pools/"))
    pool = yaml.safe_load(play.files[path])
    pool["metadata"] |= {"deletionTimestamp": "2026-01-01T07:00:00Z", "finalizers": ["a.b/c"]}
    play.put(path, pool)
    play.settle("07:00")
    since = waiting(play.run)
    assert since.keys() == set(names)
    assert deleting(play, names) == set()
    play.files["approval.yaml"] = approval(since.values())
    play.settle("07:10")
    assert deleting(play, names)
