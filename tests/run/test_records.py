"""What is kept of a run is read back as the values it was, and written the same for the same."""

from muster.data.codes import Code
from muster.data.decision import Because, Decision, Held, Input, Path
from muster.data.findings import finding
from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, REMEDY
from muster.data.source import Place
from muster.data.tree import Tree
from muster.run.records import (
    get_body,
    get_decisions,
    get_findings,
    get_held,
    put_body,
    put_decisions,
    put_findings,
    put_held,
    text_of,
    tree_of,
)
from tests.support.example import NOON

CLUSTER, DOWN = MANAGED_CLUSTER.id("a"), REMEDY.id("down")
BECAUSE = Because("Remedy/down", (Input(("spec",), DOWN), Input(("status", "conditions", ("Ready",)))), "why")


def again(tree: Tree) -> Tree:
    """As it is read from a file."""
    return tree_of(text_of(tree))


def test_a_body() -> None:
    body = {
        "kind": "ManagedCluster", "metadata": {"name": "a", "labels": {"ä": "\ud800"}},
        "spec": {"taints": [{"key": "k", "effect": "NoSelect"}], "hubAcceptsClient": True, "odd": None},
        "status": [],
    }  # fmt: skip
    assert get_body(again(put_body(body))) == body


def test_decisions_but_for_when_time_changes_them() -> None:
    path: Path = ("spec", "taints", ("k", "NoSelect"))
    actions: Path = ("status", "remedyActions")
    decided = {
        path: Decision(CLUSTER, path, {"timeAdded": "2026-01-01T12:00:00Z"}, BECAUSE, NOON),
        actions: Decision(CLUSTER, actions, None, Because("remedies", ())),
    }
    found = get_decisions(CLUSTER, again(put_decisions(decided)))
    assert dict(found) == {at: decision._replace(horizon=None) for at, decision in decided.items()}
    assert len(found) == 2
    assert ("spec", "other") not in found


def test_held_effects() -> None:
    held = [
        Held(CLUSTER, "taint k:NoSelect", "too many", BECAUSE, NOON),
        Held(CLUSTER, "removal", "many are gone", BECAUSE),
    ]
    assert get_held(again(put_held(held))) == held


def test_findings_are_kept_by_their_place() -> None:
    one = finding(
        Code.EXPRESSION_FAILED, "it failed", Place("a.yaml", 3, 1), hint="guard it", object_=DOWN, excerpt="  when: x"
    )
    other = finding(Code.BACKEND_WITHOUT_CLUSTER, "nobody serves it")
    assert get_findings(again(put_findings([one, other]))) == sorted((one, other), key=lambda found: found.sort_key())
    assert put_findings([one, other]) == put_findings([other, one])


def test_the_same_is_written_the_same() -> None:
    assert text_of({"b": 1, "a": [True, None]}) == '{"b":1,"a":[true,null]}'
    assert ObjectId(*again(list(CLUSTER))) == CLUSTER
