"""The possible values of policies' variables: what their types allow, narrowed by what holds in every fleet."""

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
from muster.data.kinds import ADAPTER_REPORT, CLUSTER_DEPLOYMENT, CLUSTERS, FLEET, LEASE, MANAGED_CLUSTER, Kind
from muster.data.source import Layer
from muster.data.tree import Tree, dig, mapping_at
from muster.features.lint.proving.logic import Model
from muster.features.lint.proving.values import Result, given, known
from muster.features.lint.proving.world import SymbolicInput, SymbolicWorld
from muster.fleet.leases import LONGEST_SECONDS
from muster.fleet.objects import Object
from muster.fleet.schemas import common_definitions, load_schema, schema_of
from muster.regex import Regex
from muster.rules.policies.parameters import LEAST, LONGEST, MOST, is_duration
from muster.rules.policies.policies import Policy
from muster.rules.policies.variables import VARIABLES
from muster.rules.pools.clusters import ASKED

#: The longest lease duration in seconds, with an extension that the agent may not know yet; and without.
_LONGEST_LEASE: Final = (2 * LONGEST_SECONDS, LONGEST_SECONDS)
#: The fields that identify an object; every part of it has them.
_IDENTITY: Final = frozenset(("apiVersion", "kind", "name", "namespace"))
#: The fields that muster writes in each condition that it decides.
_DECIDED: Final = required(reason=StringType(), message=StringType(), lastTransitionTime=TIMESTAMP)
#: Never null in a cluster's previous condition: one imported from a hub without a time is not adopted.
_STANDING: Final = {"lastTransitionTime": FieldType(TIMESTAMP)}


class PolicyInputs(Mapping[str, Result]):
    """The variables of a policy's expressions for any object of one kind, each made when it is read.

    For a built-in policy any field of the object may be missing, even a required one: an agent may report only a part
    of an object, and a broken file leaves a part.
    """

    def __init__(
        self, world: SymbolicWorld, policy: Policy, kind: Kind, further: Mapping[str, Type], *, any_params: bool = False
    ) -> None:
        self._world, self._policy, self._kind, self._further = world, policy, kind, further
        self._any_params = any_params
        self._inputs: dict[str, SymbolicInput] = {}
        #: Not inputs: `variables`, and the outcome for invariants.
        self.derived: dict[str, Result] = {}

    def __getitem__(self, name: str) -> Result:
        if name in self.derived:
            return self.derived[name]
        if name == "params" and not self._any_params:
            return given(known(self._policy.params))
        value = self._inputs.get(name)
        if value is None:
            value = self._inputs[name] = self._input(name)
        return given(value.cases)

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
            type_ = with_optional_fields(type_)
        if name == "self" and self._kind is CLUSTER_DEPLOYMENT:
            type_ = _deployment(type_)
        special = _SPECIAL.get(name)
        if name == "previous" and self._kind in CLUSTERS:
            special = _conditions(name, _STANDING)
        return self._world.input(type_, name) if special is None else special(self._world, type_)

    def read(self, model: Model) -> dict[str, Tree]:
        """Return the example in a model: the variables that expressions read, by name."""
        return {name: value.read(model) for name, value in sorted(self._inputs.items())}


def is_built_in(source: Object) -> bool:
    """Is it a built-in policy that no file replaces?"""
    return any(part.layer is Layer.BUILTIN for part in source.parts)


def with_optional_fields(type_: Type) -> Type:
    """The type with all fields optional, except those that identify the object, and except in the elements of lists:
    each comes from one file."""
    match type_:
        case NullableType():
            return NullableType(with_optional_fields(type_.element))
        case ObjectType():
            fields = {
                name: field
                if name in _IDENTITY and field.required
                else replace(field, type=with_optional_fields(field.type), required=False)
                for name, field in type_.fields.items()
            }
            if "metadata" in type_.fields:
                metadata = type_.fields["metadata"]
                fields["metadata"] = replace(metadata, type=with_optional_fields(metadata.type))
            return replace(type_, fields=fields)
        case _:
            return type_


def _deployment(type_: Type) -> Type:
    """The type of a pool's cluster, with the time that the pool stage adds: since when a power state is requested."""
    assert isinstance(type_, ObjectType)
    status = type_.fields["status"]
    assert isinstance(status.type, ObjectType)
    target = FieldType(ObjectType("status.muster", required(**{ASKED: TIMESTAMP})))
    with_asked = replace(status, type=replace(status.type, fields={**status.type.fields, "muster": target}))
    return replace(type_, fields={**type_.fields, "status": with_asked})


