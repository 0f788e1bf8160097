"""What if: suppositions as edits of files in the branch and on agent refs.

The edits are committed to a scratch repository (`muster.features.whatif.rehearsal`) and evaluated like any other, so
there is no second way of deciding.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime, timedelta

from muster.data.decision import Held
from muster.data.ids import ObjectId
from muster.data.kinds import APPROVAL, LEASE, MANAGED_CLUSTER, kind_of
from muster.data.names import did_you_mean
from muster.data.source import Layer, Part, SourceFile
from muster.data.times import format_time, span_of, try_time
from muster.data.tree import Tree, dig, mappings_at
from muster.data.wildcards import matches_any
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.fleet.files import read_file
from muster.fleet.fleet import Fleet
from muster.fleet.leases import (
    LONGEST_SECONDS,
    derived_lease_seconds,
    grace_factor,
    is_silent,
    leased_cluster,
    leases_by_cluster,
    own_lease_seconds,
)
from muster.fleet.objects import Object
from muster.fleet.reading import FilesRead
from muster.rules.effects.approval import ROLLOUT_EFFECT
from muster.rules.effects.freeze import PREFIX
from muster.rules.policies.selectors import LabelSelector
from muster.rules.policies.staleness import expiry

#: Files by agent's ref (empty for the branch) and path; None removes one.
Edits = Mapping[tuple[str, str], bytes | None]
#: The folder of added files.
FOLDER = "supposed"
_REASON = "Supposed"
#: Upstream's annotation against comparing clocks, and the condition that it keeps True.
_ANY_CLOCK = "registration.open-cluster-management.io/skip-clock-sync-check"
_CLOCK = "ManagedClusterConditionClockSynced"
#: How long ago a lost agent last renewed its lease.
_LONG_AGO = timedelta(days=30)


#: The fields that every part of an object has.
_EVERYWHERE = frozenset(("apiVersion", "kind", "metadata"))
_NAMES = frozenset(("apiVersion", "kind", "name", "namespace"))


class NotSupposable(ValueError):  # noqa: N818 - says what the person asked for
    """The supposition does not fit the fleet."""


@dataclass
class Supposition:
    """The edits so far of the fleet's input parts; later ones build on earlier ones."""

    fleet: Fleet
    _documents: dict[tuple[str, str], dict[int, Tree | None]] = field(default_factory=dict)
    _files: dict[tuple[str, str], bytes | None] = field(default_factory=dict)
    _taken: set[tuple[str, str]] = field(default_factory=set)
    _annotations: dict[ObjectId, dict[str, str]] = field(default_factory=dict)

    @property
    def edits(self) -> Edits:
        """The edited files."""
        return self._files | {where: self._text(where) for where in self._documents}

    def take(self) -> Edits:
        """The files that were edited since the last time: a run after them looks only at what they concern."""
        new = (self._files.keys() | self._documents.keys()) - self._taken
        self._taken |= new
        return {where: self._text(where) if where in self._documents else self._files[where] for where in sorted(new)}

    def _text(self, where: tuple[str, str]) -> bytes | None:
        kept = [body for body in self._documents[where].values() if body is not None]
        return "---\n".join(emit(body) for body in kept).encode() if kept else None

    def change(self, part: Part, change: Callable[[Tree], Tree | None]) -> None:
        """Change a document of a file; None removes it."""
        where = (part.source.ref, part.source.path)
        self._taken.discard(where)
        if where not in self._documents:
            loaded = load_documents(part.source.read(), part.source.label)
            self._documents[where] = {document.index: document.body for document in loaded.documents}
        bodies = self._documents[where]
        body = bodies[part.index]
        if part.item is None:
            bodies[part.index] = None if body is None else change(body)
        elif body is not None:
            items = list(body["items"])
            items[part.item] = change(items[part.item])
            bodies[part.index] = {**body, "items": [item for item in items if item is not None]}

    # -- suppositions

    def lose(self, selector: LabelSelector, now: datetime) -> tuple[str, ...]:
        """Suppose that the agents of the clusters with these labels are silent. Returns the clusters' names."""
        clusters = list(self.fleet.clusters())
        lost = tuple(obj.id.name for obj in clusters if selector.matches(obj.labels))
        if not lost:
            labels = {label for obj in clusters for label in obj.labels}
            unknown = [requirement.key for requirement in selector.requirements if requirement.key not in labels]
            hint = did_you_mean(unknown[0], labels) if unknown else ""
            raise NotSupposable(f"no cluster has these labels; {hint}".rstrip("; "))
        for _, part in _leases(self.fleet, lost):
            self.change(part, lambda body: _renewed(body, now - _LONG_AGO))
        return lost

    def report(self, id_: ObjectId, type_: str, status: str, now: datetime) -> None:
        """Suppose that a condition of an object is reported with this status."""
        obj = self.fleet.objects.get(id_)
        if obj is None:
            raise NotSupposable(f"there is no {id_}")
        condition = {
            "type": type_,
            "status": status,
            "reason": _REASON,
            "message": "",
            "lastTransitionTime": format_time(now),
        }
        parts = [part for part in obj.parts if part.layer is Layer.INPUT]
        holder = next((part for part in parts if _has(part.body, type_)), None)
        holder = holder or next((part for part in parts if "status" in part.body), None)
        if holder is not None:
            self.change(holder, lambda body: _with_condition(body, condition))
            return
        kind = kind_of(id_)
        metadata = {"name": id_.name, **({"namespace": id_.namespace} if id_.namespace else {})}
        body = {
            "apiVersion": parts[0].body["apiVersion"],
            "kind": kind.name,
            "metadata": metadata,
            "status": {"conditions": [condition]},
        }
        self.edit(f"{FOLDER}/{kind.folder}/{id_.namespace or '-'}/{id_.name}.yaml", emit(body).encode())

    def annotate(self, id_: ObjectId, name: str, value: str) -> None:
        """Suppose that an object has an annotation."""
        annotations = self._annotations.setdefault(id_, {})
        annotations[name] = value
        kind = kind_of(id_)
        body = kind.body({"name": id_.name, "annotations": dict(sorted(annotations.items()))})
        self.edit(annotations_path(id_), emit(body).encode())

    def approve(self, effects: Iterable[tuple[str, str, datetime]], name: str = FOLDER) -> None:
        """Suppose that these effects are approved, and no others under this name: objects, effects, and since when they
        wait."""
        entries = [
            {"object": subject, "effect": effect, "since": format_time(since)} for subject, effect, since in effects
        ]
        body = APPROVAL.body({"name": name}, spec={"effects": entries})
        self.edit(f"{FOLDER}/{APPROVAL.folder}/-/{name}.yaml", emit(body).encode())

    def renew(self, cluster: str, now: datetime) -> None:
        """Suppose that the agent of a cluster has just renewed its Lease."""
        for _, part in _leases(self.fleet, (cluster,)):
            self.change(part, lambda body: _renewed(body, now))

    def edit(self, path: str, data: bytes | None) -> None:
        """Replace a file of the branch; None deletes it."""
        self._taken.discard(("", path))
        self._files["", path] = data

    def has(self, path: str) -> bool:
        """Does the branch have a file with objects at a path?"""
        return any(part.source.path == path and not part.source.ref for part in self.fleet.read.parts)

    def put(self, name: str, data: bytes) -> None:
        """Replace parts of objects by those in a file from elsewhere; other parts of these objects, such as agents'
        reports, stay."""
        reading = FilesRead()
        read_file(reading, SourceFile(name, "", lambda: data), Layer.INPUT)
        for finding in reading.findings[:1]:
            raise NotSupposable(f"{finding.file}:{finding.line}:{finding.column}: {finding.message}")
        for given in reading.parts:
            if (part := self._counterpart(given)) is not None:
                self.change(part, lambda _: None)
        self.edit(f"{FOLDER}/{name}", data)

    def _counterpart(self, given: Part) -> Part | None:
        """The part of the same object with the most fields in common; declared fields count before status."""
        obj = self.fleet.objects.get(given.id)
        parts = (
            [declared for declared in obj.parts if declared.layer is Layer.INPUT and not declared.source.ref]
            if obj is not None
            else []
        )
        likeness = {index: _likeness(part.body, given.body) for index, part in enumerate(parts)}
        best = max(likeness, key=lambda index: likeness[index], default=None)
        return parts[best] if best is not None and any(likeness[best]) else None


