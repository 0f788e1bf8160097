"""What tells the taints of a cluster apart, and which of them keep work away."""

from collections.abc import Mapping
from typing import TypeAlias

from muster.data.kinds import TAINTS, Kind
from muster.data.tree import Tree, mappings_at
from muster.rules.taints.policy import TaintRule

#: Effects that keep work away or move it; the others only advise.
DISRUPTIVE = frozenset(("NoSelect", "NoSchedule", "NoExecute"))

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
