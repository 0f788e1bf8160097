"""The cost of expressions before they run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.cel.checker.check import check
from muster.cel.cost import Cost, estimate, limit_issue
from muster.cel.extent import CEILING, DEFAULT_ITEMS, IntRange
from muster.cel.parser import parse
from tests.cel.environment import ENVIRONMENT


def cost_of(text: str) -> Cost:
    node = parse(text)
    checked = check(node, ENVIRONMENT, text)
    assert checked.ok
    return estimate(node, checked)


TABLE = [
    ("1", 1, 1),
    ("i", 1, 1),
    ("self.spec.paused", 3, 3),
    ("has(self.spec.paused)", 3, 3),
    ("i + 1", 3, 3),
    ("b && b", 2, 3),
    ("b ? 1 : i + 2", 3, 6),
    ("[i, i]", 12, 12),
    ("{'a': i}", 32, 32),
    ("labels['a']", 3, 3),
    ("ints.all(e, e > 0)", 2, 2 + 3 + 20 * (5 + 3)),
    ("ints.exists(e, ints.exists(g, e == g))", 2, 2 + 165 + 20 * (5 + 165)),
    ("ints.map(e, e)", 2, 2 + 1 + 20 * (13 + 1)),
    ("[1, 2, 3].map(e, e)", 13 + 1 + 3 * 14, 13 + 1 + 1 + 3 * 14),
    ("[1, 2, 3].all(e, b)", 13 + 1 + 1 * 6, 13 + 1 + 1 + 3 * 6),
    ("cel.bind(v, i + 1, 2)", 2, 5),
    ("'0123456789'.startsWith('01234')", 5, 5),
    ("self.metadata.name == 'a'", 5, 5),
    ("self.metadata.name.startsWith(self.metadata.name)", 7, 7 + 2 * 32),
    ("'a' in labels", 5, 5),
    # A search is 70, compiling the pattern 300 and 8 for each step of its program.
    ("'0123456789'.matches('a+')", 72, 72 + 300 + 8 * 6 + 3),
    ("strings.all(e, true)", 2, 2 + 1 + DEFAULT_ITEMS * 6),
]


@pytest.mark.parametrize(("text", "least", "most"), TABLE, ids=[row[0] for row in TABLE])
def test_units(text: str, least: int, most: int) -> None:
    cost = cost_of(text)
    assert (cost.min, cost.max) == (least, most)


def test_an_expression_within_its_limit_has_no_issue() -> None:
    assert limit_issue(cost_of("ints.all(e, e > 0)"), 1_000, "") is None


LIMITS = [
    (
        "ints.all(e, ints.all(f, ints.all(g, e == f)))",
        "most of it is 'all' over ints",
        "nest fewer loops, or look up by key instead of searching",
        5,
    ),
    (
        "b || x.spec.list.all(e, e.name.startsWith('a'))",
        "most of it is 'all' over x.spec.list",
        (
            "set maxItems, maxLength or maxProperties in the schema of x.spec.list, x.spec.list[].name "
            "(1,000 items and 4,096 characters are assumed)"
        ),
        17,
    ),
    (
        "s.lastIndexOf(s)",
        "most of it is 'lastIndexOf'",
        "set maxItems, maxLength or maxProperties in the schema of s (1,000 items and 4,096 characters are assumed)",
        2,
    ),
]


@pytest.mark.parametrize(("text", "message", "hint", "offset"), LIMITS, ids=[row[0] for row in LIMITS])
def test_the_costliest_part_is_named_with_what_drives_it(text: str, message: str, hint: str, offset: int) -> None:
    issue = limit_issue(cost_of(text), 10_000, text)
    assert issue is not None
    assert issue.message.endswith(message)
    assert "10,000 are allowed" in issue.message
    assert issue.hint == hint
    assert issue.offset == offset


def test_every_part_has_a_range_within_the_whole() -> None:
    cost = cost_of("self.spec.taints.exists(t, t.key == 'a' || t.effect in ['b', s]) && ints.map(e, e + 1).size() > 3")
    assert all(part.min <= part.max for part in cost.by_node.values())
    assert cost.by_node[0] == IntRange(cost.min, cost.max)


def test_nothing_overflows() -> None:
    text = "true"
    for level in range(30):
        text = f"x.all(v{level}, {text})"
    cost = cost_of(text)
    assert cost.max == CEILING
    assert limit_issue(cost, 10**6, text) is not None


ranges = st.tuples(st.integers(0, CEILING), st.integers(0, CEILING)).map(lambda pair: IntRange(min(pair), max(pair)))


@given(ranges, ranges)
def test_ranges_stay_ranges(one: IntRange, other: IntRange) -> None:
    for made in (one + other, one * other, one | other, one.or_nothing, one.scaled(0.1)):
        assert 0 <= made.min <= made.max <= CEILING
    assert one + other == other + one
    assert one | other == other | one
