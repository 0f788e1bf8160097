"""A fleet repository in few words: clusters, one set for all of them, Placements in namespace `apps`."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

import muster
from muster.data.kinds import PLACEMENT
from muster.data.times import parse_time
from muster.rules.placements.reasons import Why, why
from muster.rules.placements.shards import clusters_of, previous_shards
from muster.run.transitions.transitions import transitions_of

Json = Any
OCM = "cluster.open-cluster-management.io"
START = parse_time("2026-01-01T00:00:00Z")


class Repository:
    """Files of a fleet in a directory; every cluster renews its lease far into the future and says it is available."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.object("ManagedClusterSetBinding", "global", {"clusterSet": "global"}, version="v1beta2", namespace="apps")

    def write(self, name: str, text: str | None) -> None:
        """Write a file; None removes it."""
        path = self.root / name
        if text is None:
            path.unlink()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def object(
        self, kind: str, name: str, spec: Json = None, *, version: str = "v1", namespace: str = "", **more: Json
    ) -> str:
        """Write an object of Open Cluster Management; return its file. `more`: labels, annotations, status ..."""
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        metadata |= {key: more.pop(key) for key in ("labels", "annotations", "deletionTimestamp") if key in more}
        body = {"apiVersion": f"{OCM}/{version}", "kind": kind, "metadata": metadata, **more}
        if spec is not None:
            body["spec"] = spec
        file = f"{kind}-{namespace}-{name}.yaml"
        self.write(file, yaml.safe_dump(body, sort_keys=False))
        return file

    def cluster(self, name: str, *, accepted: bool = True, taints: Json = (), **more: Json) -> str:
        """Write a cluster and its lease; return the cluster's file."""
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "managed-cluster-lease", "namespace": name},
            "spec": {"renewTime": "2036-01-01T00:00:00Z"},
        }
        self.write(f"lease-{name}.yaml", yaml.safe_dump(lease))
        spec = {"hubAcceptsClient": accepted, **({"taints": list(taints)} if taints else {})}
        available = {
            "type": "ManagedClusterConditionAvailable",
            "status": "True",
            "reason": "R",
            "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        status = {"conditions": [available], **more.pop("status", {})}
        return self.object("ManagedCluster", name, spec, status=status, **more)

    def placement(self, name: str, spec: Json = None, **more: Json) -> str:
        """Write a Placement in namespace `apps`."""
        return self.object("Placement", name, spec or {}, version="v1beta1", namespace="apps", **more)

    def evaluate(self, seconds: int = 0) -> "Evaluated":
        """Evaluate so many seconds after the start, write what is derived, and check that this was all."""
        now = START + timedelta(seconds=seconds)
        run = muster.evaluate(self.root, now)
        for name, text in run.files.items():
            self.write(name, text)
        again = muster.evaluate(self.root, now)
        assert again.files == {}, "a second evaluation must change nothing"
        return Evaluated(run, again)


class Evaluated:
    """A run, and the one that found nothing more to do."""

    def __init__(self, run: muster.Run, after: muster.Run) -> None:
        self.run, self.after = run, after

    @property
    def chosen(self) -> Mapping[str, str]:
        """The clusters of each Placement, joined: `{"web": "a b"}`."""
        shards = previous_shards(self.after.fleet)
        return {id_.name: " ".join(sorted(clusters_of(found))) for id_, found in shards.items()}

    @property
    def seconds(self) -> int | None:
        """When time alone changes a Placement next, in seconds after the start; None for never."""
        horizons = [
            decision.horizon
            for id_, made in self.run.fleet.decided.items()
            if id_.kind == "Placement"
            for decision in made.values()
            if decision.horizon is not None
        ]
        return int((min(horizons) - START).total_seconds()) if horizons else None

    @property
    def told(self) -> list[str]:
        """What a commit message would say of clusters that join and leave."""
        return [str(change) for change in transitions_of(self.run.fleet) if change.field.startswith("cluster ")]

    def condition(self, kind: str, name: str, type_: str) -> Json:
        """Status, reason and message of a condition."""
        body = next(b for b in self.run.objects if (b["kind"], b["metadata"]["name"]) == (kind, name))
        found = next(c for c in body["status"]["conditions"] if c["type"] == type_)
        return found["status"], found["reason"], found["message"]

    def why(self, placement: str) -> Mapping[str, Why]:
        """The reasons of every cluster."""
        id_ = PLACEMENT.id(placement, "apps")
        return {reason.cluster: reason for reason in why(self.run.fleet, self.run.now, id_)}

    @property
    def codes(self) -> list[str]:
        """The codes of all findings."""
        return [finding.code for finding in self.run.findings]


def at(seconds: int) -> str:
    """An instant as files have it."""
    instant: datetime = START + timedelta(seconds=seconds)
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")
