"""Cleans up what commits and fetches leave behind, by git's own means, before it slows down every git command.

Each heartbeat leaves three objects here that the next one replaces. In a bare clone of a remote, in which nobody works,
they are deleted after a day, unless the configuration says when (`gc.pruneExpire`). Elsewhere unreferenced objects may
be a person's, a dropped stash or an overwritten branch: there they stay for two weeks, git's default. Agents' refs have
no reflog, which would keep all their commits (see `push`).

A relay pushes twice a second, each time a pack. git would repack the whole repository after every fifty packs, and
unpack unreferenced objects into single files, until these are so many that it gives up for a day. So small packs are
combined here as they come, which loses nothing; and the whole repository is repacked when it has grown much.
"""

import os
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Final

from muster.git.clock import seconds_since
from muster.git.config import remotes
from muster.git.errors import RepositoryError
from muster.git.repository import Repository, common_directory

#: git searches a folder of objects each time; that is not needed after every run.
_EVERY_SECONDS: Final = 3600.0
_EXPIRY: Final = "1.day.ago"
#: git continues in the background if there is much to do; this limits the search.
_LIMIT_SECONDS: Final = 120.0
#: The most packs. git begins to repack everything at fifty, and must not come first.
_MOST_PACKS: Final = 40
#: Packs grow twofold and by so many bytes before a search for unreferenced objects.
_GROWTH_BYTES: Final = 64 << 20


#: Repositories whose packs are being combined in a thread.
_combining: set[Path] = set()


def run_maintenance(
    repository: Repository, *, every_seconds: float = _EVERY_SECONDS, expiry: str = "", in_thread: bool = False
) -> None:
    """Have git combine packs if there are many, and delete loose objects, at most once an hour. `expiry`, as git writes
    it, says when unreferenced objects are deleted, unless that is configured or the repository is a bare clone.
    `in_thread`: packs are combined in a thread, for a process that continues meanwhile. Never an error: upkeep is
    optional."""
    where = common_directory(repository)
    if where in _combining:
        return
    stamp = where / "muster" / "tidied"
    with suppress(RepositoryError, OSError):
        packs = _packs(repository)
        if len(packs) > _MOST_PACKS and repository.setting("gc.auto") != "0":
            if in_thread:
                _combining.add(where)
                Thread(target=_combine_packs, args=(repository,), daemon=True, name="muster-upkeep").start()
                return
            _combine_packs(repository)
        if _age(stamp) < every_seconds:
            return
        stamp.parent.mkdir(exist_ok=True)
        size = sum(packs)
        least = min(_least_size(stamp), size)
        has_grown = size > 2 * least + _GROWTH_BYTES
        stamp.write_text("" if has_grown else f"{least}")
        options = ["-c", "gc.cruftPacks=true"]
        if has_grown:
            options += ["-c", "gc.autoPackLimit=1"]
        # git's log of an incomplete run would keep it from trying again for a day.
        options += ["-c", "gc.logExpiry=1.hour.ago"]
        when = _EXPIRY if repository.worktree is None and remotes(repository) else expiry
        if when and not repository.setting("gc.pruneexpire"):
            options += ["-c", f"gc.pruneExpire={when}"]
        repository.git.run(*options, "maintenance", "run", "--auto", "--quiet", limit_seconds=_LIMIT_SECONDS)


def _combine_packs(repository: Repository) -> None:
    """Combine the small packs into one, whether or not their objects are referenced."""
    try:
        repository.git.run(
            "-c",
            "pack.threads=1",
            "repack",
            "-d",
            "--geometric=2",
            "--quiet",
            "--no-write-bitmap-index",
            limit_seconds=_LIMIT_SECONDS,
        )
    except (RepositoryError, OSError):
        return
    finally:
        _combining.discard(common_directory(repository))


def _packs(repository: Repository) -> list[int]:
    """The sizes of the packs that may be combined. In a partial clone there are none."""
    try:
        with os.scandir(common_directory(repository) / "objects" / "pack") as entries:
            sizes = {entry.name: entry.stat().st_size for entry in entries}
    except OSError:
        return []
    if any(name.endswith(".promisor") for name in sizes):
        return []
    return [n for name, n in sizes.items() if name.endswith(".pack") and f"{name[:-5]}.keep" not in sizes]


def _least_size(stamp: Path) -> float:
    """The least size since the last full repack; infinite if that is not known."""
    try:
        return int(stamp.read_text())
    except (OSError, ValueError):
        return float("inf")


def _age(stamp: Path) -> float:
    """Seconds since a file was touched; infinite if it never was, or has a future time."""
    try:
        age = seconds_since(stamp.stat().st_mtime)
    except OSError:
        return float("inf")
    return age if age >= 0 else float("inf")
