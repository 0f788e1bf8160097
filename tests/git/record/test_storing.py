"""Records on a remote: they come with the commit, from several machines, and never stop a run."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from muster.cli.reconcile_result import ReconcileResult
from muster.data.codes import Code
from muster.features.reconcile.reconcile import reconcile
from muster.git.record.reading import heard_at
from muster.git.repository import open_repository
from tests.support.example import NOON
from tests.support.git import Repo, copy
from tests.support.living import Living, cluster, lease

DAY = "refs/muster/heard/2026-01-01"


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Living:
    """A fleet of four clusters."""
    return Living.small(tmp_path_factory.mktemp("fleet") / "fleet", 1, 4)


@pytest.fixture
def origin(living: Living, tmp_path: Path) -> Repo:
    """A bare repository with that fleet, which agents push to."""
    repo = copy(living.repo.path, tmp_path / "seed")
    repo.git("clone", "--quiet", "--mirror", str(repo.path), str(tmp_path / "origin.git"))
    return Repo(tmp_path / "origin.git", repo.environ)


def clone(origin: Repo, path: Path) -> Repo:
    origin.git("clone", "--quiet", str(origin.path), str(path))
    return Repo(path, origin.environ)


def pushed(repo: Repo, now: datetime = NOON) -> ReconcileResult:
    repository = open_repository(repo.path, repo.environ)
    return reconcile(repository, lambda: now, branch="main", remote="origin", attempts=(1,))


def changed(repo: Repo, files: Mapping[str, str]) -> None:
    """A person pushes files."""
    repo.git("pull", "--quiet", "origin", "main")
    repo.commit({**files})
    repo.git("push", "--quiet", "origin", "main")


def unrecorded(done: ReconcileResult) -> list[str]:
    return [found.message for found in done.settled.findings if found.code == Code.RECORD_NOT_KEPT]


def test_a_record_is_pushed_with_its_commit(origin: Repo, tmp_path: Path) -> None:
    done = pushed(clone(origin, tmp_path / "engine"))
    assert (done.pushed, unrecorded(done), done.commit) == (True, [], origin.tip("main"))
    assert done.commit
    assert heard_at(open_repository(origin.path, origin.environ), done.commit).heard
    assert "muster" not in clone(origin, tmp_path / "plain").git("for-each-ref")


def test_two_machines_add_to_one_branch(origin: Repo, tmp_path: Path) -> None:
    one, two, person = (clone(origin, tmp_path / name) for name in ("one", "two", "person"))
    heard = set[str]()
    for number, engine in enumerate((one, two, one, two, clone(origin, tmp_path / "fresh"), one)):
        changed(person, {"clusters/c001/cluster.yaml": cluster("c001", accepted=number % 2 == 0)})
        done = pushed(engine, NOON + timedelta(minutes=number))
        assert (bool(done.commit), unrecorded(done)) == (True, [])
        heard.add(origin.git("show", "-s", "--format=%(trailers:key=Muster-Heard,valueonly)", "main").strip())
    assert len(heard) == 6
    assert heard <= set(origin.git("log", "--format=%T", DAY).split())
    assert one.refs()[DAY] == origin.refs()[DAY]


def test_a_remote_that_refuses_records_costs_a_warning(origin: Repo, tmp_path: Path) -> None:
    hook = origin.path / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase "$1" in refs/muster/*) echo branches only >&2; exit 1;; esac\n')
    hook.chmod(0o755)
    engine = clone(origin, tmp_path / "engine")
    done = pushed(engine)
    (message,) = unrecorded(done)
    assert "branches only" in message
    assert (done.pushed, done.commit, origin.refs().get(DAY)) == (True, origin.tip("main"), None)
    assert done.commit
    assert heard_at(open_repository(engine.path, engine.environ), done.commit).heard  # it is here
    hook.unlink()
    changed(clone(origin, tmp_path / "person"), {"clusters/c001/cluster.yaml": cluster("c001", region="ap")})
    again = pushed(engine, NOON + timedelta(minutes=1))
    assert (unrecorded(again), origin.git("rev-list", "--count", DAY)) == ([], "2")


def test_a_remote_without_atomic_pushes_takes_both(origin: Repo, tmp_path: Path) -> None:
    origin.git("config", "receive.advertiseAtomic", "false")
    done = pushed(clone(origin, tmp_path / "engine"))
    assert (done.pushed, unrecorded(done), origin.git("rev-list", "--count", DAY)) == (True, [], "1")


def test_what_somebody_else_puts_there_stops_no_run(origin: Repo, tmp_path: Path) -> None:
    blob = origin.git("hash-object", "-w", "--stdin", stdin=b"x")
    origin.git("update-ref", DAY, blob)
    engine = clone(origin, tmp_path / "engine")
    done = pushed(engine)
    assert (done.pushed, unrecorded(done)) == (True, [])
    assert origin.git("rev-list", "--count", DAY) == "1"
    other = origin.git("commit-tree", "-m", "x", origin.git("mktree", stdin=b""))
    origin.git("update-ref", DAY, other)
    changed(clone(origin, tmp_path / "person"), {"clusters/c001/cluster.yaml": cluster("c001", region="ap")})
    again = pushed(clone(origin, tmp_path / "fresh"), NOON + timedelta(minutes=1))
    assert (again.pushed, unrecorded(again)) == (True, [])
    assert again.commit
    assert heard_at(open_repository(origin.path, origin.environ), again.commit).heard


def test_what_cannot_be_there_beside_a_record_stops_no_run(origin: Repo, tmp_path: Path) -> None:
    """A branch below the record's, or where its folder is: the remote fails the whole of an atomic push."""
    engine, person = clone(origin, tmp_path / "engine"), clone(origin, tmp_path / "person")
    for number, ref in enumerate((f"{DAY}/x", "refs/muster/heard")):
        origin.git("update-ref", ref, "main")
        changed(person, {"clusters/c001/cluster.yaml": cluster("c001", accepted=number % 2 == 0)})
        done = pushed(engine, NOON + timedelta(minutes=number))
        assert (done.pushed, len(unrecorded(done)), done.commit) == (True, 1, origin.tip("main"))
        assert done.commit
        assert heard_at(open_repository(engine.path, engine.environ), done.commit).heard  # it is here
        origin.git("update-ref", "-d", ref)


