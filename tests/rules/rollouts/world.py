"""A Rollout in few words: clusters that say which version they run, one Placement, and steps in seconds."""

from pathlib import Path
from typing import Any

import yaml

from muster.data.kinds import MANAGED_CLUSTER, ROLLOUT
from muster.data.times import parse_time
from muster.data.tree import dig
from tests.rules.placements.repository import START, Evaluated, Repository

Json = Any
#: The cluster runs the revision that it should have.
RUNS = {
    "name": "runs",
    "expression": "self.status.clusterClaims.exists(c, c.name == 'app' && c.value == rollout.revision)",
}


class RolloutWorld(Repository):
    """Clusters by name, a Placement `web` and a Rollout `web` in the namespace `apps`."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.labels: dict[str, dict[str, str]] = {}
        self.placement("web")
        self.last: Evaluated | None = None

    def runs(self, version: str, *names: str, available: str = "True", **labels: str) -> None:
        """Write clusters that run a version."""
        for name in names:
            self.labels.setdefault(name, {}).update(labels)
            status = {"clusterClaims": [{"name": "app", "value": version}]}
            self.cluster(name, labels=self.labels[name], status=status)

    def silent(self, name: str) -> None:
        """End a cluster's lease at the start."""
        lease = yaml.safe_load((self.root / f"lease-{name}.yaml").read_text(encoding="utf-8"))
        lease["spec"]["renewTime"] = "2025-12-31T00:00:00Z"
        self.write(f"lease-{name}.yaml", yaml.safe_dump(lease))

    def rollout(self, revision: Json, *stages: Json, **spec: Json) -> None:
        """Write the Rollout."""
        body = {"placementRef": {"name": "web"}, "revision": revision, "gate": [RUNS], **spec}
        if stages:
            body["stages"] = list(stages)
        metadata = {"name": "web", "namespace": "apps"}
        document = {"apiVersion": "muster.dev/v1alpha1", "kind": "Rollout", "metadata": metadata, "spec": body}
        self.write("rollout.yaml", yaml.safe_dump(document, sort_keys=False))

    def at(self, seconds: int) -> str:
        """Evaluate; return what each cluster should have, and how it is doing: `a:v1=Succeeded b:v2=Progressing`."""
        self.last = self.evaluate(seconds)
        return self.entries

    @property
    def entries(self) -> str:
        """The clusters' entries."""
        found = []
        for name in sorted(self.labels):
            value = dig(self._after(MANAGED_CLUSTER.id(name)), "status", "muster", "rollouts", "apps/web")
            if value is not None:
                found.append(f"{name}:{value['revision']}={value['state']}")
        return " ".join(found)

    @property
    def status(self) -> Json:
        """The Rollout's status."""
        return self._after(ROLLOUT.id("web", "apps"))["status"]

    @property
    def said(self) -> str:
        """Reason and message of its condition."""
        condition = next(c for c in self.status["conditions"] if c["type"] == "RolledOut")
        return f"{condition['reason']}: {condition['message']}"

    @property
    def next(self) -> int | None:
        """When time alone goes on, in seconds after the start."""
        at = self.status.get("nextStepAt")
        return None if at is None else int((parse_time(at) - START).total_seconds())

    def _after(self, id_: Any) -> Json:
        assert self.last is not None
        return self.last.after.fleet.previous.get(id_)
