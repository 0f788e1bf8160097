"""The inputs of a decision and their places: from the parts of an evaluated expression to fields of files."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, cast

from muster.cel.access import FieldAccess, accesses
from muster.cel.runtime.describe import shown
from muster.data.decision import AnyPath, Input, Path
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, CLUSTER_DEPLOYMENT, FLEET, MANAGED_CLUSTER, kind_of
from muster.data.source import Part, Place
from muster.data.times import try_time
from muster.data.tree import At, Tree, dig
from muster.fleet.leases import LEASE_SECONDS, SHORTENED, counting_lease
from muster.fleet.neighbourhoods import cluster_of
from muster.fleet.objects import Object
from muster.fleet.places import place_of, plain_steps
from muster.rules.policies.expressions import conditions_read
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.lazy import VARIABLES_AT, Evaluation
from muster.run.explained import Read

#: Names for the entries of a policy's lists.
_ENTRIES: Final = {
    "rules": "rule",
    "matchConditions": "matchCondition",
    "taints": "taint",
    "decisionMatches": "decisionMatch",
    "validations": "validation",
    "auditAnnotations": "auditAnnotation",
}
#: The variables that hold conditions by type.
_CONDITION_VARIABLES: Final = frozenset(("conditions", "reported", "previous"))
_CONDITIONS: Final[Path] = ("status", "conditions")
_MISSING: Final = object()
_DURATION: Final = "leaseDurationSeconds"
_SECONDS: Final[Path] = ("spec", "leaseDurationSeconds")
_ANNOTATIONS: Final[Path] = ("metadata", "annotations")
#: Not inputs: variables are explained by their own expressions, and `now` is the same for all.
_NO_INPUTS: Final = frozenset(("variables", "now"))


class Reader:
    """Finds the inputs of the decisions about one object."""

    def __init__(self, fleet: FleetWithPolicies, id_: ObjectId) -> None:
        self._fleet, self._id = fleet, id_
        self._wholes: dict[ObjectId, Tree] = {}
        self._written: dict[ObjectId, list[Part]] = {}

    def source(self, id_: ObjectId) -> Object | None:
        """An object of the fleet, or a built-in policy."""
        return self._fleet.objects.get(id_) or self._fleet.read.builtin.get(id_)

    def place(self, id_: ObjectId, at: AnyPath) -> Place | None:
        """The place of a field's present value: in a file of people or agents, or in the derived file. For an unset
        field the nearest ancestor in the former. None if no file has the value: this run decided it."""
        obj, value = self.source(id_), self._leaf(self._whole(id_), at, id_)
        leaf = self._leaf(obj.body, at, id_) if obj is not None and _is_written(obj, at) else _MISSING
        if obj is not None and leaf is not _MISSING and leaf == value:
            return place_of(obj.parts, at)
        if value is not _MISSING and value == self._leaf(self._fleet.previous.get(id_), at, id_):
            return place_of(self._derived(id_), at)
        if obj is None or not obj.parts or (leaf is _MISSING and (value is not _MISSING or self._is_decided(id_, at))):
            return None
        return place_of(obj.parts, at) if value is _MISSING or isinstance(value, dict | list) else None

    def own_place(self, id_: ObjectId, at: AnyPath) -> Place | None:
        """Where people or agents wrote a field, or its nearest ancestor, whatever muster decides. For objects that
        muster declares (awaited leases, clusters of pools) the same as `place`."""
        obj = self.source(id_)
        if obj is None or not obj.parts or (CLUSTER_DEPLOYMENT.has(id_) and self._leaf(obj.body, at, id_) is _MISSING):
            return self.place(id_, at)
        return place_of(obj.parts, at)

    def _whole(self, id_: ObjectId) -> Tree:
        if id_ not in self._wholes:
            is_policy = id_ not in self._fleet.objects and not self._fleet.decisions(id_)
            self._wholes[id_] = self._body(id_) if is_policy else self._fleet.whole(id_)
        return self._wholes[id_]

    @staticmethod
    def _leaf(body: Tree, at: AnyPath, id_: ObjectId) -> Tree:
        """The value of a field; `_MISSING` if it is not set."""
        steps = plain_steps(body, at, kind_of(id_).list_keys)
        if len(steps) < len(at):
            return _MISSING
        for step in steps:
            body = body[step]
        return body

    def _derived(self, id_: ObjectId) -> list[Part]:
        """The parts of an object that the last run wrote."""
        if id_ not in self._written:  # a search of all parts
            path = self._fleet.derived_paths.get(id_)
            parts = self._fleet.read.parts if path is not None else ()
            self._written[id_] = [part for part in parts if part.id == id_ and part.source.path == path]
        return self._written[id_]

    def _is_decided(self, id_: ObjectId, at: AnyPath) -> bool:
        """Does this run decide the field, or a part of it?"""
        decisions = self._fleet.decisions(id_)
        return any(path[: len(at)] == at and decision.value is not None for path, decision in decisions.items())

    def of_input(self, read: Input) -> Iterator[Read]:
        """A field that a decision names as its input."""
        id_, path = read.object or self._id, read.path
        value = self._leaf(self._whole(id_), path, id_)
        since = _since(value) if path[:2] == _CONDITIONS and len(path) > len(_CONDITIONS) else None
        place = self.place(id_, path if since is None else cast("Path", (*path, "status")))
        if value is _MISSING and place is None:
            return
        prefix = "" if read.object is None or id_ == self._id else f"{id_} "
        decision = self._fleet.decisions(id_).get(cast("Path", path))
        until = decision.horizon if decision is not None else None
        text = _value(value["status"] if since is not None else value) if value is not _MISSING else "not set"
        yield Read(f"{prefix}{field_label(path)}", text, place, since, until)

    def of_evaluation(self, evaluation: Evaluation) -> Iterator[Read]:
        """The fields that an expression read, in the order of its text."""
        assert evaluation.result.trace is not None
        known_accesses, yielded = accesses(evaluation.program.node), set[FieldAccess]()
        for part in evaluation.result.trace.parts:
            read = known_accesses.get(part.id)
            if part.state != "value" or read is None or read.variable in _NO_INPUTS or read in yielded:
                continue
            if read.asked_for and part.value is True:
                continue  # `has` of a field says less than its value, which is read next
            yielded.add(read)
            if read.variable == "reports":
                yield from self._reports(part.value)
            elif read.variable in _CONDITION_VARIABLES and read.steps[1:] in ((), ("status",)):
                types = (str(read.steps[0]),) if read.steps else conditions_read(evaluation.program.node, read.variable)
                yield from (self._condition(read.variable, type_) for type_ in dict.fromkeys(types))
            elif read.variable == _DURATION:
                yield self._duration(part.value)
            elif (place := self._place(read, evaluation.policy)) is not None:
                yield Read(str(read), shown(part.value), place)

    def _condition(self, variable: str, type_: str) -> Read:
        """A condition of the object: reported by agents, decided by this run, or by the last one."""
        fleet, path = self._fleet, (*_CONDITIONS, (type_,))
        decision = None
        match variable:
            case "reported":
                condition, parts = fleet.reported(self._id).get(type_), self._parts()
            case "previous":
                condition, parts = fleet.conditions_before(self._id).get(type_), self._derived(self._id)
            case _:
                decision = fleet.decisions(self._id).get(path)
                condition = None if decision is None else decision.value
                before = fleet.conditions_before(self._id).get(type_, {})
                is_written = condition is not None and before == {"type": type_, **condition}
                parts = self._derived(self._id) if is_written else []
        label = str(FieldAccess(variable, (type_, "status")))
        if not isinstance(condition, dict):
            return Read(label, "not there", None)
        until = decision.horizon if decision is not None else None
        place = place_of(parts, (*path, "status")) if parts else None
        return Read(label, shown(condition.get("status")), place, _since(condition), until)

    def _duration(self, value: Any) -> Read:
        """The lease duration: the cluster's own, or as changed by muster."""
        cluster = self._cluster()
        if self._leaf(self._body(cluster), _SECONDS, cluster) == value:
            return Read(_DURATION, shown(value), self.own_place(cluster, _SECONDS))
        for path in (LEASE_SECONDS, (*_ANNOTATIONS, SHORTENED)):
            if (duration := self._leaf(self._whole(cluster), path, cluster)) is not _MISSING:
                text = shown(value) if duration == value else f"{shown(value)} ({duration})"
                return Read(f"{_DURATION} by {field_label(path)}", text, self.place(cluster, path))
        return Read(f"{_DURATION} by default", shown(value), None)

    def _parts(self) -> list[Part]:
        obj = self.source(self._id)
        return list(obj.parts) if obj is not None else []

    def _body(self, id_: ObjectId) -> Tree:
        obj = self.source(id_)
        return obj.body if obj is not None else None

    def _place(self, read: FieldAccess, policy: ObjectId) -> Place | None:
        steps = read.steps
        match read.variable:
            case "self":
                return self.own_place(self._id, steps)
            case "lease":
                return self.own_place(self._lease, steps)
            case "cluster":
                return self.own_place(self._cluster(), steps)
            case "reported" | "previous" if steps:
                parts = self._parts() if read.variable == "reported" else self._derived(self._id)
                return place_of(parts, (*_CONDITIONS, (str(steps[0]),), *map(str, steps[1:]))) if parts else None
            case "conditions" if steps:
                return self.place(self._id, (*_CONDITIONS, (str(steps[0]),), *map(str, steps[1:])))
            case "params":
                given = self._fleet.settings.policy_params(policy.name)
                if steps and steps[0] in given:
                    return self._setting("policyParams", policy.name, *steps)
                return self.place(policy, ("spec", "params", *steps))
            case "fleet":
                return self._setting(*steps)
            case _:
                return None

    def _setting(self, *steps: str | int) -> Place | None:
        """The place of a setting in the Fleet."""
        fleets = sorted(id_ for id_ in self._fleet.objects if FLEET.has(id_))
        return self.own_place(fleets[0], ("spec", *steps)) if fleets else None

    def _reports(self, value: Any) -> Iterator[Read]:
        """The reports that an expression read."""
        seen = {id(spec) for spec in value} if isinstance(value, list) else set()
        for obj in self._fleet.of(ADAPTER_REPORT) if seen else ():
            if id(obj.spec) in seen:
                text = f"generation {obj.spec.get('observed_generation')} at {obj.spec.get('observed_time')}"
                yield Read(f"report of {obj.spec.get('adapter')}", text, self.place(obj.id, ("spec",)))

    def _cluster(self) -> ObjectId:
        obj = self.source(self._id)
        return MANAGED_CLUSTER.id(cluster_of(obj) if obj is not None else self._id.namespace or self._id.name)

    @property
    def _lease(self) -> ObjectId:
        return counting_lease(self._fleet, self._cluster().name)


