"""A fleet with pools in memory, played step by step: files are put, muster settles, and one asks what it derived."""

from dataclasses import dataclass, field

import yaml

from muster.data.times import parse_time
from muster.data.tree import Tree, dig
from muster.features.test.memory import MemorySnapshot
from muster.run.run import Run
from muster.run.settle import settle

HIVE = "hive.openshift.io/v1"


def at(clock: str) -> str:
    """The instant of `HH:MM` or `HH:MM:SS` on the day that is played."""
    return f"2026-01-01T{clock if clock.count(':') == 2 else clock + ':00'}Z"


@dataclass
class Play:
    """The repository's files, and the last run."""

    files: dict[str, str] = field(default_factory=dict)
    run: Run | None = None

    def put(self, path: str, *bodies: Tree) -> None:
        """Commit a file with these objects."""
        self.files[path] = yaml.safe_dump_all(bodies, sort_keys=False)

    def fleet(self, **pools: Tree) -> None:
        """Commit the Fleet; the credentials and the image set exist."""
        external = ["Secret/pools/creds", "Secret/other/creds", "ClusterImageSet/v1"]
        spec = {"pools": {"externalDependencies": external, **pools}}
        self.put(
            "fleet.yaml",
            {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": spec},
        )

    def pool(self, name: str = "ci", namespace: str = "pools", **spec: Tree) -> None:
        """Commit a pool."""
        template: Tree = {
            "baseDomain": "ci.example.com",
            "imageSetRef": {"name": "v1"},
            "platform": {"aws": {"region": "eu-1", "credentialsSecretRef": {"name": "creds"}}},
        }
        metadata = {"name": name, "namespace": namespace}
        body = {"apiVersion": HIVE, "kind": "ClusterPool", "metadata": metadata, "spec": {**template, **spec}}
        self.put(f"pools/{namespace}-{name}.yaml", body)

    def claim(self, name: str, clock: str, **spec: Tree) -> None:
        """Commit a claim on the pool."""
        metadata = {"name": name, "namespace": "pools", "creationTimestamp": at(clock)}
        body = {
            "apiVersion": HIVE,
            "kind": "ClusterClaim",
            "metadata": metadata,
            "spec": {"clusterPoolName": "ci", **spec},
        }
        self.put(f"claims/{name}.yaml", body)

    def report(self, name: str, power: str, clock: str, ready: str = "", **spec: Tree) -> None:
        """Commit the provisioner's report: since when the cluster is not asleep, and since when (not) ready."""
        reason, ready_reason = _REASONS[power]
        conditions = [
            {
                "type": "Hibernating",
                "status": str(power == "Hibernating"),
                "reason": reason,
                "lastTransitionTime": at(clock),
            },
            {
                "type": "Ready",
                "status": str(power == "Running"),
                "reason": ready_reason,
                "lastTransitionTime": at(ready or clock),
            },
        ]
        self.put(
            f"reports/{name}.yaml",
            {
                "apiVersion": HIVE,
                "kind": "ClusterDeployment",
                "metadata": {"name": name, "namespace": name},
                "spec": {"installed": True, **spec},
                "status": {"powerState": power, "conditions": conditions},
            },
        )

    def settle(self, clock: str) -> Run:
        """Let muster come to rest at a time of day, and commit."""
        settled = settle(MemorySnapshot(dict(self.files)), parse_time(at(clock)))
        assert settled.rested
        for path, text in settled.files.items():
            if text is None:
                del self.files[path]
            else:
                self.files[path] = text
        self.run = settled.last
        return settled.last

    def cluster(self, name: str) -> Tree:
        """The derived part of a cluster; None where there is none."""
        return self._derived("clusterdeployments", name, name)

    def claimed(self, name: str) -> Tree:
        """The derived part of a claim; None where there is none."""
        return self._derived("clusterclaims", "pools", name)

    def status(self, name: str = "ci", namespace: str = "pools") -> Tree:
        """The derived status of a pool."""
        return dig(self._derived("clusterpools", namespace, name), "status")

    def clusters(self) -> list[str]:
        """The names of the clusters that muster declares."""
        return sorted(path.split("/")[2] for path in self.files if path.startswith("derived/clusterdeployments/"))

    def _derived(self, plural: str, namespace: str, name: str) -> Tree:
        text = self.files.get(f"derived/{plural}/{namespace}/{name}.yaml")
        return None if text is None else yaml.load(text, Loader=yaml.BaseLoader)


def condition(body: Tree, type_: str) -> Tree:
    """The condition of a type; empty where there is none."""
    return next(
        (c for c in dig(body, "conditions") or dig(body, "status", "conditions") or () if c["type"] == type_), {}
    )


_REASONS = {
    "Running": ("ResumingOrRunning", "Running"),
    "Hibernating": ("Hibernating", "StoppingOrHibernating"),
    "Stopping": ("Stopping", "StoppingOrHibernating"),
    "WaitingForNodes": ("ResumingOrRunning", "WaitingForNodes"),
    "WaitingForClusterOperators": ("ResumingOrRunning", "WaitingForClusterOperators"),
}
