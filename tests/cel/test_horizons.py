"""Every function of the registry, with arguments that move with `now`: no outcome changes before its horizon."""

from datetime import datetime, timedelta
from itertools import islice
from random import Random

import pytest

from muster import cel
from muster.cel.declarations import Overload, TimeUse
from muster.cel.library.registry import LibraryFunction, libraries
from muster.cel.types import BOOL, INT, STRING, TIMESTAMP, ListType, MapType
from tests.cel.calls import NOW, OVERLOADS, VARIABLES, Caller, held, outcome
from tests.support.examples import often

ROWS = [row for library in libraries() for row in library.functions]
ENVS = (cel.Env(), cel.Env(variables=VARIABLES))
WANTED = (BOOL, BOOL, INT, STRING, TIMESTAMP, ListType(TIMESTAMP), MapType(STRING, TIMESTAMP))


def compiled(text: str, env: cel.Env) -> cel.Program | None:
    """Return the program of an expression that the environment accepts."""
    try:
        return cel.compile(text, env)
    except cel.CompileError:
        return None


@pytest.mark.parametrize("overload", OVERLOADS, ids=[overload.id for overload in OVERLOADS])
def test_the_horizon_of_a_call_is_never_late(overload: Overload) -> None:
    random = Random(overload.id)
    caller = Caller(random)
    for _ in range(often(3)):
        text = caller.call(overload, random.randrange(2))
        for env in ENVS:
            if (program := compiled(text, env)) is not None:
                held(program, random)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", [row for row in ROWS if row.may_move], ids=lambda row: str(row.name))
def test_a_row_does_with_moving_values_what_it_declares(row: LibraryFunction) -> None:
    """A function that carries its arguments has no horizon; one that compares or reads them has one."""
    random = Random(row.name)
    caller = Caller(random, read=False)
    horizons = (held(cel.compile(caller.call(random.choice(row.overloads))), random) for _ in range(300))
    if row.moving is TimeUse.CARRIED:
        assert not any(soon(horizon) for horizon in islice(horizons, 40))
    else:
        assert any(soon(horizon) for horizon in horizons)


def soon(horizon: datetime | None) -> bool:
    """Return whether time alone changes something within years: fast values leave their range within decades."""
    return horizon is not None and horizon - NOW < timedelta(days=10_000)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_nothing_changes_before_the_horizon_of_any_expression(depth: int) -> None:
    ahead = 0
    for seed in range(often(60)):
        random = Random(1_000 * depth + seed)
        text = Caller(random).grow(random.choice(WANTED), depth)
        program = compiled(text, random.choice(ENVS))
        if program is not None:
            ahead += held(program, random) is not None
    assert ahead > often(7), "what this is about has happened"


#: Expressions in which a moving value is inside another value.
NESTED = """
'%s'.format([[now]]) | '%s'.format([{'a': [now - t]}]) | '%s'.format([now - t]) == '100.5s' | string(now)
int(now - t) > 100000000000 | int(t - now) < -200000000000 | optional.ofNonZeroValue(now - t).hasValue()
optional.ofNonZeroValue(u - now).orValue(d) | [[now]] == [[u]] | {'a': now} == {'a': u} | {'a': [now]} != {'a': [u]}
optional.of(now) == optional.of(u) | now in [t, u] | [now] in [[t], [u]] | [t, now, u].indexOf(u) | [now, u].distinct()
[u, now, t].sort() | [u, now].sort()[0] == now | [{'at': u}, {'at': now}].sortBy(x, x.at)[0].at == now
[now - t, d].sort()[0] == d | sets.contains([now], [u]) | [now, u].max() == now | [t, now, u].isSorted()
now > u ? now.getSeconds() : 1 / 0 | 1 / (int(u - now) / 1000000000) > 0 | [1, 2][now.getSeconds()] == 2
1 / (now - t).getMinutes() > 0 || now > u | timestamp(string(now)) > u | string(now).matches('00:0[01]:')
{string(now): 1}['2026-01-01T00:00:00Z'] == 1 | {'a': 1}[now] | [1][now] | timestamp(now - t) | now + 1 | {now: 1}
duration(string(now - t)) > d | now.getHours('Europe/Berlin') | string(now.getDate()).size() | has({'a': now}.a)
cel.bind(x, now - t, x > d ? string(x) : 'young') | dyn(now) == 1 | dyn(now - t) < d | type(now) == type(t)
[t, u].map(x, now - x).max() > d | {'a': u}.exists(k, v, v < now) | [t, u].filter(x, x < now).size()
(now > u || 1 / 0 > 0) && true | now < u && 1 / 0 > 0 | math.greatest((now - t).getSeconds(), 200) == 200
"""


@pytest.mark.parametrize("text", [text.strip() for line in NESTED.strip().splitlines() for text in line.split(" | ")])
def test_no_container_conversion_or_error_hides_the_horizon(text: str) -> None:
    for seed in range(often(4)):
        held(cel.compile(text), Random(seed))


#: (an expression, when it changes): bounds of times end some values, and begin others.
BOUNDS = [
    ("timestamp('2318-04-12T23:47:20Z') - now > d", "2026-01-01T00:00:04"),
    ("now - timestamp('1733-09-22T00:12:50Z') > d", "2026-01-01T00:00:07"),
    ("timestamp('9999-12-31T23:59:59Z') + (now - t) > t", "2026-01-01T00:00:01"),
    ("(timestamp('0001-01-01T00:00:05Z') - (t - now)).getSeconds()", "2026-01-01T00:00:01"),
    ("timestamp('0001-01-01T00:00:05Z') - (now - t) > t", "2026-01-01T00:00:06"),
    ("now + duration('69898631h59m55s') > t", "2026-01-01T00:00:05"),
    ("now - timestamp('1970-01-01T00:00:00Z') > d", None),
]


@pytest.mark.parametrize(("text", "expected"), BOUNDS)
def test_the_bounds_of_times_are_horizons(text: str, expected: str | None) -> None:
    program = cel.compile(text)
    data = {"t": NOW, "u": NOW, "d": NOW - NOW}
    result = program.run({**data, "now": NOW})
    if expected is None:
        assert result.horizon is None
        return
    horizon = cel.compile(f"timestamp('{expected}Z')").evaluate({})
    assert result.horizon == horizon
    assert outcome(program, data, horizon) != outcome(program, data, NOW)
