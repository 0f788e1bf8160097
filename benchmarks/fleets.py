"""Fleets of any size in git: what measurements of whole runs are made on.

Every cluster has four input files, written as their writers do: `cluster.yaml` by a person, the others by agents.
Directories are sharded by 256, as is advised for large fleets.

python -m benchmarks.fleets REPOSITORY CLUSTERS PLACEMENTS

makes one, in a process of its own: of whoever starts others the memory at its largest counts as theirs.
"""

import hashlib
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from muster.data.times import format_time
from muster.data.tree import Tree
from muster.data.yaml.emitter import file_text

#: The instant at which fleets are reconciled first.
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_STARTED = NOON - timedelta(days=12)
_REGIONS = ("eu-west-1", "eu-central-1", "us-east-1", "us-west-2", "ap-south-1")

_FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata:
  name: scale
spec:
  derived:
    shards: 256
  adapters:
    ManagedCluster: [validation]
"""

_CLUSTER = """\
# Run by team {team}; see the handbook before touching it.
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: {name}
  labels:
    region: {region}
    env: {env}  # decides who may deploy
    team: team-{team}
    cluster.open-cluster-management.io/clusterset: {env}
    vendor: OpenShift
  annotations:
    contact: "team-{team}@example.com"
    ticket: 'OPS-{number}'
spec:
  hubAcceptsClient: true
  leaseDurationSeconds: 60
  managedClusterClientConfigs:
  - url: https://api.{name}.example.com:6443
    caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUREakNDQWZhZ0F3SUJBZ0lCQURBTkJna3Foa2lHOXcwQkFRc0ZBREE0
"""

_PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata:
  name: placement-{number:04}
  namespace: apps
spec:
  numberOfClusters: 10
  predicates:
  - requiredClusterSelector:
      labelSelector:
        matchLabels:
          region: {region}
"""

_SETS = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata:
  name: {env}
spec: {{}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata:
  name: {env}
  namespace: apps
spec:
  clusterSet: {env}
"""


def name_of(number: int) -> str:
    """The name of a cluster."""
    return f"cluster-{number:06}"


def folder_of(number: int) -> str:
    """The directory of a cluster's input files."""
    name = name_of(number)
    return f"clusters/{hashlib.sha256(name.encode()).hexdigest()[:2]}/{name}"


def files_of(clusters: int, placements: int = 0) -> Iterator[tuple[str, str]]:
    """Yield path and text of every file of a fleet that nothing is derived of yet."""
    yield "fleet.yaml", _FLEET
    if placements:
        for env in ("prod", "stage"):
            yield f"sets/{env}.yaml", _SETS.format(env=env)
    for number in range(placements):
        region = _REGIONS[number % len(_REGIONS)]
        yield f"placements/placement-{number:04}.yaml", _PLACEMENT.format(number=number, region=region)
    for number in range(clusters):
        folder = folder_of(number)
        yield f"{folder}/cluster.yaml", cluster_text(number)
        yield f"{folder}/lease.yaml", lease_text(number, NOON - timedelta(seconds=number % 50))
        yield f"{folder}/observed.yaml", observed_text(number)
        yield f"{folder}/reports/validation.yaml", report_text(number)


def cluster_text(number: int, team: int | None = None) -> str:
    """What a person says of a cluster."""
    region, env = _REGIONS[number % len(_REGIONS)], "stage" if number % 4 else "prod"
    team = number % 17 if team is None else team
    return _CLUSTER.format(name=name_of(number), number=number, team=team, region=region, env=env)


def lease_text(number: int, renewed: datetime) -> str:
    """A lease, as an agent writes it."""
    name = name_of(number)
    labels = {"open-cluster-management.io/cluster-name": name}
    body: Tree = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "managed-cluster-lease", "namespace": name, "labels": labels},
        "spec": {
            "holderIdentity": f"{name}-agent-7d9f",
            "leaseDurationSeconds": 60,
            "acquireTime": format_time(_STARTED),
            "renewTime": format_time(renewed),
        },
    }
    return file_text(body)


