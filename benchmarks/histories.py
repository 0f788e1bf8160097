"""A history for a derived fleet: thirty days in which clusters went Unknown and came back, each time in a commit as
runs make them, with commits of people and agents between.

python -m benchmarks.histories REPOSITORY COMMITS

`REPOSITORY` is bare, and its fleet at rest (`benchmarks.scale.derived_fleet`). In the end it is as it was.
"""

import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from benchmarks import fleets
from muster.data.times import format_time

_AVAILABLE = b'- type: ManagedClusterConditionAvailable\n    status: "True"'
_UNKNOWN = _AVAILABLE.replace(b'"True"', b'"Unknown"')
_DAYS = timedelta(days=30)


def lengthen(path: Path, commits: int, between: int = 3, seed: int = 1) -> None:
    """Put so many derived commits on top, ten clusters each, and `between` others before each of them."""
    chance, files = random.Random(seed), dict(_derived(path))
    names, away = sorted(files), list[bytes]()
    tip = subprocess.run(["git", "-C", str(path), "rev-parse", "main"], capture_output=True, check=True).stdout.strip()
    importing = subprocess.Popen(
        ["git", "-C", str(path), "fast-import", "--quiet", "--depth=10"], stdin=subprocess.PIPE
    )
    assert importing.stdin is not None
    head = b"from %b\n" % tip
    for number in range(commits):
        now = fleets.NOON - _DAYS + _DAYS * number / commits
        seconds = int(now.timestamp())
        for other in range(between):
            text = fleets.lease_text(other, now + timedelta(seconds=other)).encode()
            lease = f"{fleets.folder_of(other)}/lease.yaml".encode()
            importing.stdin.write(_commit(seconds, b"a lease", head, [(lease, text)]))
            head = b""
        last = number == commits - 1
        back, away = (away, []) if last or len(away) > len(names) // 50 else (away[:5], away[5:])
        gone = [] if last else chance.sample(names, 5)
        away += [name for name in gone if name not in away]
        changed = {name: files[name] for name in back} | {
            name: files[name].replace(_AVAILABLE, _UNKNOWN) for name in gone
        }
        message = f"{len(gone)} clusters Unknown\n\nMuster-Now: {format_time(now)}\nMuster-Source: {tip.decode()}\n"
        importing.stdin.write(_commit(seconds, message.encode(), head, sorted(changed.items())))
        head = b""
    importing.stdin.close()
    if importing.wait():
        sys.exit(importing.returncode)


def _commit(seconds: int, message: bytes, head: bytes, files: list[tuple[bytes, bytes]]) -> bytes:
    lines = [
        b"commit refs/heads/main\ncommitter a <a@example.com> %d +0000\ndata %d\n%b\n"
        % (seconds, len(message), message),
        head,
    ]
    lines += [b"M 100644 inline %b\ndata %d\n%b\n" % (name, len(data), data) for name, data in files]
    return b"".join(lines)


def _derived(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """The clusters that are available, by their derived files."""
    git = ["git", "-C", str(path)]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "main", "derived/managedclusters/"], capture_output=True, check=True
    ).stdout
    entries = [
        (head.split()[2], name) for head, _, name in (one.partition(b"\t") for one in listed.split(b"\0") if one)
    ]
    asked = b"".join(oid + b"\n" for oid, _ in entries)
    told = subprocess.run([*git, "cat-file", "--batch"], input=asked, capture_output=True, check=True).stdout
    at = 0
    for _, name in entries:
        end = told.index(b"\n", at)
        size = int(told[at:end].split()[2])
        data, at = told[end + 1 : end + 1 + size], end + size + 2
        if _AVAILABLE in data:
            yield name, data


if __name__ == "__main__":
    lengthen(Path(sys.argv[1]), int(sys.argv[2]))
