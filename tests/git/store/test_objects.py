"""Reading objects through git's batch processes: by threads and forks, past damage, and after an interruption."""

import contextlib
import gc
import os
import signal
import threading
from pathlib import Path

import pytest

from muster.git.agents.refs import AgentRef
from muster.git.errors import LostObjectError
from muster.git.snapshot import CommitSnapshot
from tests.git.reading import opened, read
from tests.support.git import Repo, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return new_repository(tmp_path / "fleet")


def test_reads_from_many_threads(repo: Repo) -> None:
    repo.commit({f"{number:03}.yaml": f"n: {number}\n" for number in range(200)})
    snapshot = CommitSnapshot(opened(repo), repo.tip())
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
    repository = opened(repo)
    files = list(CommitSnapshot(repository, repo.tip()).files())
    assert files[0].read() == b"n: 0\n"
    child = os.fork()
    if child == 0:
        fine = all(file.read() == b"n: %d\n" % index for index, file in enumerate(files))
        repository.objects.close()
        os._exit(0 if fine else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert [file.read() for file in files] == [b"n: %d\n" % index for index in range(50)]


def _loose(repo: Repo, oid: str) -> Path:
    return repo.path / ".git" / "objects" / oid[:2] / oid[2:]


def test_without_an_object_that_a_commit_has_nothing_is_read(repo: Repo) -> None:
    repo.commit({"a.yaml": "a: 1\n", "b.yaml": "b: 1\n", "c.yaml": "c: 1\n"})
    lost = repo.git("rev-parse", "HEAD:b.yaml")
    _loose(repo, lost).unlink()
    with pytest.raises(LostObjectError, match=f"cannot read b.yaml .*{lost}"):
        read(repo)


def test_a_damaged_object_is_told_from_the_others(repo: Repo) -> None:
    repo.commit({f"{letter}.yaml": f"{letter}: 1\n" * 2000 for letter in "abcdef"})
    damaged = _loose(repo, repo.git("rev-parse", "HEAD:c.yaml"))
    content = damaged.read_bytes()
    damaged.chmod(0o644)
    damaged.write_bytes(content[: len(content) // 2])
    repository = opened(repo)
    snapshot = CommitSnapshot(repository, repo.tip())
    good, bad = [], []
    for file in snapshot.files():
        try:
            good.append(file.read()[:1].decode())
        except LostObjectError:
            bad.append(file.path)
    assert (good, bad) == (["a", "b", "d", "e", "f"], ["c.yaml"])


def test_many_damaged_objects_do_not_block_the_reader(repo: Repo) -> None:
    """git says some 200 bytes for each; together more than a pipe holds. It happens to repositories in a power cut."""
    repo.commit({f"{number:04}.yaml": f"n: {number}\n" for number in range(1200)})
    objects = repo.git("ls-tree", "-r", "--object-only", "HEAD").splitlines()
    repo.commit({f"{number:04}.yaml": None for number in range(1199)})  # agents alone still name them
    for oid in objects[:-1]:
        _loose(repo, oid).chmod(0o644)
        _loose(repo, oid).write_bytes(b"")
    refs = [AgentRef(f"refs/heads/agents/{oid}", oid) for oid in objects]
    files, skipped = read(repo, refs=refs)
    assert files == {"1199.yaml": b"n: 1199\n"}
    assert len(skipped) == 1199 + 1


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupted_read_does_not_mix_up_the_next_ones(repo: Repo) -> None:
    repo.commit({f"{number}.yaml": f"n: {number}\n" for number in range(9)})
    expected = [b"n: %d\n" % number for number in range(9)]
    previous = signal.signal(signal.SIGALRM, _interrupt)
    try:
        snapshot = CommitSnapshot(opened(repo), repo.tip())
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


def test_closing_ends_the_git_processes_and_reading_starts_them_again(repo: Repo) -> None:
    repo.commit({"a.yaml": "a: 1\n"})
    repository = opened(repo)
    [file] = CommitSnapshot(repository, repo.tip()).files()
    assert file.read() == b"a: 1\n"
    repository.objects.close()
    assert file.read() == b"a: 1\n"


def test_a_snapshot_that_is_dropped_ends_its_git_processes(repo: Repo) -> None:
    """Nothing closes it: the handle's end is the process's end. A leak would be a ResourceWarning, which fails."""
    repo.commit({"a.yaml": "a: 1\n"})
    for file in CommitSnapshot(opened(repo), repo.tip()).files():
        assert file.read() == b"a: 1\n"
    del file
    gc.collect()
