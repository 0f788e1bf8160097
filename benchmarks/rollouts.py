"""What a step of a Rollout costs in a large fleet: `python -m benchmarks.rollouts [--clusters N,N...]`.

A Rollout in 20 stages over all clusters of a repository. Measured is the processor time of a run from the kept state:
one step that moves as many clusters as `maxConcurrency` allows, and one that moves a whole stage; beside them a run in
which one renewed Lease is read, and nothing follows. The same of a set of works, in which each step follows reports.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import yaml

from benchmarks.fleets import NOON
from muster.data.times import format_time
from muster.git.agents.listing import local_agent_refs
from muster.git.fastimport import build_commit
from muster.git.landing.commit import advance
from muster.git.memory.pulses import Remembered
from muster.git.repository import branch_tip, open_repository
from muster.run.answer import RunAnswer
from muster.run.incremental import answer
from muster.run.memo.state import RunState, open_state
from muster.run.question import Question

STAGES = 20
_CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: {name}
  labels: {{wave: "{wave}"}}
spec: {{hubAcceptsClient: true}}
status:
  conditions:
  - type: ManagedClusterConditionAvailable
    status: "True"
    reason: Ok
    message: ok
    lastTransitionTime: "2026-01-01T00:00:00Z"
"""
_LEASE = """\
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: managed-cluster-lease, namespace: {name}}}
spec: {{renewTime: "{renewed}"}}
"""
_FLEET = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: large}\nspec: {derived: {shards: 256}}\n"
_PLACED = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: apps}
spec: {clusterSet: global}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: apps}
spec: {}
"""


def rollout(concurrency: int) -> str:
    """The Rollout, with so many clusters in change at once; 0: a whole stage."""
    limit = {"maxConcurrency": concurrency} if concurrency else {}
    stages = [{"name": f"s{n}", "selector": {"matchLabels": {"wave": str(n)}}, **limit} for n in range(STAGES)]
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Rollout", "metadata": {"name": "web", "namespace": "apps"}}
    return str(yaml.safe_dump({**body, "spec": {"placementRef": {"name": "web"}, "revision": "v1", "stages": stages}}))


def work_set(concurrency: int) -> str:
    """A set of works, with so many clusters in change at once."""
    strategy = {"type": "Progressive", "progressive": {"maxConcurrency": concurrency}}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "web"}}
    body = {
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "web", "namespace": "apps"},
        "spec": {
            "placementRefs": [{"name": "web", "rolloutStrategy": strategy}],
            "manifestWorkTemplate": {"workload": {"manifests": [manifest]}},
        },
    }
    return str(yaml.safe_dump(body))


def report(text: str) -> str:
    """What an agent reports of a derived work: that it is applied and available."""
    work = yaml.safe_load(text)
    known = {"status": "True", "reason": "Ok", "message": "", "observedGeneration": work["metadata"]["generation"]}
    known["lastTransitionTime"] = format_time(NOON)
    metadata = {name: work["metadata"][name] for name in ("name", "namespace")}
    conditions = [{"type": type_, **known} for type_ in ("Applied", "Available")]
    body = {"apiVersion": work["apiVersion"], "kind": work["kind"], "metadata": metadata}
    return str(yaml.safe_dump({**body, "status": {"conditions": conditions}}))


class Engine:
    """A repository, and the state that runs keep."""

    def __init__(self, folder: Path, clusters: int, text: str) -> None:
        environ = {
            **os.environ,
            **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", folder / "fleet.git"], check=True)
        self.repository = open_repository(folder / "fleet.git", environ)
        self.state = _state(folder / "state")
        self.now = NOON
        renewed = format_time(NOON + timedelta(days=1))
        files = {"fleet.yaml": _FLEET, "web.yaml": _PLACED, "rollout.yaml": text}
        for number in range(clusters):
            name = f"cluster-{number:06d}"
            files[f"clusters/{number % 256:02x}/{name}.yaml"] = _CLUSTER.format(name=name, wave=number % STAGES)
            files[f"clusters/{number % 256:02x}/{name}-lease.yaml"] = _LEASE.format(name=name, renewed=renewed)
        self.commit(files)

    def commit(self, files: Mapping[str, str | None]) -> None:
        """Commit files to the branch."""
        tip = branch_tip(self.repository, "main")
        contents = {path: None if text is None else text.encode() for path, text in files.items()}
        commit = build_commit(self.repository, contents, "a commit", tip)
        advance(self.repository, branch="main", expected=tip, commit=commit)

    def run(self) -> tuple[float, RunAnswer]:
        """Run, commit and remember; return the processor time of deciding."""
        tip = branch_tip(self.repository, "main")
        assert tip is not None
        heard = local_agent_refs(self.repository)
        question = Question(self.repository, tip, heard, self.now, Remembered(self.repository))
        start = time.process_time()
        found = answer(question, self.state)
        seconds = time.process_time() - start
        self.commit(found.settled.files)
        found.remember(self.state)
        return seconds, found


def _state(folder: Path) -> RunState:
    state = open_state(folder)
    assert state is not None
    return state


def measure(clusters: int, text: str) -> tuple[float, float, int, float]:
    """Return the seconds of the run from nothing, of a step, the files that it writes, and of a renewed Lease."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Path(folder), clusters, text)
        cold, found = engine.run()
        steps = []
        for _ in range(5):
            engine.now += timedelta(seconds=1)
            written = found.settled.files.items()
            if works := {path: report(made) for path, made in written if made and "/manifestworks/" in path}:
                engine.run()  # what was written is looked at once more
                engine.commit({path.replace("derived/", "reports/"): made for path, made in works.items()})
            seconds, found = engine.run()
            steps.append((seconds, len(found.settled.files)))
        name = "cluster-000000"
        renewed = format_time(NOON + timedelta(days=2))
        engine.commit({f"clusters/00/{name}-lease.yaml": _LEASE.format(name=name, renewed=renewed)})
        engine.run()  # what was written is looked at once more
        renewed = format_time(NOON + timedelta(days=2, seconds=1))
        engine.commit({f"clusters/00/{name}-lease.yaml": _LEASE.format(name=name, renewed=renewed)})
        lease, _ = engine.run()
        seconds, files = min(steps[2:])
        return cold, seconds, files, lease


def main() -> int:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rollouts")
    parser.add_argument("--clusters", default="1000,10000")
    for text in parser.parse_args().clusters.split(","):
        for what, spec in (
            (f"{STAGES} stages", rollout(5)),
            (f"{STAGES} stages", rollout(0)),
            ("a set of works", work_set(5)),
        ):
            cold, step, files, lease = measure(int(text), spec)
            sys.stdout.write(
                f"{int(text):>6} clusters, {what}: from nothing {cold:.2f} s, "
                f"a step of {files} files {step:.3f} s, a renewed Lease {lease:.3f} s\n"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
