"""What holds for every expression: costs stay under their estimate, horizons are right, checked means typed."""

import re
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from muster import cel
from muster.cel.cost import estimate
from muster.cel.types import BOOL, DURATION, INT, STRING, TIMESTAMP, ListType, MapType, OptionalType, Type
from tests.cel.comparing import comparable
from tests.cel.environment import VARIABLES
from tests.cel.expressions import NOW, Grower, swollen, variable_of
from tests.support.examples import often

seeds = st.integers(0, 2**32)
WORLD = {name: type_ for name, type_ in VARIABLES.items() if not isinstance(type_, OptionalType)}
ENV = cel.Env(variables=WORLD)
WANTED = (BOOL, BOOL, BOOL, INT, STRING, TIMESTAMP, ListType(INT), MapType(STRING, INT))
_TYPE_ERROR = re.compile(r"no such overload|undeclared|is not a map|neither a list nor a map")


def compiled(random: Random, depth: int, *wanted: Type) -> cel.Program:
    """Return a compiled random expression, skipping those that the checker refuses."""
    text = Grower(random, WORLD).grow(random.choice(wanted or WANTED), depth)
    assume(cel.inspect(text, ENV).ok)
    return cel.compile(text, ENV)


def world(random: Random) -> dict[str, Any]:
    return {name: variable_of(random, type_) for name, type_ in WORLD.items()}


@settings(max_examples=often(150))
@given(seeds, st.integers(0, 5))
def test_what_the_checker_accepts_has_no_type_errors_on_data_that_fits(seed: int, depth: int) -> None:
    random = Random(seed)
    program = compiled(random, depth)
    result = program.run(world(random))
    # A `dyn` may turn out to be anything, and what may be null may be null: expressions with neither are promised.
    if result.error is not None and not re.search(r"\bx\b|anything|free|paused|renewTime", program.text):
        assert not _TYPE_ERROR.search(result.error.message), (program.text, result.error)


@settings(max_examples=often(120))
@given(seeds, st.integers(0, 3))
def test_no_evaluation_spends_more_than_the_estimate(seed: int, depth: int) -> None:
    random = Random(seed)
    program = compiled(random, depth)
    most = estimate(program.node, cel.inspect(program.text, ENV)).max
    data = world(random)
    assert program.run(data).cost <= most, program.text
    large = {name: swollen(random, WORLD[name], value) for name, value in data.items()}
    assert program.run(large).cost <= most, program.text


#: Where every expression reads the clock, and the instants that it is compared with lie around it.
TIMED = {"now": TIMESTAMP, "due": TIMESTAMP, "since": TIMESTAMP, "span": DURATION, "n": INT}
TIMED_ENV = cel.Env(variables=TIMED)
LEFT = (("now", TIMESTAMP), ("(now + span)", TIMESTAMP), ("(now - since)", DURATION), ("(due - now)", DURATION))


def timed(random: Random, depth: int) -> str:
    """Return an expression that compares the clock with something, besides another part."""
    grower = Grower(random, TIMED)
    left, kind = random.choice(LEFT)
    compared = f"({left} {random.choice(('<', '<=', '>', '>=', '==', '!='))} {grower.grow(kind, depth)})"
    return random.choice(("{} && {}", "{} || {}", "{} == {}", "({} ? 1 : 2) > ({} ? n : 1)")).format(
        compared, grower.grow(BOOL, depth)
    )


@pytest.mark.parametrize("depth", range(4))
def test_nothing_changes_before_the_horizon(depth: int) -> None:
    ahead = 0
    for seed in range(often(25)):
        random = Random(seed)
        text = timed(random, depth)
        if not cel.inspect(text, TIMED_ENV).ok:
            continue
        program = cel.compile(text, TIMED_ENV)
        data = {
            "now": NOW,
            "due": NOW + timedelta(seconds=random.randrange(-60, 900)),
            "n": random.randrange(4),
            "since": NOW - timedelta(seconds=random.randrange(900)),
            "span": timedelta(seconds=random.randrange(1500)),
        }
        now = program.run(data)
        if now.horizon is None:
            instants = [NOW + timedelta(seconds=random.randrange(1, 10**8)) for _ in range(4)]
        else:
            assert now.horizon > NOW
            last = now.horizon - timedelta(seconds=1)
            instants = [last, NOW + timedelta(seconds=random.randrange((now.horizon - NOW).seconds))]
            ahead += 1
        for instant in instants:
            then = program.run({**data, "now": instant})
            assert (comparable(then.value), then.error is None) == (comparable(now.value), now.error is None), text
    assert ahead > often(25) / 8, "what this is about has happened"


@settings(max_examples=often(80))
@given(seeds, st.integers(0, 4))
def test_evaluating_again_and_traced_gives_the_same(seed: int, depth: int) -> None:
    random = Random(seed)
    program = compiled(random, depth)
    data = world(random)
    once, again, traced = program.run(data), program.run(data), program.run(data, trace=True)
    assert (comparable(once.value), once.horizon, once.cost) == (comparable(again.value), again.horizon, again.cost)
    assert comparable(once.value) == comparable(traced.value)


HEAVY = """
s.contains(s) | s.matches('a+b') | s.split('a') | s.split('').join('-') | s.replace('a', 'b') | s.replace('', 'xyz')
strings.join(',') | s == s | labels == labels | s in strings | strings.exists(a, a in strings) | strings.sort()
sets.equivalent(strings, strings) | strings.distinct() | '%s%s'.format([strings, s]).size() | s.findAll('a')
strings.map(a, a + a).join('') | strings.map(a, [a]).flatten() | labels.transformMap(k, v, k + v) | s.indexOf('b')
regex.replace(s, 'a', 'bb') | lists.range(500).map(n, n) | ints.map(a, ints.map(b, [a, b])).flatten().size()
cel.bind(t, s + s, t + t).size() | strings.sortBy(a, a.size()) | strings.max() | s < s | s.upperAscii().reverse()
strings + strings | base64.encode(bytes(s))
"""


@pytest.mark.parametrize("text", [text.strip() for text in re.split(r"[|\n]", HEAVY) if text.strip()])
def test_the_estimate_covers_heavy_work_on_large_data(text: str) -> None:
    program = cel.compile(text, ENV)
    most = estimate(program.node, cel.inspect(text, ENV)).max
    for seed in range(4):
        data = {name: swollen(Random(seed), WORLD[name], value) for name, value in world(Random(seed)).items()}
        result = program.run(data)
        assert result.error is None
        assert result.cost <= most
