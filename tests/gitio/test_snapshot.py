"""The snapshot of a commit: which files, in which order, and what is said about the others."""

import contextlib
import gc
import os
import signal
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.gitio.agents import AgentRef, agent_refs
from muster.gitio.paths import MAX_BLOB_BYTES
from muster.gitio.repository import Repository, open_repository, resolve
from muster.gitio.snapshot import CommitSnapshot
from muster.model.snapshot import Skipped, Snapshot
from tests.support.git import Repo, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return new_repository(tmp_path / "fleet")


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def read(
    repo: Repo, revision: str = "HEAD", refs: Sequence[AgentRef] = ()
) -> tuple[dict[str, bytes], tuple[Skipped, ...]]:
    """Return the content of every file by its label, and what was skipped."""
    repository = opened(repo)
    with CommitSnapshot(repository, resolve(repository, revision), refs) as snapshot:
        files = {file.label: file.read() for file in snapshot.files()}
        return files, snapshot.skipped


def test_reads_data_files_of_the_commit_only(repo: Repo) -> None:
    first = repo.commit({"a.yaml": "a: 1\n", "b.yml": "b: 1\n", "c.json": "{}", "README.md": "no", "d.yaml.txt": "no"})
    repo.write("a.yaml", "changed\n")
    repo.write("new.yaml", "new\n")
    files, skipped = read(repo, first)
    assert files == {"a.yaml": b"a: 1\n", "b.yml": b"b: 1\n", "c.json": b"{}"}
    assert skipped == ()


def test_satisfies_the_protocol(repo: Repo) -> None:
    commit = repo.commit({"a.yaml": "a: 1\n"})
    with CommitSnapshot(opened(repo), commit) as real:
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
    with CommitSnapshot(repository, repo.tip()) as snapshot:
        files = list(snapshot.files())
        for index in [5, 5, 4, 299, 0, 1, 2, 3, 4, 5, 6, 7, 250, *range(300), *reversed(range(300))]:
            assert files[index].read() == b"n: %d\n" % index


