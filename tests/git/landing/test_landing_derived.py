"""`derived/` on a branch of its own: written there and read from there, also where the main branch takes no push."""

import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from muster.cli import exits
from muster.data.times import format_time, parse_time
from muster.features.reconcile.reconcile import reconcile
from muster.features.watch.watch import Watcher
from muster.git.errors import RepositoryError
from muster.git.repository import open_repository
from muster.run.evaluate import evaluate
from muster.run.memo.state import open_state
from tests.features.pulses.test_walkthrough import Muster, cluster, fleet, lease, muster
from tests.support.git import Repo, clone

__all__ = ["muster"]

NOON = parse_time("2026-01-01T12:00:00Z")
BRANCH = "muster/state"
SETTING = (
    f"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: f}}\nspec: {{derived: {{branch: {BRANCH}}}}}\n"
)
FILE = "derived/managedclusters/a.yaml"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository without remotes."""
    repo = fleet(tmp_path / "fleet", **dict.fromkeys("abc", format_time(NOON)))
    repo.commit({"fleet.yaml": SETTING})
    return repo


@pytest.fixture
def origin(repo: Repo, tmp_path: Path) -> Repo:
    """A bare repository whose main branch takes no push."""
    bare = clone(repo, tmp_path / "origin.git", "--bare")
    hook = bare.path / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" != refs/heads/main ] || { echo "main is protected"; exit 1; }\n')
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    return bare


def at(minutes: float) -> str:
    return format_time(NOON + timedelta(minutes=minutes))


def label(repo: Repo, name: str, value: str) -> str:
    return repo.commit(
        {
            f"clusters/{name}/cluster.yaml": cluster(name)
            .replace("{name: a", "{name: a")
            .replace(f"{{name: {name}}}", f"{{name: {name}, labels: {{x: {value}}}}}")
        }
    )


def test_main_gets_nothing_and_the_branch_nothing_else(repo: Repo, muster: Muster) -> None:
    main = repo.tip("main")
    assert muster(repo, "reconcile", "--now", at(0))[0] == exits.FINE
    assert repo.tip("main") == main
    assert repo.status() == []
    assert {path.split("/")[0] for path in repo.paths(BRANCH)} == {"derived"}
    assert f"Muster-Source: {main}" in repo.git("log", "-1", "--format=%B", BRANCH)
    assert muster(repo, "reconcile", "--now", at(0)) == (exits.FINE, "nothing to do\n", "")
    assert evaluate(repo.path, NOON, "main").files == {}


def test_all_who_read_see_it(repo: Repo, muster: Muster, tmp_path: Path) -> None:
    for minute in (0, 1):
        muster(repo, "reconcile", "--now", at(minute))
    assert "True" in muster(repo, "get", "managedclusters", "--now", at(1))[1]
    assert muster(repo, "plan", "--now", at(1))[1].startswith("Nothing to do.")
    assert muster(repo, "plan", "--now", at(1), "--worktree")[1].startswith("Nothing to do.")
    assert "True" in muster(repo, "history", "managedcluster/a", "--now", at(1))[1]
    why = muster(
        repo, "explain", "managedcluster/a", "status.conditions[ManagedClusterConditionAvailable]", "--now", at(1)
    )
    assert why[0] == exits.FINE, why
    for how in ((), ("--staged",), ("--rev", "HEAD")):
        assert muster(repo, "validate", *how)[0] == exits.FINE, how
    silent = evaluate(repo.path, NOON + timedelta(minutes=6), "main").files
    assert silent.keys() >= {f"derived/managedclusters/{name}.yaml" for name in "abc"}
    assert "a, b and c Unknown" in muster(repo, "plan", "--now", at(6), "--worktree")[1]
    soon = muster(repo, "forecast", "--now", at(1), "--for", "10m")
    assert soon[0] == exits.FINE, soon
    assert "accepted" not in soon[1]
    assert "Unknown" in soon[1]
    repo.write("clusters/d.yaml", cluster("d"))
    out = muster(repo, "plan", "--now", at(1), "--worktree")[1]
    assert "ManagedCluster/d" in out
    assert "ManagedCluster/a" not in out


def test_a_pull_request_is_compared_with_what_it_left(repo: Repo, muster: Muster) -> None:
    muster(repo, "reconcile", "--now", at(0))
    repo.git("switch", "--quiet", "--create", "topic")
    repo.commit({"clusters/d.yaml": cluster("d")})
    out = muster(repo, "plan", "--now", at(1), "--base", "main")[1]
    assert "new: d\n" in out
    assert "of 2 objects" in out, "the cluster, and the set that it is in"


@pytest.mark.parametrize("keeps", [False, True], ids=["cold", "warm"])
def test_a_life(repo: Repo, tmp_path: Path, keeps: bool) -> None:
    """What is kept between runs changes nothing of what is decided."""
    state = open_state(tmp_path / "kept/state") if keeps else None
    looked_at, repository = list[str](), open_repository(repo.path, repo.environ)
    steps: tuple[Callable[[], object], ...] = (
        lambda: None,
        lambda: None,
        lambda: label(repo, "b", "1"),
        lambda: repo.commit({"README.md": "x"}),
        lambda: repo.commit({f"clusters/{n}/lease.yaml": lease(n, at(4)) for n in "bc"}),
        lambda: None,
        lambda: None,
        lambda: repo.commit({"clusters/c/cluster.yaml": None}),
        lambda: repo.commit({"clusters/d.yaml": cluster("d")}),
    )
    for minute, step in enumerate(steps):
        step()
        now = NOON + timedelta(minutes=minute)
        fresh = evaluate(repo.path, now, "main")
        done = reconcile(repository, lambda now=now: now, branch="main", attempts=range(1, 3), state=state)  # type: ignore[misc]
        assert done.settled.first.files == fresh.files
        assert evaluate(repo.path, now, "main").files == {}
        looked_at.append(done.looked_at)
    whole = sum(text.startswith("the whole fleet") for text in looked_at)
    assert whole == (len(steps) if not keeps else whole)
    assert not keeps or any(text.startswith("nothing") for text in looked_at), looked_at
    assert not keeps or not any("history was rewritten" in text for text in looked_at), looked_at
    assert "a, b and c available" in repo.git("log", "--format=%s", BRANCH)
    if state is not None:
        state.close()


class TestAProtectedMain:
    def engine(self, origin: Repo, path: Path) -> Repo:
        return clone(origin, path)

    def test_only_the_branch_is_pushed(self, origin: Repo, tmp_path: Path, muster: Muster) -> None:
        main, engine = origin.tip("main"), clone(origin, tmp_path / "engine")
        code, out, err = muster(engine, "reconcile", "--push", "--now", at(0))
        assert (code, err) == (exits.FINE, "")
        assert "pushed to origin" in out
        assert origin.tip("main") == main
        assert FILE in origin.paths(BRANCH)
        assert muster(engine, "plan", "--now", at(0))[1].startswith("Nothing to do.")
        assert muster(engine, "reconcile", "--push", "--now", at(0))[1] == "nothing to do\n"

    def test_two_engines_and_people_who_merge(self, origin: Repo, tmp_path: Path, muster: Muster) -> None:
        one, two = clone(origin, tmp_path / "one"), clone(origin, tmp_path / "two")
        (origin.path / "hooks/update").unlink()
        person = clone(origin, tmp_path / "person")
        for minute, engine in enumerate((one, two, one, two)):
            person.commit({f"clusters/n{minute}.yaml": cluster(f"n{minute}")})
            person.git("push", "--quiet", "origin", "main")
            assert muster(engine, "reconcile", "--push", "--now", at(minute / 10))[0] == exits.FINE
            assert f"derived/managedclusters/n{minute}.yaml" in origin.paths(BRANCH)
            assert engine.tip("main") == origin.tip("main")
        assert origin.git("rev-list", "--count", BRANCH) == "5", "a first one, and one of each run"
        assert evaluate(origin.path, parse_time(at(0.3)), "main").files == {}

    def test_a_clone_of_one_branch_asks_for_it(self, origin: Repo, tmp_path: Path, muster: Muster) -> None:
        muster(clone(origin, tmp_path / "engine"), "reconcile", "--push", "--now", at(0))
        alone = clone(origin, tmp_path / "alone", "--single-branch", "--branch=main")
        assert muster(alone, "plan", "--now", at(0))[1].startswith("Nothing to do.")
        again = clone(origin, tmp_path / "again", "--single-branch", "--branch=main")
        assert muster(again, "reconcile", "--now", at(0))[1] == "nothing to do\n"

    def test_a_branch_that_is_protected_too_is_a_message(self, origin: Repo, tmp_path: Path) -> None:
        (origin.path / "hooks/update").write_text("#!/bin/sh\necho all is protected\nexit 1\n")
        engine = clone(origin, tmp_path / "engine")
        repository = open_repository(engine.path, engine.environ)
        with pytest.raises(RepositoryError, match="rejected the push: hook declined\n  all is protected$"):
            reconcile(repository, lambda: NOON, branch="main", remote="origin", attempts=range(1, 3))

    def test_watch(self, origin: Repo, tmp_path: Path) -> None:
        engine, told, clock = clone(origin, tmp_path / "engine"), list[str](), [NOON]
        watcher = Watcher(
            open_repository(engine.path, engine.environ),
            "main",
            "origin",
            timedelta(minutes=1),
            told.append,
            clock=lambda: clock[0],
            state=open_state(tmp_path / "kept/state"),
            verbose=True,
        )
        for _ in range(3):
            watcher.look()
            clock[0] += timedelta(minutes=1)
        assert any("a, b and c available" in line for line in told), told
        assert "nothing" in told[-1], told


class TestTheSwitch:
    def test_what_main_had_is_what_the_branch_begins_with(self, tmp_path: Path, muster: Muster) -> None:
        repo = fleet(tmp_path / "fleet", **dict.fromkeys("abc", format_time(NOON)))
        muster(repo, "reconcile", "--now", at(0))
        muster(repo, "reconcile", "--now", at(6))
        before = repo.show(FILE, "main")
        repo.commit({"fleet.yaml": SETTING})
        assert muster(repo, "reconcile", "--now", at(7))[0] == exits.FINE
        assert repo.show(FILE, BRANCH) == before, "no clock begins anew"
        assert "fleets/f.yaml" in " ".join(repo.paths(BRANCH))
        repo.git("rm", "-r", "--quiet", "derived")
        repo.commit(message="It lies elsewhere now")
        assert muster(repo, "plan", "--now", at(7))[1].endswith("\nNothing to do.\n")

    @pytest.mark.parametrize("text", ["", "apiVersion: [", "kind: Flet\n"])
    def test_a_slip_in_the_fleet_does_not_lose_it(self, repo: Repo, muster: Muster, text: str) -> None:
        muster(repo, "reconcile", "--now", at(0))
        repo.commit({"fleet.yaml": text})
        muster(repo, "reconcile", "--now", at(1))
        assert "derived" not in {path.split("/")[0] for path in repo.paths("main")}
        assert FILE in repo.paths(BRANCH)


def test_a_pushed_edit_goes_by_what_is_derived_by_now(repo: Repo, muster: Muster, tmp_path: Path) -> None:
    """It fetches people's files; what is derived of them would be from before otherwise."""
    origin = clone(repo, tmp_path / "origin.git", "--bare")
    engine, person = clone(origin, tmp_path / "engine"), clone(origin, tmp_path / "person")
    assert muster(engine, "reconcile", "--push", "--now", at(0))[0] == exits.FINE
    assert muster(person, "deny", "--clusters", "a", "--push")[0] == exits.FINE
    assert person.tip(f"origin/{BRANCH}") == origin.tip(BRANCH)
