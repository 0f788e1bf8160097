"""The table of functions: that it reads, and that it is one table."""

import re

import pytest

from muster.cel.declarations import OPERATORS, functions, parse_overload
from muster.cel.library import registry
from muster.cel.types import INT, STRING, ListType, OpaqueType, TypeParam


def test_ids_are_unique() -> None:
    ids = [overload.id for overloads in functions().values() for overload in overloads]
    assert sorted(ids) == sorted(set(ids))


def test_every_operator_is_declared() -> None:
    assert OPERATORS.keys() - functions().keys() == set()


def _implemented() -> set[tuple[str, bool, int]]:
    """Return what the runtime has, by name, whether it is called on a receiver, and number of arguments."""
    counts = range(6)
    return {
        (name, member, count)
        for (name, member), function in registry.table().items()
        for count in counts
        if function.accepts(count)
    }


def _declared() -> set[tuple[str, bool, int]]:
    return {
        (overload.function, overload.member, count)
        for overloads in functions().values()
        for overload in overloads
        if overload.function not in OPERATORS
        for count in range(6)
        if overload.accepts_count(count)
    }


def test_what_is_declared_is_what_the_runtime_has() -> None:
    assert sorted(_declared() - _implemented()) == []
    assert sorted({entry[:2] for entry in _implemented()} - {entry[:2] for entry in _declared()}) == []


def test_every_type_variable_of_a_result_occurs_in_a_parameter() -> None:
    for overloads in functions().values():
        for overload in overloads:
            given = " ".join(map(str, overload.params))
            wanted = set(re.findall(r"type_param:\w+", str(overload.result)))
            assert all(variable in given for variable in wanted) or overload.id == "optional_none"


def test_a_line_declares_an_overload() -> None:
    overload = parse_overload("cidr_x  containsIP  net.CIDR.(list(A), int...) -> string")
    assert overload.params == (OpaqueType("net.CIDR"), ListType(TypeParam("A")), INT)
    assert overload.result == STRING
    assert overload.member
    assert overload.variadic
    assert overload.signature == "net.CIDR.containsIP(list(A), int, ...)"
    assert [count for count in range(7) if overload.accepts_count(count)] == [3, 4, 5, 6]


@pytest.mark.parametrize("line", ["a b (int)", "a b int -> int", "a b (int -> int", "a b .(int) -> int"])
def test_what_declares_nothing_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="declares no overload|is not a type"):
        parse_overload(line)


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        ("_?_:_", "bool ? A : A"),
        ("_[_]", "map(A,B)[A]"),
        ("!_", "!bool"),
        ("@in", "A in list(A)"),
        ("math.greatest", "math.greatest(int, ...)"),
        ("size", "list(A).size()"),
    ],
)
def test_signatures_are_written_as_people_write_them(function: str, signature: str) -> None:
    assert signature in [overload.signature for overload in functions()[function]]
