"""A fleet that wants few commits an hour: what changes is put together, nothing is dropped, and no loss waits."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from muster.cli import exits
from muster.cli.reconcile_result import ReconcileResult
from muster.data.times import format_time, parse_time
from muster.features.reconcile.reconcile import reconcile
from muster.features.watch.watch import Watcher
from muster.git.enginecommits import last_runs
from muster.git.repository import open_repository
from muster.run.evaluate import evaluate
from muster.run.memo.state import RunState, open_state
from tests.features.pulses.test_walkthrough import Muster, available, cluster, fleet, lease, muster
from tests.support.git import Repo

__all__ = ["muster"]

NOON = parse_time("2026-01-01T12:00:00Z")
MINUTE = timedelta(minutes=1)
SETTING = (
    "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: few}\nspec: {derived: {maxCommitsPerHour: 2}}\n"
)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = fleet(tmp_path / "fleet", **dict.fromkeys("abc", format_time(NOON)))
    repo.commit({"fleet.yaml": SETTING})
    return repo


@pytest.fixture(params=[False, True], ids=["cold", "warm"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunState | None]:
    kept = open_state(tmp_path / "kept/state") if request.param else None
    yield kept
    if kept is not None:
        kept.close()


def run(repo: Repo, at: datetime, state: RunState | None) -> ReconcileResult:
    repository = open_repository(repo.path, repo.environ)
    return reconcile(repository, lambda: at, branch="main", attempts=range(1, 3), state=state)


def beat(repo: Repo, at: datetime, names: str) -> None:
    repo.commit({f"clusters/{name}/lease.yaml": lease(name, format_time(at)) for name in names})


def edit(repo: Repo, name: str, seconds: int) -> None:
    text = cluster(name).replace("spec: {", f"spec: {{leaseDurationSeconds: {seconds}, ")
    repo.commit({f"clusters/{name}/cluster.yaml": text})


def is_settled(repo: Repo, at: datetime) -> bool:
    return evaluate(repo.path, at, "HEAD").files == {}


def test_what_changes_past_that_comes_in_one_commit_and_is_not_lost(repo: Repo, state: RunState | None) -> None:
    assert run(repo, NOON, state).commit
    edit(repo, "a", 70)
    assert run(repo, NOON + MINUTE, state).commit
    for number, name in enumerate("abc", 2):
        beat(repo, NOON + number * MINUTE, "abc")
        edit(repo, name, 80)
        done = run(repo, NOON + number * MINUTE, state)
        assert (done.commit, done.waits) == (None, NOON + timedelta(hours=1))
        assert len(done.settled.files) == number - 1
    later = NOON + timedelta(hours=1)
    beat(repo, later, "abc")
    done = run(repo, later, state)
    assert done.commit
    assert len(done.settled.files) == 3
    assert is_settled(repo, later)
    assert run(repo, later, state).waits is None, "nothing is left that could wait"
    edit(repo, "a", 90)
    assert run(repo, later, state).waits == later + MINUTE


def test_a_loss_of_availability_never_waits_and_takes_the_rest_along(repo: Repo, state: RunState | None) -> None:
    run(repo, NOON, state)
    edit(repo, "a", 70)
    run(repo, NOON + MINUTE, state)
    edit(repo, "b", 80)
    assert run(repo, NOON + 2 * MINUTE, state).waits
    beat(repo, NOON + 4 * MINUTE, "ab")
    done = run(repo, NOON + 6 * MINUTE, state)
    assert (bool(done.commit), done.waits) == (True, None)
    assert available(repo, "c") == ("Unknown", True)
    assert 'lease-duration-seconds: "80"' in repo.show("derived/managedclusters/b.yaml")
    beat(repo, NOON + 7 * MINUTE, "abc")
    assert run(repo, NOON + 7 * MINUTE, state).waits, "that it is back can wait"
    assert len(last_runs(open_repository(repo.path, repo.environ), repo.tip(), 10)) == 3


def test_it_is_said_and_watch_wakes_for_it(repo: Repo, muster: Muster) -> None:
    told, clock = list[str](), [NOON]
    repository = open_repository(repo.path, repo.environ)
    watcher = Watcher(repository, "main", None, MINUTE, told.append, clock=lambda: clock[0], verbose=True)
    for seconds in (70, 80, 90):
        watcher.look()
        beat(repo, clock[0], "abc")
        edit(repo, "a", seconds)
        clock[0] += MINUTE
    told.clear()
    watcher.look()
    waiting = "waits until 2026-01-01T13:00:00Z (Fleet.spec.derived.maxCommitsPerHour): "
    waiting += "lease duration of a now 1m30s"
    assert [line.partition(" ")[2].replace("object", "cluster") for line in told] == [waiting]
    now = format_time(clock[0])
    code, out, _ = muster(repo, "reconcile", "--now", now)
    assert (code, out.replace("object", "cluster")) == (exits.FINE, f"{waiting}\n")
    clock[0] = NOON + timedelta(hours=1)
    beat(repo, clock[0], "abc")
    watcher.look()
    assert is_settled(repo, clock[0])
