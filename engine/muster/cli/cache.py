"""What commands keep between runs: compiled expressions, and the state of each fleet. All of it may be deleted at any
time.

The cache is `$MUSTER_CACHE_DIR`, else `$XDG_CACHE_HOME/muster`, else `~/.cache/muster`; with an empty
`MUSTER_CACHE_DIR` there is none. A fleet's state is the file that `--state` or `$MUSTER_STATE` names, else a file in
the cache. The library uses neither unless asked: an evaluation inside another program writes no files.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from muster.cel import cache
from muster.git.repository import Repository, common_directory
from muster.run import program
from muster.version import __version__

if TYPE_CHECKING:
    from muster.run.state import RunState

#: The folder of the states in the cache.
STATES = "state"
#: Instead of a branch's name: the staged files, of any branch. The hook keeps a state of its own.
STAGED = ".staged"
#: The same for the work tree, which `validate` reads.
WORK_TREE = ".worktree"


def cache_directory(environ: Mapping[str, str]) -> Path | None:
    """Return the directory of the cache; None if there is none."""
    if (named := environ.get("MUSTER_CACHE_DIR")) is not None:
        return Path(named) if named else None
    if base := environ.get("XDG_CACHE_HOME"):
        return Path(base) / "muster"
    home = environ.get("HOME")
    return Path(home) / ".cache" / "muster" if home else None


def use_cache(environ: Mapping[str, str]) -> None:
    """Use the cache in this process, if its directory can be created. Never raises."""
    directory = cache_directory(environ)
    if directory is not None:
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            directory = None
    cache.use(directory, __version__)
    program.keep_in(directory)


def state_path(environ: Mapping[str, str], repository: Repository, branch: str, given: Path | None) -> Path | None:
    """Return the file with the state of a fleet's branch; None if there is none."""
    if named := given or environ.get("MUSTER_STATE"):
        return Path(f"{named}{branch}" if branch in (STAGED, WORK_TREE) else named)
    directory = cache_directory(environ)
    if directory is None:
        return None
    which = f"{common_directory(repository).resolve()}\0{branch}"
    return directory / STATES / f"{hashlib.sha256(os.fsencode(which)).hexdigest()[:24]}.sqlite"


def open_state_of(
    environ: Mapping[str, str], repository: Repository, branch: str, given: Path | None = None
) -> "RunState | None":
    """Open the state of a fleet's branch; None if there is none, so that every run evaluates the whole fleet."""
    from muster.run.state import open_state  # not needed to find the cache

    return open_state(state_path(environ, repository, branch, given))
