"""The namespace that all generated functions share."""

from datetime import datetime, timedelta
from typing import Any, NoReturn

from muster.cel.errors import BudgetExceeded, EvaluationError
from muster.cel.library import operators, standard
from muster.cel.runtime import comparison, conversion, maps, numbers, selection, temporal
from muster.cel.runtime.access import SPANS, TIMES, as_double, duration_at
from muster.cel.runtime.temporal import Now
from muster.cel.values import UInt


class OperationError(Exception):
    """An error of an operation in generated code. Evaluating again with closures explains it."""


class _Missing:
    """A variable without a value. It has no items, fits no type and equals nothing."""

    __slots__ = ()


FAILED = OperationError
MISSING = _Missing()

ABSORBED = (EvaluationError, KeyError, TypeError, IndexError, OperationError)
"""The errors that `&&`, `||`, `all` and `exists` absorb: those of CEL, and those that Python raises for plain data."""


def fail() -> NoReturn:
    """Raise OperationError. A function, so that it can be part of an expression."""
    raise OperationError


def over(site: int) -> NoReturn:
    """Raise BudgetExceeded."""
    raise BudgetExceeded("", site)


NAMESPACE: dict[str, Any] = {
    "__builtins__": {},
    "len": len,
    "int": int,
    "str": str,
    "dict": dict,
    "list": list,
    "bool": bool,
    "float": float,
    "UInt": UInt,
    "Now": Now,
    "datetime": datetime,
    "timedelta": timedelta,
    "OperationError": OperationError,
    "FAILED": FAILED,
    "MISSING": MISSING,
    "ABSORBED": ABSORBED,
    "BudgetExceeded": BudgetExceeded,
    "Exception": Exception,
    "KeyError": KeyError,
    "fail": fail,
    "over": over,
    "add": numbers.add,
    "subtract": numbers.subtract,
    "multiply": numbers.multiply,
    "divide": numbers.divide,
    "modulo": numbers.modulo,
    "negate": numbers.negate,
    "negation": operators.negation,
    "equal_at": comparison.equal_at,
    "different_at": comparison.different_at,
    "less": comparison.less,
    "less_equal": comparison.less_equal,
    "greater": comparison.greater,
    "greater_equal": comparison.greater_equal,
    "contains_at": comparison.contains_at,
    "keys": maps.keys,
    "pairs": maps.pairs,
    "build_map": maps.build,
    "entries_of": maps.entries_of,
    "has": selection.has,
    "index": selection.index,
    "select": selection.select,
    "optional_select": selection.optional_select,
    "optional_index": selection.optional_index,
    "build_entries": selection.build_entries,
    "present_elements": selection.present_elements,
    "difference": temporal.difference,
    "add_span": temporal.add_span,
    "subtract_span": temporal.subtract_span,
    "add_spans": temporal.add_spans,
    "subtract_spans": temporal.subtract_spans,
    "elapsed_less": temporal.elapsed_less,
    "elapsed_at_most": temporal.elapsed_at_most,
    "elapsed_more": temporal.elapsed_more,
    "elapsed_at_least": temporal.elapsed_at_least,
    "to_timestamp": conversion.to_timestamp,
    "to_duration": conversion.to_duration,
    "duration_at": duration_at,
    "TIMES": TIMES,
    "SPANS": SPANS,
    "as_double": as_double,
    "size": standard.size,
    "starts_with": standard.starts_with,
    "ends_with": standard.ends_with,
    "SIZED": frozenset({str, list, dict, bytes}),
}
