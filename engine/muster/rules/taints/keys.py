"""Keys of a cluster's taints, which taints keep work away, and what policies request."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

from muster.data.decision import Decision, Path
from muster.data.kinds import TAINTS, Kind
from muster.data.times import format_time
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass
from muster.rules.stages import ObjectTerm
from muster.rules.taints.cluster_policy import ClusterTaintPolicy
from muster.rules.taints.policy import TaintRule

#: Effects that keep work away or move it; others are hints.
DISRUPTIVE = frozenset(("NoSelect", "NoSchedule", "NoExecute"))

#: The records of each taint's policies, each with the ground of the rule that put it there.
TAINT_RECORDS: Path = ("status", "muster", "taints")

#: A taint's identity: key and effect, and on a ManagedCluster the value (or empty).
TaintKey: TypeAlias = tuple[str, ...]


def taint_key(kind: Kind, taint: Mapping[str, Tree]) -> TaintKey:
    """Return a taint's key on a cluster of this kind."""
    return tuple(str(taint.get(name) or "") for name in kind.list_keys.get(TAINTS, ("key", "effect")))


def rule_key(kind: Kind, rule: TaintRule) -> TaintKey:
    """Return the key of a policy rule's taint on a cluster of this kind."""
    return taint_key(kind, {"key": rule.key, "effect": rule.effect, "value": rule.value})


def taint_fields(key: TaintKey) -> dict[str, Tree]:
    """Return the fields of a key, as written."""
    return {name: text for name, text in zip(("key", "effect", "value"), key, strict=False) if text}


def taint_text(key: TaintKey) -> str:
    """Return `dedicated:NoSelect`, or `dedicated=gpu:NoSelect`."""
    name, effect, *value = key
    return f"{name}={value[0]}:{effect}" if any(value) else f"{name}:{effect}"


def taints_by_key(kind: Kind, body: Tree) -> Mapping[TaintKey, Tree]:
    """Return the taints of an object, or of a derived part, by key."""
    return {taint_key(kind, taint): taint for taint in mappings_at(body, "spec", "taints")}


def put_before(kind: Kind, derived: Tree) -> Mapping[TaintKey, list[Tree]]:
    """Return the last run's records of each taint's policies."""
    records: dict[TaintKey, list[Tree]] = {}
    for entry in mappings_at(derived, *map(str, TAINT_RECORDS)):
        records.setdefault(taint_key(kind, entry), []).append(entry)
    return records


def present(last: Tree, value: str, now: datetime) -> Tree:
    """Return a taint with this value, without its key: as `last`, from the last run, else as of now.

    A last one without the time, which a person has deleted from the derived file, is as of now, too.
    """
    if last and (last.get("value") or "") == value and "timeAdded" in last:
        return without_key(last)
    return {"timeAdded": format_time(now), **({"value": value} if value else {})}


def without_key(taint: Tree) -> Tree:
    return {name: value for name, value in taint.items() if name not in ("key", "effect")}


@dataclass(frozen=True, slots=True)
class RequestedLatch:
    """What a cluster's conditions request of a ClusterTaintPolicy: to add its taints, or to remove them."""

    policy: ClusterTaintPolicy
    adds: bool
    removes: bool


def disrupts(decision: Decision) -> bool:
    """Does a decision add or keep a taint that keeps work away?"""
    return decision.value is not None and decision.path[2][1] in DISRUPTIVE


@dataclass(frozen=True, slots=True)
class RequestedTaints(ObjectTerm):
    """The taints that TaintPolicies request on a cluster; `put`: the records of each taint's policies."""

    decisions: tuple[Decision, ...]
    put: Mapping[TaintKey, list[Tree]]

    @property
    def disrupts(self) -> bool:
        """Does one of the taints keep work away?"""
        return any(map(disrupts, self.decisions))


@dataclass(frozen=True, slots=True)
class RequestedLatches(ObjectTerm):
    """What ClusterTaintPolicies request on a cluster. `keeps_away`: a resulting taint keeps work away."""

    latches: tuple[RequestedLatch, ...]
    keeps_away: bool

    @property
    def disrupts(self) -> bool:
        """Does one of the taints keep work away?"""
        return self.keeps_away
