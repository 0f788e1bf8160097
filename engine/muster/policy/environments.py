"""The environments of expressions: which variables a policy sees, and their types, read from the schemas.

`schemas/README.md` has the table. Dates and durations in objects are timestamps and durations here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from muster import cel
from muster.cel.schema import type_from_schema
from muster.cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, Field, ListType, MapType, ObjectType, StringType, Type
from muster.fleet.schemas import common_definitions, schema_of
from muster.model.kinds import ADAPTER_REPORT, CSR, FLEET, LEASE, MANAGED_CLUSTER, Kind
from muster.model.tree import Tree, mapping_at
from muster.policy.functions import fleet_functions


@cache
def object_type(kind: Kind) -> Type:
    """The type of an assembled object of a kind."""
    return type_from_schema(schema_of(kind), temporal=True, name=kind.name, documents=_documents())


@cache
def spec_type(kind: Kind) -> Type:
    """The type of the spec of a kind."""
    schema = mapping_at(schema_of(kind), "properties", "spec")
    return type_from_schema(schema, temporal=True, name=f"{kind.name}.spec", documents=_documents())


@cache
def condition_type() -> Type:
    """The type of one condition."""
    schema = mapping_at(common_definitions(), "$defs", "condition")
    documents = {"": common_definitions(), **_documents()}
    return type_from_schema(
        {"$defs": common_definitions()["$defs"], **schema}, temporal=True, name="condition", documents=documents
    )


def _documents() -> Mapping[str, Mapping[str, Tree]]:
    return {"_common.json": common_definitions()}


#: Sizes that no schema bounds are assumed to be large, so an estimate may be this many times what a run may cost.
_GENEROSITY = 10
#: How many there may be of each, for the estimate of what an expression costs.
_MOST_ADAPTERS, _MOST_CONDITIONS = 64, 128

_CHILD = ObjectType(
    "child",
    {
        "kind": Field(STRING, required=True),
        "namespace": Field(STRING, required=True),
        "name": Field(STRING, required=True),
        "deleting": Field(BOOL, required=True),
        "adapters": Field(ListType(StringType(max_length=63), _MOST_ADAPTERS), required=True),
    },
)


#: What PulsePolicies see beside the rest: the last pulse of the policy for the object; before the first without `time`.
PULSE_VARIABLES: Mapping[str, Type] = {
    "pulsed": ObjectType(
        "pulsed",
        {"generation": Field(INT, required=True), "time": Field(TIMESTAMP), "count": Field(INT, required=True)},
    )
}


@dataclass(frozen=True, slots=True)
class Ground:
    """What a fleet gives all its expressions: `max_cost` in units, and the condition types that are `known`, which
    somebody decides or reports; without any, none is doubted."""

    max_cost: int | None = None
    known: frozenset[str] = frozenset()


#: What policies over requests for certificates see beside the rest: the request as decoded, and the cluster that its
#: label names, with what muster decided of it; empty where there is none.
_REQUEST = ObjectType(
    "csr",
    {
        "pemType": Field(STRING, required=True),
        "commonName": Field(STRING, required=True),
        "organizations": Field(ListType(STRING), required=True),
        "error": Field(STRING, required=True),
        "ref": Field(STRING, required=True),
    },
)


def policy_environment(
    kinds: Iterable[Kind],
    variables: Mapping[str, Type],
    further: Mapping[str, Type] | None = None,
    ground: Ground = Ground(),
) -> cel.Env:
    """Return what the expressions of a policy over objects of these kinds see.

    `variables` are those that the policy defines for itself, with their types; `further` what its kind sees besides.
    """
    targets = tuple(kinds)
    conditions = MapType(STRING, condition_type(), _MOST_CONDITIONS)
    own = ObjectType("variables", {name: Field(type_, required=True) for name, type_ in variables.items()})
    return cel.Env(
        variables={
            "self": object_type(targets[0]) if len(targets) == 1 else DYN,
            "lease": object_type(LEASE),
            "leaseDurationSeconds": INT,
            "reported": conditions,
            "previous": conditions,
            "conditions": conditions,
            "reports": ListType(spec_type(ADAPTER_REPORT), _MOST_ADAPTERS),
            "adapters": ListType(StringType(max_length=63), _MOST_ADAPTERS),
            "updated": TIMESTAMP,
            "accepted": BOOL,
            "deleting": BOOL,
            "children": ListType(_CHILD),
            "generation": INT,
            "params": MapType(STRING, DYN),
            "variables": own,
            "fleet": spec_type(FLEET),
            "now": TIMESTAMP,
            **({"csr": _REQUEST, "cluster": object_type(MANAGED_CLUSTER)} if targets == (CSR,) else {}),
            **(further or {}),
        },
        functions=fleet_functions(condition_type()),
        known_keys=dict.fromkeys(("reported", "previous", "conditions"), ground.known) if ground.known else {},
        max_cost=ground.max_cost,
        max_estimate=None if ground.max_cost is None else ground.max_cost * _GENEROSITY,
    )
