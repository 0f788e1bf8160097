"""The subject of a run's commit: what happened, the most important first, cut at a whole item."""

import pytest

from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, MANAGED_CLUSTER, PLACEMENT
from muster.run.facts import Fact
from muster.run.transition import Transition
from muster.run.transitions.placement_moves import joined
from muster.run.transitions.subjects import LONGEST, subject_line

WEB = PLACEMENT.id("web", "shop")


def happened(word: str, *names: str, sort: str = "condition") -> list[Transition]:
    return [Transition(MANAGED_CLUSTER.id(name), None, Fact(sort, "Odd", "True", word=word)) for name in names]


def left(id_: ObjectId, name: str) -> Transition:
    return Transition(id_, Fact("cluster", name, "chosen"), Fact("cluster", name, word="rescheduled"))


def test_a_subject_says_what_happened_the_most_important_first() -> None:
    found = [left(WEB, "prod-ap-2"), joined(WEB, "prod-eu-3"), *happened("Unknown", "prod-ap-2")]
    assert subject_line(found) == "prod-ap-2 Unknown; web moved to prod-eu-3"


@pytest.mark.parametrize(
    ("words", "joins", "leaves"),
    [
        ("web placed on a", "a", ""),
        ("web placed on a, b and c", "abc", ""),
        ("web moved to 4 clusters", "abcd", "x"),
        ("web left x and y", "", "xy"),
        ("no transitions", "a", "a"),
    ],
)
def test_a_placement_moves(words: str, joins: str, leaves: str) -> None:
    """What a later pass of the run takes back is left out."""
    assert subject_line([*(joined(WEB, name) for name in joins), *(left(WEB, name) for name in leaves)]) == words


def test_of_many_placements_only_that_they_moved() -> None:
    ids = [PLACEMENT.id(name, "shop") for name in ("a", "b", "c", "d", "e")]
    assert subject_line([joined(id_, f"on-{id_.name}") for id_ in ids]) == "5 placements placed on more clusters"
    assert subject_line([left(id_, f"on-{id_.name}") for id_ in ids]) == "5 placements left clusters"
    moved = [change for id_ in ids[:4] for change in (joined(id_, "x"), left(id_, "y"))]
    assert subject_line([*moved, left(ids[4], "x")]) == "e left clusters; 4 placements moved"


def test_an_object_is_in_one_item_and_many_are_a_number() -> None:
    found = [*happened("accepted", "a", "b"), *happened("available", "a"), *happened("", "a", "b", sort="taint")]
    assert subject_line(found) == "a available; b accepted"
    assert subject_line(happened("Unknown", *"abcd")) == "4 clusters Unknown"
    assert subject_line(happened("Unknown", "a" * 30, "b" * 30)) == "2 clusters Unknown"
    reports = [
        Transition(ADAPTER_REPORT.id("dns", cluster), None, Fact("report", text="T", word="accepted"))
        for cluster in "ab"
    ]
    assert subject_line(reports) == "reports a/dns and b/dns accepted"
    webs = [joined(PLACEMENT.id("web", namespace), "c") for namespace in ("blog", "shop")]
    assert subject_line(webs) == "blog/web and shop/web placed on c"


def test_a_subject_is_cut_at_a_whole_item() -> None:
    found = [change for number in range(20) for change in happened(f"in state {number:03}", f"c{number:03}")]
    subject = subject_line(found)
    assert subject == "c000 in state 000; c001 in state 001; c002 in state 002; and 17 more"
    assert len(subject) <= LONGEST
    assert subject_line(found, 40) == "c000 in state 000; and 19 more"
    assert subject_line([*found[:1], *happened("very " * 9 + "odd", *"abcdefg")], 40) == "c000 in state 000; and 7 more"
    assert subject_line(happened("Unknown", "c" * 63)) == f"{'c' * 63} Unknown"
    assert (
        subject_line([*happened("Unknown", "c" * 63), *found])
        == "1 cluster Unknown; c000 in state 000; c001 in state 001; and 18 more"
    )
    assert subject_line(happened("x" * 90, "c")) == f"1 cluster {'x' * 61}…"
