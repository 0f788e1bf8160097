"""Ids that are told without a repository are those that git gives."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.git.store.objects import commit_text, format_of, object_id, tree_id
from tests.support.git import new_repository

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
FILES = {
    "a/b.yaml": b"1\n",
    "a.yaml": b"2\n",
    "a-b": b"3\n",
    "a/c/d": b"4\n",
    "a0": b"",
    "ä/ö": b"\xff\0",
    "b": b"5\n",
}


@pytest.mark.parametrize("content", [b"", b"a: 1\n", b"\0\xff" * 1000])
def test_blobs(tmp_path: Path, content: bytes) -> None:
    repo = new_repository(tmp_path / "r")
    assert object_id("blob", content) == repo.git("hash-object", "--stdin", stdin=content)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_trees_and_commits(tmp_path: Path, object_format: str) -> None:
    repo = new_repository(tmp_path / "r", object_format=object_format)
    for path, content in FILES.items():
        (repo.path / path).parent.mkdir(parents=True, exist_ok=True)
        (repo.path / path).write_bytes(content)
    repo.git("add", "-A")
    tree = repo.git("write-tree")
    assert tree_id(FILES, object_format) == tree
    assert format_of(tree) == object_format
    text = commit_text(FILES, "Agent <a@b>", NOW, "Renew", object_format)
    commit = repo.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text)
    assert commit == object_id("commit", text, object_format)
    assert repo.git("log", "-1", "--format=%T %ct %cn %s", commit) == f"{tree} {NOW.timestamp():.0f} Agent Renew"
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
