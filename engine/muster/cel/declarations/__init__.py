"""What exists to be called: one declarative table, read by the checker and by the runtime alike."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from muster.cel.declarations import extensions, standard
from muster.cel.declarations.table import OPERATORS, Overload, by_function, parse_overload, parse_table

__all__ = ["OPERATORS", "Functions", "Overload", "by_function", "functions", "parse_overload", "parse_table"]

#: Overloads by the function's name; a namespaced function's name has its dots (`math.greatest`).
Functions = Mapping[str, tuple[Overload, ...]]


@cache
def functions() -> Functions:
    """Return every function and operator of the language and its libraries. Parsed on the first call."""
    tables = (standard.table(), *extensions.tables())
    return MappingProxyType(by_function(overload for table in tables for overload in parse_table(table)))
