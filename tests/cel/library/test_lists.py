# ruff: noqa: E501 - one expression per line
"""Lists: sums, order, ranges and flattening, and values without an order."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
[1, 2, 3].sum() == 6 && [1.5, 2.5].sum() == 4.0 && [duration('1s'), duration('2s')].sum() == duration('3s') && [].sum() == 0
[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3 && ['b', 'a'].min() == 'a' && [1, 2, 2].isSorted() && ![2, 1].isSorted()
[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1 && [1.0].indexOf(1) == 0
[1, [2, [3]]].flatten() == [1, 2, [3]] && [1, [2, [3]]].flatten(2) == [1, 2, 3]
[1, 1.0, 1u, true, 'a', 'a', [1], [1.0], {'x': 1}, {'x': 1u}].distinct().size() == 5
[b'x', b'x', true, true, null, null, 1.5, 1.5, {'a': [1]}, {'a': [1.0]}].distinct().size() == 5
[{1: 'x'}, {1: 'x'}, {2: 'x'}].distinct().size() == 2 && [9007199254740993, 9007199254740992.0].distinct().size() == 1
[timestamp(0), timestamp(0), duration('1s')].distinct().size() == 2 && [[[[['x']]]], [[[['x']]]]].distinct().size() == 1
[timestamp('2026-01-02T00:00:00Z'), timestamp('2026-01-01T00:00:00.5Z')].sort()[0] == timestamp('2026-01-01T00:00:00.5Z')
[timestamp('2026-01-01T00:00:00.000000001Z'), timestamp('2026-01-01T00:00:00Z')].sort()[1] > timestamp('2026-01-01T00:00:00Z')
[duration('2s'), duration('1.000000001s'), duration('-1s')].sort() == [duration('-1s'), duration('1.000000001s'), duration('2s')]
[{'a': duration('2s')}, {'a': duration('1ns')}].sortBy(x, x.a)[0].a == duration('1ns')
[3, 1, 2].sort() == [1, 2, 3] && ['bb', 'a'].sortBy(s, s.size()) == ['a', 'bb'] && [1, 2, 3].slice(1, 3) == [2, 3]
lists.range(3) == [0, 1, 2] && lists.range(0) == [] && [1].first().value() == 1 && ![].last().hasValue()
""".strip().splitlines()

FAILS = """
[1, 'a'].sort()
[].min()
['a'].sum()
[1].slice(1, 0)
[1].slice(-1, 0)
[1].slice(0, 2)
[1].slice(0, 1.0)
[1, 'a'].max()
[[1]].flatten(-1)
[{'x': 1}].sort()
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
