"""Agents' refs from real servers: a huge one costs a refusal, and nobody else anything."""

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from muster.data.snapshot import AgentLimits, Agents
from muster.git.agents.fetch import fetch_agents
from muster.git.agents.refs import agent_refs
from muster.git.agents.settings import AgentSettings
from muster.git.errors import RepositoryError
from muster.git.push import tracking
from muster.git.quarantine import refusals
from muster.git.repository import Repository, open_repository
from muster.git.snapshot import CommitSnapshot
from tests.support.git import Repo, clone, new_repository
from tests.support.gitservers import git_daemon, http_backend

LIMITS = AgentLimits(max_bytes=20_000, max_files=10)
SETTINGS = AgentSettings(LIMITS)
HUGE = random.Random(1).randbytes(500_000)  # nothing compresses it


@pytest.fixture
def hub(tmp_path: Path) -> Repo:
    """The server's repository, with a handful of agents."""
    made = new_repository(tmp_path / "served/hub.git", bare=True)
    made.commit_to("refs/heads/main", {"a.yaml": "a: 1\n"})
    for name in "abcdefg":
        made.commit_to(f"refs/heads/agents/{name}", {"lease.yaml": f"{name}: 1\n"})
    return made


@pytest.fixture
def here(hub: Repo, tmp_path: Path) -> Repo:
    return clone(hub, tmp_path / "here", "--single-branch")


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def heard(here: Repo) -> dict[str, str]:
    """The content of each agent's file."""
    repository = opened(here)
    agents = Agents(limits=LIMITS)
    snapshot = CommitSnapshot(repository, here.tip("origin/main"), agent_refs(repository), agents)
    found = {file.ref.rpartition("/")[2]: file.read().decode() for file in snapshot.files() if file.ref}
    found.update({skip.ref.rpartition("/")[2]: f"{skip.reason}: {skip.detail}" for skip in snapshot.skipped})
    return found


def stored(here: Repo) -> int:
    """Bytes of everything in the git directory."""
    return sum(file.lstat().st_size for file in (here.path / ".git").rglob("*"))


def local(folder: Path) -> AbstractContextManager[str]:
    return nullcontext(str(folder))


Serve = Callable[[Path], AbstractContextManager[str]]


@pytest.fixture(params=[git_daemon, http_backend, local])
def url(request: pytest.FixtureRequest, hub: Repo, here: Repo) -> Iterator[str]:
    serve: Serve = request.param
    with serve(hub.path.parent) as folder:
        here.git("remote", "set-url", "origin", f"{folder}/hub.git")
        yield f"{folder}/hub.git"


def test_a_huge_ref_costs_a_refusal(hub: Repo, here: Repo, url: str) -> None:
    fetch_agents(opened(here), remote="origin", settings=SETTINGS)
    assert heard(here) == {name: f"{name}: 1\n" for name in "abcdefg"}
    before = stored(here)
    for name in "abcdefg":
        hub.commit_to(f"refs/heads/agents/{name}", {"lease.yaml": f"{name}: 2\n"})
    huge = hub.commit_to("refs/heads/agents/d", {"lease.yaml": "d: 2\n", "core": HUGE})
    hub.commit_to("refs/heads/agents/new", {"lease.yaml": HUGE})
    fetch_agents(opened(here), remote="origin", settings=SETTINGS)
    found = heard(here)
    assert {name: found[name] for name in "abcefg"} == {name: f"{name}: 2\n" for name in "abcefg"}
    assert found["new"].startswith("over-limit: it takes far more than 20000 bytes")
    assert found["d"].endswith("its earlier content still counts")
    assert stored(here) - before < 100_000
    # What is less counts at once.
    assert refusals(opened(here))["refs/remotes/origin/agents/d"].commit == huge
    hub.commit_to("refs/heads/agents/d", {"lease.yaml": "d: 3\n"})
    hub.git("update-ref", "-d", "refs/heads/agents/new")
    fetch_agents(opened(here), remote="origin", settings=SETTINGS)
    assert heard(here) == {name: f"{name}: 2\n" for name in "abcefg"} | {"d": "d: 3\n"}
    assert refusals(opened(here)) == {}


def test_agents_that_left_are_forgotten_and_nothing_else_is_changed(hub: Repo, here: Repo) -> None:
    repository = opened(here)
    before = here.git("config", "--list", "--local")
    fetch_agents(repository, remote="origin", settings=SETTINGS)
    hub.git("update-ref", "-d", "refs/heads/agents/a")
    hub.commit_to("refs/heads/agents/a/below", {"lease.yaml": "a: 1\n"})  # stands where a branch stood
    hub.commit_to("refs/heads/agents/b", {"lease.yaml": "b: 2\n"})
    fetch_agents(repository, remote="origin", settings=SETTINGS)
    found = heard(here)
    assert "a" not in found
    assert found["b"] == "b: 2\n"
    assert here.git("config", "--list", "--local") == before
    assert not (here.path / ".git/FETCH_HEAD").exists()


