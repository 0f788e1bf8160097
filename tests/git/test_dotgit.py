"""Names that mean `.git`: git itself is asked."""

import subprocess
from pathlib import Path

import pytest

from muster.git.store.paths import is_dotgit
from tests.support.git import new_repository

NAMES = [
    ".git",
    ".GIT",
    ".Git",
    ".git ",
    ".git.",
    ".git . .",
    "git~1",
    "GIT~1",
    "git~1 .",
    "git~2",
    "git~1x",
    ".gitx",
    ".git:",
    ".git::$INDEX_ALLOCATION",
    "git~1:x",
    ".g\u200cit",
    "\u200d.git",
    ".git\ufeff",
    ".G\u206fIT",
    ".g\u200bit",
    ".\u0121it",
    "git",
    "agit~1",
    ".github",
    ".gitmodules",
    "a\\.git\\config",
    "a\\git~1",
    "a\\.gitx",
    "\\.git",
    "lease.yaml",
    "x.git",
    "git~1.yaml",
    ".git.yaml",
    "\u200c",
    ".git\u200c.",
]


@pytest.mark.parametrize("name", NAMES)
def test_git_fsck_agrees(tmp_path: Path, name: str) -> None:
    repo = new_repository(tmp_path / "repo", bare=True)
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"x\n")
    tree = b"100644 %b\0%b" % (name.encode(), bytes.fromhex(blob))
    repo.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", stdin=tree)
    done = subprocess.run(["git", "fsck"], cwd=repo.path, env=repo.environ, capture_output=True, text=True, check=False)
    assert is_dotgit(name.encode()) == ("hasDotgit" in done.stderr)


def test_a_name_that_is_not_utf8_is_none() -> None:
    assert not is_dotgit(b".g\xffit")
