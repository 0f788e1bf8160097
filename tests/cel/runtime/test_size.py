"""A value that shares its parts is as large as what it is when it is written out."""

import tracemalloc
from typing import Any

import pytest

from muster import cel
from muster.cel.runtime.size import MOST_PARTS, require_size

#: How a step makes a value of the one before it, `{0}`, and the first one.
STEPS = {
    "list": ("[a]", "[{0}, {0}]"),
    "map": ("{'k': a}", "{{'a': {0}, 'b': {0}}}"),
    "both": ("[a]", "{{'a': [{0}, {0}]}}"),
    "loop": ("[a]", "[1, 2].map(i, {0})"),
    "loop over data": ("[a]", "items.map(i, {0})"),
    "lists joined": ("[a]", "{0} + {0}"),
    "one of two": ("[a]", "a == 'x' ? [] : [{0}, {0}]"),
    "texts joined": ("a", "{0} + {0}"),
    "join": ("a", "[{0}, {0}].join(',')"),
    "format": ("a", "'%s%s'.format([{0}, {0}])"),
    "replace": ("a", "('a' + {0}).replace('a', 'aa')"),
    "optional": ("[a]", "[optional.of({0}), ?optional.of({0})]"),
    "map of maps": ("{'k': a}", "{0}.transformMap(k, v, {0})"),
}
DATA = {"a": "ab", "items": [1, 2]}


def chain(kind: str, depth: int, use: str = "{}") -> str:
    first, step = STEPS[kind]
    text = use.replace("{}", f"x{depth}")
    for number in range(depth, 0, -1):
        text = f"cel.bind(x{number}, {step.format(f'x{number - 1}')}, {text})"
    return f"cel.bind(x0, {first}, {text})"


def outcome(text: str) -> Any:
    """The value, or the error; of a run and of an evaluation, and within a limit of memory."""
    tracemalloc.start()
    try:
        program = cel.compile(text, cel.Env(max_cost=20_000))
        result = program.run(DATA)
        budget = cel.CostBudget(20_000)
        for evaluate in (program.evaluate, lambda data: program.value(data, budget)):
            if result.error is None:
                assert evaluate(DATA) == result.value
            else:
                with pytest.raises(cel.EvaluationError) as caught:
                    evaluate(DATA)
                assert caught.value.message == result.error.message or isinstance(caught.value, cel.BudgetExceeded)
        return result.value if result.error is None else result.error
    except cel.CompileError as error:
        return error
    finally:
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [kind for kind in STEPS if kind != "optional"])
def test_a_small_one_is_a_value(kind: str) -> None:
    assert not isinstance(outcome(chain(kind, 5)), Exception)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("depth", [25, 64])
@pytest.mark.parametrize("kind", [kind for kind in STEPS if kind != "map of maps"])
def test_a_large_one_is_an_error(kind: str, depth: int) -> None:
    error = outcome(chain(kind, depth))
    assert isinstance(error, cel.CelError), error
    if isinstance(error, cel.CompileError):
        assert len(error.issues) == 1
        assert "when it is written out" in error.issues[0].message
        assert error.issues[0].offset > 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "use", ["{} == {}", "{} in [{}]", "[{}].exists(x, x == {})", "[{}, {}].distinct()", "{} != [{}]"]
)
@pytest.mark.parametrize("kind", ["list", "map", "one of two", "loop over data"])
def test_comparing_large_ones_ends(kind: str, use: str) -> None:
    assert isinstance(outcome(chain(kind, 40, use)), (bool, list, cel.CelError))


@pytest.mark.parametrize("use", ["size({})", "{}[0] == 1 || size({}) == 2", "has({}.a)"])
def test_looking_at_a_part_of_a_large_one_is_free(use: str) -> None:
    kind = "map" if "has" in use else "list"
    assert not isinstance(outcome(chain(kind, 40, use)), Exception)


def test_work_grows_with_the_parts_in_memory() -> None:
    value: list[Any] = ["x" * 1000]
    for _ in range(60):
        value = [value, value]
    with pytest.raises(cel.EvaluationError, match="when it is written out"):
        require_size(value)
    require_size(["x" * (MOST_PARTS - 10)])
    require_size([["x"] * 1000] * 1000)
    for _ in range(300):
        value = [value]
    with pytest.raises(cel.EvaluationError, match="nested too deep"):
        require_size(value)
