"""The environments of policies: their variables and functions, and cost limits."""

from collections.abc import Iterable, Mapping
from functools import cache

from muster import cel
from muster.cel.declarations import TimeUse
from muster.cel.env import Function
from muster.cel.types import DYN, STRING, MapType, ObjectType, StringType, Type, required
from muster.data.kinds import Kind
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.rules.policies.parameters import parameters_type
from muster.rules.policies.types import condition_type
from muster.rules.policies.variables import CONDITION_MAPS, VARIABLES

_STATUS = StringType(values=("True", "False", "Unknown"))


def status(conditions: Mapping[str, Tree], type_: str) -> str:
    """The status of the condition of that type; Unknown if missing: silence is not health."""
    condition = conditions.get(type_)
    value = condition.get("status") if isinstance(condition, dict) else None
    return value if isinstance(value, str) else "Unknown"


@cache
def fleet_functions(condition: Type) -> Mapping[str, Function]:
    """Return the functions of policies; `condition` is the type of one condition."""
    return {"status": Function(status, (MapType(STRING, condition), STRING), _STATUS, moving=TimeUse.CARRIED)}


#: Unbounded sizes are assumed to be large, so an estimate may be this many times the limit of a run.
_GENEROSITY = 10


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits for all expressions of a fleet: `max_cost` in units, the condition types that may be set, and the names of
    Calendars; if empty, none is checked."""

    max_cost: int | None = None
    conditions: frozenset[str] = frozenset()
    calendars: frozenset[str] | None = None


UNBOUNDED = Bounds()


def policy_environment(
    kinds: Iterable[Kind],
    variables: Mapping[str, Type],
    further: Mapping[str, Type] | None = None,
    bounds: Bounds = UNBOUNDED,
    params: Mapping[str, Tree] | None = None,
) -> cel.Env:
    """Return the environment of a policy over objects of these kinds.

    `variables`: the policy's own, with their types; `further`: those of its kind; `params`: its parameters, None if
    they are not known.
    """
    targets = tuple(kinds)
    return cel.Env(
        variables={
            **{name: variable.type(targets) for name, variable in VARIABLES.items() if variable.is_seen(targets)},
            "params": MapType(STRING, DYN) if params is None else parameters_type(params),
            "variables": ObjectType("variables", required(**variables)),
            **(further or {}),
        },
        functions=fleet_functions(condition_type()),
        known_keys={
            **(dict.fromkeys(CONDITION_MAPS, bounds.conditions) if bounds.conditions else {}),
            **({} if bounds.calendars is None else {"calendars": bounds.calendars}),
        },
        max_cost=bounds.max_cost,
        max_estimate=None if bounds.max_cost is None else bounds.max_cost * _GENEROSITY,
    )
