"""A provisioner, people and a cloud around muster, in memory and in simulated minutes.

The provisioner knows only what is committed: it reads the derived ClusterDeployments, works on machines, and commits
what it sees, sometimes late. Installations take time and may fail, resumes may fail or hang, and the cloud has a
quota. muster runs on what is committed then, and may be killed before its commit lands. Everything is drawn from one
seed, and `check` holds after every commit.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

import yaml

from muster.data.times import format_time, parse_time
from muster.data.tree import Tree, dig
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle

START = parse_time("2026-01-01T00:00:00Z")
POOL, NAMESPACE = "ci", "pools"


@dataclass
class Machine:
    """What really is behind a ClusterDeployment. `until` is when the phase ends; None: it hangs for ever."""

    phase: str
    until: datetime | None
    wakes: bool = True
    since: datetime = START
    ready_since: datetime = START


@dataclass
class Odds:
    """How often things go wrong: chances between 0 and 1."""

    install_fails: float = 0.1
    resume_hangs: float = 0.15
    resume_fails: float = 0.05
    report_late: float = 0.3
    killed: float = 0.1
    claim: float = 0.15
    release: float = 0.08


@dataclass
class World:
    """The repository's files, the machines, and the invariants that have to hold after every commit."""

    seed: int
    pool: Tree
    odds: Odds = field(default_factory=Odds)
    quota: int = 12
    compatibility: str = "seed"
    now: datetime = START
    files: dict[str, str] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    unsent: dict[str, str | None] = field(default_factory=dict)
    horizon: datetime | None = None
    dirty: bool = True
    claims_made: int = 0
    replaced: int = 0
    assigned: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        external = ["ClusterImageSet/v1", f"Secret/{NAMESPACE}/creds"]
        pools = {"compatibility": self.compatibility, "externalDependencies": external}
        self._write("fleet.yaml", "muster.dev/v1alpha1", "Fleet", {"name": "fleet"}, spec={"pools": pools})
        self.set_pool(**self.pool)

    # -- people

    def set_pool(self, **spec: Tree) -> None:
        """Commit the pool with these fields."""
        self.pool = {**self.pool, **spec}
        template: Tree = {
            "baseDomain": "ci.example.com",
            "imageSetRef": {"name": "v1"},
            "platform": {"aws": {"region": "eu-1", "credentialsSecretRef": {"name": "creds"}}},
        }
        metadata = {"name": POOL, "namespace": NAMESPACE}
        self._write("pools/ci.yaml", "hive.openshift.io/v1", "ClusterPool", metadata, spec={**template, **self.pool})

    def claim(self) -> None:
        """Commit a new claim."""
        self.claims_made += 1
        name = f"claim-{self.claims_made:04}"
        metadata = {"name": name, "namespace": NAMESPACE}
        spec = {"clusterPoolName": POOL}
        self._write(f"claims/{name}.yaml", "hive.openshift.io/v1", "ClusterClaim", metadata, spec=spec)

    def release(self) -> None:
        """Remove the file of some claim."""
        if claims := sorted(path for path in self.files if path.startswith("claims/")):
            del self.files[self.random.choice(claims)]
            self.dirty = True

    # -- the provisioner

    def provision(self) -> None:
        """Act on the manifests, let time pass for machines, and commit the reports that are not late."""
        for name, manifest in self.manifests():
            self._work(name, manifest)
        for name in sorted(self.unsent):
            if self.random.random() >= self.odds.report_late:
                self._send(name)

    def _work(self, name: str, manifest: Tree) -> None:
        machine = self.machines.get(name)
        deleting = dig(manifest, "metadata", "deletionTimestamp") is not None
        wanted = dig(manifest, "spec", "powerState")
        if machine is None:
            if deleting:
                self.unsent[name] = self._report("gone", Machine("gone", None))
            elif sum(m.phase != "gone" for m in self.machines.values()) < self.quota:
                fails = self.random.random() < self.odds.install_fails
                self._enter(name, "installing-badly" if fails else "installing", minutes=self.random.randint(10, 40))
            return
        if deleting and machine.phase not in ("deprovisioning", "gone"):
            self._enter(name, "deprovisioning", minutes=self.random.randint(3, 15))
        if machine.until is not None and self.now >= machine.until:
            self._finish(name, machine.phase)
            machine = self.machines[name]
        if deleting:
            return
        if machine.phase == "running" and wanted == "Hibernating":
            self._enter(name, "stopping", minutes=self.random.randint(1, 5))
        elif machine.phase in ("stopped", "stopping") and wanted == "Running":
            self._start(name)
        elif machine.phase == "starting" and wanted == "Hibernating":
            self._enter(name, "stopping", minutes=self.random.randint(1, 5))

    def _start(self, name: str) -> None:
        luck = self.random.random()
        if luck < self.odds.resume_fails:
            self._enter(name, "start-failed")
        elif luck < self.odds.resume_fails + self.odds.resume_hangs:
            self._enter(name, "starting")
        else:
            self._enter(name, "starting", minutes=self.random.randint(2, 12))

    def _finish(self, name: str, phase: str) -> None:
        following = {
            "installing": "running",
            "installing-badly": "install-failed",
            "stopping": "stopped",
            "starting": "running",
            "deprovisioning": "gone",
        }
        self._enter(name, following[phase])

    def _enter(self, name: str, phase: str, minutes: int | None = None) -> None:
        until = None if minutes is None else self.now + timedelta(minutes=minutes)
        known = self.machines.get(name)
        was_ready = known is not None and known.phase == "running"
        ready_since = known.ready_since if known and was_ready == (phase == "running") else self.now
        since = known.since if known and _asleep(known.phase) == _asleep(phase) else self.now
        self.machines[name] = Machine(phase, until, since=since, ready_since=ready_since)
        self.unsent[name] = self._report(phase, self.machines[name])
        if phase == "gone":
            self.unsent[name] = None

    def _report(self, phase: str, machine: Machine) -> str | None:
        """The text of the report; None: the provisioner removes it, for the cluster is gone."""
        power, hibernating, ready = PHASES[phase]
        conditions: list[Tree] = []
        if hibernating:
            status = "True" if hibernating == "Hibernating" else "False"
            conditions.append(
                {
                    "type": "Hibernating",
                    "status": status,
                    "reason": hibernating,
                    "lastTransitionTime": format_time(machine.since),
                }
            )
        if ready:
            status = "True" if ready == "Running" else "False"
            conditions.append(
                {
                    "type": "Ready",
                    "status": status,
                    "reason": ready,
                    "lastTransitionTime": format_time(machine.ready_since),
                }
            )
        if phase == "install-failed":
            conditions.append({"type": "ProvisionStopped", "status": "True", "reason": "InstallAttemptsLimitReached"})
        if phase == "gone":
            conditions.append({"type": "Provisioned", "status": "False", "reason": "Deprovisioned"})
        status_: Tree = {"conditions": conditions} if conditions else {}
        if power:
            status_["powerState"] = power
        return yaml.safe_dump({"spec": {"installed": power is not None}, "status": status_})

    def _send(self, name: str) -> None:
        text = self.unsent.pop(name)
        path = f"reports/{name}.yaml"
        self.dirty = True
        if text is None:
            self.files.pop(path, None)
            if self.machines.get(name, Machine("gone", None)).phase == "gone":
                self.files.pop(path, None)
            return
        head = {"apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment"}
        self.files[path] = yaml.safe_dump({**head, "metadata": {"name": name, "namespace": name}}) + text

    # -- muster

    def reconcile(self) -> None:
        """Run muster where something changed or its horizon is reached, and commit, unless the run is killed."""
        due = self.horizon is not None and self.now >= self.horizon
        if not (self.dirty or due) or self.random.random() < self.odds.killed:
            return
        settled = settle(MemorySnapshot(dict(self.files)), self.now)
        assert settled.rested, self._where("muster does not come to rest")
        errors = [finding for finding in settled.last.findings if finding.severity.value == "error"]
        assert not errors, self._where(f"{errors[0]}")
        for path, text in settled.files.items():
            if text is None:
                del self.files[path]
            else:
                self.files[path] = text
        self.dirty, self.horizon = False, settled.last.horizon
        self.check()

    def check(self) -> None:
        """What must hold after every commit."""
        assigned: dict[str, str] = {}
        for claim, body in self.derived("clusterclaims"):
            if cluster := dig(body, "spec", "namespace"):
                assert cluster not in assigned, self._where(f"{cluster} has two claims: {claim}, {assigned[cluster]}")
                assigned[cluster] = claim
                if self.assigned.get(cluster) != claim:
                    assert cluster not in self.assigned, self._where(f"{cluster} went from claim to claim")
                    phase = self.machines[cluster].phase
                    assert phase == "running", self._where(f"{claim} got {cluster}, which is {phase}")
        self.assigned |= assigned
        clusters = dict(self.manifests())
        for name in clusters.keys() - self.names:
            self.names.add(name)
        assert len(self.names) == self.ordinal() - 1, self._where("an ordinal was given twice, or lost")
        self._check_budgets(clusters)

    def _check_budgets(self, clusters: dict[str, Tree]) -> None:
        deleting = {name for name, body in clusters.items() if dig(body, "metadata", "deletionTimestamp")}
        claimed = {name for name, body in clusters.items() if dig(body, "spec", "clusterPoolRef", "claimName")}
        installing = {
            name
            for name in clusters.keys() - claimed - deleting
            if dig(parsed(self.files.get(f"reports/{name}.yaml", "{}")), "spec", "installed") != "true"
            and dig(clusters[name], "status", "muster", "bucket") != "broken"
        }
        most, size = self.pool.get("maxConcurrent"), self.pool.get("maxSize")
        if most is not None:
            assert len(deleting) + len(installing) <= most, self._where(f"{installing} and {deleting} exceed {most}")
        if size is not None:
            assert len(clusters) <= size, self._where(f"{len(clusters)} clusters exceed {size}")
        for name in claimed & deleting:
            assert dig(clusters[name], "metadata", "annotations", "hive.openshift.io/remove-cluster-from-pool")

    # -- looking

    def derived(self, plural: str) -> Iterator[tuple[str, Tree]]:
        """Derived objects of a kind by name."""
        for path, text in sorted(self.files.items()):
            if path.startswith(f"derived/{plural}/"):
                body = parsed(text)
                yield body["metadata"]["name"], body

    def manifests(self) -> list[tuple[str, Tree]]:
        """The ClusterDeployments that are committed."""
        return list(self.derived("clusterdeployments"))

    def ordinal(self) -> int:
        """The next ordinal that the pool will give."""
        return int(dig(dict(self.derived("clusterpools"))[POOL], "status", "muster", "nextOrdinal"))

    def buckets(self) -> Counter[str]:
        """How many clusters stand in each bucket."""
        return Counter(str(dig(body, "status", "muster", "bucket")) for _, body in self.manifests())

    def waiting(self) -> list[str]:
        """Claims that have no cluster."""
        mine = dict(self.derived("clusterclaims"))
        names = sorted(path[len("claims/") : -len(".yaml")] for path in self.files if path.startswith("claims/"))
        return [name for name in names if not dig(mine.get(name), "spec", "namespace")]

    # -- time

    def run(self, minutes: int) -> None:
        """Let minutes pass, with people about."""
        for _ in range(minutes):
            if self.random.random() < self.odds.claim:
                self.claim()
            if self.random.random() < self.odds.release:
                self.release()
            self.tick()

    def tick(self) -> None:
        """One minute: the provisioner works, muster runs."""
        self.now += timedelta(minutes=1)
        self.provision()
        self.reconcile()

    def calm(self, minutes: int) -> None:
        """Let all claims but two go, and minutes pass in which nothing fails and nobody comes."""
        self.odds = Odds(0, 0, 0, 0, 0, 0, 0)
        for path in sorted(path for path in self.files if path.startswith("claims/"))[2:]:
            del self.files[path]
        self.dirty = True
        for _ in range(minutes):
            self.tick()

    def _write(self, path: str, version: str, kind: str, metadata: Tree, **sections: Tree) -> None:
        self.files[path] = yaml.safe_dump({"apiVersion": version, "kind": kind, "metadata": metadata, **sections})
        self.dirty = True

    def _where(self, text: str) -> str:
        return f"seed {self.seed}, {format_time(self.now)}: {text}"


