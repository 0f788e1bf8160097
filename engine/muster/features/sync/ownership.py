"""Which objects and fields on a hub are one set's, where several fleets write to the hub.

What a set makes is an ApplySet (KEP-3659): each object has the label of its set, and a ConfigMap, the set's parent,
names the set's kinds and the repository that feeds it. Fields of objects that others make are found by the set's own
field manager.

Versions up to 0.2 had one field manager for all sets. What it holds of an object is the set's that wants the object or
has its label, and is released once the set's own manager holds it too, so that no field is gone in between. What no set
wants any more names no set: it is given up if no decision is left that such a version wrote for another set, and of
Placements in the namespaces where the set had decisions.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from muster.data.kinds import PLACEMENT, PLACEMENT_DECISION, SIG_PLACEMENT_DECISION
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.features.sync.hub import HubKey, HubKind
from muster.features.sync.wanted import OWNED
from muster.rules.placements.shards import PLACEMENT_LABEL

PART_OF: Final = "applyset.kubernetes.io/part-of"
#: The name of a parent, unless another is given.
DEFAULT_NAME: Final = "muster"
#: The field manager of all sets, before each had its own.
COMMON_MANAGER: Final = "muster"
_PLACEMENT: Final = HubKind.of(PLACEMENT)
#: The label by which a decision names its Placement.
_DECISIONS: Final = {
    HubKind.of(PLACEMENT_DECISION): PLACEMENT_LABEL,
    HubKind.of(SIG_PLACEMENT_DECISION): f"{SIG_PLACEMENT_DECISION.group}/decision-key",
}
#: Kinds of which muster makes every object that it wants.
_WHOLE: Final = frozenset(HubKind.of(rule.kind) for rule in OWNED if not rule.fields)
#: Kinds of which muster makes some objects, and sets fields of others.
_PARTLY: Final = frozenset(HubKind.of(rule.kind) for rule in OWNED if rule.fields)


class SyncParent(NamedTuple):
    """The ConfigMap that stands for the set on the hub, and the repository that feeds it."""

    namespace: str
    name: str
    repository: str

    @property
    def set_id(self) -> str:
        """The ApplySet's id, by KEP-3659: of the parent's name, namespace, kind and group."""
        digest = hashlib.sha256(f"{self.name}.{self.namespace}.ConfigMap.".encode()).digest()
        return f"applyset-{base64.urlsafe_b64encode(digest).decode().rstrip('=')}-v1"

    @property
    def manager(self) -> str:
        """The set's field manager. A hub takes 128 characters, and the names of the parent may have more."""
        return f"muster-{self.set_id}"

    @property
    def account(self) -> str:
        """The set's service account, beside its parent."""
        return "muster-sync" if self.name == DEFAULT_NAME else f"muster-sync-{self.name}"


class AppliedPart(NamedTuple):
    """A part of an object whose fields a `manager` applied: the object (empty `subresource`) or its status."""

    manager: str
    subresource: str
    fields: Mapping[str, Tree]


def applied_parts(body: Tree, managers: Iterable[str]) -> Iterator[AppliedPart]:
    """Yield the parts of an object that these managers applied."""
    chosen = frozenset(managers)
    for entry in dig(body, "metadata", "managedFields") or ():
        manager, fields = str(entry.get("manager")), entry.get("fieldsV1")
        if manager in chosen and entry.get("operation") == "Apply" and fields:
            yield AppliedPart(manager, str(entry.get("subresource") or ""), fields)


class Ownership:
    """What one set may write on a hub."""

    def __init__(self, parent: SyncParent, *, take_over: bool) -> None:
        """The set of `parent`. `take_over`: it takes what it wants from others who are no ApplySet."""
        self._parent, self._take_over = parent, take_over
        self._decided = frozenset[tuple[str, str]]()
        self._namespaces = frozenset[str]()
        self._alone = False

    def look(self, decided: Iterable[tuple[str, str]], namespaces: Iterable[str], there: Mapping[HubKey, Tree]) -> None:
        """Take note of the Placements that the fleet decides, by namespace and name, of the namespaces where the set
        had objects, and of the hub's objects."""
        self._decided, self._namespaces = frozenset(decided), frozenset(namespaces)
        self._alone = not any(
            key.kind in _DECISIONS
            and _label(body) not in (None, self._parent.set_id)
            and any(applied_parts(body, (COMMON_MANAGER,)))
            for key, body in there.items()
        )

    def is_part(self, body: Tree) -> bool:
        """Does the object have the set's label?"""
        return _label(body) == self._parent.set_id

    def lost(self, key: HubKey, body: Tree) -> bool:
        """Did the set make this object, which it wants, and lost it? Somebody took the label away, or the sync of
        another set emptied it, which an older version did: of such an object nothing is left but its name."""
        parts = applied_parts(body, (self._parent.manager, COMMON_MANAGER))
        made = any(key.kind not in _PARTLY or "f:metadata" in part.fields for part in parts)
        return _label(body) is None and (made or (key.kind in _WHOLE and _is_empty(body)))

    def may_take(self, body: Tree) -> bool:
        """May the set take over this object, which it wants and others made? Never from another set, and from no
        controller but OCM's scheduler, for a Placement that the fleet decides."""
        return self._take_over and _label(body) is None and all(map(self._is_decided, _controllers(body)))

    def reason_against(self, body: Tree) -> str:
        """Say why an object that the set wants is left to others."""
        if (other := _label(body)) is not None:
            return f"an object of this name is part of another ApplySet, {other}"
        why = "a controller has it" if self._take_over else "--take-over takes it over if no controller has it"
        return f"an object of this name exists, and muster did not make it; {why}"

    def replaces(self, key: HubKey, body: Tree) -> bool:
        """Is it a decision of others about a Placement that the fleet decides? It goes when the set takes over."""
        label = _DECISIONS.get(key.kind)
        if label is None or not self.may_take(body):
            return False
        named = mapping_at(body, "metadata", "labels").get(label)
        return bool(_controllers(body)) or (key.namespace, named) in self._decided

    def given_up(self, key: HubKey, body: Tree) -> Iterator[AppliedPart]:
        """Yield the parts with fields of the set, in an object that it does not want."""
        common = self._alone and (key.kind != _PLACEMENT or key.namespace in self._namespaces)
        return applied_parts(body, (self._parent.manager, *((COMMON_MANAGER,) if common else ())))

    def _is_decided(self, placement: tuple[str, str, str]) -> bool:
        kind, *name = placement
        return kind == PLACEMENT.name and tuple(name) in self._decided


def _label(body: Tree) -> str | None:
    return mapping_at(body, "metadata", "labels").get(PART_OF)


def _is_empty(body: Tree) -> bool:
    """Has nobody said anything about the object?"""
    said = ("labels", "annotations", "ownerReferences", "finalizers", "managedFields")
    sections = body.keys() - {"apiVersion", "kind", "metadata"}
    return not any(body[name] for name in sections) and not any(dig(body, "metadata", name) for name in said)


def _controllers(body: Tree) -> list[tuple[str, str, str]]:
    """The kind, namespace and name of an object's controllers; an owner is in the object's own namespace."""
    metadata = mapping_at(body, "metadata")
    owners = (owner for owner in mappings_at(metadata, "ownerReferences") if owner.get("controller"))
    return [(str(owner.get("kind")), str(metadata.get("namespace") or ""), str(owner.get("name"))) for owner in owners]
