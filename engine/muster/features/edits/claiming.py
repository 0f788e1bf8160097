"""Claim and release a cluster: write the ClusterClaim's file, or delete it."""

from collections.abc import Iterable
from datetime import datetime

from muster.data.kinds import CLUSTER_CLAIM, CLUSTER_POOL, Kind
from muster.data.names import did_you_mean, is_short_label
from muster.data.times import brief, format_time, try_duration
from muster.data.tree import Tree, dig
from muster.features.edits.editing import Draft, EditRefusedError
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object


def claim(
    draft: Draft,
    name: str,
    pool: str,
    *,
    now: datetime,
    namespace: str = "",
    lifetime: str = "",
    subjects: Iterable[str] = (),
) -> None:
    """Claim a cluster of a pool; `now` becomes the creation time, by which claims are served in order.

    `subjects` are written `Kind/name`. EditRefusedError if the pool is unknown or exists in several namespaces, the
    claim exists, or a name or subject is malformed.
    """
    key = _only(draft.fleet, CLUSTER_POOL, pool, namespace)
    id_ = CLUSTER_CLAIM.id(name, key.id.namespace)
    if id_ in draft.fleet.objects:
        where = draft.fleet.objects[id_].parts[0].source.label
        raise EditRefusedError(f"{id_} already exists, in {where}. Release it first, or use another name.")
    if not is_short_label(name):
        raise EditRefusedError(f"{name!r} is not a valid name for a claim. Use lower-case letters, digits and '-'.")
    spec: Tree = {"clusterPoolName": key.id.name}
    if lifetime:
        spec["lifetime"] = _allowed(lifetime, key)
    if owners := [_subject(text) for text in subjects]:
        spec["subjects"] = owners
    metadata = {"name": name, "namespace": id_.namespace, "creationTimestamp": format_time(now)}
    path = f"pools/claims/{id_.namespace}/{name}.yaml"
    draft.create(path, CLUSTER_CLAIM.body(metadata, spec=spec))
    draft.changes.append(f"{id_}: {path} written")


def _allowed(lifetime: str, pool: Object) -> str:
    """Return the lifetime. EditRefusedError if it is no time, or longer than the pool allows."""
    span, most = try_duration(lifetime), try_duration(dig(pool.spec, "claimLifetime", "maximum"))
    if span is None or not span:
        raise EditRefusedError(f"{lifetime!r} is not a lifetime such as 90m, 8h or 24h")
    if most is not None and span > most:
        raise EditRefusedError(f"{pool.id} allows a lifetime of at most {brief(most)}, not {lifetime}")
    return lifetime


def release(draft: Draft, name: str, *, namespace: str = "") -> None:
    """Delete a claim. EditRefusedError if it does not exist, or its file holds other objects too."""
    claimed = _only(draft.fleet, CLUSTER_CLAIM, name, namespace)
    paths = {part.source.path for part in claimed.parts}
    others = [obj.id for obj in draft.fleet.objects.values() for part in obj.parts if part.source.path in paths]
    if len(paths) > 1 or len(others) > 1:
        where = ", ".join(sorted(paths))
        raise EditRefusedError(
            f"{claimed.id} shares its file with other objects: {where}. Remove the document by hand."
        )
    path = next(iter(paths))
    draft.delete(path)
    draft.changes.append(f"{claimed.id}: {path} removed")


def _only(fleet: Fleet, kind: Kind, name: str, namespace: str) -> Object:
    """The one object of a kind with a name, which may also be `NAMESPACE/NAME`."""
    if "/" in name and not namespace:
        namespace, _, name = name.partition("/")
    named = [obj for obj in fleet.of(kind) if obj.id.name == name and namespace in ("", obj.id.namespace)]
    if len(named) == 1:
        return named[0]
    if named:
        spaces = ", ".join(obj.id.namespace for obj in named)
        raise EditRefusedError(
            f"there are several {kind.plural} named {name!r}. Choose one with --namespace: {spaces}."
        )
    elsewhere = [obj.id.namespace for obj in fleet.of(kind) if obj.id.name == name]
    hint = (
        f"it is in {', '.join(elsewhere)}" if elsewhere else did_you_mean(name, (obj.id.name for obj in fleet.of(kind)))
    )
    where = f" in namespace {namespace}" if namespace else ""
    raise EditRefusedError(f"there is no {kind.name} named {name!r}{where}; {hint}".rstrip("; "))


def _subject(text: str) -> Tree:
    kind, _, name = text.partition("/")
    if kind not in ("User", "Group", "ServiceAccount") or not name:
        raise EditRefusedError(f"{text!r} is not a subject. Write User/name, Group/name or ServiceAccount/name.")
    return {"kind": kind, "name": name}
