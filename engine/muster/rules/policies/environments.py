"""The environments of policies: what their expressions see, and what they may cost."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from muster import cel
from muster.cel.declarations import TimeUse
from muster.cel.env import Function
from muster.cel.types import DYN, STRING, MapType, ObjectType, StringType, Type, required
from muster.data.kinds import Kind
from muster.data.tree import Tree
from muster.rules.policies.types import condition_type
from muster.rules.policies.variables import CONDITION_MAPS, VARIABLES

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


#: Sizes that no schema bounds are assumed to be large, so an estimate may be this many times what a run may cost.
_GENEROSITY = 10


@dataclass(frozen=True, slots=True)
class Bounds:
    """What bounds all expressions of a fleet: `max_cost` in units, and the condition types that are `known`, which
    somebody decides or reports; without any, none is doubted."""

    max_cost: int | None = None
    known: frozenset[str] = frozenset()


UNBOUNDED = Bounds()


def policy_environment(
    kinds: Iterable[Kind],
    variables: Mapping[str, Type],
    further: Mapping[str, Type] | None = None,
    bounds: Bounds = UNBOUNDED,
) -> cel.Env:
    """Return what the expressions of a policy over objects of these kinds see.

    `variables` are those that the policy defines for itself, with their types; `further` what its kind sees besides.
    """
    targets = tuple(kinds)
    return cel.Env(
        variables={
            **{name: variable.type(targets) for name, variable in VARIABLES.items() if variable.is_seen(targets)},
            "params": MapType(STRING, DYN),
            "variables": ObjectType("variables", required(**variables)),
            **(further or {}),
        },
        functions=fleet_functions(condition_type()),
        known_keys=dict.fromkeys(CONDITION_MAPS, bounds.known) if bounds.known else {},
        max_cost=bounds.max_cost,
        max_estimate=None if bounds.max_cost is None else bounds.max_cost * _GENEROSITY,
    )
