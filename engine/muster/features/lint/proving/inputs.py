"""What the variables of policies can be in any fleet, where that is less than their types allow."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from muster.cel.types import (
    BOOL,
    DURATION,
    DYN,
    INT,
    TIMESTAMP,
    FieldType,
    ListType,
    MapType,
    NullableType,
    ObjectType,
    StringType,
    Type,
    bare,
    required,
)
from muster.cel.values import INT_MAX
from muster.data.kinds import CLUSTER_DEPLOYMENT, CLUSTERS, Kind
from muster.data.source import Layer
from muster.data.tree import Tree
from muster.features.lint.proving.values import Result, given
from muster.features.lint.proving.world import Model, SymbolicInput, SymbolicWorld, known
from muster.fleet.leases import LONGEST_SECONDS
from muster.fleet.objects import Object
from muster.rules.policies.parameters import is_duration
from muster.rules.policies.policies import Policy
from muster.rules.policies.variables import VARIABLES
from muster.rules.pools.clusters import ASKED

#: The longest that a lease can last, with what its agent may not know yet; and what is long.
_LONGEST_LEASE: Final = (2 * LONGEST_SECONDS, LONGEST_SECONDS)
#: What says which object it is, and is in every part of it.
_IDENTITY: Final = frozenset(("apiVersion", "kind", "name", "namespace"))
#: What muster writes in each condition that it decides.
_DECIDED: Final = required(reason=StringType(), message=StringType(), lastTransitionTime=TIMESTAMP)
#: What is never null in a condition of a cluster that stands: one that a hub brought without a time is not adopted.
_STANDING: Final = {"lastTransitionTime": FieldType(TIMESTAMP)}


class Roots(Mapping[str, Result]):
    """The variables that the expressions of a policy see of an object of one kind; each comes to be when it is read.

    A built-in policy is asked about more objects than the schema of their kind allows: any part of one may be missing,
    for what an agent reports is a part, too, and so is what is left of a file that is broken.
    """

    def __init__(
        self, world: SymbolicWorld, policy: Policy, kind: Kind, further: Mapping[str, Type], *, any_params: bool = False
    ) -> None:
        self._world, self._policy, self._kind, self._further = world, policy, kind, further
        self._any_params = any_params
        self._inputs: dict[str, SymbolicInput] = {}
        #: What is not read but follows: `variables`, and the outcome that an invariant speaks of.
        self.derived: dict[str, Result] = {}

    def __getitem__(self, name: str) -> Result:
        if name in self.derived:
            return self.derived[name]
        if name == "params" and not self._any_params:
            return given(known(self._policy.params))
        found = self._inputs.get(name)
        if found is None:
            found = self._inputs[name] = self._input(name)
        return given(found.cases)

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs)

    def __len__(self) -> int:
        return len(self._inputs)

    def _input(self, name: str) -> SymbolicInput:
        if name == "params":
            return self._world.input(_shape(self._policy.params), name)
        if name == "leaseDurationSeconds" and self._any_params:
            return self._world.integer(name, 1, _LONGEST_LEASE[1])
        type_ = self._further[name] if name in self._further else VARIABLES[name].type((self._kind,))
        if name == "self" and is_built_in(self._policy.source):
            type_ = in_parts(type_)
        if name == "self" and self._kind is CLUSTER_DEPLOYMENT:
            type_ = _deployment(type_)
        special = _SPECIAL.get(name)
        if name == "previous" and self._kind in CLUSTERS:
            special = _conditions(name, _STANDING)
        return self._world.input(type_, name) if special is None else special(self._world, type_)

    def read(self, model: Model) -> dict[str, Tree]:
        """Return the example: the variables that expressions read, by name."""
        return {name: found.read(model) for name, found in sorted(self._inputs.items())}


def is_built_in(source: Object) -> bool:
    """Whether a policy is muster's own, and nobody has replaced it."""
    return any(part.layer is Layer.BUILTIN for part in source.parts)


def in_parts(type_: Type) -> Type:
    """The type of an object of which any part may be missing, but for what says which object it is.

    The elements of a list are whole: each comes from one file.
    """
    match type_:
        case NullableType():
            return NullableType(in_parts(type_.element))
        case ObjectType():
            fields = {
                name: field if name in _IDENTITY and field.required
                else replace(field, type=in_parts(field.type), required=False)
                for name, field in type_.fields.items()
            }  # fmt: skip
            if "metadata" in type_.fields:
                metadata = type_.fields["metadata"]
                fields["metadata"] = replace(metadata, type=in_parts(metadata.type))
            return replace(type_, fields=fields)
        case _:
            return type_


def _deployment(type_: Type) -> Type:
    """Of a cluster of a pool, with what the pool stage lays beside it: since when its power state is asked for."""
    assert isinstance(type_, ObjectType)
    status = type_.fields["status"]
    assert isinstance(status.type, ObjectType)
    asked = FieldType(ObjectType("status.muster", required(**{ASKED: TIMESTAMP})))
    with_asked = replace(status, type=replace(status.type, fields={**status.type.fields, "muster": asked}))
    return replace(type_, fields={**type_.fields, "status": with_asked})


def _shape(value: Tree) -> Type:
    """The type of parameters like these."""
    match value:
        case bool():
            return BOOL
        case int():
            return INT
        case str():
            return DURATION if is_duration(value) else StringType()
        case list():
            return ListType(_shape(value[0]) if value else StringType())
        case dict():
            return ObjectType("params", required(**{str(key): _shape(item) for key, item in value.items()}))
        case _:
            return DYN


def _perhaps(name: str) -> Callable[[SymbolicWorld, Type], SymbolicInput]:
    """Of an object that there may not be: an empty one, or one of which muster itself says a part."""

    def input_(world: SymbolicWorld, type_: Type) -> SymbolicInput:
        assert isinstance(type_, ObjectType)
        fields = {key: replace(field, required=False) for key, field in type_.fields.items()}
        return world.input(ObjectType(type_.name, fields, type_.additional), name)

    return input_


def _conditions(name: str, facts: Mapping[str, FieldType]) -> Callable[[SymbolicWorld, Type], SymbolicInput]:
    """Of conditions by their types, of whose fields more is known than their schema says."""

    def input_(world: SymbolicWorld, type_: Type) -> SymbolicInput:
        assert isinstance(type_, MapType)
        condition = bare(type_.value)
        assert isinstance(condition, ObjectType)

        def of_type(key: str) -> ObjectType:
            own = {"type": FieldType(StringType(values=(key,)), required=True), **facts}
            return ObjectType(condition.name, {**condition.fields, **own}, condition.additional)

        return world.mapping(lambda key: world.optional(of_type(key), f"{name}[key]"))

    return input_


_SPECIAL: Final[Mapping[str, Callable[[SymbolicWorld, Type], SymbolicInput]]] = {
    "now": lambda world, _: world.moment(),
    "lease": _perhaps("lease"),
    "cluster": _perhaps("cluster"),
    "leaseDurationSeconds": lambda world, _: world.integer("leaseDurationSeconds", 1, *_LONGEST_LEASE),
    "generation": lambda world, _: world.integer("generation", 1, INT_MAX),
    "reported": _conditions("reported", required(stale=BOOL)),
    "previous": _conditions("previous", {}),
    "conditions": _conditions("conditions", _DECIDED),
}