def observed_text(number: int) -> str:
    """What the agent reports of a cluster."""
    name, since = name_of(number), format_time(_STARTED)
    conditions = [
        ("ManagedClusterJoined", "ManagedClusterJoined", "Managed cluster joined"),
        ("ManagedClusterConditionAvailable", "ManagedClusterAvailable", "Managed cluster is available"),
        ("ManagedClusterConditionClockSynced", "ManagedClusterClockSynced", "The clock is in step with the hub's"),
    ]
    body: Tree = {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name},
        "status": {
            "version": {"kubernetes": "v1.33.4"},
            "capacity": {"cpu": str(16 + number % 64), "memory": f"{64 + number % 64}Gi", "pods": "2500"},
            "allocatable": {"cpu": str(14 + number % 64), "memory": f"{60 + number % 64}Gi", "pods": "2500"},
            "clusterClaims": [
                {"name": "id.k8s.io", "value": name},
                {"name": "kubeversion.open-cluster-management.io", "value": "v1.33.4"},
                {"name": "platform.open-cluster-management.io", "value": "AWS"},
                {"name": "region.open-cluster-management.io", "value": _REGIONS[number % len(_REGIONS)]},
            ],
            "conditions": [
                {"type": type_, "status": "True", "reason": reason, "message": message, "lastTransitionTime": since}
                for type_, reason, message in conditions
            ],
        },
    }
    return file_text(body)


def report_text(number: int) -> str:
    """What an adapter reports of a cluster."""
    body: Tree = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "AdapterReport",
        "metadata": {"name": "validation", "namespace": name_of(number)},
        "spec": {
            "resource": {"kind": "ManagedCluster", "name": name_of(number)},
            "adapter": "validation",
            "observed_generation": 1,
            "observed_time": format_time(NOON - timedelta(minutes=5)),
            "conditions": [
                {"type": "Available", "status": "True", "reason": "Validated", "message": "All checks passed"},
                {"type": "Applied", "status": "True"},
                {"type": "Health", "status": "True"},
            ],
        },
    }
    return file_text(body)


def create(path: Path, clusters: int, placements: int = 0) -> None:
    """Write a fleet of which nothing is derived yet into a new bare repository."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(path)], check=True)
    commit(path, files_of(clusters, placements))


def commit(path: Path, files: Iterable[tuple[str, str]] | Mapping[str, str]) -> None:
    """Commit files to the main branch of a bare repository."""
    named = files.items() if isinstance(files, Mapping) else files
    known = subprocess.run(
        ["git", "-C", str(path), "rev-parse", "--quiet", "--verify", "main"], capture_output=True, check=False
    )
    stream = [b"commit refs/heads/main\ncommitter a <a@example.com> 0 +0000\ndata 1\nx\n"]
    if known.returncode == 0:
        stream.append(b"from %b\n" % known.stdout.strip())
    for name, text in named:
        data = text.encode()
        stream.append(b"M 100644 inline %b\ndata %d\n%b\n" % (name.encode(), len(data), data))
    subprocess.run(["git", "-C", str(path), "fast-import", "--quiet"], input=b"".join(stream), check=True)


def renew(path: Path, now: datetime) -> None:
    """Renew the leases of a hundred clusters, spread over the fleet, as of an instant."""
    listed = subprocess.run(
        ["git", "-C", str(path), "ls-tree", "-r", "--name-only", "main", "clusters/"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    clusters = sum(name.endswith("/cluster.yaml") for name in listed.split())
    commit(path, {f"{folder_of(n)}/lease.yaml": lease_text(n, now) for n in hundred(clusters)})


def hundred(clusters: int) -> range:
    """A hundred clusters, spread over the fleet."""
    return range(0, clusters, max(1, clusters // 100))[:100]


def pack(path: Path) -> None:
    """Pack a repository as git's own maintenance would: what fast-import leaves behind reads half as fast."""
    subprocess.run(["git", "-C", str(path), "repack", "-adfq"], check=True)


if __name__ == "__main__":
    create(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
