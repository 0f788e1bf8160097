"""cel-python's interpreter on common ground, and the list of where it and the language definition part.

Where they part, the definition is followed: `docs/cel.md` has this list for its readers.
"""

import logging
import re
import sys
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import celpy
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from muster import cel
from muster.cel.types import BOOL, DURATION, INT, STRING, TIMESTAMP, ListType, ObjectType, Type
from tests.cel.comparing import ERROR, comparable
from tests.cel.expressions import Grower, variable_of
from tests.cel.test_against_cel_cpp import OBJECT, REPORT, outcome

COMMON: Mapping[str, Type] = {
    "i": INT,
    "b": BOOL,
    "s": STRING,
    "d": DURATION,
    "now": TIMESTAMP,
    "ints": ListType(INT),
    "strings": ListType(STRING),
    "reports": ListType(REPORT),
    "self": ObjectType("self", {name: OBJECT.fields[name] for name in ("labels", "conditions")}),
}


@pytest.fixture(scope="module", autouse=True)
def quiet_and_as_before() -> Iterator[None]:
    """cel-python logs every error and lowers the recursion limit."""
    limit = sys.getrecursionlimit()
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
    sys.setrecursionlimit(limit)


def theirs(text: str, data: Mapping[str, Any]) -> Any:
    """Return the result of cel-python's interpreter, in comparable form."""
    env = celpy.Environment(runner_class=celpy.InterpretedRunner)
    try:
        given_ = {name: _converted(value) for name, value in data.items()}
        return comparable(_plain(env.program(env.compile(text)).evaluate(given_)))
    except Exception:  # noqa: BLE001 - it lets many classes through
        return ERROR


def _converted(value: Any) -> Any:
    return celpy.json_to_cel(value)  # type: ignore[attr-defined]


def _plain(value: Any) -> Any:
    if isinstance(value, celpy.celtypes.BoolType):
        return bool(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return value


#: (expression, what we say, what cel-python 0.5 says)
PARTED = [
    ("1 == 1.0", True, ERROR),
    ("'a' == dyn(1)", False, ERROR),
    ("null == dyn(1)", False, ERROR),
    ("1 in [dyn(1.0)]", True, ERROR),
    ("[1] == [dyn(1.0)]", True, ERROR),
    ("2 < 1.5", False, ERROR),
    ("true == dyn(1)", False, True),
    ("1 + dyn(1u)", ERROR, 2),
    ("dyn(1) && true", ERROR, 1),
    ("string(true)", "true", "True"),
    ("string(1.0)", "1", "1.0"),
    ("1.0 / 0.0 > 1.0 && -1.0 / 0.0 < 1.0", True, False),
    ("timestamp(0) == timestamp('1970-01-01T00:00:00Z')", True, ERROR),
    ("timestamp('2020-01-01') < timestamp('2021-01-01T00:00:00Z')", ERROR, True),
    ("duration('1d') == duration('24h')", ERROR, True),
    ("int('0x1')", ERROR, 1),
    ("'''a\nb'''", "a\nb", "ab"),
    ("has({}.a.b)", ERROR, False),
    ("size({'a': 1 / 0})", ERROR, 1),
    ("[{}].exists_one(e, e.a == 1) || true", True, ERROR),
    ("{'a': 1}.?a.orValue(2)", 1, ERROR),
]


@pytest.mark.parametrize(("text", "ours", "other"), PARTED, ids=[row[0] for row in PARTED])
def test_where_we_part(text: str, ours: Any, other: Any) -> None:
    assert outcome(cel.compile(text), {}) == (ours if ours is ERROR else comparable(ours))
    assert theirs(text, {}) == (other if other is ERROR else comparable(other))


#: Where to expect a difference of the list above: doubles and their texts, uint, conversions, errors inside `has`, map
#: literals and `exists_one` (which cel-python keeps as values, or lets through `||`), parts of negative durations.
_PARTED = re.compile(r"\d\.\d|half|string\(|1e300|\du|int\(|has\(|\{|exists_one|get(Hours|Minutes|Seconds)")


@settings(max_examples=120)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_on_common_ground_the_values_are_the_same(seed: int, depth: int) -> None:
    random = Random(seed)
    text = Grower(random, COMMON).grow(random.choice((BOOL, BOOL, INT, STRING, ListType(INT))), depth)
    assume(not _PARTED.search(text))
    data = {name: variable_of(random, type_) for name, type_ in COMMON.items()}
    assert outcome(cel.compile(text), data) == theirs(text, data), text