def test_agents_of_another_repository_are_found_beside_the_own_ones(here: Repo, tmp_path: Path) -> None:
    leases = new_repository(tmp_path / "leases.git", bare=True)
    leases.commit_to("refs/heads/agents/z", {"lease.yaml": "z: 1\n"})
    repository = opened(here)
    fetch_agents(repository, remote=str(leases.path), settings=SETTINGS)
    [ref] = agent_refs(repository)
    assert ref.cluster == "z"
    assert ref.name.startswith(tracking(repository, str(leases.path)))


def test_what_is_refused_is_asked_for_once(hub: Repo, here: Repo, tmp_path: Path) -> None:
    hub.commit_to("refs/heads/agents/a", {"lease.yaml": HUGE})
    fetch_agents(opened(here), remote="origin", settings=SETTINGS)
    content = hub.tip("refs/heads/agents/a:lease.yaml")
    lost = hub.path / "objects" / content[:2] / content[2:]
    kept = lost.rename(tmp_path / "kept")
    fetch_agents(opened(here), remote="origin", settings=SETTINGS)  # who asked for it would hear that it is damaged
    with pytest.raises(RepositoryError):
        fetch_agents(opened(here), remote="origin", settings=AgentSettings(AgentLimits(max_bytes=10_000_000)))
    kept.rename(lost)
    # Where more is allowed, it is asked for again.
    fetch_agents(opened(here), remote="origin", settings=AgentSettings(AgentLimits(max_bytes=10_000_000)))
    assert here.tip("refs/remotes/origin/agents/a") == hub.tip("refs/heads/agents/a")


@pytest.mark.parametrize(
    "files",
    [
        {f"{number}.yaml": "a: 1\n" for number in range(60)},
        {"a.yaml": "a: 1\n" * 3000, "b.yaml": "b: 1\n" * 3000},
    ],
    ids=["files", "bytes"],
)
def test_what_is_small_on_the_wire_and_too_much_is_not_read(hub: Repo, here: Repo, files: dict[str, str]) -> None:
    hub.commit_to("refs/heads/agents/a", files)
    fetch_agents(opened(here), remote="origin", settings=SETTINGS)
    assert heard(here)["a"].startswith("over-limit: ")
    assert heard(here)["b"] == "b: 1\n"


def test_history_below_an_agents_commit_counts(hub: Repo, here: Repo) -> None:
    parent = hub.commit_to("refs/test/parent", {"lease.yaml": HUGE})
    tree = hub.tip("refs/heads/agents/b^{tree}")
    child = hub.git("commit-tree", tree, "-p", parent, "-m", "x")
    hub.git("update-ref", "refs/heads/agents/a", child)
    fetch_agents(opened(here), remote="origin", settings=SETTINGS)
    assert heard(here)["a"].startswith("over-limit: ")


def test_a_clone_of_which_git_fetches_what_is_read_gets_agents_whole(hub: Repo, tmp_path: Path) -> None:
    hub.git("config", "uploadpack.allowFilter", "true")
    part = clone(hub, tmp_path / "part", "--no-local", "--filter=blob:none", "--single-branch")
    fetch_agents(opened(part), remote="origin", settings=SETTINGS)
    hub.path.rename(tmp_path / "elsewhere")  # what is not here now cannot be had
    assert heard(part) == {name: f"{name}: 1\n" for name in "abcdefg"}


def test_what_did_not_come_in_time_is_said_and_what_came_stays(hub: Repo, here: Repo) -> None:
    with pytest.raises(RepositoryError, match="in time|no answer"):
        fetch_agents(opened(here), remote="origin", settings=SETTINGS, limit_seconds=0.0)
    fetch_agents(opened(here), remote="origin", settings=SETTINGS)
    assert set(heard(here)) == set("abcdefg")


def test_nothing_is_left_beside_the_objects(hub: Repo, here: Repo) -> None:
    hub.commit_to("refs/heads/agents/a", {"lease.yaml": HUGE})
    fetch_agents(opened(here), remote="origin", settings=SETTINGS)
    left = [path.name for path in (here.path / ".git/objects").rglob("tmp_*")]
    assert left == []
    assert here.git("fsck", "--no-dangling") == ""
