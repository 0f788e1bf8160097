"""Misspelt documents: those that were probably meant to be objects of the fleet.

A kind or group has a typing error, or a line was lost: the document still exists, so nobody meant to remove the object.
Another program's objects must not be reported, however similar their names: Cluster API has a `Cluster` in
`cluster.x-k8s.io`, Open Cluster Management a `PlacementBinding` in `policy.open-cluster-management.io`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from muster.data.kinds import ALL, BY_NAME, Kind
from muster.data.names import slip_of
from muster.data.tree import Tree, dig

_GROUPS = frozenset(kind.group for kind in ALL)
_NAMES = frozenset(BY_NAME)
#: Another program's objects in one of our groups, with a name that we have in another group.
_NAMESAKES = frozenset({("cluster.open-cluster-management.io", "ClusterClaim")})


class Guess(NamedTuple):
    """What an incomplete document may have been: one of these kinds, with a name (empty if missing)."""

    kinds: tuple[Kind, ...]
    name: str
    namespace: str


def misspelt_kind(group: str, name: str) -> Kind | None:
    """Return the kind that an unknown group and kind were meant to be; None if they are another program's.

    Both must be near: a misspelt kind in one of our groups; a misspelt group (or one without its first part, or empty)
    with one of its kinds; or a kind that belongs to another of our groups.
    """
    if group in _GROUPS and name in _NAMES and (group, name) not in _NAMESAKES:
        return BY_NAME[name]
    for candidate in _groups_near(group):
        names = {kind.name: kind for kind in ALL if kind.group == candidate}
        if candidate != group and name in names:
            return names[name]
        exact = candidate == group or bool(slip_of(group, (candidate,)))
        if exact and (match := slip_of(name, names)):
            return names[match]
    return None


def _groups_near(group: str) -> Iterator[str]:
    if group in _GROUPS:
        yield group
    elif match := slip_of(group, _GROUPS):
        yield match
    else:
        # Core objects have no group, and none of our kinds has the name of one.
        yield from sorted(candidate for candidate in _GROUPS if not group or candidate.endswith(f".{group}"))


def guess_document(body: Tree) -> Guess | None:
    """Return what a document without `apiVersion` or `kind` was meant to be; None if it is another program's.

    Either one is missing and the other is the fleet's or near it; or both are missing but there is an object's
    metadata: then `kinds` is empty and the name must be that of a vanished object.
    """
    if not isinstance(body, dict):
        return None
    group_version, kind = _text(body.get("apiVersion")), _text(body.get("kind"))
    name, namespace = _text(dig(body, "metadata", "name")), _text(dig(body, "metadata", "namespace"))
    if group_version and not kind:
        group = group_version.rpartition("/")[0] or group_version
        near = group if group in _GROUPS else slip_of(group, _GROUPS) or _cut_off(group)
        return Guess(tuple(k for k in ALL if k.group == near), name, namespace) if near else None
    if kind and not group_version:
        match = kind if kind in _NAMES else slip_of(kind, _NAMES)
        # A kind such as `Cluster` alone proves nothing: an object has metadata.
        return Guess((BY_NAME[match],), name, namespace) if match and isinstance(body.get("metadata"), dict) else None
    return Guess((), name, namespace) if name and not group_version else None


def _cut_off(group: str) -> str:
    """Our group that begins with this text, in a file cut off in the middle of a line."""
    return next((candidate for candidate in sorted(_GROUPS) if len(group) > _SHORT and candidate.startswith(group)), "")


_SHORT = 7


def _text(value: Tree) -> str:
    return value if isinstance(value, str) else ""
