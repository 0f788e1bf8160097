"""The table of functions: each function is complete, and no two conflict."""

import re
from typing import Any

import pytest

from muster.cel.declarations import OPERATORS, TimeUse, parse_overload
from muster.cel.library import registry
from muster.cel.library.registry import Declarations, Library, LibraryFunction, libraries, lookup
from muster.cel.types import BOOL
from tests.cel.library.tables import has_no_value

ROWS = [row for library in libraries() for row in library.functions]


def test_ids_are_unique() -> None:
    ids = [overload.id for overloads in Declarations().values() for overload in overloads]
    assert sorted(ids) == sorted(set(ids))


def test_every_operator_has_a_row() -> None:
    assert OPERATORS.keys() - Declarations().keys() == set()


def test_no_row_hides_another() -> None:
    assert sum(len(row.overloads) for row in ROWS) == sum(map(len, Declarations().values()))


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_every_type_variable_of_a_result_occurs_in_a_parameter(row: LibraryFunction) -> None:
    for overload in row.overloads:
        given = " ".join(map(str, overload.params))
        wanted = set(re.findall(r"type_param:\w+", str(overload.result)))
        assert all(variable in given for variable in wanted) or overload.id == "optional_none"


def test_a_declaration_of_the_callers_hides_ours() -> None:
    own = parse_overload("own_size  size  (dyn) -> bool")
    declarations = Declarations({"size": (own,)})
    assert declarations["size"] == (own,)
    assert declarations["contains"][0].result == BOOL
    assert "nothing" not in declarations


def test_an_operator_is_found_without_the_libraries() -> None:
    found = lookup("_+_", member=False)
    assert found is not None
    assert found.metered
    assert lookup("_+_", member=True) is None


def test_a_row_without_documentation_is_refused() -> None:
    def undocumented(value: Any) -> Any:
        return value

    with pytest.raises(ValueError, match=r"some.f\(\) has no documentation"):
        Library("some").plain("some_f  some.f  (A) -> A", weight=1)(undocumented)


@pytest.mark.parametrize("lines", [(), ("a  f  () -> int", "b  g  () -> int")])
def test_all_lines_declare_one_function(lines: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="no overload, or overloads of several functions"):
        Library("some").plain(*lines, weight=1, doc="x")(int)


def test_a_function_needs_a_weight() -> None:
    with pytest.raises(TypeError, match="weight"):
        Library("some").plain("some_f  some.f  (A) -> A")(int)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "signature", ["(timestamp) -> int", "duration.() -> string", "(map(string,A)) -> bool", "dyn.() -> A"]
)
def test_a_function_that_takes_times_declares_how_it_uses_moving_ones(signature: str) -> None:
    with pytest.raises(ValueError, match=r"some.f\(\) does not declare how it uses values that move with now"):
        Library("some").plain(f"some_f  some.f  {signature}", weight=1, doc="x")(int)
    Library("some").plain(f"some_f  some.f  {signature}", weight=1, moving=TimeUse.READ, doc="x")(int)


def test_a_row_that_is_never_given_times_declares_nothing_about_them() -> None:
    with pytest.raises(ValueError, match=r"some.f\(\) does not take values that move with now"):
        Library("some").plain("some_f  some.f  (net.IP) -> bool", weight=1, moving=TimeUse.READ, doc="x")(int)


@pytest.mark.parametrize("expression", ["'a'.nosuch()", "nosuch(1)"])
def test_a_name_that_no_row_has_fails_where_it_is_called(expression: str) -> None:
    assert has_no_value(expression)


def test_each_function_is_found_in_the_library_that_declares_it() -> None:
    declared = {library: {name for name, _ in registry.table(library)} for library in registry.LIBRARIES}
    assert declared == {library: set(names.split()) for library, names in registry.LIBRARIES.items()}
    assert sum(map(len, declared.values())) == len(set().union(*declared.values())), "a name in two libraries"
