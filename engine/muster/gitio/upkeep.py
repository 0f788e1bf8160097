"""Upkeep: what commits and fetches leave loose is put away by git's own maintenance, when git finds that it is time.

Each heartbeat of an agent leaves three objects here that the next one replaces. Nobody's history has them, so they go
after a day, and not after two weeks as people's do, unless the configuration says when (`gc.pruneExpire`). No log of
the agents' refs is kept, which would hold on to all of them (see `push`).
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

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
        options = () if configured else ("-c", f"gc.pruneExpire={_EXPIRY}")
        # What git says of a time when it could not put everything away keeps it from trying again for a day.
        retry = ("-c", "gc.logExpiry=1.hour.ago")
        repository.git.run(*options, *retry, "maintenance", "run", "--auto", "--quiet", limit_seconds=_LIMIT_SECONDS)


def _age(stamp: Path) -> float:
    """Seconds since a file was touched; infinite where it never was, or will be."""
    try:
        age = time.time() - stamp.stat().st_mtime
    except OSError:
        return float("inf")
    return age if age >= 0 else float("inf")
