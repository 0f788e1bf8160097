"""Values of the engine's types survive the codec, and everything else is one error."""

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.data.codec import MalformedError, decode, decode_tree, encode, from_tree, to_tree
from muster.data.codes import Code, Severity
from muster.data.decision import ApprovalWait, Because, Failed, Held, Input
from muster.data.finding import Finding, Waiver
from muster.data.kinds import MANAGED_CLUSTER, REMEDY
from tests.support.example import NOON

CLUSTER, DOWN = MANAGED_CLUSTER.id("a"), REMEDY.id("down")
BECAUSE = Because("Remedy/down", (Input(("spec", "rules", 0), DOWN), Input(("status", ("Ready",)))), "why")
WAIVER = Waiver("one", "MUS222", "ManagedCluster/a", ("d1", "d2"), "later", "sre@example.com", "2026-03-01")
VALUES = (
    Finding(Code.UNKNOWN_FIELD, Severity.ERROR, "odd", "a.yaml", 3, 1, CLUSTER, "mend it", "x\n^", "a: b", WAIVER),
    Finding(Code.WAIVER, Severity.NOTE, ""),
    Held(CLUSTER, "removal", "too many", BECAUSE, NOON, ApprovalWait("outages", NOON, approved=True)),
    Held(CLUSTER, "removal", "too many", BECAUSE),
    Failed(DOWN, ("spec", "rules", 0), CLUSTER, "it failed", 3, cut_off=True, number=2, stage="taints"),
)


class Pair(NamedTuple):
    """As in a file."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class Entry:
    """As in a file."""

    pair: Pair
    names: frozenset[str] = frozenset()
    at: datetime | None = None


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_read_as_it_was(value: object) -> None:
    assert decode(type(value), encode(value)) == value
    assert encode(value) == encode(decode(type(value), encode(value)))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_whatever_is_damaged_is_one_error(value: object) -> None:
    data = encode(value)
    for length in range(len(data)):
        with pytest.raises(MalformedError):
            decode(type(value), data[:length])
    for wrong in (
        encode(None),
        encode(1),
        encode("text"),
        encode({}),
        encode([]),
        data + b"\xc0",
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",
    ):
        with pytest.raises(MalformedError):
            decode(type(value), wrong)
    with pytest.raises(MalformedError):
        decode(type(value), cast("bytes", "a text of another version"))  # as sqlite may give it


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_one_error(data: bytes) -> None:
    for type_ in (Finding, Held, Entry, tuple[Failed, ...], dict[str, int], str):
        with suppress(MalformedError):
            decode(type_, data)


texts = st.text(st.characters(codec="utf-8"))
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
trees = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
)


@given(trees)
def test_trees_keep_their_types_and_the_order_of_their_keys(tree: object) -> None:
    assert repr(decode_tree(encode(tree))) == repr(tree)


def test_a_tree_that_is_nested_too_deeply() -> None:
    with pytest.raises(MalformedError):
        decode_tree(b"\x91" * 100_000)


def test_json_is_read_by_type() -> None:
    entry = Entry(Pair("a", 1), frozenset("ba"), NOON)
    tree = {"pair": ["a", 1], "names": ["a", "b"], "at": "2026-01-01T12:00:00Z"}
    assert json.loads(json.dumps(to_tree(entry))) == tree
    assert from_tree(Entry, tree) == entry
    assert from_tree(Entry, {"pair": ["a", 1], "unknown": {}}) == Entry(Pair("a", 1))
    odd: tuple[object, ...] = (
        [],
        None,
        {},
        {"pair": ["a"]},
        {"pair": ["a", "1"]},
        {"pair": ["a", True]},
        {**tree, "at": "noon"},
    )
    for wrong in odd:
        with pytest.raises(MalformedError):
            from_tree(Entry, wrong)
    with pytest.raises(MalformedError):
        from_tree(Entry, {**tree, "names": [1]})


def test_instants_come_back_in_utc() -> None:
    late = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert decode(Entry, encode(Entry(Pair("", 0), at=late))).at == late
    again = decode(Entry, encode(Entry(Pair("", 0), at=NOON))).at
    assert again is not None
    assert again.utcoffset() == timedelta()


def test_nothing_is_loaded_before_it_is_used() -> None:
    code = "import sys, muster.data.codec, muster.run.memo.state; print('msgspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
