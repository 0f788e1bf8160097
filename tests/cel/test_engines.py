"""Generated code and closures are two engines for one language: they give the same value, or both fail.

`evaluate` hides a failing body behind the closures, so the body itself is called here: an exception other than those
that CEL's errors are made of is a mistake of the generator.
"""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from muster import cel
from muster.cel import closures
from muster.cel.codegen.support import ABSORBED
from muster.cel.folds import Frame
from muster.cel.program import Program
from muster.cel.runtime.budget import EXPRESSION_LIMIT
from tests.cel.expressions import Grower
from tests.cel.test_properties import ENV, WANTED, WORLD, world
from tests.conformance import cel as cases
from tests.support.examples import often

CASES = [case for case in cases.cases(Path(cases.__file__).parent / "cases") if not case.get("check_only")]

EXPRESSIONS = """
a == b && b == c || !(a == c)
a && b && c
a || b || c
(a || b) && (b || c) && (a || c)
a ? b : c
(a ? b : c) == (b ? a : c)
a + b < c
1 + a * 2 - b
size(a) + size(b) < 4
a in b || b in c
'x' in a && 'x' in b
a[0] == b['x']
a.x == b.x || has(a.x) && has(b.y)
a.all(i, i == b) || a.exists(i, i == c)
a.exists_one(i, i == b)
a.filter(i, i != b).map(i, i + c)
a.map(i, i > b, i * 2)
[a, b, c].all(x, [a, b].exists(y, x == y))
{'x': a, 'y': b}.x == c
a.?x.orValue(b) == c
a.startsWith('x') || b.contains(c)
cel.bind(x, a + b, x == c || x == b)
a == 0 || b == 1 || c == 1.0 || a == true || b == null
a != 0 && b != 1 && c != 'x'
-a < b && !b
a < 5 && 3.5 >= b || 'k' > c
a.map(i, v, i + 1) == b
a.transformMap(i, v, v == b, i) == c
a.size() == b.size() && type(a) == type(b)
[?a.?x, ?b.?y] == [c]
a - b > duration('5m')
""".strip().splitlines()

VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    5,
    -3,
    2**63 - 1,
    cel.UInt(1),
    1.0,
    float("nan"),
    "",
    "x",
    b"x",
    [],
    [1, 2],
    ["x", True],
    {},
    {"x": 1},
    {"x": [1]},
    [[1], {"x": "y"}],
    {"y": None},
]


def outcome(run: Any) -> str:
    """Return the value as text, or that CEL has none; anything unexpected is raised."""
    try:
        return cases.show(run())
    except ABSORBED:
        return "error"


def both(program: Program, variables: dict[str, Any]) -> tuple[str, str]:
    """Return the results of generated code and of closures."""
    step = closures.build(program.node, program.env, program.types)
    return (
        outcome(lambda: program._body(variables, [EXPRESSION_LIMIT])),
        outcome(lambda: step(Frame(variables, [EXPRESSION_LIMIT]))),
    )


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_engines_agree_on_values_of_all_kinds(expression: str) -> None:
    program = cel.compile(expression)
    assert program.source
    for position, a in enumerate(VALUES):
        for b in VALUES:
            for c in (VALUES[position - 1], VALUES[(position * 7 + 3) % len(VALUES)]):
                generated, interpreted = both(program, {"a": a, "b": b, "c": c})
                assert generated == interpreted, (a, b, c)
    generated, interpreted = both(program, {"b": True})
    assert generated == interpreted


def test_engines_agree_on_the_cases_of_the_specification() -> None:
    for case in CASES:
        try:
            program = cel.compile(case["expr"], cases._env(case))
        except cel.CompileError:
            continue
        variables = {name: cases.decode(value) for name, value in case.get("bindings", {}).items()}
        generated, interpreted = both(program, variables)
        assert generated == interpreted, case["expr"]
        assert program.source, case["expr"]


ODD: list[Any] = [None, True, 0, "x", 1.5, [], {}, [1], {"a": 1}, "2026-01-01T00:00:00Z", cel.UInt(1)]


def spoiled(random: Random, value: Any) -> Any:
    """Return data with some values exchanged for others of any type, and some keys gone."""
    if random.random() < 0.15:
        return random.choice(ODD)
    if isinstance(value, dict):
        return {key: spoiled(random, item) for key, item in value.items() if random.random() > 0.1}
    if isinstance(value, list):
        return [spoiled(random, item) for item in value]
    return value


@settings(max_examples=often(100))
@given(st.integers(0, 2**32), st.integers(1, 5))
def test_engines_agree_on_data_that_breaks_its_schema(seed: int, depth: int) -> None:
    random = Random(seed)
    text = Grower(random, WORLD).grow(random.choice(WANTED), depth)
    assume(cel.inspect(text, ENV).ok)
    fitting = world(random)
    for variables in (fitting, {name: spoiled(random, value) for name, value in fitting.items()}):
        for env in (ENV, cel.Env(checked=False)):
            generated, interpreted = both(cel.compile(text, env), variables)
            assert generated == interpreted, text
