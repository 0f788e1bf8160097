"""Reading a commit and writing one, against the obvious other ways. Prints ratios: times move with the machine.

python benchmarks/gitio.py [clusters]
"""

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from git.index.typ import BaseIndexEntry
from gitdb.base import IStream

from git import Actor, IndexFile, Repo
from muster.git.fastimport import build_commit
from muster.git.landing.commit import advance
from muster.git.repository import Repository, open_repository, resolve
from muster.git.snapshot import CommitSnapshot

ROUNDS = 3
FILES = ("cluster.yaml", "lease.yaml", "observed.yaml", "reports/validation.yaml")


def main() -> None:
    """Build a fleet, measure, print."""
    clusters = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with tempfile.TemporaryDirectory() as directory:
        bare, work = Path(directory) / "fleet.git", Path(directory) / "work"
        build(bare, clusters)
        subprocess.run(["git", "clone", "--quiet", str(bare), str(work)], check=True)
        print(f"{clusters} clusters, {clusters * len(FILES)} files")
        reading(bare, work)
        for count in (1, 100):
            writing(bare, count)


def build(path: Path, clusters: int) -> None:
    """Write a sharded fleet into a packed bare repository."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(path)], check=True)
    stream = [b"commit refs/heads/main\ncommitter a <a@b> 0 +0000\ndata 1\nx\n"]
    for number in range(clusters):
        name = f"cluster-{number:06}"
        shard = hashlib.sha256(name.encode()).hexdigest()[:2]
        for file in FILES:
            content = f"kind: {file}\nmetadata:\n  name: {name}\nspec:\n".encode() + b"  - some: value\n" * 40
            stream.append(b"M 100644 inline clusters/%b/%b/%b\n" % (shard.encode(), name.encode(), file.encode()))
            stream.append(b"data %d\n%b\n" % (len(content), content))
    subprocess.run(["git", "-C", str(path), "fast-import", "--quiet"], input=b"".join(stream), check=True)
    subprocess.run(["git", "-C", str(path), "repack", "-adfq"], check=True)


def reading(bare: Path, work: Path) -> None:
    """Read every file: a snapshot, the work tree, GitPython's objects."""
    repository = open_repository(bare, os.environ)
    objects = Repo(bare)

    def snapshot() -> int:
        files = CommitSnapshot(repository, resolve(repository, "main"))
        return sum(len(file.read()) for file in files.files())

    def worktree() -> int:
        return sum(path.stat().st_size and len(path.read_bytes()) for path in work.rglob("*.yaml"))

    def traverse() -> int:
        blobs = (item for item in objects.commit("main").tree.traverse() if item.type == "blob")
        return sum(len(blob.data_stream.read()) for blob in blobs)

    report("read all", {"CommitSnapshot": snapshot, "work tree": worktree, "GitPython traverse": traverse})


def writing(bare: Path, count: int) -> None:
    """Commit `count` files: `build_commit` and `advance`, GitPython's index."""
    repository = open_repository(bare, os.environ)
    serial = iter(range(1_000_000))

    def ours() -> int:
        files = {f"derived/{number}.yaml": f"serial: {next(serial)}\n" for number in range(count)}
        base = resolve(repository, "main")
        advance(repository, branch="main", expected=base, commit=build_commit(repository, files, "x", base))
        return count

    def index() -> int:
        return commit_with_index(bare, repository, count, next(serial))

    report(f"commit {count}", {"build_commit": ours, "GitPython IndexFile": index})


def commit_with_index(bare: Path, repository: Repository, count: int, serial: int) -> int:
    """Commit through an index of GitPython's, as its documentation shows."""

    repo = Repo(bare)
    index = IndexFile.from_tree(repo, resolve(repository, "main"))
    for number in range(count):
        content = f"serial: {serial} {number}\n".encode()
        stored = repo.odb.store(IStream("blob", len(content), BytesIO(content)))
        index.add([BaseIndexEntry((0o100644, stored.binsha, 0, f"derived/{number}.yaml"))], write=False)
    index.commit("x", author=Actor("a", "a@b"), committer=Actor("a", "a@b"))
    return count


def report(title: str, cases: dict[str, Callable[[], int]]) -> None:
    """Run the cases in turns and print the median of each, and its ratio to the first."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, case in cases.items():
            start = time.perf_counter()
            case()
            times[name].append(time.perf_counter() - start)
    first = statistics.median(next(iter(times.values())))
    for name, taken in times.items():
        median = statistics.median(taken)
        print(f"{title:12} {name:20} {median * 1000:9.1f} ms  x{median / first:.1f}")


if __name__ == "__main__":
    main()
