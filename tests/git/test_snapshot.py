"""The snapshot of a commit: which files, in which order, and what is said about the others."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.data.snapshot import Skipped, Snapshot
from muster.git.agents.refs import agent_refs
from muster.git.snapshot import CommitSnapshot
from tests.git.reading import opened, read
from tests.support.git import Repo, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return new_repository(tmp_path / "fleet")


def test_reads_data_files_of_the_commit_only(repo: Repo) -> None:
    first = repo.commit({"a.yaml": "a: 1\n", "b.yml": "b: 1\n", "c.json": "{}", "README.md": "no", "d.yaml.txt": "no"})
    repo.write("a.yaml", "changed\n")
    repo.write("new.yaml", "new\n")
    files, skipped = read(repo, first)
    assert files == {"a.yaml": b"a: 1\n", "b.yml": b"b: 1\n", "c.json": b"{}"}
    assert skipped == ()


def test_satisfies_the_protocol(repo: Repo) -> None:
    commit = repo.commit({"a.yaml": "a: 1\n"})
    real = CommitSnapshot(opened(repo), commit)
    snapshot: Snapshot = real
    assert snapshot.commit == commit
    [file] = snapshot.files()
    assert file.oid == repo.git("rev-parse", "HEAD:a.yaml")
    assert file.ref == ""


def test_sorts_by_path(repo: Repo) -> None:
    paths = ["a.yaml", "a/b.yaml", "a-b.yaml", "B.yaml", "é.yaml", "a/b/c.yaml", "\U0001f600.yaml", "\uffee.yaml"]
    repo.commit(dict.fromkeys(paths, ""))
    files, _ = read(repo)
    assert list(files) == sorted(paths) == sorted(paths, key=lambda path: path.encode())


def test_reads_a_file_again_and_in_any_order(repo: Repo) -> None:
    repo.commit({f"{number:03}.yaml": f"n: {number}\n" for number in range(300)})
    repository = opened(repo)
    snapshot = CommitSnapshot(repository, repo.tip())
    files = list(snapshot.files())
    for index in [5, 5, 4, 299, 0, 1, 2, 3, 4, 5, 6, 7, 250, *range(300), *reversed(range(300))]:
        assert files[index].read() == b"n: %d\n" % index


@pytest.mark.parametrize(
    "path",
    ['quo"te.yaml', "back\\slash.yaml", "-leading.yaml", " space .yaml", "'.yaml", "*.yaml", ":(top).yaml"],
)
def test_reads_awkward_paths(repo: Repo, path: str) -> None:
    repo.commit({path: "a: 1\n"})
    assert read(repo) == ({path: b"a: 1\n"}, ())


@pytest.mark.parametrize(
    ("path", "shown", "reason"),
    [
        ("new\nline.yaml", "new\\nline.yaml", "control-characters"),
        ("tab\t.yaml", "tab\\t.yaml", "control-characters"),
        ("esc\x1b[31m.yaml", "esc\\x1b[31m.yaml", "control-characters"),
        ("line\u2028.yaml", "line\\u2028.yaml", "control-characters"),
        (os.fsdecode(b"latin\xe9.yaml"), "latin\\xe9.yaml", "not-utf8-path"),
        (os.fsdecode(b"\xff\n.yaml"), "\\xff\\n.yaml", "not-utf8-path"),
    ],
)
def test_leaves_out_unprintable_paths_and_reads_the_rest(repo: Repo, path: str, shown: str, reason: str) -> None:
    repo.commit({path: "a: 1\n", "good.yaml": "b: 1\n", "a.yaml": "c: 1\n"})
    files, skipped = read(repo)
    assert files == {"a.yaml": b"c: 1\n", "good.yaml": b"b: 1\n"}
    assert skipped == (Skipped(shown, reason),)


def test_reads_a_sha256_repository(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "sha256", object_format="sha256")
    repo.commit({"a.yaml": "a: 1\n"})
    repo.commit_to("refs/heads/agents/x", {"deep/lease.yaml": "b: 1\n"})
    files, skipped = read(repo, refs=agent_refs(opened(repo)))
    assert files == {"a.yaml": b"a: 1\n", "agents/x:deep/lease.yaml": b"b: 1\n"}
    assert skipped == ()


_NAMES = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda name: name not in {".", ".."} and name.lower() != ".git" and "git~" not in name.lower())


@settings(max_examples=25)
@given(names=st.sets(_NAMES, min_size=1, max_size=8), content=st.binary(max_size=200))
def test_every_path_is_either_read_or_reported(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], content: bytes
) -> None:
    repo = new_repository(tmp_path_factory.mktemp("any") / "fleet")
    entries = b"".join(
        b"100644 blob %b\t%b.yaml\0" % (repo.git("hash-object", "-w", "--stdin", stdin=content).encode(), name.encode())
        for name in names
    )
    tree = repo.git("mktree", "-z", stdin=entries)
    repo.git("update-ref", "HEAD", repo.git("commit-tree", tree, "-m", "x"))
    files, skipped = read(repo)
    assert len(files) + len(skipped) == len(names)
    assert set(files.values()) <= {content}
    assert set(files) <= {f"{name}.yaml" for name in names}
