"""Fleets that fail, for tests: clusters with leases and reports, evaluated in memory step by step.

fleet = Fleet(12)
fleet.dark("c01", "c04")
run = fleet.evaluate(minutes=10)   # what was derived is there for the next evaluation
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import muster
from muster.data.times import format_time, parse_time
from muster.data.tree import Tree, dig, mappings_at
from muster.features.test.memory import MemorySnapshot
from muster.run.evaluate import evaluate_snapshot

START = parse_time("2026-01-01T00:00:00Z")
REGIONS = ("eu", "us", "ap")
#: Longer than the grace period of a lease.
LONG = timedelta(hours=1)

REMEDY = """\
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: dns-down}
spec:
  decisionMatches:
  - clusterConditionMatch: {conditionType: DnsReady, operator: Equal, conditionStatus: "False"}
  actions: [TrafficControl]
"""


@dataclass
class Fleet:
    """`size` accepted ManagedClusters `c00`, `c01`, ... in three regions, all of them heard of and healthy."""

    size: int
    texts: dict[str, str] = field(default_factory=lambda: {"remedy.yaml": REMEDY})
    derived: dict[str, str] = field(default_factory=dict)
    silent_since: dict[str, datetime] = field(default_factory=dict)
    broken_dns: set[str] = field(default_factory=set)
    unavailable: set[str] = field(default_factory=set)
    now: datetime = START
    regional: bool = False

    @property
    def names(self) -> list[str]:
        """The clusters: `c00`, `c01`, ..., or by region `eu-1`, `us-1`, `ap-1`, `eu-2`, ..."""
        if self.regional:
            return [f"{REGIONS[number % 3]}-{number // 3 + 1}" for number in range(self.size)]
        return [f"c{number:02}" for number in range(self.size)]

    def dark(self, *names: str) -> None:
        """Let clusters fall silent: their leases ran out a while ago."""
        for name in names:
            self.silent_since.setdefault(name, self.now - LONG)

    def heard(self, *names: str) -> None:
        """Let clusters renew their leases again."""
        for name in names:
            self.silent_since.pop(name, None)

    def evaluate(self, minutes: float = 1) -> muster.Run:
        """Evaluate so many minutes later, and keep what follows."""
        self.now += timedelta(minutes=minutes)
        run = self.look()
        for path, text in run.files.items():
            if text is None:
                self.derived.pop(path, None)
            else:
                self.derived[path] = text
        return run

    def look(self) -> muster.Run:
        """Evaluate at the present instant and keep nothing."""
        return evaluate_snapshot(MemorySnapshot(self.files()), self.now)

    def files(self) -> Mapping[str, str]:
        """The repository as it is now."""
        clusters = {f"clusters/{name}.yaml": self._cluster(name) for name in self.names}
        return {**self.texts, **clusters, **self.derived}

    def _cluster(self, name: str) -> str:
        region = REGIONS[self.names.index(name) % 3]
        renewed = format_time(self.silent_since.get(name, self.now))
        dns = "False" if name in self.broken_dns else "True"
        available = "False" if name in self.unavailable else "True"
        return f"""\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {{name: {name}, labels: {{region: {region}}}}}
spec: {{hubAcceptsClient: true, leaseDurationSeconds: 60}}
status:
  conditions:
  - {{type: ManagedClusterConditionAvailable, status: "{available}", reason: Available, message: ok}}
  - {{type: DnsReady, status: "{dns}", reason: Looked, message: ok}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: managed-cluster-lease, namespace: {name}}}
spec: {{renewTime: "{renewed}"}}
"""


def effects(run: muster.Run) -> set[tuple[str, str]]:
    """The disruptive effects that stand after a run: cluster and effect."""
    return {
        (body["metadata"]["name"], effect)
        for body in run.objects
        if body["kind"] in ("ManagedCluster", "Cluster")
        for effect in _effects(body)
    }


def _effects(body: Tree) -> Iterable[str]:
    yield from (f"taint {taint['key']}" for taint in mappings_at(body, "spec", "taints"))
    yield from (f"remedy {action}" for action in dig(body, "status", "remedyActions") or ())


def disrupted(run: muster.Run) -> set[str]:
    """The clusters on which an effect stands."""
    return {name for name, _ in effects(run)}


def fleet_condition(run: muster.Run, type_: str, name: str = "fleet") -> Tree:
    """A condition of the Fleet; an empty mapping where it has none."""
    for body in run.objects:
        if body["kind"] == "Fleet" and body["metadata"]["name"] == name:
            return next((c for c in mappings_at(body, "status", "conditions") if c["type"] == type_), {})
    return {}


def held(run: muster.Run) -> set[tuple[str, str]]:
    """What is held: cluster and effect."""
    return {(entry["name"], entry["effect"]) for entry in run.held}
