"""The loops of comprehensions, as the closures run them: one fold per macro."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from muster.cel.errors import BudgetExceeded, EvaluationError
from muster.cel.runtime import maps
from muster.cel.runtime.budget import Meter
from muster.cel.runtime.describe import spoken_type


class Frame:
    """The state of one evaluation: variables, local variables, the meter, and what was seen.

    `values` has the last value of each node, `outcomes` the booleans that a node ever gave.
    """

    __slots__ = ("locals", "meter", "outcomes", "values", "variables")

    def __init__(self, variables: Mapping[str, Any], meter: Meter, values: dict[int, Any] | None = None) -> None:
        self.variables = variables
        self.locals: dict[str, Any] = {}
        self.meter = meter
        self.values = values
        self.outcomes: set[tuple[int, bool]] = set()


Step: TypeAlias = Callable[[Frame], Any]


class Failure:
    """The value of a part that failed, in a trace or as a binding that is not used yet."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error


def _bool(value: Any, macro: str) -> bool:
    if value.__class__ is bool:
        return bool(value)
    raise EvaluationError(f"no such overload: {macro}() needs a bool, not a {spoken_type(value)}")


Fold: TypeAlias = Callable[[Any, Callable[[Any], None], Frame, list[Step]], Any]


def _quantifier(name: str, *, decisive: bool) -> Fold:
    def fold(items: Any, bind: Callable[[Any], None], frame: Frame, bodies: list[Step]) -> bool:
        failure: EvaluationError | None = None
        for item in items:
            try:
                bind(item)
                if _bool(bodies[0](frame), name) is decisive:
                    return decisive
            except BudgetExceeded:
                raise
            except EvaluationError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return not decisive

    return fold


def _exists_one(items: Any, bind: Callable[[Any], None], frame: Frame, bodies: list[Step]) -> bool:
    count = 0
    for item in items:
        bind(item)
        count += _bool(bodies[0](frame), "exists_one")
    return count == 1


def _passing(items: Any, bind: Callable[[Any], None], frame: Frame, bodies: list[Step]) -> Any:
    """Yield the items that pass the filter; all items if there is only a body."""
    for item in items:
        bind(item)
        if len(bodies) == 1 or _bool(bodies[0](frame), "the filter of a macro"):
            yield item


def _filter(items: Any, bind: Callable[[Any], None], frame: Frame, bodies: list[Step]) -> list[Any]:
    passing = []
    for item in items:
        bind(item)
        if _bool(bodies[0](frame), "filter"):
            passing.append(item)
    return passing


def _map(items: Any, bind: Callable[[Any], None], frame: Frame, bodies: list[Step]) -> list[Any]:
    return [bodies[-1](frame) for _ in _passing(items, bind, frame, bodies)]


def _transform_map(items: Any, bind: Callable[[Any], None], frame: Frame, bodies: list[Step]) -> Any:
    return maps.build([(item[0], bodies[-1](frame)) for item in _passing(items, bind, frame, bodies)])


def _transform_entry(items: Any, bind: Callable[[Any], None], frame: Frame, bodies: list[Step]) -> Any:
    entries: list[tuple[Any, Any]] = []
    for _ in _passing(items, bind, frame, bodies):
        entries += maps.entries_of(bodies[-1](frame))
    return maps.build(entries)


FOLDS: Mapping[str, Fold] = {
    "all": _quantifier("all", decisive=False),
    "exists": _quantifier("exists", decisive=True),
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "filter": _filter,
    "map": _map,
    "transformList": _map,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entry,
}
