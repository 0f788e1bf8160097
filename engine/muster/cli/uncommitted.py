"""The last line of commands that read a commit: which files of the work tree differ from it, and what reads them.

git looks for them while the command does its work.
"""

import os
from functools import partial
from typing import Final

import click

from muster.data.names import few
from muster.data.printable import printable
from muster.git.errors import RepositoryError
from muster.git.repository import Repository, ref_tip
from muster.git.store.process import Process, reap

#: The files of a work tree that belong to a fleet.
_FLEET_FILES: Final = ("*.yaml", "*.yml", "*.json", ".musterignore")
_NOT_DERIVED: Final = ":(top,exclude)derived"
_STATUS: Final = ("--no-optional-locks", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--")


def note_uncommitted(repository: Repository | None, advice: str, *, writes: bool = False) -> None:
    """When the present command ends, print which files of the fleet differ from the commit, and the advice, on standard
    error; nothing if none does, or without a work tree. A command that `writes` changes derived files itself."""
    context = click.get_current_context(silent=True)
    if context is None or repository is None or repository.worktree is None:
        return
    excluded = (_NOT_DERIVED,) if writes else ()
    try:
        process = repository.git.start(*_STATUS, *_FLEET_FILES, *excluded)
    except RepositoryError:
        return
    context.call_on_close(partial(_print, repository, process, advice))


def _print(repository: Repository, process: Process, advice: str) -> None:
    output = process.stdout.read()
    paths = [os.fsdecode(entry[3:]) for entry in output.split(b"\0") if entry]
    if reap(process) == 0 and paths and ref_tip(repository, "HEAD^{commit}"):  # else there is none to differ from
        verb = "differs" if len(paths) == 1 else "differ"
        names = few([printable(path) for path in paths])
        click.echo(f"note: {names} {verb} from the commit that was read; {advice}", err=True)
