"""Upkeep: what commits and fetches leave behind is put away by git's own means before it slows every git down.

Each heartbeat of an agent leaves three objects here that the next one replaces. In a bare clone of a remote, in which
nobody works, they go after a day, unless the configuration says when (`gc.pruneExpire`). Elsewhere what nothing refers
to may be somebody's, a stash that was dropped or a branch that was pushed over: there it is two weeks, as git has it.
No log of the agents' refs is kept, which would hold on to all of them (see `push`).

A relay pushes twice a second, each time a pack. git would write the whole repository anew for every fifty of them, and
set free as single files what nothing refers to, until these are so many that it gives up for a day. So here packs are
put together as they come, the small ones only, which loses nothing; and all is written anew when it has grown much.
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

#: git looks through a folder of objects each time it is asked; that is not needed after every run.
_EVERY_SECONDS: Final = 3600.0
_EXPIRY: Final = "1.day.ago"
#: git goes on by itself where there is much to do; this bounds the looking.
_LIMIT_SECONDS: Final = 120.0
#: So many packs may there be. git begins at fifty to write everything anew, which shall not come first.
_MOST_PACKS: Final = 40
#: By how much packs grow until it is time to look which of their objects nothing refers to: twofold, and so many bytes.
_GROWTH_BYTES: Final = 64 << 20


#: Where packs are being put together aside.
_at_work: set[Path] = set()


def tidy(
    repository: Repository, *, every_seconds: float = _EVERY_SECONDS, expiry: str = "", aside: bool = False
) -> None:
    """Have git put packs together where they are many, and put away what is loose, if that was not asked for in the
    last hour. `expiry`, as git writes it: when goes what nothing refers to, where neither that is configured nor the
    repository a bare clone. `aside`: packs are put together by a thread, for a process that goes on meanwhile. Never an
    error: it is disposable."""
    where = common_directory(repository)
    if where in _at_work:
        return
    stamp = where / "muster" / "tidied"
    with suppress(RepositoryError, OSError):
        packs = _packs(repository)
        if len(packs) > _MOST_PACKS and repository.git.line("config", "--get", "gc.auto") != "0":
            if aside:
                _at_work.add(where)
                Thread(target=_put_together, args=(repository,), daemon=True, name="muster-upkeep").start()
                return
            _put_together(repository)
        if _age(stamp) < every_seconds:
            return
        stamp.parent.mkdir(exist_ok=True)
        size = sum(packs)
        least = min(_noted(stamp), size)
        has_grown = size > 2 * least + _GROWTH_BYTES
        stamp.write_text("" if has_grown else f"{least}")
        options = ["-c", "gc.cruftPacks=true"]
        if has_grown:
            options += ["-c", "gc.autoPackLimit=1"]
        # What git says of a time when it could not put everything away keeps it from trying again for a day.
        options += ["-c", "gc.logExpiry=1.hour.ago"]
        when = _EXPIRY if _is_nobodys(repository) else expiry
        if when and not repository.git.line("config", "--get", "gc.pruneExpire"):
            options += ["-c", f"gc.pruneExpire={when}"]
        repository.git.run(*options, "maintenance", "run", "--auto", "--quiet", limit_seconds=_LIMIT_SECONDS)


def _put_together(repository: Repository) -> None:
    """Make one pack of as many as are small beside the others, whatever refers to what is in them."""
    try:
        repository.git.run("-c", "pack.threads=1", "repack", "-d", "--geometric=2", "--quiet",
                           "--no-write-bitmap-index", limit_seconds=_LIMIT_SECONDS)  # fmt: skip
    except (RepositoryError, OSError):
        return
    finally:
        _at_work.discard(common_directory(repository))


def _packs(repository: Repository) -> list[int]:
    """The sizes of the packs that may be put together with others. In a partial clone none may."""
    try:
        with os.scandir(common_directory(repository) / "objects" / "pack") as entries:
            sizes = {entry.name: entry.stat().st_size for entry in entries}
    except OSError:
        return []
    if any(name.endswith(".promisor") for name in sizes):
        return []
    return [n for name, n in sizes.items() if name.endswith(".pack") and f"{name[:-5]}.keep" not in sizes]


def _noted(stamp: Path) -> float:
    """The least size since packs were last written anew; infinite where that is not known."""
    try:
        return int(stamp.read_text())
    except (OSError, ValueError):
        return float("inf")


def _is_nobodys(repository: Repository) -> bool:
    return repository.worktree is None and bool(remotes(repository))


def _age(stamp: Path) -> float:
    """Seconds since a file was touched; infinite where it never was, or will be."""
    try:
        age = seconds_since(stamp.stat().st_mtime)
    except OSError:
        return float("inf")
    return age if age >= 0 else float("inf")
