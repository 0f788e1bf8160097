"""A view: objects, what the last run derived of them, and what this run has decided so far.

A local stage decides a neighbourhood by its view alone. A whole fleet is a view too.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from typing import Self, TypeVar, cast

from muster.data.decision import Decision, Held, Path
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_DEPLOYMENT, CLUSTERS, Kind
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.derived import derived_body
from muster.fleet.merge import overlay
from muster.fleet.objects import Object, by_type
from muster.fleet.unread import UnreadError

_NOTHING: Mapping[Path, Decision] = {}
_NO_CONDITIONS: Mapping[str, Tree] = {}
_T = TypeVar("_T")


class ObjectIndex:
    """What was looked up in the objects of a view. Views that differ only in what is decided share it: looking up
    again is expensive."""

    __slots__ = ("_broken", "_by_kind", "_objects", "_previous", "before", "reported", "results")

    def __init__(self, view: "View", by_kind: Mapping[tuple[str, str], tuple[Object, ...]] | None = None) -> None:
        """Index a view; `by_kind` if its sound objects are sorted already."""
        self._objects, self._previous, self._broken = view.objects, view.previous, view.broken
        self._by_kind = by_kind
        self.before: dict[ObjectId, Mapping[str, Tree]] = {}
        self.reported: dict[ObjectId, Mapping[str, Tree]] = {}
        self.results: dict[object, object] = {}

    @property
    def by_kind(self) -> Mapping[tuple[str, str], tuple[Object, ...]]:
        """The sound objects by group and kind, sorted by namespace and name."""
        if self._by_kind is None:
            grouped: dict[tuple[str, str], list[Object]] = {}
            for id_ in sorted(self._objects.keys() - self._broken):
                grouped.setdefault((id_.group, id_.kind), []).append(self._objects[id_])
            self._by_kind = {kind: tuple(objects) for kind, objects in grouped.items()}
        return self._by_kind

    def covers(self, view: "View") -> bool:
        """Is this an index of the view's objects?"""
        same = self._objects is view.objects and self._previous is view.previous
        return same and (self._broken is view.broken or self._broken == view.broken)


