"""What the verbs that edit the repository share: one file, one commit, on the branch that is checked out."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from muster.answers.claiming import Edit
    from muster.fleet.fleet import Fleet


def commit_edit(repo: Path, edit_of: "Callable[[Fleet], Edit]") -> int:
    """Work out an edit of the branch's head, commit it, and say so; 1 where it cannot be made."""
    from muster.answers.claiming import ClaimError
    from muster.answers.evaluate import check_snapshot
    from muster.answers.reconcile import target_branch
    from muster.gitio.commit import commit_files
    from muster.gitio.errors import RepositoryError
    from muster.gitio.open import open_commit
    from muster.gitio.outcomes import Committed
    from muster.gitio.repository import branch_tip, open_repository

    repository = open_repository(repo, os.environ)
    branch = target_branch(repository)
    head = branch_tip(repository, branch)
    if head is None:
        raise RepositoryError(f"{branch} has no commit yet", "commit the fleet's files first")
    try:
        edit = edit_of(check_snapshot(open_commit(repository, head)))
    except ClaimError as error:
        click.echo(f"error: {error}", err=True)
        return 1
    files = {edit.path: None if edit.text is None else edit.text.encode()}
    done = commit_files(repository, branch=branch, expected=head, files=files, message=f"{edit.subject}\n")
    if not isinstance(done, Committed):
        raise RepositoryError(f"{branch} moved or {edit.path} is being edited, so nothing was committed", "try again")
    click.echo(f"{done.commit[:12]} {edit.subject} ({edit.path})")
    return 0
