"""What a run meets of types that the checker could not know: an error of the expression's, never one of ours."""

from itertools import product

import pytest

from muster import cel
from muster.cel.library.registry import table
from muster.cel.types import DYN

LITERALS = (
    "1",
    "-9223372036854775808",
    "18446744073709551615u",
    "1.5",
    "double('nan')",
    "double('inf')",
    "'x'",
    "''",
    "b'x'",
    "true",
    "null",
    "[]",
    "[1, 'a']",
    "{}",
    "{'a': 1}",
    "{1: 2}",
    "timestamp('9999-12-31T23:59:59Z')",
    "timestamp('0001-01-01T00:00:00Z')",
    "duration('2562047h')",
    "optional.none()",
    "optional.of(1)",
    "type(1)",
    "'2026'",
)


def outcome(text: str) -> cel.EvaluationResult | None:
    """Return the result of an expression; None if it does not compile. Raises only for a bug of muster."""
    try:
        program = cel.compile(text, cel.Env())
    except cel.CompileError:
        return None
    return program.run({})


@pytest.mark.parametrize("method", ["or(optional.none())", "or(dyn(1))", "orValue(1)", "value()", "hasValue()"])
@pytest.mark.parametrize("value", ["1", "'x'", "[1]", "{'a': 1}", "null", "true"])
def test_what_is_no_optional_has_no_such_method(value: str, method: str) -> None:
    result = outcome(f"dyn({value}).{method}")
    assert result is not None
    assert "overload" in str(result.error)


def test_the_other_of_or_must_be_an_optional_too() -> None:
    found = outcome("dyn(optional.none()).or(dyn(1))")
    assert found is not None
    assert found.error is not None
    sound = outcome("dyn(optional.of(2)).or(dyn(optional.of(1))).value() == 2")
    assert sound is not None
    assert sound.value is True


VALUES = tuple(result.value for text in LITERALS if (result := outcome(text)) is not None)


@pytest.mark.parametrize(("name", "member"), sorted(key for key in table() if key[0][0].isalpha()))
def test_no_function_is_surprised(name: str, member: bool) -> None:
    """Each call succeeds or fails with a message, for arguments of every type at run time."""
    function = table()[name, member]
    for count in filter(function.accepts, range(5)):
        names = [f"v{number}" for number in range(count)]
        call = f"{names[0]}.{name}({', '.join(names[1:])})" if member else f"{name}({', '.join(names)})"
        try:
            program = cel.compile(call, cel.Env(dict.fromkeys(names, DYN)))
        except cel.CompileError:
            continue
        step = (1, 1, 1, 3, 6, 6)[count] if count < 6 else 12
        for values in product(VALUES[::step], repeat=count):
            program.run(dict(zip(names, values, strict=True)))
