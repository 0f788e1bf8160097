"""ClusterTaintPolicies: taints that latch (Karmada).

A policy adds its taints when all its conditions for adding hold, and removes them when all those for removing do. In
between nothing changes: neither when the conditions for adding stop to hold, nor when the policy or its target is
edited or removed. Requests come from `muster.rules.taints.requested`; policies act one after the other, removing last,
so the newest wins. The derived file records the latch: a taint that a person deletes there is off.

Policies cannot remove taints that people commit.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime

from muster.data.decision import OF_CONDITIONS, Because, Decision, Held, Input, Path
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_TAINT_POLICY, CLUSTERS, TAINT_EFFECTS
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.effects.allowance import EVERYTHING, Allowance
from muster.rules.stages import Local
from muster.rules.taints.cluster_policy import ClusterTaintPolicy
from muster.rules.taints.keys import (
    DISRUPTIVE,
    RequestedLatch,
    RequestedLatches,
    TaintKey,
    present,
    taint_fields,
    taint_key,
    taint_text,
    taints_by_key,
)

LATCHED: Path = ("status", "muster", "latched")
_LATCHED = Because("taint policies", OF_CONDITIONS, "latched until conditions remove it")


def stage(
    view: View, now: datetime, allowance: Allowance, requests: Mapping[ObjectId, RequestedLatches]
) -> Iterator[Decision | Held | Finding]:
    """Decide every cluster's latching taints, as far as budgets allow the requests."""

    def latching(obj: Object) -> Iterator[Decision | Held]:
        # On a cluster that is being deleted, latched taints stay, like those of any policy.
        cluster = _LatchingCluster.of(view, obj)
        requested = requests.get(obj.id)
        yield from cluster.act(requested.latches if requested else (), allowance)
        yield from cluster.decisions(now)

    yield from each(view.clusters(), latching)


def would_disrupt(view: View, obj: Object, requests: Iterable[RequestedLatch]) -> bool:
    """Would a latching taint, present or requested, keep work away from the cluster?"""
    cluster = _LatchingCluster.of(view, obj)
    for _ in cluster.act(requests, replace(EVERYTHING, asked=set())):
        pass
    return any(key[1] in DISRUPTIVE for key in cluster.latched)


@dataclass
class _LatchingCluster:
    """One cluster while the policies act on it: `latched`: each taint's policy."""

    view: View
    obj: Object
    before: Mapping[TaintKey, Tree]
    latched: dict[TaintKey, str]
    removed: dict[TaintKey, str] = field(default_factory=dict)
    added: dict[TaintKey, str] = field(default_factory=dict)

    @classmethod
    def of(cls, view: View, obj: Object) -> "_LatchingCluster":
        previous = view.previous.get(obj.id)
        before = taints_by_key(obj.kind, previous)
        latched = {
            taint_key(obj.kind, entry): str(entry.get("policy")) for entry in mappings_at(previous, *map(str, LATCHED))
        }
        return cls(view, obj, before, {key: policy for key, policy in latched.items() if key in before})

    def act(self, requests: Iterable[RequestedLatch], allowed: Allowance) -> Iterator[Held]:
        """Let the policies act in order; yield held effects."""
        for request in requests:
            if request.adds:
                yield from self._add(request.policy, allowed)
            if request.removes:
                self._remove(request.policy, allowed)

    def _taints(self, policy: ClusterTaintPolicy) -> Iterator[tuple[TaintKey, str]]:
        """The policy's taints by their keys on this cluster, with their values."""
        for (key, effect), value in policy.taints.items():
            yield taint_key(self.obj.kind, {"key": key, "effect": effect, "value": value}), value

    def _has_taint(self, key: TaintKey) -> bool:
        """Does the cluster have the taint now: from a person, a TaintPolicy or an earlier policy?"""
        return key in self.latched or (self._decided(key) and key not in self.removed)

    def _decided(self, key: TaintKey) -> bool:
        return self.view.now(self.obj.id, "spec", "taints", key) is not None

    def _add(self, policy: ClusterTaintPolicy, allowed: Allowance) -> Iterator[Held]:
        for key, value in self._taints(policy):
            if key[1] not in TAINT_EFFECTS[self.obj.id.kind] or self._has_taint(key):
                continue
            new = key[1] in DISRUPTIVE and key not in self.before
            held = allowed.holds(self.view, self.obj.id, f"taint {taint_text(key)}") if new else None
            if held is not None:
                yield held
                continue
            self.latched[key] = policy.id.name
            self.added[key] = value
            self.removed.pop(key, None)

    def _remove(self, policy: ClusterTaintPolicy, allowed: Allowance) -> None:
        declared = taints_by_key(self.obj.kind, self.obj.body)
        leaving = [key for key, _ in self._taints(policy) if key not in declared and self._has_taint(key)]
        if not leaving or allowed.freezes(self.view, self.obj.id):
            return
        for key in leaving:
            self.latched.pop(key, None)
            self.added.pop(key, None)
            self.removed[key] = policy.id.name

    def decisions(self, now: datetime) -> Iterator[Decision]:
        for key, name in sorted(self.removed.items()):
            if self._decided(key):
                yield Decision(self.obj.id, ("spec", "taints", key), None, _because(name))
        for key, name in sorted(self.latched.items()):
            taint = self._taint(key, now)
            put = "" if key in self.added else f"it was put there at {taint['timeAdded']}, and nothing has taken it off"
            yield Decision(self.obj.id, ("spec", "taints", key), taint, _because(name, put))
        if self.latched:
            entries = [{**taint_fields(key), "policy": name} for key, name in sorted(self.latched.items())]
            yield Decision(self.obj.id, LATCHED, entries, _LATCHED)

    def _taint(self, key: TaintKey, now: datetime) -> Tree:
        """The taint as present, or as added now. One removed and added again in one run keeps its time."""
        last = self.before.get(key)
        return present(last, self.added.get(key, dig(last, "value") or ""), now)


def _because(policy: str, text: str = "") -> Because:
    return Because(str(id_ := CLUSTER_TAINT_POLICY.id(policy)), (Input(("spec",), id_),), text)


STAGE = Local("taint policies", stage, derives=((CLUSTERS, (("spec", "taints"), ("status", "muster", "latched"))),))