def _shape(value: Tree) -> Type:
    """The type of parameters with such values."""
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


def _optional_object(name: str) -> Callable[[SymbolicWorld, Type], SymbolicInput]:
    """An input whose fields are all optional: it may be missing, or have only fields that muster sets."""

    def input_(world: SymbolicWorld, type_: Type) -> SymbolicInput:
        assert isinstance(type_, ObjectType)
        fields = {key: replace(field, required=False) for key, field in type_.fields.items()}
        return world.input(ObjectType(type_.name, fields, type_.additional), name)

    return input_


def _conditions(name: str, facts: Mapping[str, FieldType]) -> Callable[[SymbolicWorld, Type], SymbolicInput]:
    """An input of conditions by type, with more facts about their fields than the schema has."""

    def input_(world: SymbolicWorld, type_: Type) -> SymbolicInput:
        assert isinstance(type_, MapType)
        condition = bare(type_.value)
        assert isinstance(condition, ObjectType)

        def of_type(key: str) -> ObjectType:
            fields = {"type": FieldType(StringType(values=(key,)), required=True), **facts}
            return ObjectType(condition.name, {**condition.fields, **fields}, condition.additional)

        return world.mapping(lambda key: world.optional(of_type(key), f"{name}[key]"))

    return input_


_SPECIAL: Final[Mapping[str, Callable[[SymbolicWorld, Type], SymbolicInput]]] = {
    "now": lambda world, _: world.moment(),
    "lease": _optional_object("lease"),
    "cluster": _optional_object("cluster"),
    "leaseDurationSeconds": lambda world, _: world.integer("leaseDurationSeconds", 1, *_LONGEST_LEASE),
    "generation": lambda world, _: world.integer("generation", 1, INT_MAX),
    "reported": _conditions("reported", required(stale=BOOL)),
    "previous": _conditions("previous", {}),
    "conditions": _conditions("conditions", _DECIDED),
}


#: A step of a path: a field, or an element or a key.
_STEP: Final = Regex(r"\.([^.\[]+)|\[[^\]]*\]")
_CONDITIONS_SCHEMA: Final = {"additionalProperties": {"$ref": "_common.json#/$defs/condition"}}


def schema_at(kind: Kind, path: str) -> Mapping[str, Tree]:
    """Return the schema of a policy's input, by a path such as `self.spec.leaseDurationSeconds`; empty if it has none.
    The added keyword `longest` bounds a duration that is not negative, in seconds."""
    name = path.replace("[", ".").partition(".")[0]
    schema, file = _root(kind, name)
    for step in _STEP.finditer(path[len(name) :]):
        named = mapping_at(schema, "properties").get(step[1])
        below = named or schema.get("items") or schema.get("additionalProperties")
        if not isinstance(below, dict):
            return {}
        schema, file = _resolved(below, file)
    return schema


def _root(kind: Kind, name: str) -> tuple[Mapping[str, Tree], Mapping[str, Tree]]:
    """The schema of a variable, and its file."""
    match name:
        case "self" | "object" | "oldObject" | "derived" | "lease" | "cluster":
            schema = schema_of({"lease": LEASE, "cluster": MANAGED_CLUSTER}.get(name, kind))
            return schema, schema
        case "fleet":
            return mapping_at(schema_of(FLEET), "properties", "spec"), schema_of(FLEET)
        case "reports":
            return {"items": dig(schema_of(ADAPTER_REPORT), "properties", "spec")}, schema_of(ADAPTER_REPORT)
        case "params":
            return {"additionalProperties": {"minimum": LEAST, "maximum": MOST, "longest": LONGEST.total_seconds()}}, {}
        case "reported" | "previous" | "conditions":
            return _CONDITIONS_SCHEMA, common_definitions()
        case _:
            return {}, {}


def _resolved(schema: Mapping[str, Tree], file: Mapping[str, Tree]) -> tuple[Mapping[str, Tree], Mapping[str, Tree]]:
    """Follow `$ref`, and merge in the keywords beside it."""
    while isinstance(reference := schema.get("$ref"), str):
        name, _, pointer = reference.partition("#")
        file = load_schema(name) if name else file
        beside = {word: value for word, value in schema.items() if word != "$ref"}
        target = mapping_at(file, *filter(None, pointer.split("/")))
        fields = {**mapping_at(target, "properties"), **mapping_at(beside, "properties")}
        schema = {**target, **beside, "properties": fields}
    return schema, file
