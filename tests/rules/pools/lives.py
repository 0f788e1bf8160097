"""Whole lives of random fleets of pools: from one instant at which something happens to the next.

People make, change, break and wind down pools, claim and release, and say what runs; a provisioner answers, late or
wrongly; some clusters are fake. Between two instants nothing happens, so time moves from horizon to horizon. Everything
is drawn from one seed. `check` holds at every instant: the fleet rests, a second run changes nothing, nothing is due in
the past, no pool grows beyond its limit, and nobody loses a cluster before its claim ends.
"""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import yaml

from muster.data.times import format_time, parse_time
from muster.data.tree import Tree, dig
from muster.features.test.memory import MemorySnapshot
from muster.run.run import Settled
from muster.run.settle import settle
from tests.rules.pools.simulator import PHASES, parsed

START = parse_time("2026-01-01T00:00:00Z")
HIVE = "hive.openshift.io/v1"
NAMESPACE = "pools"
_ANNOTATION = "hive.openshift.io/"


@dataclass
class Machine:
    """What really is behind a ClusterDeployment. `until` is when the phase ends; None: not by itself."""

    phase: str
    until: datetime | None
    slept: datetime
    woke: datetime


class Life:
    """One fleet: its files, its machines, and what was true at the last instant. `unclaimed` counts the clusters that
    went although nobody had marked them, since their claims had ended."""

    def __init__(self, seed: int, *, pools: int = 4) -> None:
        self.seed, self.random, self.now = seed, random.Random(seed), START
        self.files: dict[str, str] = {}
        self.machines: dict[str, Machine] = {}
        self.pools: dict[str, dict[str, Tree]] = {}
        self.people: dict[str, Tree] = {}
        self.horizon: datetime | None = None
        self.made = self.instants = self.unclaimed = 0
        self.sizes: dict[str, int] = {}
        self._fleet()
        for number in range(pools):
            self._new_pool(f"p{number}")
        for number in range(self.random.randrange(3)):
            self._own_cluster(f"own-{number}")

    # -- people

    def _fleet(self) -> None:
        external = ["ClusterImageSet/v1", *(f"Secret/{NAMESPACE}/{name}" for name in ("creds", "other"))]
        pools: Tree = {"compatibility": self.random.choice(["seed", "hive"]), "externalDependencies": external}
        if self._chance(0.3):
            pools["replacementBackoff"] = {"initial": self._span(0, 20), "maximum": "1h"}
        self._put("fleet.yaml", "muster.dev/v1alpha1", "Fleet", {"name": "fleet"}, spec={"pools": pools})
        budget = {"maxDisrupted": 0, "ignoreUpTo": 0, "cooldown": self._span(1, 20)}
        if self._chance(0.4):
            self._put("budget.yaml", "muster.dev/v1alpha1", "DisruptionBudget", {"name": "default"}, spec=budget)
            self._place_of_work("True")

    def _place_of_work(self, available: str) -> None:
        """A cluster that budgets count; while it is not available they hold replacements."""
        condition = {"type": "ManagedClusterConditionAvailable", "status": available, "reason": "Said"}
        head = ("cluster.open-cluster-management.io/v1", "ManagedCluster", {"name": "work"})
        self._put("work.yaml", *head, spec={"hubAcceptsClient": True}, status={"conditions": [condition]})
        spec = {"renewTime": "2036-01-01T00:00:00.000000Z"}
        metadata = {"name": "managed-cluster-lease", "namespace": "work"}
        self._put("lease.yaml", "coordination.k8s.io/v1", "Lease", metadata, spec=spec)

    def _new_pool(self, name: str) -> None:
        platform = {"aws": {"region": "x", "credentialsSecretRef": {"name": "creds"}}}
        spec: dict[str, Tree] = {
            "size": self.random.randrange(5),
            "runningCount": self.random.randrange(5),
            "imageSetRef": {"name": "v1"},
            "baseDomain": "example.com",
            "platform": platform,
        }
        for field, odds, draw in self._optional():
            if self._chance(odds):
                spec[field] = draw()
        if self._chance(0.3):
            spec["annotations"] = {f"{_ANNOTATION}fake-cluster": "true"}
        self.pools[name] = spec
        self._write_pool(name)
        for number in range(5):
            metadata = {"name": f"{name}-c{number}", "namespace": NAMESPACE}
            if "inventory" in spec:
                self._put(f"stock/{name}-{number}.yaml", HIVE, "ClusterDeploymentCustomization", metadata, spec={})

    def _optional(self) -> list[tuple[str, float, Callable[[], Tree]]]:
        draw = self.random
        return [
            ("maxSize", 0.5, lambda: draw.randrange(8)),
            ("maxConcurrent", 0.5, lambda: draw.randrange(4)),
            ("hibernateAfter", 0.5, lambda: self._span(1, 180)),
            ("powerstateTransitionToRunningTimeout", 0.5, lambda: self._span(1, 30)),
            ("powerstateTransitionToHibernatingTimeout", 0.3, lambda: self._span(1, 30)),
            ("hibernationConfig", 0.2, lambda: {"resumeTimeout": self._span(1, 30)}),
            ("claimLifetime", 0.4, lambda: {"default": self._span(1, 300), "maximum": self._span(60, 300)}),
            ("inventory", 0.15, lambda: [{"name": f"p0-c{n}"} for n in range(draw.randrange(4))]),
            ("imageSetRef", 0.05, lambda: {"name": "missing"}),
            ("baseDomain", 0.2, lambda: f"d{draw.randrange(3)}.example.com"),
        ]

    def _write_pool(self, name: str, **metadata: Tree) -> None:
        head = {"name": name, "namespace": NAMESPACE, **metadata}
        self._put(f"pools/{name}.yaml", HIVE, "ClusterPool", head, spec=self.pools[name])

    def _change_pool(self) -> None:
        name = self._pick(self.pools)
        field, _, draw = self.random.choice(
            [
                *self._optional(),
                *(("size", 1, lambda: self.random.randrange(6)) for _ in range(4)),
                *(("runningCount", 1, lambda: self.random.randrange(6)) for _ in range(4)),
            ]
        )
        if field in self.pools[name] and self._chance(0.3) and field not in ("size", "runningCount", "imageSetRef"):
            del self.pools[name][field]
        else:
            self.pools[name][field] = draw()
        self.pools[name].setdefault("baseDomain", "example.com")
        self._write_pool(name)

    def _end_pool(self) -> None:
        name = self._pick(self.pools)
        if self._chance(0.5):
            self._write_pool(name, deletionTimestamp=format_time(self.now))
        elif self._chance(0.5):
            self.files.pop(f"pools/{name}.yaml", None)
        else:
            self._spoil(f"pools/{name}.yaml")

    def _claim(self) -> None:
        self.made += 1
        spec: dict[str, Tree] = {"clusterPoolName": self._pick(self.pools) if self._chance(0.95) else "nowhere"}
        if self._chance(0.3):
            spec["lifetime"] = self._span(1, 200)
        if self._chance(0.2):
            spec["subjects"] = [{"kind": "Group", "name": "team", "apiGroup": "rbac.authorization.k8s.io"}]
        metadata: dict[str, Tree] = {"name": f"claim-{self.made}", "namespace": NAMESPACE}
        if self._chance(0.3):
            metadata["creationTimestamp"] = format_time(self.now - timedelta(minutes=self.random.randrange(9)))
        self._put(f"claims/{self.made}.yaml", HIVE, "ClusterClaim", metadata, spec=spec)

    def _edit_claim(self) -> None:
        paths = [path for path in sorted(self.files) if path.startswith("claims/")]
        if not paths:
            return
        path = self.random.choice(paths)
        if self._chance(0.6):
            del self.files[path]
        elif self._chance(0.3) or "mistaken" in self.files[path]:
            self._spoil(path)
        else:
            body = yaml.load(self.files[path], Loader=yaml.BaseLoader)
            if self._chance(0.5):
                body["spec"]["clusterPoolName"] = self._pick(self.pools)
            else:
                body["metadata"]["deletionTimestamp"] = format_time(self.now)
            self.files[path] = yaml.safe_dump(body)

    def _say_of_cluster(self) -> None:
        """Write something on one cluster, or take back what was written."""
        names = [name for name, _ in self.derived("clusterdeployments")] + [n for n in self.people if n[:4] == "own-"]
        if not names:
            return
        name = self.random.choice(names)
        own = name.startswith("own-")
        words = self.people.setdefault(name, {"spec": {}, "annotations": {}})
        kind = self.random.choice(
            ["power", "power", "power", "remove", "pause", "timeout", "hibernateAfter", "nothing"]
        )
        if kind == "power":
            words["spec"]["powerState"] = self.random.choice(["Running", "Running", "Hibernating"])
        elif kind == "remove" and not own:
            words["annotations"][f"{_ANNOTATION}remove-cluster-from-pool"] = "true"
        elif kind == "pause":
            pause = self.random.choice(["powerstate-pause", "reconcile-pause"])
            words["annotations"][f"{_ANNOTATION}{pause}"] = self.random.choice(["true", "false"])
        elif kind == "timeout":
            words["spec"]["powerstateTransitionToRunningTimeout"] = self._span(1, 30)
        elif kind == "hibernateAfter" and own:
            words["spec"]["hibernateAfter"] = self._span(1, 100)
        elif kind == "nothing":
            words["spec"].pop("powerState", None)
        self._write_people(name)

    def _write_people(self, name: str) -> None:
        words = self.people[name]
        metadata = {"name": name, "namespace": name, "annotations": words["annotations"]}
        self._put(f"people/{name}.yaml", HIVE, "ClusterDeployment", metadata, spec=words["spec"])

    def _own_cluster(self, name: str) -> None:
        """A cluster of no pool."""
        spec: Tree = {"clusterName": name, "baseDomain": "example.com", "platform": {"aws": {"region": "x"}}}
        if self._chance(0.7):
            spec["hibernateAfter"] = self._span(1, 100)
        if self._chance(0.5):
            spec["powerState"] = self.random.choice(["Running", "Hibernating", ""])
        annotations = {f"{_ANNOTATION}fake-cluster": "true"} if self._chance(0.4) else {}
        self.people[name] = {"spec": spec, "annotations": annotations}
        self._write_people(name)

    def _spoil(self, path: str) -> None:
        """Put a mistake into a file, or mend it."""
        if path in self.files:
            text, mistake = self.files[path], "status: {mistaken: [}\n" if self._chance(0.3) else "metadate: {}\n"
            self.files[path] = text.replace(mistake, "") if mistake in text else text + mistake

    def _spoil_report(self) -> None:
        paths = [path for path in sorted(self.files) if path.startswith(("reports/", "people/"))]
        if paths:
            self._spoil(self.random.choice(paths))

    def _toggle_work(self) -> None:
        if "work.yaml" in self.files:
            self._place_of_work(self.random.choice(["True", "False"]))

    def _event(self) -> None:
        choice: list[tuple[Callable[[], None], int]] = [
            (self._claim, 6),
            (self._edit_claim, 4),
            (self._change_pool, 3),
            (self._say_of_cluster, 4),
            (self._end_pool, 1),
            (self._spoil_report, 1),
            (self._toggle_work, 1),
        ]
        self.random.choices([act for act, _ in choice], [weight for _, weight in choice])[0]()

    # -- the provisioner

    def _provision(self) -> None:
        """Act on the manifests and let machines go on; what is seen is committed, now or at some later instant."""
        wanted = dict(self.derived("clusterdeployments"))
        for name in sorted({*wanted, *self.people, *self.machines}):
            manifest = wanted.get(name) or {}
            if name in self.people or dig(manifest, "spec", "clusterName"):
                self._work(name, manifest)

    def _work(self, name: str, manifest: Tree) -> None:
        machine = self.machines.get(name)
        deleting = dig(manifest, "metadata", "deletionTimestamp") is not None
        if machine is None:
            if deleting:
                self._report(name, "gone")
            elif self._chance(0.9):
                self._enter(name, "installing-badly" if self._chance(0.1) else "installing", 10, 40)
            return
        if machine.until is not None and self.now >= machine.until:
            following = {
                "installing": "running",
                "installing-badly": "install-failed",
                "stopping": "stopped",
                "starting": "running",
                "deprovisioning": "gone",
            }
            self._enter(name, following[machine.phase])
        elif deleting and machine.phase not in ("deprovisioning", "gone"):
            self._enter(name, "deprovisioning", 1, 15)
        elif not self._fake(name, manifest) and not deleting:
            self._power(name, machine.phase, manifest)

    def _power(self, name: str, phase: str, manifest: Tree) -> None:
        mine = dig(self.people.get(name), "spec", "powerState")
        wanted = dig(manifest, "spec", "powerState") or mine or "Running"
        luck = self.random.random()
        going = {"Hibernating": ("running", "starting"), "Running": ("stopped", "stopping")}[wanted]
        doing, failed = ("stopping", "stop-failed") if wanted == "Hibernating" else ("starting", "start-failed")
        if phase in going and luck < 0.05:
            self._enter(name, failed)
        elif phase in going:
            self._enter(name, doing, *((1, 12) if luck < 0.8 else ()))

    def _fake(self, name: str, manifest: Tree) -> bool:
        mine = dig(self.people.get(name), "annotations", f"{_ANNOTATION}fake-cluster")
        return "true" in (mine, dig(manifest, "metadata", "annotations", f"{_ANNOTATION}fake-cluster"))

    def _enter(self, name: str, phase: str, *minutes: int) -> None:
        until = self.now + timedelta(seconds=self.random.randint(60 * minutes[0], 60 * minutes[1])) if minutes else None
        known = self.machines.get(name)
        slept, woke = (known.slept, known.woke) if known else (self.now, self.now)
        if known is None or (known.phase == "stopped") != (phase == "stopped"):
            slept = self.now
        if known is None or (known.phase == "running") != (phase == "running"):
            woke = self.now
        self.machines[name] = Machine(phase, until, slept, woke)
        self._report(name, phase)

    def _report(self, name: str, phase: str) -> None:
        path = f"reports/{name}.yaml"
        if phase == "gone":
            self.files.pop(path, None)
            return
        power, hibernating, ready = PHASES[phase]
        spec: Tree = {"installed": power is not None}
        conditions: list[Tree] = []
        if phase == "install-failed":
            conditions.append({"type": "ProvisionStopped", "status": "True", "reason": "Limit"})
        elif power is not None and self._chance(0.8):
            conditions.append({"type": "ProvisionStopped", "status": "False", "reason": "Fine"})
        manifest = dict(self.derived("clusterdeployments")).get(name) or {}
        if self._fake(name, manifest):
            self._put(path, HIVE, "ClusterDeployment", {"name": name, "namespace": name}, spec=spec)
            return
        machine = self.machines[name]
        for type_, reason, true, since in (
            ("Hibernating", hibernating, "Hibernating", machine.slept),
            ("Ready", ready, "Running", machine.woke),
        ):
            if reason:
                told = {"type": type_, "status": str(reason == true), "reason": self._reworded(reason)}
                conditions.append(told | ({"lastTransitionTime": self._written(since)} if self._chance(0.9) else {}))
        status: Tree = {"conditions": conditions, **({"powerState": power} if power and self._chance(0.95) else {})}
        if power and self._chance(0.5):
            status["installedTimestamp"] = self._written(self.now)
        self._put(path, HIVE, "ClusterDeployment", {"name": name, "namespace": name}, spec=spec, status=status)

    def _reworded(self, reason: str) -> str:
        """The seed's own word for a resume that is under way, now and then."""
        return "Resuming" if reason == "ResumingOrRunning" and self._chance(0.3) else reason

    def _written(self, instant: datetime) -> str:
        return format_time(instant + timedelta(milliseconds=self.random.choice([0, 0, 0, 250, 999])))

    # -- muster

    def live(self, instants: int) -> None:
        """Let so many instants pass at which something happens."""
        for _ in range(instants):
            while True:
                self._provision()
                self.muster()
                if self._chance(0.7):
                    break
                self._event()
            self.now = self._next()

    def _next(self) -> datetime:
        ends = [machine.until for machine in self.machines.values() if machine.until is not None]
        event = self.now + timedelta(seconds=self.random.randint(1, 1800))
        if self._chance(0.5):
            self._event()
        instants = [moment for moment in (*ends, self.horizon, event) if moment is not None]
        upcoming = max(min(instants), self.now + timedelta(seconds=1))
        whole = upcoming.replace(microsecond=0)
        return whole if whole == upcoming else whole + timedelta(seconds=1)

    def muster(self) -> None:
        """Run muster and commit."""
        before = dict(self.derived("clusterdeployments"))
        settled = settle(MemorySnapshot(dict(self.files)), self.now)
        for path, text in settled.files.items():
            if text is None:
                del self.files[path]
            else:
                self.files[path] = text
        self.horizon, self.instants = settled.last.horizon, self.instants + 1
        self.check(settled, before)

    def check(self, settled: Settled, before: dict[str, Tree]) -> None:
        """What must hold at every instant."""
        assert settled.rested, self._where(f"no rest: {[found.message for found in settled.last.findings]}")
        again = settle(MemorySnapshot(dict(self.files)), self.now)
        assert not again.files, self._where(f"a second run changes {sorted(again.files)}")
        assert self.horizon is None or self.horizon > self.now, self._where(f"due in the past: {self.horizon}")
        clusters = dict(self.derived("clusterdeployments"))
        self._check_sizes(clusters)
        for name in clusters:
            if _deleted(clusters[name]) and not _deleted(before.get(name)):
                self._check_deletion(name, clusters[name])

    def _check_sizes(self, clusters: dict[str, Tree]) -> None:
        sizes: dict[str, int] = {}
        for body in clusters.values():
            pool = dig(body, "spec", "clusterPoolRef", "poolName")
            sizes[pool] = sizes.get(pool, 0) + 1
        for name, spec in self.pools.items():
            size, most = sizes.get(name, 0), spec.get("maxSize")
            grown = size > self.sizes.get(name, 0)
            assert not grown or most is None or size <= most, self._where(f"{name} grew to {size}, beyond {most}")
        self.sizes = sizes

    def _check_deletion(self, name: str, body: Tree) -> None:
        """A claimed cluster goes when its claim has ended, or when somebody has marked it."""
        claim = dig(body, "spec", "clusterPoolRef", "claimName")
        said = dig(self.people.get(name), "annotations", f"{_ANNOTATION}remove-cluster-from-pool")
        if not claim or said == "true":
            return
        self.unclaimed += 1
        path = f"claims/{claim.partition('-')[2]}.yaml"
        ended = dig(dict(self.derived("clusterclaims")).get(claim), "metadata", "deletionTimestamp")
        asked = "deletionTimestamp" in self.files.get(path, "")
        assert path not in self.files or ended or asked, self._where(f"{name} is deleted before {claim} ends")

    def derived(self, plural: str) -> Iterator[tuple[str, Tree]]:
        """Derived objects of a kind by name."""
        for path, text in sorted(self.files.items()):
            if path.startswith(f"derived/{plural}/"):
                body = parsed(text)
                yield body["metadata"]["name"], body

    # -- odds

    def _chance(self, odds: float) -> bool:
        return self.random.random() < odds

    def _span(self, least: int, most: int) -> str:
        return f"{self.random.randint(least, most)}m"

    def _pick(self, of: dict[str, dict[str, Tree]]) -> str:
        return self.random.choice(sorted(of))

    def _put(self, path: str, version: str, kind: str, metadata: Tree, **sections: Tree) -> None:
        self.files[path] = yaml.safe_dump({"apiVersion": version, "kind": kind, "metadata": metadata, **sections})

    def _where(self, text: str) -> str:
        return f"seed {self.seed}, {format_time(self.now)}, instant {self.instants}: {text}"


def _deleted(body: Tree) -> bool:
    return dig(body, "metadata", "deletionTimestamp") is not None


if __name__ == "__main__":
    first, last = int(sys.argv[1]), int(sys.argv[2])
    for number in range(first, last):
        life = Life(number)
        life.live(40)
        sys.stdout.write(f"seed {number}: {life.instants} instants, {len(life.machines)} clusters\n")