@lru_cache(maxsize=4096)
def parsed(text: str) -> Tree:
    """The tree of a file, every scalar as text. Shared: not to be changed."""
    return yaml.load(text, Loader=yaml.CBaseLoader)


def _asleep(phase: str) -> bool:
    return phase == "stopped"


#: status.powerState, and the reasons of the conditions Hibernating and Ready, by phase.
PHASES: dict[str, tuple[str | None, str, str]] = {
    "installing": (None, "", ""),
    "installing-badly": (None, "", ""),
    "install-failed": (None, "", ""),
    "running": ("Running", "ResumingOrRunning", "Running"),
    "stopping": ("Stopping", "Stopping", "StoppingOrHibernating"),
    "stopped": ("Hibernating", "Hibernating", "StoppingOrHibernating"),
    "starting": ("WaitingForNodes", "ResumingOrRunning", "WaitingForNodes"),
    "stop-failed": ("FailedToStop", "FailedToStop", "StoppingOrHibernating"),
    "start-failed": ("FailedToStartMachines", "ResumingOrRunning", "FailedToStartMachines"),
    "deprovisioning": ("Unknown", "", ""),
    "gone": (None, "", ""),
}


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        simulated = World(
            number,
            {
                "size": 4,
                "runningCount": 2,
                "maxSize": 9,
                "maxConcurrent": 2,
                "powerstateTransitionToRunningTimeout": "15m",
            },
        )
        simulated.run(1000)
        simulated.calm(12 * 60)
        sys.stdout.write(f"seed {number}: {len(simulated.names)} clusters, {dict(simulated.buckets())}\n")
