"""The notation in which functions are declared, and how they are shown."""

import pytest

from muster.cel.declarations import parse_overload
from muster.cel.library.registry import Declarations
from muster.cel.types import INT, STRING, ListType, OpaqueType, TypeParam


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
    assert signature in [overload.signature for overload in Declarations()[function]]
