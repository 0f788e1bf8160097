"""Requests: what a revision does to each object, as an API server would be asked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.model.ids import ObjectId
from muster.model.kinds import Kind, kind_of
from muster.model.tree import Tree


@dataclass(frozen=True, slots=True)
class Request:
    """One object as it is and as it was at the base; None where it is not there.

    `derived` is what the last run decided of it: on a live hub it would be part of the object.
    """

    id: ObjectId
    operation: str
    version: str
    object: Object | None
    old: Object | None
    derived: Tree

    @property
    def kind(self) -> Kind:
        """The object's kind."""
        return kind_of(self.id)

    @property
    def labels(self) -> tuple[Mapping[str, str], ...]:
        """The labels of both sides."""
        return tuple(side.labels for side in (self.object, self.old) if side is not None)

    def tree(self) -> Tree:
        """As expressions see it: `request`, less who asks, because git does not say."""
        kind, version = self.kind, self.version
        return {
            "operation": self.operation,
            "name": self.id.name,
            "namespace": self.id.namespace,
            "kind": {"group": kind.group, "version": version, "kind": kind.name},
            "resource": {"group": kind.group, "version": version, "resource": kind.plural},
            "dryRun": False,
        }


def requests(fleet: Fleet, base: Fleet | None) -> Iterator[Request]:
    """Yield a request per sound object of the fleet, and per object of the base that is gone, by id.

    Without a base, everything is new. An object that did not change updates itself to what it is: a rule that it
    breaks is broken for as long as it stands.
    """
    known = base.objects if base is not None else {}
    for id_ in sorted({*fleet.objects, *known}):
        obj, old = fleet.objects.get(id_), known.get(id_)
        if id_ in fleet.broken or (obj is None and fleet.uncertain(kind_of(id_))):
            continue
        if obj is None and old is not None and all(part.source.ref for part in old.parts):
            continue  # an agent that fell silent removes nothing
        parts = [part for side in (obj, old) if side is not None for part in side.parts]
        operation = "DELETE" if obj is None else "CREATE" if old is None else "UPDATE"
        yield Request(id_, operation, parts[0].version, obj, old, fleet.previous.get(id_) or {})
