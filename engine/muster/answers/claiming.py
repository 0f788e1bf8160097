"""Claims as edits of the repository: the file that asks for a cluster, and the removal that gives it back."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.model.kinds import CLUSTER_CLAIM, CLUSTER_POOL, Kind
from muster.model.names import did_you_mean
from muster.model.times import format_time
from muster.model.tree import Tree
from muster.yamlio.emitter import emit

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


class ClaimError(ValueError):
    """A claim cannot be made or given back; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One file of the repository and its new text; None removes it. `subject` is the commit's first line."""

    path: str
    text: str | None
    subject: str


def claim(
    fleet: Fleet,
    name: str,
    pool: str,
    *,
    now: datetime,
    namespace: str = "",
    lifetime: str = "",
    subjects: Iterable[str] = (),
) -> Edit:
    """Return the edit that claims a cluster of a pool, stamped with the instant so that claims are served in order.

    `subjects` are written `Kind/name`. ClaimError where the pool is unknown or lives in several namespaces, the claim
    exists, or a name or subject is malformed.
    """
    key = _only(fleet, CLUSTER_POOL, pool, namespace)
    id_ = CLUSTER_CLAIM.id(name, key.id.namespace)
    if id_ in fleet.objects:
        where = fleet.objects[id_].parts[0].source.label
        raise ClaimError(f"{id_} exists already, in {where}. Release it first, or take another name.")
    if not _NAME.fullmatch(name):
        raise ClaimError(f"{name!r} is no name for a claim. Use lower-case letters, digits and '-'.")
    spec: Tree = {"clusterPoolName": pool}
    if lifetime:
        spec["lifetime"] = lifetime
    if owners := [_subject(text) for text in subjects]:
        spec["subjects"] = owners
    body = {
        "apiVersion": CLUSTER_CLAIM.api_version,
        "kind": CLUSTER_CLAIM.name,
        "metadata": {"name": name, "namespace": id_.namespace, "creationTimestamp": format_time(now)},
        "spec": spec,
    }
    return Edit(f"pools/claims/{id_.namespace}/{name}.yaml", emit(body), f"Claim a cluster of pool {pool} as {name}")


def release(fleet: Fleet, name: str, *, namespace: str = "") -> Edit:
    """Return the edit that gives a claim's cluster back.

    ClaimError where there is no such claim, or its file holds other objects too.
    """
    claimed = _only(fleet, CLUSTER_CLAIM, name, namespace)
    paths = {part.source.path for part in claimed.parts}
    others = [obj.id for obj in fleet.objects.values() for part in obj.parts if part.source.path in paths]
    if len(paths) > 1 or len(others) > 1:
        where = ", ".join(sorted(paths))
        raise ClaimError(f"{claimed.id} shares its file with other objects: {where}. Take the document out by hand.")
    return Edit(next(iter(paths)), None, f"Release claim {name}")


def _only(fleet: Fleet, kind: Kind, name: str, namespace: str) -> Object:
    """The one object of a kind with a name."""
    named = [obj for obj in fleet.of(kind) if obj.id.name == name and namespace in ("", obj.id.namespace)]
    if len(named) == 1:
        return named[0]
    if named:
        spaces = ", ".join(obj.id.namespace for obj in named)
        raise ClaimError(f"there are several {kind.plural} named {name!r}. Choose one with --namespace: {spaces}.")
    hint = did_you_mean(name, (obj.id.name for obj in fleet.of(kind)))
    raise ClaimError(f"there is no {kind.name} named {name!r}. {hint}".strip())


def _subject(text: str) -> Tree:
    kind, _, name = text.partition("/")
    if kind not in ("User", "Group", "ServiceAccount") or not name:
        raise ClaimError(f"{text!r} is no subject. Write User/name, Group/name or ServiceAccount/name.")
    return {"kind": kind, "name": name}
