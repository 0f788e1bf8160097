"""What commands keep between runs: compiled expressions, and the state of each fleet. All of it may be deleted at any
time.

The cache is `$MUSTER_CACHE_DIR`, else `$XDG_CACHE_HOME/muster`, else `~/.cache/muster`; with an empty
`MUSTER_CACHE_DIR` there is none. A fleet's state is the file that `--state` or `$MUSTER_STATE` names, else a file in
the cache. The library uses neither unless asked: an evaluation inside another program writes no files.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muster.cel import cache
from muster.data.codes import Code
from muster.data.findings import finding
from muster.data.printable import is_ours
from muster.git.checkout import why_of_checkout
from muster.git.repository import Repository, common_directory
from muster.run.memo import program
from muster.version import __version__

if TYPE_CHECKING:
    from muster.run.memo.state import RunState

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


def usable_cache(environ: Mapping[str, str]) -> Path | None:
    """Return the directory of the cache; None if there is none, or if a checkout may have brought it: then a warning is
    printed."""
    directory = cache_directory(environ)
    if directory is None or _is_ours((directory,), environ, "the cache"):
        return directory
    return None


_warned: Final[set[tuple[Path, str]]] = set()


def _is_ours(paths: Sequence[Path], environ: Mapping[str, str], noun: str) -> bool:
    """Can no checkout have brought these? If not, print a warning, once."""
    reason = why_of_checkout(paths, environ)
    if reason and (paths[0], reason) not in _warned:
        from muster.cli.outcome import finding_text  # few runs warn

        _warned.add((paths[0], reason))
        message = f"{noun} {paths[0]} is not used: {reason}, so a commit may have written it"
        hint = "remove it from the repository and add it to .gitignore, or keep it outside of the checkout"
        click.echo(finding_text(finding(Code.STATE_OF_CHECKOUT, message, hint=hint)), err=True)
    return not reason


def use_cache(environ: Mapping[str, str]) -> None:
    """Use the cache in this process, if its directory can be created and no one else can write there. Never raises."""
    directory = usable_cache(environ)
    if directory is not None:
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            directory = directory if is_ours(directory.stat()) else None
        except OSError:
            directory = None
    cache.use(directory, __version__)
    program.keep_in(directory)


def state_path(environ: Mapping[str, str], repository: Repository, branch: str, path_given: Path | None) -> Path | None:
    """Return the file with the state of a fleet's branch; None if there is none, or if a checkout may have brought it:
    then a warning is printed."""
    if chosen := path_given or environ.get("MUSTER_STATE"):
        from muster.run.memo.state import companions

        path = Path(f"{chosen}{branch}" if branch in (STAGED, WORK_TREE) else chosen)
        return path if _is_ours(companions(path), environ, "the state") else None
    directory = usable_cache(environ)
    if directory is None:
        return None
    branch_key = f"{common_directory(repository).resolve()}\0{branch}"
    return directory / STATES / f"{hashlib.sha256(os.fsencode(branch_key)).hexdigest()[:24]}.sqlite"


def open_state_of(
    environ: Mapping[str, str], repository: Repository, branch: str, path: Path | None = None
) -> "RunState | None":
    """Open the state of a fleet's branch; None if there is none, so that every run evaluates the whole fleet."""
    from muster.run.memo.state import open_state  # not needed to find the cache

    return open_state(state_path(environ, repository, branch, path))