def test_reads_from_many_threads(repo: Repo) -> None:
    repo.commit({f"{number:03}.yaml": f"n: {number}\n" for number in range(200)})
    with CommitSnapshot(opened(repo), repo.tip()) as snapshot:
        files = list(snapshot.files())
        wrong: list[int] = []

        def check(start: int) -> None:
            wrong.extend(index for index in range(start, 200, 3) if files[index].read() != b"n: %d\n" % index)

        threads = [threading.Thread(target=check, args=(start,)) for start in (0, 1, 2, 0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_a_forked_child_reads_without_disturbing_its_parent(repo: Repo) -> None:
    repo.commit({f"{number:03}.yaml": f"n: {number}\n" for number in range(50)})
    with CommitSnapshot(opened(repo), repo.tip()) as snapshot:
        files = list(snapshot.files())
        assert files[0].read() == b"n: 0\n"
        child = os.fork()
        if child == 0:
            fine = all(file.read() == b"n: %d\n" % index for index, file in enumerate(files))
            snapshot.close()
            os._exit(0 if fine else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert [file.read() for file in files] == [b"n: %d\n" % index for index in range(50)]


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


def test_a_file_beyond_the_limit_is_never_read(repo: Repo) -> None:
    repo.commit(
        {"fits.yaml": b"x" * MAX_BLOB_BYTES, "over.yaml": b"x" * (MAX_BLOB_BYTES + 1), "huge.yaml": b"x" * 50_000_000}
    )
    files, skipped = read(repo)
    assert list(files) == ["fits.yaml"]
    assert skipped == (
        Skipped("huge.yaml", "too-large", f"50000000 bytes, more than {MAX_BLOB_BYTES}"),
        Skipped("over.yaml", "too-large", f"{MAX_BLOB_BYTES + 1} bytes, more than {MAX_BLOB_BYTES}"),
    )


@pytest.mark.parametrize(
    ("link", "target", "detail"),
    [
        ("link.yaml", "a/real.yaml", "a/real.yaml"),
        ("a/link.yaml", "../../secret", "../../secret (outside the repository)"),
        ("link.yaml", "/etc/passwd", "/etc/passwd (outside the repository)"),
        ("directory", "a", "a"),
        ("a/up", "..", ".."),
        ("away", "../elsewhere", "../elsewhere (outside the repository)"),
        ("gone.yaml", "nowhere", "nowhere"),
    ],
)
def test_reports_a_link_that_could_stand_for_data(repo: Repo, link: str, target: str, detail: str) -> None:
    repo.commit({"a/real.yaml": "a: 1\n"})
    (repo.path / link).symlink_to(target)
    repo.commit()
    assert read(repo) == ({"a/real.yaml": b"a: 1\n"}, (Skipped(link, "symlink", detail),))


def test_says_nothing_of_a_link_that_could_not(repo: Repo) -> None:
    repo.commit({"a.yaml": "a: 1\n", "README.md": "", "docs/x.md": ""})
    (repo.path / "CONTRIBUTING").symlink_to("README.md")
    (repo.path / "documents").symlink_to("docs")
    repo.commit()
    assert read(repo) == ({"a.yaml": b"a: 1\n"}, ())


def test_reports_a_submodule(repo: Repo) -> None:
    commit = repo.commit({"a.yaml": "a: 1\n"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},vendor")
    repo.git("commit", "--quiet", "--message", "Add a submodule")
    assert read(repo) == ({"a.yaml": b"a: 1\n"}, (Skipped("vendor", "submodule", commit),))


@pytest.mark.parametrize(
    ("ignore", "left"),
    [
        ("", ["a/x.yaml", "a/y.yaml", "b/x.yaml", "x.yaml"]),
        ("# only a comment\n\n", ["a/x.yaml", "a/y.yaml", "b/x.yaml", "x.yaml"]),
        ("x.yaml", ["a/y.yaml"]),
        ("/x.yaml", ["a/x.yaml", "a/y.yaml", "b/x.yaml"]),
        ("a/", ["b/x.yaml", "x.yaml"]),
        ("*.yaml\n!y.yaml", ["a/y.yaml"]),
        ("**/x.yaml\r\n", ["a/y.yaml"]),
        ("*a" * 60 + "b", ["a/x.yaml", "a/y.yaml", "b/x.yaml", "x.yaml"]),
    ],
)
def test_musterignore_names_what_is_left_out(repo: Repo, ignore: str, left: list[str]) -> None:
    repo.commit(dict.fromkeys(["a/x.yaml", "a/y.yaml", "b/x.yaml", "x.yaml"], "a: 1\n") | {".musterignore": ignore})
    files, skipped = read(repo)
    assert list(files) == left
    assert skipped == ()


def test_what_musterignore_names_is_not_reported_either(repo: Repo) -> None:
    repo.commit({".musterignore": "big.yaml\n", "big.yaml": b"x" * (MAX_BLOB_BYTES + 1)})
    assert read(repo) == ({}, ())


@pytest.mark.parametrize("line", ["!", "[z-a]", "\\"])
def test_a_line_that_is_no_pattern_is_reported_and_the_others_count(repo: Repo, line: str) -> None:
    repo.commit({".musterignore": f"x.yaml\n{line}\ny.yaml\n", "x.yaml": "", "y.yaml": "", "z.yaml": ""})
    files, skipped = read(repo)
    assert list(files) == ["z.yaml"]
    assert skipped == (Skipped(".musterignore", "unreadable", "line 2 is not a pattern"),)


def test_a_musterignore_that_is_a_link_or_huge_names_nothing(repo: Repo) -> None:
    repo.commit({"x.yaml": "", "patterns": "*.yaml\n"})
    (repo.path / ".musterignore").symlink_to("patterns")
    repo.commit()
    files, [skipped] = read(repo)
    assert list(files) == ["x.yaml"]
    assert (skipped.path, skipped.reason) == (".musterignore", "unreadable")
    (repo.path / ".musterignore").unlink()
    repo.commit({".musterignore": "*.yaml\n" * 20_000})
    files, [skipped] = read(repo)
    assert list(files) == ["x.yaml"]
    assert skipped.reason == "unreadable"


def _loose(repo: Repo, oid: str) -> Path:
    return repo.path / ".git" / "objects" / oid[:2] / oid[2:]


def test_a_lost_object_is_reported_and_the_rest_is_read(repo: Repo) -> None:
    repo.commit({"a.yaml": "a: 1\n", "b.yaml": "b: 1\n", "c.yaml": "c: 1\n"})
    lost = repo.git("rev-parse", "HEAD:b.yaml")
    _loose(repo, lost).unlink()
    files, [skipped] = read(repo)
    assert files == {"a.yaml": b"a: 1\n", "c.yaml": b"c: 1\n"}
    assert (skipped.path, skipped.reason) == ("b.yaml", "unreadable")
    assert lost in skipped.detail


def test_a_damaged_object_costs_only_itself(repo: Repo) -> None:
    repo.commit({f"{letter}.yaml": f"{letter}: 1\n" * 2000 for letter in "abcdef"})
    damaged = _loose(repo, repo.git("rev-parse", "HEAD:c.yaml"))
    content = damaged.read_bytes()
    damaged.chmod(0o644)
    damaged.write_bytes(content[: len(content) // 2])
    repository = opened(repo)
    with CommitSnapshot(repository, repo.tip()) as snapshot:
        good, bad = [], []
        for file in snapshot.files():
            try:
                good.append(file.read()[:1].decode())
            except OSError:
                bad.append(file.path)
    assert (good, bad) == (["a", "b", "d", "e", "f"], ["c.yaml"])


def test_many_damaged_objects_do_not_block_the_reader(repo: Repo) -> None:
    """git says some 200 bytes for each; together more than a pipe holds. It happens to repositories in a power cut."""
    repo.commit({f"{number:04}.yaml": f"n: {number}\n" for number in range(1200)})
    objects = repo.git("ls-tree", "-r", "--object-only", "HEAD").splitlines()
    for oid in objects[:-1]:
        _loose(repo, oid).chmod(0o644)
        _loose(repo, oid).write_bytes(b"")
    refs = [AgentRef(f"refs/heads/agents/{oid}", oid) for oid in objects]
    files, skipped = read(repo, refs=refs)
    assert files == {"1199.yaml": b"n: 1199\n"}
    assert len(skipped) == 2 * 1199 + 1


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupted_read_does_not_mix_up_the_next_ones(repo: Repo) -> None:
    repo.commit({f"{number}.yaml": f"n: {number}\n" for number in range(9)})
    expected = [b"n: %d\n" % number for number in range(9)]
    previous = signal.signal(signal.SIGALRM, _interrupt)
    try:
        with CommitSnapshot(opened(repo), repo.tip()) as snapshot:
            files = list(snapshot.files())
            assert [file.read() for file in files] == expected
            for microseconds in range(500, 6500, 200):
                signal.setitimer(signal.ITIMER_REAL, microseconds / 1e6)
                with contextlib.suppress(KeyboardInterrupt):
                    while True:
                        assert [file.read() for file in files] == expected
                assert [file.read() for file in files] == expected
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_reads_a_sha256_repository(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "sha256", object_format="sha256")
    repo.commit({"a.yaml": "a: 1\n"})
    repo.commit_to("refs/heads/agents/x", {"deep/lease.yaml": "b: 1\n"})
    files, skipped = read(repo, refs=agent_refs(opened(repo)))
    assert files == {"a.yaml": b"a: 1\n", "agents/x:deep/lease.yaml": b"b: 1\n"}
    assert skipped == ()


def test_closing_ends_the_git_processes_and_reading_starts_them_again(repo: Repo) -> None:
    repo.commit({"a.yaml": "a: 1\n"})
    with closing(CommitSnapshot(opened(repo), repo.tip())) as snapshot:
        [file] = snapshot.files()
        assert file.read() == b"a: 1\n"
        snapshot.close()
        assert file.read() == b"a: 1\n"


def test_a_snapshot_that_is_dropped_ends_its_git_processes(repo: Repo) -> None:
    """Nothing closes it: the handle's end is the process's end. A leak would be a ResourceWarning, which fails."""
    repo.commit({"a.yaml": "a: 1\n"})
    for file in CommitSnapshot(opened(repo), repo.tip()).files():
        assert file.read() == b"a: 1\n"
    del file
    gc.collect()


_NAMES = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda name: name not in {".", ".."} and name.lower() != ".git" and "git~" not in name.lower())


@settings(max_examples=25, deadline=None)
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
