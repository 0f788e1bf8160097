"""The functions that muster adds to CEL."""

from collections.abc import Mapping
from functools import cache

from muster.cel.declarations import TimeUse
from muster.cel.env import Function
from muster.cel.types import STRING, MapType, StringType, Type
from muster.model.tree import Tree

_STATUS = StringType(values=("True", "False", "Unknown"))


def status(conditions: Mapping[str, Tree], type_: str) -> str:
    """The status of the condition of that type; Unknown where there is none: silence is not health."""
    condition = conditions.get(type_)
    value = condition.get("status") if isinstance(condition, dict) else None
    return value if isinstance(value, str) else "Unknown"


@cache
def fleet_functions(condition: Type) -> Mapping[str, Function]:
    """Return the functions that policies see, `condition` being the type of one condition."""
    return {"status": Function(status, (MapType(STRING, condition), STRING), _STATUS, moving=TimeUse.CARRIED)}
