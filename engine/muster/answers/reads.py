"""What decided, and where it stands: from the parts of an evaluated expression to fields of files."""

from collections.abc import Iterator
from typing import Any, Final

from muster.cel.access import Access, accesses
from muster.cel.runtime.describe import shown
from muster.engine.explained import Read
from muster.fleet.leases import lease_id, leased_cluster
from muster.fleet.merge import leaf_at
from muster.fleet.neighbourhoods import cluster_of
from muster.fleet.objects import Object
from muster.fleet.places import place_of
from muster.model.decision import Input, Path
from muster.model.ids import ObjectId
from muster.model.kinds import ADAPTER_REPORT, FLEET, LEASE, MANAGED_CLUSTER, kind_of
from muster.model.source import Place
from muster.model.tree import At
from muster.policy.lazy import VARIABLES_AT
from muster.policy.ruled import Ruled
from muster.policy.witness import Evaluation

#: What an entry of a policy's list is called.
_ENTRIES: Final = {
    "rules": "rule", "matchConditions": "matchCondition", "taints": "taint", "decisionMatches": "decisionMatch",
    "validations": "validation", "auditAnnotations": "auditAnnotation",
}  # fmt: skip
#: What is shown with what it was made of, or is the same for everybody.
_NO_INPUTS: Final = frozenset(("variables", "now"))


class Reader:
    """Finds the inputs of what was decided about one object."""

    def __init__(self, fleet: Ruled, id_: ObjectId) -> None:
        self._fleet, self._id = fleet, id_

    def source(self, id_: ObjectId) -> Object | None:
        """An object of the fleet, or a built-in policy."""
        return self._fleet.objects.get(id_) or self._fleet.builtin.get(id_)

    def place(self, id_: ObjectId, at: Path | At) -> Place | None:
        """Where a field stands, or the nearest ancestor of it that a file sets; of what only muster declares, the
        derived file. None where there is neither."""
        obj = self.source(id_)
        if obj is not None and obj.parts:
            return place_of(obj.parts, at)
        derived = self._fleet.derived_paths.get(id_)
        return None if derived is None else Place(derived)

    def of_input(self, read: Input) -> Iterator[Read]:
        """A field that a decision names as its input; one that nobody has set is none."""
        id_ = read.object or self._id
        found, value = leaf_at(self._fleet.whole(id_), read.path, kind_of(id_).list_keys)  # type: ignore[arg-type]
        place = self.place(id_, read.path)
        if not found and place is None:
            return
        own = "" if read.object is None or id_ == self._id else f"{id_} "
        yield Read(f"{own}{field_label(read.path)}", _value(value) if found else "", place)

    def of_evaluation(self, one: Evaluation) -> Iterator[Read]:
        """The fields that an expression read, in the order of its text."""
        assert one.result.trace is not None
        known, told = accesses(one.program.node), set[Access]()
        for part in one.result.trace.parts:
            read = known.get(part.id)
            if part.state != "value" or read is None or read.variable in _NO_INPUTS or read in told:
                continue
            if read.asked_for and part.value is True:
                continue  # that it is there says no more than its value, which is read next
            told.add(read)
            if read.variable == "reports":
                yield from self._reports(part.value)
            elif (place := self._place(read, one.policy)) is not None:
                yield Read(str(read), shown(part.value), place)

    def _place(self, read: Access, policy: ObjectId) -> Place | None:
        steps = read.steps
        match read.variable:
            case "self":
                return self.place(self._id, steps)
            case "lease":
                return self.place(self._lease(), steps)
            case "leaseDurationSeconds":
                return self.place(self._cluster(), ("spec", "leaseDurationSeconds"))
            case "cluster":
                return self.place(self._cluster(), steps)
            case "reported" if steps:
                field: Path = ("status", "conditions", (str(steps[0]),), *map(str, steps[1:]))
                return self.place(self._id, field)
            case "conditions" | "previous":
                derived = self._fleet.derived_paths.get(self._id)
                return None if derived is None else Place(derived)
            case "params":
                return self.place(policy, ("spec", "params", *steps))
            case "fleet":
                fleets = sorted(id_ for id_ in self._fleet.objects if FLEET.has(id_))
                return self.place(fleets[0], ("spec", *steps)) if fleets else None
            case _:
                return None

    def _reports(self, value: Any) -> Iterator[Read]:
        """The reports that an expression saw, each by its file."""
        seen = {id(spec) for spec in value} if isinstance(value, list) else set()
        for obj in self._fleet.of(ADAPTER_REPORT):
            if id(obj.spec) in seen:
                text = f"generation {obj.spec.get('observed_generation')} at {obj.spec.get('observed_time')}"
                yield Read(f"report of {obj.spec.get('adapter')}", text, self.place(obj.id, ("spec",)))

    def _cluster(self) -> ObjectId:
        obj = self.source(self._id)
        return MANAGED_CLUSTER.id(cluster_of(obj) if obj is not None else self._id.namespace or self._id.name)

    def _lease(self) -> ObjectId:
        name = self._cluster().name
        of_it = [obj.id for obj in self._fleet.of(LEASE) if leased_cluster(obj) == name]
        return lease_id(name) if lease_id(name) in of_it or not of_it else of_it[0]


def title_of(spec: Any, at: At) -> str:
    """Return what an expression is in its policy: `rule lease-expired`, `variable grace`, `matchCondition accepted`."""
    if at[:2] == VARIABLES_AT:
        return f"variable {at[2] if isinstance(at[2], str) else spec['variables'][at[2]]['name']}"
    if len(at) < 4 or at[1] not in _ENTRIES:
        return ".".join(str(step) for step in at[1:])
    entry = spec.get(at[1], [])[at[2]] if isinstance(at[2], int) else {}
    name = entry.get("name") or ":".join(entry[part] for part in ("key", "effect") if part in entry) or at[2]
    field = str(at[3]).removesuffix("Expression")
    return f"{_ENTRIES[str(at[1])]} {name}" + ("" if field in ("when", "expression") else f": {field}")


def field_label(path: Path | At) -> str:
    """Return how a field is called: `status.conditions[Available]`, `spec.rules[2].when`."""
    return "".join(_step(step) for step in path).removeprefix(".")


def _step(step: str | int | tuple[str, ...]) -> str:
    if isinstance(step, tuple):
        return f"[{':'.join(filter(None, step))}]"
    return f"[{step}]" if isinstance(step, int) else f".{step}"


def _value(value: Any) -> str:
    return "" if isinstance(value, dict | list) else shown(value)
