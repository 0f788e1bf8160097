"""Files of clusters, a Placement that chooses them all, and a set of works; their agents report as told."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import yaml

from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.test.memory import MemorySnapshot
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run

START = datetime(2026, 1, 1, tzinfo=UTC)
API = "cluster.open-cluster-management.io"
WORK = "work.open-cluster-management.io"
RULES: Tree = [
    {
        "resourceIdentifier": {"group": "", "resource": "configmaps", "name": "web"},
        "conditionRules": [{"type": "CEL", "condition": "Progressing", "celExpressions": ["false"]}],
    }
]


@dataclass
class WorkFleet:
    """The fleet, at `now` seconds after its start; `files` are its texts by path."""

    clusters: str = "abcd"
    now: int = 0
    files: dict[str, str] = field(default_factory=dict)
    run: Run = field(init=False)

    def __post_init__(self) -> None:
        for name in self.clusters:
            self.write(
                f"clusters/{name}/cluster.yaml",
                {
                    "apiVersion": f"{API}/v1",
                    "kind": "ManagedCluster",
                    "metadata": {"name": name},
                    "spec": {"hubAcceptsClient": True},
                },
            )
            self.write(
                f"clusters/{name}/observed.yaml",
                {
                    "apiVersion": f"{API}/v1",
                    "kind": "ManagedCluster",
                    "metadata": {"name": name},
                    "status": {"conditions": [condition("ManagedClusterConditionAvailable", "True", -60)]},
                },
            )
        self.write(
            "binding.yaml",
            {
                "apiVersion": f"{API}/v1beta2",
                "kind": "ManagedClusterSetBinding",
                "metadata": {"name": "default", "namespace": "shop"},
                "spec": {"clusterSet": "default"},
            },
        )
        self.placement("web")

    def write(self, path: str, body: Tree) -> None:
        """Write a file; None removes it."""
        if body is None:
            del self.files[path]
        else:
            self.files[path] = yaml.dump(body, Dumper=_Plain)

    def placement(self, name: str, **spec: Tree) -> None:
        self.write(
            f"{name}-placement.yaml",
            {
                "apiVersion": f"{API}/v1beta1",
                "kind": "Placement",
                "metadata": {"name": name, "namespace": "shop"},
                "spec": spec,
            },
        )

    def tolerating(self) -> "WorkFleet":
        """Silent clusters stay chosen."""
        self.placement("web", tolerations=[{"key": f"{API}/unreachable", "operator": "Exists"}])
        return self

    def set(
        self, version: int, *, rules: bool = True, refs: Tree = None, metadata: Tree = None, **progressive: Tree
    ) -> None:
        """Write the set: its template in a version, and its strategy."""
        strategy = {"type": "Progressive", "progressive": progressive} if progressive else {"type": "All"}
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "web"},
            "data": {"version": str(version)},
        }
        template = {"workload": {"manifests": [manifest]}, **({"manifestConfigs": RULES} if rules else {})}
        self.write(
            "web.yaml",
            {
                "apiVersion": f"{WORK}/v1alpha1",
                "kind": "ManifestWorkReplicaSet",
                "metadata": {"name": "web", "namespace": "shop", **(metadata or {})},
                "spec": {
                    "manifestWorkTemplate": template,
                    "placementRefs": refs or [{"name": "web", "rolloutStrategy": strategy}],
                },
            },
        )

    def at(self, seconds: int, silent: str = "") -> "WorkFleet":
        """Evaluate at an instant and write what follows; all but the silent clusters have just renewed their leases.

        A second evaluation at the same instant changes nothing, and has the same next instant.
        """
        self.now = seconds
        for name in self.clusters:
            if name not in silent:
                self.write(
                    f"clusters/{name}/lease.yaml",
                    {
                        "apiVersion": "coordination.k8s.io/v1",
                        "kind": "Lease",
                        "metadata": {"name": "managed-cluster-lease", "namespace": name},
                        "spec": {"renewTime": instant(seconds)},
                    },
                )
        self.run = self._evaluate()
        for path, text in self.run.files.items():
            if text is None:
                del self.files[path]
            else:
                self.files[path] = text
        if self.run.files:
            again = self._evaluate()
            assert again.files == {}
            assert again.horizon == self.run.horizon
        return self

    def _evaluate(self) -> Run:
        return evaluate_snapshot(MemorySnapshot(self.files), START + timedelta(seconds=self.now))

    def reports(self, cluster: str, *conditions: Tree, **status: Tree) -> None:
        """The agent of a cluster reports its work, in its present generation unless a condition says another."""
        work = self.works()[cluster]
        generation = work["metadata"]["generation"]
        said = [{"observedGeneration": generation, **one} for one in conditions]
        self.write(
            f"clusters/{cluster}/work.yaml",
            {
                "apiVersion": f"{WORK}/v1",
                "kind": "ManifestWork",
                "metadata": {"name": work["metadata"]["name"], "namespace": cluster},
                "status": {"conditions": said, **status},
            },
        )

    def done(self, cluster: str, since: int) -> None:
        """The agent of a cluster reports that its work is applied, available and done."""
        types = (("Applied", "True"), ("Available", "True"), ("Progressing", "False"))
        self.reports(cluster, *(condition(type_, status, since) for type_, status in types))

    # -- what follows

    def works(self) -> dict[str, Tree]:
        """The derived works by cluster."""
        paths = sorted(path for path in self.files if path.startswith("derived/manifestworks/"))
        works = {path.split("/")[2]: _parsed(self.files[path]) for path in paths}
        assert len(works) == len(paths), "a cluster has one work of a set"
        return works

    def versions(self) -> str:
        """`a1 b2`: the version that each cluster has."""
        versions = {
            name: work["spec"]["workload"]["manifests"][0]["data"]["version"] for name, work in self.works().items()
        }
        return " ".join(f"{name}{version}" for name, version in versions.items())

    def states(self) -> str:
        """`a Succeeded, b ToApply`: how each cluster is doing."""
        return ", ".join(f"{n} {work['status']['muster']['rollout']['state']}" for n, work in self.works().items())

    def status(self) -> Tree:
        """The status of the set."""
        return next(body["status"] for body in self.run.objects if body["kind"] == "ManifestWorkReplicaSet")

    def said(self, type_: str = "PlacementRolledOut") -> str:
        """`False Stopped: text`: a condition of the set."""
        found = next(one for one in self.status()["conditions"] if one["type"] == type_)
        return f"{found['status']} {found['reason']}" + (f": {found['message']}" if found["message"] else "")

    def codes(self) -> list[str]:
        """The codes of the findings."""
        return sorted(found.code for found in self.run.findings)

    def horizon(self) -> int | None:
        """The next instant, in seconds after the start."""
        return None if self.run.horizon is None else int((self.run.horizon - START).total_seconds())


class _Plain(yaml.SafeDumper):
    """Writes no aliases, which muster does not read."""

    def ignore_aliases(self, data: object) -> bool:
        return True


@lru_cache(maxsize=100)
def _parsed(text: str) -> Tree:
    """A work with texts for values, but for its metadata."""
    return yaml.load(text, yaml.BaseLoader) | {"metadata": yaml.safe_load(text)["metadata"]}


def condition(type_: str, status: str, since: int | None = 0, **more: Tree) -> Tree:
    """A condition, since some seconds after the start."""
    times = {} if since is None else {"lastTransitionTime": instant(since)}
    return {"type": type_, "status": status, "reason": "Said", "message": "", **times, **more}


def instant(seconds: int) -> str:
    """An instant as files have it."""
    return format_time(START + timedelta(seconds=seconds))
