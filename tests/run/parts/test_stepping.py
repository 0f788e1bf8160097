"""A Rollout or a set of works takes its step alone if only its clusters made progress."""

from pathlib import Path

import yaml

from muster.data.tree import Tree
from muster.run.memo.state import RunState
from tests.run.test_incremental import compared, state_in
from tests.support.git import Content
from tests.support.happenings import all_speak, later
from tests.support.living import Living

WORK = "work.open-cluster-management.io"
ROLLOUT: Tree = {
    "apiVersion": "muster.dev/v1alpha1",
    "kind": "Rollout",
    "metadata": {"name": "web", "namespace": "apps"},
    "spec": {
        "placementRef": {"name": "eu"},
        "revision": "v1",
        "stages": [{"name": "all", "maxConcurrency": 1, "minSuccessTime": "1m"}],
    },
}
SET: Tree = {
    "apiVersion": f"{WORK}/v1alpha1",
    "kind": "ManifestWorkReplicaSet",
    "metadata": {"name": "agent", "namespace": "apps"},
    "spec": {
        "placementRefs": [{"name": "eu"}],
        "manifestWorkTemplate": {
            "workload": {"manifests": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}]}
        },
    },
}
#: It waits for clusters that fall silent.
PATIENT: Tree = {
    **ROLLOUT,
    "spec": {
        "placementRef": {"name": "eu"},
        "revision": "v1",
        "gate": [{"name": "never", "expression": "false"}],
        "strategy": {
            "type": "Progressive",
            "progressive": {"maxConcurrency": 1, "progressDeadline": "7m", "maxFailures": 1},
        },
    },
}
PROJECTION: Tree = {
    "apiVersion": "muster.dev/v1alpha1",
    "kind": "Projection",
    "metadata": {"name": "p"},
    "spec": {
        "forEach": {"rollout": "apps/web"},
        "path": "cluster.metadata.name + '.txt'",
        "text": "has(rollout.revision) ? rollout.revision : 'none'",
    },
}


def reach(living: Living, state: RunState) -> list[str]:
    """Run three times: what is written is looked at once more. How far each run reached."""
    return [compared(living, state, ()).looked_at.split(", ")[-1] for _ in range(3)]


def test_progress_is_a_step_and_anything_else_is_not(tmp_path: Path) -> None:
    living, state = Living.small(tmp_path / "fleet", 4, 12), state_in(tmp_path)
    files: dict[str, Content] = {"apps/rollout.yaml": yaml.safe_dump(ROLLOUT), "apps/set.yaml": yaml.safe_dump(SET)}
    living.puts(files, "a rollout and a set")
    reach(living, state)
    later(living, 1)  # the first cluster is judged
    assert "steps" in reach(living, state)
    later(living, 60)  # it has soaked, and the next one follows
    assert "steps" in reach(living, state)
    work = sorted((living.repo.path / "derived/manifestworks").rglob("*.yaml"))[0]
    body = yaml.safe_load(work.read_text())
    known = {"observedGeneration": 1, "lastTransitionTime": "2026-01-01T12:00:00Z", "reason": "x", "message": ""}
    report: Tree = {key: body[key] for key in ("apiVersion", "kind")} | {
        "metadata": {key: body["metadata"][key] for key in ("name", "namespace")},
        "status": {"conditions": [{"type": type_, "status": "True", **known} for type_ in ("Applied", "Available")]},
    }
    living.puts({"works/one.yaml": yaml.safe_dump(report)}, "an agent reports about its work")
    assert reach(living, state)[0] == "steps"
    SET["metadata"]["labels"] = {"a": "b"}
    living.puts({"apps/set.yaml": yaml.safe_dump(SET)}, "the set is edited")
    assert reach(living, state)[0] == "wide"
    ROLLOUT["spec"]["revision"] = "v2"
    files = {"policies/projection.yaml": yaml.safe_dump(PROJECTION), "apps/rollout.yaml": yaml.safe_dump(ROLLOUT)}
    living.puts(files, "a Projection reads the progress of another revision")
    reach(living, state)
    later(living, 1)
    assert reach(living, state)[0] == "wide"


def test_a_silent_cluster_keeps_its_place_in_steps_too(tmp_path: Path) -> None:
    living, state = Living.small(tmp_path / "fleet", 4, 12), state_in(tmp_path)
    all_speak(living, living.names)
    living.puts({"apps/rollout.yaml": yaml.safe_dump(PATIENT)}, "a rollout that nobody passes")
    reach(living, state)
    (first,) = with_revision(living)
    began = living.now
    for _ in range(9):
        later(living, 55)
        all_speak(living, [name for name in living.names if name != first])
        compared(living, state, ())
        waiting = (living.now - began).total_seconds() < 7 * 60
        assert (with_revision(living) == [first]) is waiting, living.now - began
    decided = "".join(path.read_text() for path in (living.repo.path / "derived").glob("placementdecisions/**/*.yaml"))
    assert f"clusterName: {first}\n" not in decided, "its Placement dropped it"
    assert first in with_revision(living)


def with_revision(living: Living) -> list[str]:
    """The clusters that have a revision."""
    files = sorted((living.repo.path / "derived/managedclusters").rglob("*.yaml"))
    return [file.stem for file in files if "apps/web:" in file.read_text()]
