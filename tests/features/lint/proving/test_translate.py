"""The translation is the evaluation: where the two can be compared, they agree."""

from random import Random

import pytest

from muster import cel
from muster.features.lint.proving.logic import Model, both, negation
from muster.features.lint.proving.solver import Solver
from muster.features.lint.proving.translate import Translator
from muster.features.lint.proving.unknown import condition_of
from muster.features.lint.proving.values import given
from muster.features.lint.proving.world import SymbolicWorld
from tests.features.lint.proving import generated_policies
from tests.features.lint.proving.generated import ENV, INPUTS, Generator, check


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        # what fails is absorbed by what decides, on either side
        ("o.n == 1 || true", {"true"}),
        ("o.n == 1 && false", {"false"}),
        ("o.n == 1 || p", {"true", "false", "fails"}),
        ("l.exists(e, e.s == 'a')", {"true", "false", "fails"}),
        ("has(o.n) && o.n == 1", {"true", "false"}),
        ("!has(o.n) || o.n != 1", {"true", "false"}),
        # 64 bits
        ("i + 1 > i", {"true", "fails"}),
        ("-i == i", {"true", "false", "fails"}),
        ("i / j * j + i % j == i", {"true", "fails"}),
        ("i * 2 == 7", {"false", "fails"}),
        # null is a value of its own
        ("o.s == null || o.s != 'a' || o.s == 'a'", {"true", "fails"}),
        ("has(o.t) && o.t != null && o.t - o.t == duration('0s')", {"true", "false"}),
        # texts
        ("s + 'b' == 'ab'", {"true", "false"}),
        ("s.startsWith('a') && !s.contains('a')", {"false"}),
        ("duration(string(i) + 's') > duration('1h')", {"true", "false", "fails"}),
        # lists
        ("x.all(e, e > 1) && x.exists(e, e == 1)", {"false"}),
        ("size(x.filter(e, e > 1)) > size(x)", {"false"}),
        ("x.exists_one(e, e == 1) && !(1 in x)", {"false"}),
        ("x[0] == 1 && !(1 in x)", {"false", "fails"}),
        ("x == [] && size(x) > 0", {"false"}),
        # maps whose keys are known, and the one that is read is not
        ("{'a': 1, 'b': 2}[s] > 0", {"true", "fails"}),
        ("s in {'a': 1} && {'a': 1}[s] != 1", {"false"}),
        ("{'a': 1}[?s].orValue(7) == 7", {"true", "false"}),
        # times
        ("t + duration('1h') > t", {"true", "fails"}),
        ("t - duration('1h') < timestamp('2026-01-01T00:00:00Z')", {"true", "false", "fails"}),
        ("o.?n.orValue(1) == 1", {"true", "false"}),
    ],
)
def test_what_can_come_of_an_expression(text: str, outcomes: set[str]) -> None:
    assert check(text, Random(text)) == outcomes


@pytest.mark.parametrize(
    "text", ["s.matches('a+')", "s.lowerAscii() == 'a'", "x.sum() == 3", "type(i) == int", "s.split(',')[0] == 'a'"]
)
def test_what_is_not_translated_may_be_anything(text: str) -> None:
    # There are models of both that the evaluator need not confirm; what matters is that nothing is excluded.
    world = SymbolicWorld()
    translator = Translator(world, {name: given(world.input(kind, name).cases) for name, kind in INPUTS.items()})
    fails, truth = condition_of(world, translator.program(cel.compile(text, ENV)))
    for question in (both(negation(fails), truth), both(negation(fails), negation(truth))):
        assert isinstance(Solver(world).find(question), Model)


@pytest.mark.parametrize("text", ["dyn(s).join(',') == 'a'", "dyn(i).lowerAscii() == 'a'", "dyn(null).trim() == ''"])
def test_what_is_given_something_else_may_fail(text: str) -> None:
    world = SymbolicWorld()
    translator = Translator(world, {name: given(world.input(kind, name).cases) for name, kind in INPUTS.items()})
    fails, _ = condition_of(world, translator.program(cel.compile(text, ENV)))
    assert isinstance(Solver(world).find(fails), Model)


@pytest.mark.parametrize("seed", range(12))
def test_the_solver_and_the_evaluator_agree_on_random_expressions(seed: int) -> None:
    random = Random(seed)
    check(Generator(random).boolean(3), random)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # of generated code that indexes what is always null
def test_nothing_that_is_proved_of_policies_without_types_is_ever_seen() -> None:
    random = Random(7)
    policies = [generated_policies.policy(random) for _ in range(12)]
    assert sum(generated_policies.hold(found, random) for found in policies if found is not None) > 5