def annotations_path(id_: ObjectId) -> str:
    """The file of an object's supposed annotations."""
    return f"{FOLDER}/{kind_of(id_).folder}/-/{id_.name}-annotations.yaml"


def asks_for_rollout(held: Held) -> bool:
    """Does a rollout wait for an approval that is not that of a freeze?"""
    wait = held.wait
    is_rollout = held.effect.startswith(f"{ROLLOUT_EFFECT} ")
    return wait is not None and not wait.approved and is_rollout and not wait.topic.startswith(PREFIX)


def _likeness(one: Tree, other: Tree) -> tuple[int, int, int]:
    """How much two parts of an object have in common: declared fields, sections, and status fields."""
    sections = (one.keys() & other.keys()) - _EVERYWHERE
    every, status = _common(one, other), _common({"": one.get("status")}, {"": other.get("status")})
    return every - status, len(sections), status


def _common(one: Tree, other: Tree, depth: int = 0) -> int:
    """How many fields two trees have in common, without names of objects."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return int(depth > 1)
    return sum(_common(one[name], other[name], depth + 1) for name in (one.keys() & other.keys()) - _NAMES)


@dataclass(frozen=True, slots=True)
class Beat:
    """An agent that renews its Lease: the Lease, its last renewal, and the period."""

    cluster: str
    lease: Part
    renewed: datetime
    period: timedelta

    def at(self, now: datetime) -> datetime:
        """Its last renewal up to an instant, if it keeps renewing."""
        return self.renewed + (now - self.renewed) // self.period * self.period


def beats(fleet: Fleet, patterns: Iterable[str], now: datetime) -> Iterator[Beat]:
    """Yield the agents of clusters whose names match patterns with `*`, without silent ones."""
    wanted, factor, leases = tuple(patterns), grace_factor(fleet), leases_by_cluster(fleet)
    clusters = {obj.id.name: obj for obj in fleet.clusters()}
    names = [name for name in clusters if matches_any(wanted, name)]
    for name, part in _leases(fleet, names):
        if is_silent(fleet, clusters[name].id, leases, now):
            continue
        seconds = _seconds(fleet, clusters[name], part.body)
        until = expiry(clusters[name], part.body, factor * seconds)
        renewed = try_time(dig(part.body, "spec", "renewTime"))
        if renewed is not None and until is not None and until > now:
            yield Beat(name, part, renewed, span_of(seconds))


def _seconds(fleet: Fleet, cluster: Object, lease: Tree) -> int:
    """How often an agent renews, in seconds: once per lease duration that the hub has derived; Karmada's four times."""
    if MANAGED_CLUSTER.has(cluster.id):
        return max(own_lease_seconds(cluster), derived_lease_seconds(fleet.previous.get(cluster.id)))
    stated = dig(lease, "spec", "leaseDurationSeconds")
    return max(min(stated, LONGEST_SECONDS) // 4, 1) if isinstance(stated, int) and not isinstance(stated, bool) else 10


def renewals(supposition: Supposition, agents: Iterable[Beat], now: datetime) -> None:
    """Suppose that the agents have renewed until now."""
    for beat in agents:
        if (renewed := beat.at(now)) > beat.renewed:
            supposition.change(beat.lease, lambda body, at=renewed: _renewed(body, at))  # type: ignore[misc]


def renew_ahead(supposition: Supposition, agents: Iterable[Beat], until: datetime) -> None:
    """Suppose at once the last renewal of agents that renew until an instant, because each one on its way would need a
    run. So their clocks seem to run ahead, which must not count."""
    fleet, renewing = supposition.fleet, list(agents)
    renewals(supposition, renewing, until)
    for id_ in (MANAGED_CLUSTER.id(beat.cluster) for beat in renewing):
        if id_ in fleet.objects and status_before(fleet, id_, _CLOCK) != "False":
            supposition.annotate(id_, _ANY_CLOCK, "true")


def status_before(fleet: Fleet, id_: ObjectId, type_: str) -> Tree:
    """The status of a condition by the last run; None without one."""
    conditions = mappings_at(fleet.previous.get(id_), "status", "conditions")
    return next(
        (known_condition.get("status") for known_condition in conditions if known_condition.get("type") == type_), None
    )


def _leases(fleet: Fleet, clusters: Iterable[str]) -> Iterator[tuple[str, Part]]:
    """The parts of some clusters' Leases that have `renewTime`."""
    wanted = frozenset(clusters)
    for obj in fleet.of(LEASE):
        if (name := leased_cluster(obj)) in wanted:
            yield from ((name, part) for part in obj.parts if dig(part.body, "spec", "renewTime") is not None)


def _renewed(body: Tree, at: datetime) -> Tree:
    return {**body, "spec": {**body["spec"], "renewTime": format_time(at)}}


def _has(body: Tree, type_: str) -> bool:
    return any(condition.get("type") == type_ for condition in mappings_at(body, "status", "conditions"))


def _with_condition(body: Tree, condition: dict[str, str]) -> Tree:
    conditions = [
        other for other in mappings_at(body, "status", "conditions") if other.get("type") != condition["type"]
    ]
    return {**body, "status": {**(body.get("status") or {}), "conditions": [*conditions, condition]}}