def _is_written(obj: Object, at: AnyPath) -> bool:
    """Does one of the object's files set the field? Not if the fleet's settings add it."""
    keys = kind_of(obj.id).list_keys
    return any(len(plain_steps(part.body, at, keys)) == len(at) for part in obj.parts)


def title_of(spec: Any, at: At) -> str:
    """Return the name of an expression in its policy: `rule lease-expired`, `variable grace`, `gate healthy`."""
    if at[:2] == VARIABLES_AT:
        return f"variable {at[2] if isinstance(at[2], str) else spec['variables'][at[2]]['name']}"
    if at[-3:-2] == ("gate",):  # of a Rollout, or of one of its stages
        if at[1] == "gate":
            return f"gate {spec['gate'][at[2]]['name']}"
        stage = spec["stages"][at[2]]
        return f"gate {stage['gate'][at[4]]['name']} of stage {stage['name']}"
    if len(at) < 4 or at[1] not in _ENTRIES:
        return ".".join(str(step) for step in at[1:])
    entry = spec.get(at[1], [])[at[2]] if isinstance(at[2], int) else {}
    name = entry.get("name") or ":".join(entry[part] for part in ("key", "effect") if part in entry) or at[2]
    field = str(at[3]).removesuffix("Expression")
    return f"{_ENTRIES[str(at[1])]} {name}" + ("" if field in ("when", "expression") else f": {field}")


def field_label(path: AnyPath) -> str:
    """Return the name of a field: `status.conditions[Available]`, `spec.rules[2].when`."""

    def label(step: str | int | tuple[str, ...]) -> str:
        if isinstance(step, tuple):
            return f"[{':'.join(filter(None, step))}]"
        return f"[{step}]" if isinstance(step, int) else f".{step}"

    return "".join(map(label, path)).removeprefix(".")


def _since(condition: Tree) -> datetime | None:
    return try_time(dig(condition, "lastTransitionTime"))


def _value(value: Any) -> str:
    return "" if isinstance(value, dict | list) else shown(value)
