"""What a hundred renewed leases cost inside a watch, and what reading them costs there: processor time of a process
that is at work already, and of all that it starts.

python -m benchmarks.watching watch|reading REPOSITORY

Prints the seconds. `reading` is what cannot be saved: `diff-tree`, `cat-file`, and libyaml's events of the files.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import yaml
from yaml._yaml import CParser

from benchmarks import fleets
from muster.cli.cache import open_state_of, use_cache
from muster.cli.listening import Freshness
from muster.features.watch.watch import Watcher
from muster.git.repository import open_repository


def main() -> None:
    """Renew twice, and measure what follows from the second time."""
    what, path = sys.argv[1], Path(sys.argv[2])
    look = _watching(path) if what == "watch" else _reading(path)
    for seconds in (0, 10, 20):
        now = fleets.NOON + timedelta(seconds=seconds)
        if seconds:
            fleets.renew(path, now)
        started = _spent()
        look(now)
        spent = _spent() - started
    print(f"{spent:.4f}")


def _spent() -> float:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _watching(path: Path) -> Callable[[datetime], None]:
    use_cache(os.environ)
    repository, clock = open_repository(path, os.environ), [fleets.NOON]
    watcher = Watcher(
        repository,
        "main",
        None,
        timedelta(hours=1),
        lambda line: print(line, file=sys.stderr),
        clock=lambda: clock[0],
        freshness=Freshness(ask=False),
        verbose=True,
        state=open_state_of(os.environ, repository, "main"),
    )

    def look(now: datetime) -> None:
        clock[0] = now
        watcher.look()

    return look


def _reading(path: Path) -> Callable[[datetime], None]:
    git = ["git", "-C", str(path)]

    def look(_: datetime) -> None:
        if subprocess.run([*git, "rev-parse", "-q", "--verify", "main~1"], capture_output=True, check=False).returncode:
            return
        listed = subprocess.run(
            [*git, "diff-tree", "-r", "--raw", "-z", "--no-abbrev", "main~1", "main"], capture_output=True, check=True
        ).stdout
        ids = [head.split(b" ")[3] for head in listed.split(b"\0")[0::2] if head]
        asked = b"\n".join(ids) + b"\n"
        batch = subprocess.run([*git, "cat-file", "--batch"], input=asked, capture_output=True, check=True).stdout
        start, end = 0, yaml.StreamEndEvent
        for _ in ids:
            head, _, _ = batch[start:].partition(b"\n")
            start += len(head) + 1
            size = int(head.split()[2])
            get = CParser(batch[start : start + size]).get_event
            while get().__class__ is not end:
                pass
            start += size + 1

    return look


if __name__ == "__main__":
    main()
