"""One story in which clusters get the versions of a Rollout and of a set of works, with one strategy and one Placement.

Each cluster runs what it was given, and says how it is doing with it: `none` (nothing yet), `progressing`, `done` or
`failed`. The Rollout reads that from claims, by gates; the set from the reports of works.
"""

from dataclasses import dataclass, field

from muster.data.tree import Tree, dig
from tests.rules.works.repository import API, condition
from tests.rules.works.repository import WorkFleet as Works

GATES: Tree = [
    {
        "name": "well",
        "expression": "!self.status.clusterClaims.exists(c, c.name == 'sick' && c.value == rollout.revision)",
        "onFalse": "Fail",
    },
    {
        "name": "runs",
        "expression": "self.status.clusterClaims.exists(c, c.name == 'done' && c.value == rollout.revision)",
    },
]
_REPORTED: Tree = {
    "progressing": [("Applied", "True"), ("Available", "True"), ("Progressing", "True"), ("Degraded", "False")],
    "done": [("Applied", "True"), ("Available", "True"), ("Progressing", "False"), ("Degraded", "False")],
    "failed": [("Applied", "True"), ("Available", "True"), ("Progressing", "False"), ("Degraded", "True")],
}


@dataclass
class BothKinds(Works):
    """The fleet. `said_of`: how each cluster is doing with each version."""

    version: int = 0
    on_failure: str = "Pause"
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    said_of: dict[str, dict[str, str]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    _found: dict[str, Tree] = field(default_factory=dict)

    def rolls_out(self, version: int, **strategy: Tree) -> None:
        """Write both: a strategy, its type with an upper case `type`."""
        self.version = version
        followed = {"type": strategy.pop("type", "Progressive")}
        body = followed["type"][0].lower() + followed["type"][1:]
        followed[body] = strategy
        self.set(version, refs=[{"name": "web", "rolloutStrategy": followed}])
        self.write(
            "rollout.yaml",
            {
                "apiVersion": "muster.dev/v1alpha1",
                "kind": "Rollout",
                "metadata": {"name": "web", "namespace": "shop"},
                "spec": {
                    "placementRef": {"name": "web"},
                    "revision": f"v{version}",
                    "gate": GATES,
                    "strategy": followed,
                    "onFailure": self.on_failure,
                },
            },
        )

    @property
    def says(self) -> dict[str, str]:
        """How each cluster is doing with the newest version."""
        return self.said_of.setdefault(f"v{self.version}", {})

    def without_budget(self) -> None:
        """Let all clusters be disrupted at once."""
        self.write(
            "budget.yaml",
            {
                "apiVersion": "muster.dev/v1alpha1",
                "kind": "DisruptionBudget",
                "metadata": {"name": "default"},
                "spec": {"maxDisrupted": "100%"},
            },
        )

    def label(self, cluster: str, *, accepted: bool = True, **labels: str) -> None:
        """Write a cluster with labels."""
        self.write(
            f"clusters/{cluster}/cluster.yaml",
            {
                "apiVersion": f"{API}/v1",
                "kind": "ManagedCluster",
                "metadata": {"name": cluster, "labels": labels},
                "spec": {"hubAcceptsClient": accepted},
            },
        )

    def step(self, second: int) -> str:
        """Write what clusters say, and evaluate. Returns what each has; both kinds agree on it while they go on."""
        for name in set(self.clusters) - self.silent:
            self._speak(name)
        self.at(second, silent="".join(sorted(self.silent)))
        self._found = {body["metadata"]["name"]: body for body in self.run.objects if body["kind"] == "ManagedCluster"}
        entries = {name: self.entry(name).get("revision") for name in self.clusters}
        by_rollout = " ".join(f"{name}{str(rev)[1:]}" for name, rev in entries.items() if rev)
        if self.rollout_said().startswith("Complete"):
            return by_rollout  # then failures stop nothing any more, which a set does not know
        assert self.versions() == by_rollout, f"{second}: set and Rollout differ; {self.said()} / {self.rollout_said()}"
        return by_rollout

    def entry(self, cluster: str) -> Tree:
        """The cluster's entry of the Rollout."""
        return dig(self._found[cluster], "status", "muster", "rollouts", "shop/web") or {}

    def rollout_said(self) -> str:
        """Reason and message of the Rollout's condition."""
        body = next(body for body in self.run.objects if body["kind"] == "Rollout")
        found = next(one for one in body["status"]["conditions"] if one["type"] == "RolledOut")
        return f"{found['reason']}: {found['message']}"

    def _speak(self, name: str) -> None:
        has = self.entry(name).get("revision", "") if self._found else ""
        said = self.said_of.get(has, {}).get(name, "none")
        claims = [{"name": "sick" if said == "failed" else said, "value": has}] if has else []
        self.write(
            f"clusters/{name}/observed.yaml",
            {
                "apiVersion": f"{API}/v1",
                "kind": "ManagedCluster",
                "metadata": {"name": name},
                "status": {
                    "conditions": [condition("ManagedClusterConditionAvailable", "True", -60)],
                    "clusterClaims": claims,
                },
            },
        )
        if said in _REPORTED and has:
            self.reports(name, *(condition(type_, status, -60) for type_, status in _REPORTED[said]))
