"""Requests: what a revision does to each object, as an API server would see it."""

from collections.abc import Iterator, Mapping

from muster.data.ids import ObjectId
from muster.data.kinds import kind_of
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.rules.admission.resources import Resource, resource_of

#: The user if unknown: no name, no groups.
UNKNOWN_USER: Mapping[str, Tree] = {"username": "", "uid": "", "groups": [], "extra": {}}


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """One object, now and at the base; None if missing.

    `derived`: its derived part of the last run, which on a live hub is part of the object.
    """

    id: ObjectId
    resource: Resource
    operation: str
    version: str
    object: Object | None
    old: Object | None
    derived: Tree

    @property
    def is_namespace(self) -> bool:
        """Is it about a Namespace itself?"""
        return (self.resource.group, self.resource.kind) == ("", "Namespace")

    @property
    def files(self) -> Mapping[str, str]:
        """The ids by path of people's files that hold the object; empty ids for one that is removed."""
        side = self.object or self.old
        parts = side.parts if side is not None else ()
        return {part.source.path: part.source.oid if self.object else "" for part in parts if not part.source.ref}

    @property
    def labels(self) -> tuple[Mapping[str, str], ...]:
        """The labels of both sides."""
        return tuple(side.labels for side in (self.object, self.old) if side is not None)

    def tree(self, user: Mapping[str, Tree]) -> Tree:
        """`request` in expressions. An object without a namespace has none, as upstream."""
        group, version = self.resource.group, self.version
        kind = {"group": group, "version": version, "kind": self.resource.kind}
        resource = {"group": group, "version": version, "resource": self.resource.plural}
        return {
            "operation": self.operation,
            "name": self.id.name,
            **({"namespace": self.id.namespace} if self.id.namespace else {}),
            "kind": kind,
            "requestKind": kind,
            "resource": resource,
            "requestResource": resource,
            "dryRun": False,
            "userInfo": user,
        }


def operation(obj: Object | None, old: Object | None) -> str:
    """Return what a revision does to an object."""
    return "DELETE" if obj is None else "CREATE" if old is None else "UPDATE"


def requests(fleet: Fleet, base: Fleet | None) -> Iterator[AdmissionRequest]:
    """Yield a request per sound object of the fleet, and per removed object of the base, by id.

    Without a base, every object is new. An unchanged object counts as an update of itself: a violation is reported as
    long as it exists.
    """
    old_objects = base.objects if base is not None else {}
    for id_ in sorted({*fleet.objects, *old_objects}):
        obj, old = fleet.objects.get(id_), old_objects.get(id_)
        kind = kind_of(id_)
        if id_ in fleet.broken or (obj is None and fleet.uncertain(kind)):
            continue
        if obj is None and old is not None and all(part.source.ref for part in old.parts):
            continue  # a silent agent removes nothing
        parts = [part for side in (obj, old) if side is not None for part in side.parts]
        version, derived = parts[0].version, fleet.previous.get(id_) or {}
        yield AdmissionRequest(id_, resource_of(kind), operation(obj, old), version, obj, old, derived)
