"""A work tree, or what is staged, with the agents' refs beside it."""

from pathlib import Path

import pytest

from muster.data.snapshot import Agents, Snapshot
from muster.git.agents.listing import local_agent_refs
from muster.git.directory import DirectorySnapshot
from muster.git.repository import Repository, open_repository
from muster.git.snapshot import IndexSnapshot, WithAgents
from tests.support.git import Repo, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"a.yaml": "a: 1\n", ".musterignore": "left/\n", "left/out.yaml": "x: 1\n"})
    made.path.joinpath("link.yaml").symlink_to("/elsewhere.yaml")
    made.write("staged.yaml", "s: 1\n")
    made.git("add", "--all")
    made.write("a.yaml", "a: 2\n")
    made.commit_to("refs/heads/agents/c1", {"lease.yaml": "l: 1\n", "huge.yaml": b"x" * 2_000_000})
    return made


def below(repository: Repository, name: str) -> Snapshot:
    staged = name == "what is staged"
    return IndexSnapshot(repository) if staged else DirectorySnapshot(repository.git.directory, repository.git.environ)


@pytest.mark.parametrize(("name", "text"), [("the work tree", b"a: 2\n"), ("what is staged", b"a: 1\n")])
def test_what_is_below_comes_first_and_the_agents_after_it(repo: Repo, name: str, text: bytes) -> None:
    repository = open_repository(repo.path, repo.environ)
    snapshot: Snapshot = WithAgents(below(repository, name), repository, local_agent_refs(repository))
    assert {file.label: file.read() for file in snapshot.files()} == {
        "a.yaml": text,
        "staged.yaml": b"s: 1\n",
        "agents/c1:lease.yaml": b"l: 1\n",
    }
    assert [(f"{one.ref}:{one.path}" if one.ref else one.path, one.reason) for one in snapshot.skipped] == [
        ("link.yaml", "symlink"),
        ("agents/c1:huge.yaml", "too-large"),
    ]


def test_it_says_what_the_one_below_says_and_who_was_heard(repo: Repo) -> None:
    repository = open_repository(repo.path, repo.environ)
    tree = below(repository, "the work tree")
    with_agents = WithAgents(tree, repository, local_agent_refs(repository))
    list(with_agents.files())
    assert with_agents.commit == tree.commit
    assert [file.path for file in with_agents.ignored] == ["left/out.yaml"]
    assert with_agents.agents == Agents(frozenset({"c1"}), asked=True)
    repository.objects.close()
    assert "agents/c1:lease.yaml" in [file.label for file in with_agents.files()], "closing is no end"
