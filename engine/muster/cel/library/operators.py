"""The operators, as the specification declares them.

Numbers compare across `int`, `uint` and `double` by value, as the specification's ordering rule says; the same holds
for `==`, `!=` and `in`, which the checker decides itself. Everything else is homogeneous. Both engines implement `&&`,
`||` and `?:` themselves, because these do not always evaluate their operands: here are only their types and costs.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from muster.cel.declarations import TimeUse
from muster.cel.library.registry import Library, element_of, walk
from muster.cel.runtime import comparison, numbers, selection
from muster.cel.runtime.budget import PRECISE
from muster.cel.runtime.describe import no_overload

if TYPE_CHECKING:
    from muster.cel.extent import Extent, IntRange
    from muster.cel.library.arguments import CallArguments

LIBRARY = Library("operators")

_WHOLE = (("int64", "int"), ("uint64", "uint"))
_NUMBERS = (*_WHOLE, ("double", "double"))
_ORDERED = (
    ("bool", "bool"),
    *_NUMBERS,
    ("string", "string"),
    ("bytes", "bytes"),
    ("timestamp", "timestamp"),
    ("duration", "duration"),
)


def _lines_of_one_type(id_: str, operator: str, kinds: Iterable[tuple[str, str]]) -> list[str]:
    """Return the lines of an operation on two values of a type that gives the same type."""
    return [f"{id_}_{kind} {operator} ({type_}, {type_}) -> {type_}" for kind, type_ in kinds]


def _written_out(*_operands: Any) -> NoReturn:
    raise AssertionError("both engines implement this operator")


LIBRARY.plain(
    "conditional  _?_:_  (bool, A, A) -> A",
    weight=1,
    moving=TimeUse.CARRIED,
    gives=lambda args: args.extent(1) | args.extent(2),
    doc="Return one of two values.",
)(_written_out)
LIBRARY.plain("logical_and  _&&_  (bool, bool) -> bool", weight=1, doc="Return whether both are true.")(_written_out)
LIBRARY.plain("logical_or   _||_  (bool, bool) -> bool", weight=1, doc="Return whether one is true.")(_written_out)


@LIBRARY.plain("logical_not  !_  (bool) -> bool", weight=1)
def negation(value: Any) -> bool:
    """Return `!value`."""
    if value.__class__ is bool:
        return not value
    raise no_overload("!_", value)


# -- equality and order ---------------------------------------------------------------------------------------


def _equality_cost(args: "CallArguments") -> "IntRange":
    least = min(args.compared(0).max, args.compared(1).max)
    return args.between(0, 0 if least == 1 else least)


def _order_cost(args: "CallArguments") -> "IntRange":
    lengths = (args.ordered(0), args.ordered(1))
    failing = comparison.FAILING if args.unknown(0) or args.unknown(1) else 0
    return min(lengths, key=lambda length: length.max) + args.between(0, failing)


def _membership_cost(args: "CallArguments") -> "IntRange":
    if args.extent(1).key is not None:
        return args.nothing
    compared = args.between(1, 2 * comparison.ELEMENT + 1) + args.compared(0)
    return (args.items(1) * compared).or_nothing


LIBRARY.metered("equals  _==_  (A, A) -> bool", weight=1, moving=TimeUse.COMPARED, grows=_equality_cost)(
    comparison.equal_at
)
LIBRARY.metered("not_equals  _!=_  (A, A) -> bool", weight=1, moving=TimeUse.COMPARED, grows=_equality_cost)(
    comparison.different_at
)
LIBRARY.metered(
    "in_list  @in  (A, list(A)) -> bool",
    "in_map   @in  (A, map(A,B)) -> bool",
    weight=3,
    moving=TimeUse.COMPARED,
    grows=_membership_cost,
)(comparison.contains_at)
for _id, _operator, _call in (
    ("less", "_<_", comparison.less),
    ("less_equals", "_<=_", comparison.less_equal),
    ("greater", "_>_", comparison.greater),
    ("greater_equals", "_>=_", comparison.greater_equal),
):
    LIBRARY.metered(
        *(f"{_id}_{name} {_operator} ({type_}, {type_}) -> bool" for name, type_ in _ORDERED),
        *(
            f"{_id}_{name}_{other_name} {_operator} ({type_}, {other}) -> bool"
            for name, type_ in _NUMBERS
            for other_name, other in _NUMBERS
            if type_ != other
        ),
        weight=1,
        moving=TimeUse.COMPARED,
        grows=_order_cost,
    )(_call)


# -- arithmetic -----------------------------------------------------------------------------------------------

_WALK_TEXT, _WALK_LIST = walk(8), walk(4)


def _addition_cost(args: "CallArguments") -> "IntRange":
    if args.precise(0) or args.precise(1):
        return _WALK_TEXT(args) + args.between(0, PRECISE)
    return _WALK_LIST(args) if args.listed(0) else _WALK_TEXT(args)


def _joined(args: "CallArguments") -> "Extent":
    left, right = args.extent(0), args.extent(1)
    return left if left.scalar else right if right.scalar else left + right


LIBRARY.metered(
    "add_bytes               _+_  (bytes, bytes) -> bytes",
    "add_double              _+_  (double, double) -> double",
    "add_duration_duration   _+_  (duration, duration) -> duration",
    "add_duration_timestamp  _+_  (duration, timestamp) -> timestamp",
    "add_timestamp_duration  _+_  (timestamp, duration) -> timestamp",
    "add_int64               _+_  (int, int) -> int",
    "add_list                _+_  (list(A), list(A)) -> list(A)",
    "add_string              _+_  (string, string) -> string",
    "add_uint64              _+_  (uint, uint) -> uint",
    weight=1,
    moving=TimeUse.CARRIED,
    grows=_addition_cost,
    gives=_joined,
)(numbers.add)
LIBRARY.metered(
    "subtract_double               _-_  (double, double) -> double",
    "subtract_duration_duration    _-_  (duration, duration) -> duration",
    "subtract_int64                _-_  (int, int) -> int",
    "subtract_timestamp_duration   _-_  (timestamp, duration) -> timestamp",
    "subtract_timestamp_timestamp  _-_  (timestamp, timestamp) -> duration",
    "subtract_uint64               _-_  (uint, uint) -> uint",
    weight=1,
    moving=TimeUse.CARRIED,
    # Comparing a difference with a duration is one operation, which may cost as much as both.
    grows=lambda args: args.between(0, 2 * PRECISE if args.precise(0) or args.precise(1) else 0),
)(numbers.subtract)
LIBRARY.plain(*_lines_of_one_type("multiply", "_*_", (_NUMBERS[2], *_WHOLE)), weight=1)(numbers.multiply)
LIBRARY.plain(*_lines_of_one_type("divide", "_/_", (_NUMBERS[2], *_WHOLE)), weight=4)(numbers.divide)
LIBRARY.plain(*_lines_of_one_type("modulo", "_%_", _WHOLE), weight=4)(numbers.modulo)
LIBRARY.plain("negate_double  -_  (double) -> double", "negate_int64  -_  (int) -> int", weight=1)(numbers.negate)


# -- items ----------------------------------------------------------------------------------------------------

LIBRARY.plain(
    "index_list                _[_]  (list(A), int) -> A",
    "index_map                 _[_]  (map(A,B), A) -> B",
    "optional_list_index_int   _[_]  (optional_type(list(A)), int) -> optional_type(A)",
    "optional_map_index_value  _[_]  (optional_type(map(A,B)), A) -> optional_type(B)",
    weight=1,
    moving=TimeUse.CARRIED,
    gives=element_of,
)(selection.index)
LIBRARY.plain(
    "list_optindex_optional_int            _[?_]  (list(A), int) -> optional_type(A)",
    "map_optindex_optional_value           _[?_]  (map(A,B), A) -> optional_type(B)",
    "optional_list_optindex_optional_int   _[?_]  (optional_type(list(A)), int) -> optional_type(A)",
    "optional_map_optindex_optional_value  _[?_]  (optional_type(map(A,B)), A) -> optional_type(B)",
    weight=4,
    moving=TimeUse.CARRIED,
    gives=element_of,
)(selection.optional_index)