@pytest.mark.parametrize("present", ("nothing", "blob"))
def test_a_branch_of_records_that_is_lost_on_the_remote_is_pushed_anew(
    origin: Repo, tmp_path: Path, present: str
) -> None:
    engine, person = clone(origin, tmp_path / "engine"), clone(origin, tmp_path / "person")
    for number in range(3):
        changed(person, {"clusters/c001/cluster.yaml": cluster("c001", accepted=number % 2 == 0)})
        assert unrecorded(pushed(engine, NOON + timedelta(minutes=number))) == []
        assert engine.refs()[DAY] == origin.refs()[DAY]
        if number == 0 and present == "nothing":
            origin.git("update-ref", "-d", DAY)
        elif number == 0:
            origin.git("update-ref", DAY, origin.git("hash-object", "-w", "--stdin", stdin=b"x"))
    assert origin.git("rev-list", "--count", DAY) == "3"


def test_records_end_by_age(origin: Repo, tmp_path: Path) -> None:
    engine, person = clone(origin, tmp_path / "engine"), clone(origin, tmp_path / "person")
    setting = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: a}\nspec: {record: {keep: 2d}}\n"
    for day in range(5):
        now = NOON + timedelta(days=day)
        changed(
            person, {"fleet.yaml": setting, "clusters/c002/lease.yaml": lease("c002", now - timedelta(hours=day % 2))}
        )
        assert pushed(engine, now).commit
    days = [f"refs/muster/heard/2026-01-0{day}" for day in (3, 4, 5)]
    assert [ref for ref in origin.refs() if "heard" in ref] == days
    assert [ref for ref in engine.refs() if ref.startswith("refs/muster/heard/")] == days
