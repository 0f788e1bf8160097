"""What the Fleet of a commit says of agents: as its file says, else as the last run remembered it."""

from pathlib import Path

import pytest

from muster.data.snapshot import DEFAULT_LIMITS
from muster.git.agents.settings import agent_settings
from muster.git.repository import open_repository
from muster.git.store.paths import MAX_BLOB_BYTES
from tests.support.git import Repo, new_repository

FLEET = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\n"
SAID = f"{FLEET}spec:\n  agents: {{maxFiles: 7}}\n"
REMEMBERED = f"{FLEET}status:\n  muster: {{settings: {{agents: {{maxFiles: 9}}}}}}\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"derived/fleets/fleet.yaml": REMEMBERED})
    return made


def most_files(repo: Repo) -> int:
    return agent_settings(open_repository(repo.path, repo.environ)).limits.max_files


def test_the_file_counts_and_without_a_fleet_in_it_what_is_remembered(repo: Repo) -> None:
    assert most_files(repo) == 9
    repo.commit({"fleet.yaml": SAID})
    assert most_files(repo) == 7
    repo.commit({"fleet.yaml": "kind: Other\n"})
    assert most_files(repo) == 9
    repo.commit({"fleet.yaml": FLEET})
    assert most_files(repo) == DEFAULT_LIMITS.max_files


@pytest.mark.parametrize(("more", "expected"), [(0, 7), (1, 9)])
def test_a_file_that_is_too_large_to_be_read_says_nothing(repo: Repo, more: int, expected: int) -> None:
    padding = "#" * (MAX_BLOB_BYTES - len(SAID) + more)
    repo.commit({"fleet.yaml": SAID + padding})
    assert most_files(repo) == expected


def test_what_is_no_file_says_nothing(repo: Repo) -> None:
    repo.commit({"fleet.yaml/fleet.yaml": SAID})
    assert most_files(repo) == 9


def test_a_damaged_folder_says_nothing(repo: Repo) -> None:
    tree = repo.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", stdin=b"100644 fleet.yaml")
    for name in ("fleets", "derived"):
        tree = repo.git("mktree", stdin=f"040000 tree {tree}\t{name}\n".encode())
    repo.git("update-ref", "HEAD", repo.git("commit-tree", "-m", "Damage", tree))
    assert most_files(repo) == DEFAULT_LIMITS.max_files