@dataclass(frozen=True)
class View:
    """Some of a fleet's objects.

    `objects`: by id, inputs only, including broken ones. `previous`: the last run's derived parts by id, also of
    objects that exist only there; `derived_paths`: their files. `broken`: objects with an error; they keep their last
    derived state. `unidentified`: a file could not be identified, so no derived file is removed for lack of an input.
    `decided`: this run's decisions; `held`: effects that a budget holds back.
    """

    objects: Mapping[ObjectId, Object]
    previous: Mapping[ObjectId, Tree]
    broken: frozenset[ObjectId] = frozenset()
    unidentified: bool = False
    derived_paths: Mapping[ObjectId, str] = field(default_factory=dict)
    decided: Mapping[ObjectId, Mapping[Path, Decision]] = field(default_factory=dict)
    held: tuple[Held, ...] = ()
    index: "ObjectIndex | None" = field(default=None, repr=False, compare=False, kw_only=True)

    def only(self, ids: Collection[ObjectId]) -> "View":
        """Return the view of some of the objects."""
        return View(
            {id_: self.objects[id_] for id_ in ids if id_ in self.objects},
            {id_: self.previous[id_] for id_ in ids if id_ in self.previous},
            self.broken.intersection(ids),
            self.unidentified,
            {id_: self.derived_paths[id_] for id_ in ids if id_ in self.derived_paths},
            {id_: self.decided[id_] for id_ in ids if id_ in self.decided},
            tuple(held for held in self.held if held.object in ids),
        )

    @property
    def _index(self) -> "ObjectIndex":
        """What was looked up in these objects: by this view, or by another one of the same."""
        index = self.index
        if index is None or not index.covers(self):
            index = ObjectIndex(self)
            object.__setattr__(self, "index", index)
        return index

    def once(self, look_up: Callable[[Self], _T]) -> _T:
        """Return what `look_up` finds in the objects and in what the last run derived of them, and nowhere else: once
        for all views of the same ones."""
        results = self._index.results
        if look_up not in results:
            results[look_up] = look_up(self)
        return cast("_T", results[look_up])

    # -- objects

    @property
    def by_kind(self) -> Mapping[tuple[str, str], tuple[Object, ...]]:
        """The sound objects by group and kind, sorted by namespace and name."""
        return self._index.by_kind

    def of(self, *kinds: Kind) -> tuple[Object, ...]:
        """The sound objects of these kinds, sorted by kind as given, then namespace and name."""
        return tuple(obj for kind in kinds for obj in self.by_kind.get((kind.group, kind.name), ()))

    def clusters(self) -> tuple[Object, ...]:
        """ManagedClusters and Karmada Clusters."""
        return self.of(*CLUSTERS)

    def lookup(self, id_: ObjectId) -> Object | None:
        """Return the object, None if nothing declares it. UnreadError if it has an error, or may be in an unreadable
        file."""
        if self.is_unread(id_):
            raise UnreadError(*((id_,) if id_ in self.broken else (None, id_.kind)))
        return self.objects.get(id_)

    def is_unread(self, id_: ObjectId) -> bool:
        """Has the object an error, or may it be in a file that cannot be read?"""
        return id_ in self.broken or (self.unidentified and id_ not in self.objects)

    def lookup_all(self, kind: Kind, namespace: str) -> tuple[Object, ...]:
        """Return the objects of a kind in a namespace. UnreadError if one has an error, or may be in an unreadable
        file."""
        for id_ in sorted(self.broken):
            if kind.has(id_) and id_.namespace == namespace:
                raise UnreadError(id_)
        if self.unidentified:
            raise UnreadError(None, kind.name)
        return tuple(obj for obj in self.of(kind) if obj.id.namespace == namespace)

    def uncertain(self, kind: Kind) -> bool:
        """Is an object of this kind broken, or possibly in an unreadable file?"""
        return self.unidentified or any(kind.has(id_) for id_ in self.broken)

    # -- what the last run derived

    def before(self, id_: ObjectId, *path: str) -> Tree:
        """The value at `path` of the object's previous derived part, or None."""
        return dig(self.previous.get(id_), *path)

    def conditions_before(self, id_: ObjectId) -> Mapping[str, Tree]:
        """Conditions by type, as the last run derived them."""
        conditions = self._index.before.get(id_)
        if conditions is None:
            body = self.previous.get(id_)
            conditions = by_type(mappings_at(body, "status", "conditions")) if body else _NO_CONDITIONS
            self._index.before[id_] = conditions
        return conditions

    # -- what this run has decided so far

    def decisions(self, id_: ObjectId) -> Mapping[Path, Decision]:
        """This run's decisions about an object, by path."""
        return self.decided.get(id_, _NOTHING)

    def now(self, id_: ObjectId, *path: str | tuple[str, ...]) -> Tree:
        """The value that this run decided for exactly this path, or None."""
        decision = self.decided.get(id_, _NOTHING).get(path)
        return None if decision is None else decision.value

    def conditions(self, id_: ObjectId) -> dict[str, Tree]:
        """Conditions by type, as this run has decided them so far."""
        decisions = self.decided.get(id_)
        return (
            {}
            if decisions is None
            else {
                path[2][0]: decision.value
                for path, decision in decisions.items()
                if len(path) == 3 and path[1] == "conditions" and path[0] == "status" and decision.value is not None
            }
        )

    def whole_conditions(self, id_: ObjectId) -> dict[str, Tree]:
        """Conditions by type, as `whole` has them: decided ones over reported ones."""
        conditions = dict(self.reported(id_))
        for path, decision in self.decisions(id_).items():
            if len(path) == 3 and path[1] == "conditions" and path[0] == "status":
                conditions.pop(path[2][0], None)
                if decision.value is not None:
                    conditions[path[2][0]] = decision.value
        return conditions

    def reported(self, id_: ObjectId) -> Mapping[str, Tree]:
        """Conditions by type, as agents report them in the inputs."""
        conditions = self._index.reported.get(id_)
        if conditions is None:
            obj = self.objects.get(id_)
            reported = by_type(mappings_at(obj.body, "status", "conditions")) if obj else {}
            conditions = self._index.reported[id_] = reported
        return conditions

    def with_decisions(self, decisions: Iterable[Decision]) -> Self:
        """Return the view with further decisions. A later one on the same path replaces an earlier one."""
        decided = dict(self.decided)
        touched: set[ObjectId] = set()
        for decision in decisions:
            if decision.object not in touched:
                touched.add(decision.object)
                decided[decision.object] = dict(decided.get(decision.object, {}))
            decided[decision.object][decision.path] = decision  # type: ignore[index]
        return replace(self, decided=decided)

    def declared(self, obj: Object) -> Object:
        """The object with everything declared about it: muster declares the clusters of pools, whose files are only
        reports."""
        if not CLUSTER_DEPLOYMENT.has(obj.id) or (derived := self.previous.get(obj.id)) is None:
            return obj
        manifest = {name: part for name, part in derived.items() if name != "status"}
        return replace(obj, body=overlay(obj.body, manifest, obj.kind.list_keys))

    def whole(self, id_: ObjectId) -> Tree:
        """The object with this run's decisions laid over its inputs: what upstream's API server would show."""
        obj = self.objects.get(id_)
        derived = derived_body(id_, self.decisions(id_))
        if obj is None:
            return derived
        return overlay(obj.body, derived, obj.kind.list_keys) if derived else obj.body
