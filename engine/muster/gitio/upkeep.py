"""Upkeep: what commits and fetches leave loose is put away by git's own maintenance, when git finds that it is time.

Each heartbeat of an agent leaves three objects here that the next one replaces. In a bare clone of a remote, in which
nobody works, they go after a day, unless the configuration says when (`gc.pruneExpire`). Elsewhere what nothing refers
to may be somebody's, a stash that was dropped or a branch that was pushed over: there it is two weeks, as git has it.
No log of the agents' refs is kept, which would hold on to all of them (see `push`).
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from muster.gitio.config import remotes
from muster.gitio.errors import RepositoryError
from muster.gitio.repository import Repository, common_directory

#: git looks through a folder of objects each time it is asked; that is not needed after every run.
_EVERY_SECONDS: Final = 3600.0
_EXPIRY: Final = "1.day.ago"
#: git goes on by itself where there is much to do; this bounds the looking.
_LIMIT_SECONDS: Final = 120.0


def tidy(repository: Repository, *, every_seconds: float = _EVERY_SECONDS) -> None:
    """Have git put away what is loose, if that was not asked for in the last hour. Never an error: it is disposable."""
    stamp = common_directory(repository) / "muster" / "tidied"
    if _age(stamp) < every_seconds:
        return
    with suppress(RepositoryError, OSError):
        stamp.parent.mkdir(exist_ok=True)
        stamp.touch()
        configured = repository.git.line("config", "--get", "gc.pruneExpire")
        options = ("-c", f"gc.pruneExpire={_EXPIRY}") if _is_nobodys(repository) and not configured else ()
        # What git says of a time when it could not put everything away keeps it from trying again for a day.
        retry = ("-c", "gc.logExpiry=1.hour.ago")
        repository.git.run(*options, *retry, "maintenance", "run", "--auto", "--quiet", limit_seconds=_LIMIT_SECONDS)


def _is_nobodys(repository: Repository) -> bool:
    return repository.worktree is None and bool(remotes(repository))


def _age(stamp: Path) -> float:
    """Seconds since a file was touched; infinite where it never was, or will be."""
    try:
        age = time.time() - stamp.stat().st_mtime
    except OSError:
        return float("inf")
    return age if age >= 0 else float("inf")
