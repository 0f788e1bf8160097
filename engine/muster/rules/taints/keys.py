"""What tells the taints of a cluster apart, and which of them keep work away."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

from muster.data.decision import Path
from muster.data.kinds import TAINTS, Kind
from muster.data.times import format_time
from muster.data.tree import Tree, mappings_at
from muster.rules.taints.policy import TaintRule

#: Effects that keep work away or move it; the others only advise.
DISRUPTIVE = frozenset(("NoSelect", "NoSchedule", "NoExecute"))

#: Where it is remembered which policy put a taint there, and a digest of the policy.
STANDING: Path = ("status", "muster", "taints")

#: A taint's identity: key and effect, and on a ManagedCluster the value (empty where there is none).
TaintKey: TypeAlias = tuple[str, ...]


def taint_key(kind: Kind, taint: Mapping[str, Tree]) -> TaintKey:
    """Return what tells a taint from the others of a cluster of this kind."""
    return tuple(str(taint.get(name) or "") for name in kind.list_keys.get(TAINTS, ("key", "effect")))


def rule_key(kind: Kind, rule: TaintRule) -> TaintKey:
    """Return what tells the taint of a policy's rule from the others of a cluster of this kind."""
    return taint_key(kind, {"key": rule.key, "effect": rule.effect, "value": rule.value})


def taint_fields(key: TaintKey) -> dict[str, Tree]:
    """Return the fields that make up a key, as they are written."""
    return {name: text for name, text in zip(("key", "effect", "value"), key, strict=False) if text}


def taint_text(key: TaintKey) -> str:
    """Return `dedicated:NoSelect`, or `dedicated=gpu:NoSelect`: how people write taints."""
    name, effect, *value = key
    return f"{name}={value[0]}:{effect}" if any(value) else f"{name}:{effect}"


def taints_by_key(kind: Kind, body: Tree) -> Mapping[TaintKey, Tree]:
    """Return the taints of an object, or of a derived part, by what tells them apart."""
    return {taint_key(kind, taint): taint for taint in mappings_at(body, "spec", "taints")}


def put_before(kind: Kind, derived: Tree) -> Mapping[TaintKey, Tree]:
    """Return what the last run remembered of each taint that a policy put there."""
    return {taint_key(kind, entry): entry for entry in mappings_at(derived, *map(str, STANDING))}


def present(known: Tree, value: str, now: datetime) -> Tree:
    """Return a taint of a value, without its key, as it is `known` from the last run, else as of now."""
    if known and (known.get("value") or "") == value:
        return without_key(known)
    return {"timeAdded": format_time(now), **({"value": value} if value else {})}


def without_key(taint: Tree) -> Tree:
    return {name: value for name, value in taint.items() if name not in ("key", "effect")}
