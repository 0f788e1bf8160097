"""What is kept of summaries is read back as the values it was, and written the same for the same."""

import sqlite3

import pytest

from muster.data.codec import encode
from muster.data.decision import Because, Decision, Input, Path
from muster.data.kinds import MANAGED_CLUSTER, REMEDY
from muster.run.memo.records import RunRecord, StoredObject, body_of, decisions_of, kept, stored
from tests.support.example import NOON

CLUSTER, DOWN = MANAGED_CLUSTER.id("a"), REMEDY.id("down")
BECAUSE = Because("Remedy/down", (Input(("spec",), DOWN), Input(("status", "conditions", ("Ready",)))), "why")
PATH: Path = ("spec", "taints", ("k", "NoSelect"))
ACTIONS: Path = ("status", "remedyActions")
DECIDED = {
    PATH: Decision(CLUSTER, PATH, {"timeAdded": "2026-01-01T12:00:00Z"}, BECAUSE, NOON),
    ACTIONS: Decision(CLUSTER, ACTIONS, None, Because("remedies", ())),
}
BODY = {
    "kind": "ManagedCluster",
    "metadata": {"name": "a", "labels": {"ä": "ö"}},
    "spec": {"taints": [{"key": "k", "effect": "NoSelect"}], "hubAcceptsClient": True, "odd": None},
    "status": [],
}


def again(one: StoredObject) -> StoredObject:
    """As it is read from a file."""
    return kept(StoredObject, encode(one))


def test_a_body() -> None:
    assert body_of(again(stored(CLUSTER, BODY, {}))) == BODY


def test_decisions_but_for_when_time_changes_them() -> None:
    found = decisions_of(again(stored(CLUSTER, BODY, DECIDED)))
    values = {at: decision for at, decision in DECIDED.items() if decision.value is not None}
    assert dict(found) == {at: decision._replace(horizon=None) for at, decision in values.items()}
    assert len(found) == 1, "what a decision takes away is not there afterwards"
    assert ("spec", "other") not in found


def test_equal_fields_of_two_objects_are_one_value() -> None:
    one, other = (stored(MANAGED_CLUSTER.id(name), BODY, DECIDED) for name in "ab")
    assert body_of(again(one))["metadata"]["labels"] is body_of(again(other))["metadata"]["labels"]
    assert decisions_of(again(one))[PATH].because is decisions_of(again(other))[PATH].because


WHOLE = stored(CLUSTER, BODY, DECIDED)


@pytest.mark.parametrize(
    "damaged",
    [
        WHOLE._replace(paths=b""),
        WHOLE._replace(paths=encode([1])),
        WHOLE._replace(reasons=()),
        WHOLE._replace(reasons=(b"\xc1", b"")),
        WHOLE._replace(values=(b"\x91", b"\xc0")),
        WHOLE._replace(body={"spec": {"taints": b"\x91"}}),
    ],
)
def test_damage_within_is_an_error_of_the_state(damaged: StoredObject) -> None:
    with pytest.raises(sqlite3.DatabaseError):
        body_of(again(damaged)), decisions_of(again(damaged))


def test_a_record_of_another_shape_is_an_error_of_the_state() -> None:
    assert kept(RunRecord, encode(RunRecord("c0"))) == RunRecord("c0")
    for wrong in (
        b"",
        encode({}),
        encode({"commit": 1}),
        encode({"commit": "c0", "totals": []}),
        encode(RunRecord("c0"))[:9],
    ):
        with pytest.raises(sqlite3.DatabaseError):
            kept(RunRecord, wrong)
