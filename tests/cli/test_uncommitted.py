"""Commands that read a commit end with the files that they did not look at."""

from pathlib import Path

import pytest

from tests.features.pulses.test_walkthrough import cluster
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

READ = "--worktree reads the files as they are"
#: What each command advises.
ADVICE = {
    "get clusters": READ,
    "describe a": READ,
    "explain cluster/a": READ,
    "plan": READ,
    "reconcile": "commit them, or see their effect with muster plan --worktree",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"clusters/a.yaml": cluster("a"), "notes.txt": "x"})
    return repo


@pytest.mark.parametrize("command", ADVICE)
def test_the_last_line_names_what_was_not_read(command: str, repo: Repo, muster: Run) -> None:
    def last(*further: str) -> str:
        code, _, err = muster(*command.split(), *further, "--repo", repo.path)
        assert code == 0
        return next((line for line in err.splitlines()[-1:] if line.startswith("note: ")), "")

    (repo.path / "notes.txt").write_text("y")
    assert last() == ""
    (repo.path / "clusters/b.yaml").write_text(cluster("b"))
    assert last() == f"note: clusters/b.yaml differs from the commit that was read; {ADVICE[command]}"
    (repo.path / "clusters/a.yaml").unlink()
    repo.git("add", "clusters/b.yaml")
    assert last() == f"note: clusters/a.yaml, clusters/b.yaml differ from the commit that was read; {ADVICE[command]}"
    if command != "reconcile":
        assert last("--rev", "HEAD") == ""
    repo.git("checkout", "--quiet", "--", "clusters/a.yaml")
    (repo.path / "clusters/x\x1b[31m.yaml").write_text(cluster("x"))
    assert "x\\x1b[31m.yaml" in last()


@pytest.mark.parametrize("command", ["plan", "reconcile", "get clusters"])
def test_before_the_first_commit_there_is_none_to_differ_from(command: str, tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "empty")
    (repo.path / "a.yaml").write_text(cluster("a"))
    code, _, err = muster(*command.split(), "--repo", repo.path)
    assert (code, err.count("\n"), "note: " in err) == (4, 2, False), err


def test_a_command_that_reads_the_files_says_nothing(repo: Repo, muster: Run) -> None:
    (repo.path / "clusters/b.yaml").write_text(cluster("b"))
    for command in ("get clusters", "plan"):
        assert "note: " not in muster(*command.split(), "--worktree", "--repo", repo.path)[2]


def test_what_a_reconcile_writes_is_no_edit(repo: Repo, muster: Run) -> None:
    (repo.path / "derived").mkdir()
    assert muster("reconcile", "--repo", repo.path)[::2] == (0, "")
