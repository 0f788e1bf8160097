"""Functions of the caller, called by name or on a receiver."""

import pytest

from muster import cel
from muster.cel.types import (
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    FieldType,
    ListType,
    MapType,
    NullableType,
    ObjectType,
    Type,
)

ADD = cel.Function(lambda left, right: left + right, (INT, INT), INT)


@pytest.mark.parametrize(
    ("text", "member"),
    [("plus(a, 2) == 3", False), ("a.plus(2) == 3", True), ("[1, 2].all(x, x.plus(1) > 1)", True)],
)
def test_a_function_is_called_as_it_is_declared(text: str, member: bool) -> None:
    env = cel.Env(variables={"a": INT}, functions={"plus": cel.Function(ADD.call, ADD.parameters, INT, member=member)})
    assert cel.compile(text, env).evaluate({"a": 1}) is True


@pytest.mark.parametrize(("text", "member"), [("a.plus(2)", False), ("plus(a, 2)", True)])
def test_a_function_is_not_called_in_another_way(text: str, member: bool) -> None:
    env = cel.Env(variables={"a": INT}, functions={"plus": cel.Function(ADD.call, ADD.parameters, INT, member=member)})
    with pytest.raises(cel.CompileError):
        cel.compile(text, env)


def test_what_a_function_raises_is_an_evaluation_error() -> None:
    def refuse(text: str) -> str:
        raise KeyError(text)

    env = cel.Env(variables={"a": STRING}, functions={"find": cel.Function(refuse, (STRING,), STRING, member=True)})
    with pytest.raises(cel.EvaluationError):
        cel.compile("a.find()", env).evaluate({"a": "x"})


TIMES = (
    TIMESTAMP,
    ListType(DURATION),
    MapType(STRING, DYN),
    ObjectType("o", {"at": FieldType(NullableType(TIMESTAMP))}),
)


@pytest.mark.parametrize("parameter", TIMES)
def test_a_function_that_takes_times_declares_how_it_uses_moving_ones(parameter: Type) -> None:
    with pytest.raises(ValueError, match="declares how it uses those that move"):
        cel.Function(len, (STRING, parameter), INT)
    assert cel.Function(len, (STRING, parameter), INT, moving=cel.TimeUse.CARRIED).moving is cel.TimeUse.CARRIED


def test_a_function_of_texts_has_nothing_to_declare() -> None:
    assert cel.Function(len, (MapType(STRING, STRING), ObjectType("o", {"a": FieldType(INT)})), INT).moving is None
