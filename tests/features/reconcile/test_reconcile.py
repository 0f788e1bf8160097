"""Several writers and one remote: whatever the order, everything lands and nothing is lost."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.cli.reconcile_result import ReconcileResult
from muster.features.reconcile.reconcile import reconcile
from muster.git.errors import RepositoryError
from muster.git.push import branch_attempts
from muster.git.repository import open_repository
from muster.run.evaluate import evaluate
from muster.run.memo.state import open_state
from tests.features.pulses.test_walkthrough import cluster, fleet, lease
from tests.support.git import Repo, new_repository

NOW = datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)


@pytest.fixture
def origin(tmp_path: Path) -> Repo:
    """A bare repository with one commit of a small fleet."""
    seed = fleet(tmp_path / "seed", a="2026-01-01T00:00:00Z", b="2025-01-01T00:00:00Z")
    seed.git("clone", "--quiet", "--bare", str(seed.path), str(tmp_path / "origin.git"))
    return Repo(tmp_path / "origin.git", seed.environ)


def clone(origin: Repo, path: Path) -> Repo:
    origin.git("clone", "--quiet", str(origin.path), str(path))
    return Repo(path, origin.environ)


def push_reconcile(repo: Repo) -> ReconcileResult:
    repository = open_repository(repo.path, repo.environ)
    return reconcile(repository, lambda: NOW, branch="main", remote="origin", attempts=branch_attempts(20))


def is_settled(repo: Repo) -> bool:
    """Whether the derived state at the head is what a fresh evaluation of it gives."""
    return evaluate(repo.path, NOW, "main").files == {}


def test_it_pushes_and_brings_the_clone_along(origin: Repo, tmp_path: Path) -> None:
    engine = clone(origin, tmp_path / "engine")
    done = push_reconcile(engine)
    assert done.pushed
    assert done.left_behind == ""
    assert origin.tip("main") == engine.tip() == done.commit
    assert engine.status() == []
    assert is_settled(origin)
    again = push_reconcile(engine)
    assert (again.commit, again.pushed) == (None, False)


def test_when_the_remote_moves_meanwhile_the_new_head_is_evaluated(origin: Repo, tmp_path: Path) -> None:
    engine, person = clone(origin, tmp_path / "engine"), clone(origin, tmp_path / "person")
    person.commit({"clusters/c/cluster.yaml": cluster("c")})

    def now() -> datetime:
        """A person pushes between our fetch and our push, once."""
        person.git("push", "--quiet", "origin", "main")
        return NOW

    repository = open_repository(engine.path, engine.environ)
    done = reconcile(repository, now, branch="main", remote="origin", attempts=branch_attempts(20))
    assert done.attempts == 2
    assert "derived/managedclusters/c.yaml" in origin.paths("main")
    assert is_settled(origin)


class TestABusyBranch:
    """People commit while a run is at work. `meanwhile` is what they push between its fetch and its push."""

    def reconciled(
        self, engine: Repo, folder: Path, meanwhile: Callable[[], object], now: datetime = NOW
    ) -> ReconcileResult:
        left = [meanwhile]

        def clock() -> datetime:
            if left:
                left.pop()()
            return now

        state = open_state(folder / "kept" / "state.sqlite")
        repository = open_repository(engine.path, engine.environ)
        try:
            return reconcile(
                repository,
                clock,
                branch="main",
                remote="origin",
                attempts=branch_attempts(5, 0, sleep=lambda _: None),
                state=state,
            )
        finally:
            assert state is not None
            state.close()

    def pushes(
        self, person: Repo, files: dict[str, str | bytes | None], message: str = "Change"
    ) -> Callable[[], object]:
        def push() -> None:
            person.git("pull", "--quiet", "--rebase", "origin", "main")
            person.commit(files, message)
            person.git("push", "--quiet", "origin", "main")

        return push

    def test_what_has_nothing_to_do_with_it(self, origin: Repo, tmp_path: Path) -> None:
        engine, person = clone(origin, tmp_path / "engine"), clone(origin, tmp_path / "person")
        done = self.reconciled(engine, tmp_path, self.pushes(person, {"README.md": "x\n"}))
        assert done.attempts == 2
        assert origin.git("log", "--format=%s", "main").splitlines()[1] == "Change"
        said = origin.git("log", "-1", "--format=%B", "main")
        assert f"Muster-Source: {origin.tip('main~1')}\n" in said, "it has the result for its parent"
        assert is_settled(origin)
        assert self.reconciled(engine, tmp_path, lambda: None).commit is None

    def test_what_became_of_another_cluster_is_in_the_same_commit(self, origin: Repo, tmp_path: Path) -> None:
        engine, person = clone(origin, tmp_path / "engine"), clone(origin, tmp_path / "person")
        self.pushes(person, {"clusters/b/lease.yaml": lease("b", "2026-01-01T00:00:00Z")})()
        for _ in range(2):
            self.reconciled(engine, tmp_path, lambda: None)
        labelled = cluster("a").replace("{name: a}", "{name: a, labels: {x: y}}")
        self.pushes(
            person, {"clusters/a/cluster.yaml": labelled.replace("spec: {", "spec: {leaseDurationSeconds: 90, ")}
        )()
        other = cluster("b").replace("spec: {", "spec: {leaseDurationSeconds: 90, ")
        done = self.reconciled(engine, tmp_path, self.pushes(person, {"clusters/b/cluster.yaml": other}))
        assert (done.attempts, list(done.settled.files)) == (
            2,
            ["derived/managedclusters/a.yaml", "derived/managedclusters/b.yaml"],
        )
        assert done.looked_at.startswith("1 neighbourhoods"), "only what people changed is looked at again"
        assert is_settled(origin)

    def test_what_others_read_is_evaluated(self, origin: Repo, tmp_path: Path) -> None:
        engine, person = clone(origin, tmp_path / "engine"), clone(origin, tmp_path / "person")
        done = self.reconciled(engine, tmp_path, self.pushes(person, {"clusters/c/cluster.yaml": cluster("c")}))
        assert done.attempts == 2
        assert "derived/managedclusters/c.yaml" in origin.paths("main")
        assert is_settled(origin)

    def test_another_engine_was_first(self, origin: Repo, tmp_path: Path) -> None:
        engine, other = clone(origin, tmp_path / "engine"), clone(origin, tmp_path / "other")
        done = self.reconciled(engine, tmp_path, lambda: push_reconcile(other))
        assert done.commit == origin.tip("main")
        assert origin.git("rev-list", "--count", "main") == "2"


def test_two_clones_push_at_the_same_time(origin: Repo, tmp_path: Path) -> None:
    engine, person = clone(origin, tmp_path / "engine"), clone(origin, tmp_path / "person")
    barrier = threading.Barrier(2)
    failures: list[BaseException] = []

    def people() -> None:
        barrier.wait()
        for index in range(5):
            person.commit({f"clusters/n{index}/cluster.yaml": cluster(f"n{index}")})
            while "rejected" in person.git("push", "--porcelain", "origin", "main", check=False):
                person.git("pull", "--quiet", "--rebase", "origin", "main")

    def engines() -> None:
        barrier.wait()
        try:
            for _ in range(5):
                push_reconcile(engine)
        except RepositoryError as error:
            failures.append(error)

    threads = [threading.Thread(target=target) for target in (people, engines)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    push_reconcile(engine)
    assert {f"clusters/n{index}/cluster.yaml" for index in range(5)} <= set(origin.paths("main"))
    assert is_settled(origin)
    assert origin.git("fsck", "--strict", "--no-dangling") == "", "but for commits that came too late"


def test_a_clone_with_unpushed_work_pushes_it_along(origin: Repo, tmp_path: Path) -> None:
    engine = clone(origin, tmp_path / "engine")
    engine.commit({"clusters/c/cluster.yaml": cluster("c")})
    push_reconcile(engine)
    assert {"clusters/c/cluster.yaml", "derived/managedclusters/c.yaml"} <= set(origin.paths("main"))


def test_diverged_branches_are_refused_with_both_left_alone(origin: Repo, tmp_path: Path) -> None:
    engine, person = clone(origin, tmp_path / "engine"), clone(origin, tmp_path / "person")
    person.commit({"clusters/c/cluster.yaml": cluster("c")})
    person.git("push", "--quiet", "origin", "main")
    mine = engine.commit({"clusters/d/cluster.yaml": cluster("d")})
    theirs = origin.tip("main")
    with pytest.raises(RepositoryError, match="diverged"):
        push_reconcile(engine)
    assert (engine.tip(), origin.tip("main")) == (mine, theirs)


def test_a_protected_branch_says_what_the_server_said(origin: Repo, tmp_path: Path) -> None:
    engine = clone(origin, tmp_path / "engine")
    hook = origin.path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho main is protected >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RepositoryError) as caught:
        push_reconcile(engine)
    assert "main is protected" in str(caught.value)
    assert sorted(engine.refs()) == ["refs/heads/main", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]


def test_the_branch_that_keeps_moving_ends_in_a_message(tmp_path: Path) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    repository = open_repository(repo.path, repo.environ)
    count = iter(range(100))

    def now() -> datetime:
        """Somebody commits each time between our reading of the branch and our writing to it."""
        number = next(count)
        repo.commit({f"clusters/n{number}.yaml": cluster(f"n{number}")})
        return NOW

    with pytest.raises(RepositoryError, match="kept moving"):
        reconcile(repository, now, branch="main", attempts=range(1, 4))


def test_an_empty_remote_is_a_message(tmp_path: Path) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    empty = new_repository(tmp_path / "empty.git", bare=True)
    repo.git("remote", "add", "origin", str(empty.path))
    with pytest.raises(RepositoryError, match="main"):
        push_reconcile(repo)
