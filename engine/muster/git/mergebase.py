"""Finds the merge base of two branches, and fetches what a clone lacks for that.

CI checks out one commit, often without any history and without the target branch of a pull request. Missing history is
fetched as far as necessary; branches and settings do not change, and history that is here is not cut off.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.git.config import likely_first, remotes
from muster.git.errors import RepositoryError
from muster.git.log import read_log
from muster.git.push import fetch_commits, remote_tip
from muster.git.repository import Repository, has_commit, resolve, shallow_commits
from muster.git.store.objects import is_object_id

#: So much more history is fetched per step.
_STEPS: Final = ("--deepen=50", "--deepen=500", "--deepen=5000", "--unshallow")


def merge_base(repository: Repository, head: str, against: str, *, ask: bool) -> str:
    """Return the id of the commit at which the histories of `head`, a full id, and the revision `against` part.

    `against` may also be a branch or commit that only a remote has: `main`, `origin/main`, a full id. `ask`: remotes
    may be asked for it, and for history. RepositoryError if there is no such commit, or if it cannot be found out.
    """
    other = commit_of(repository, against, ask=ask)
    steps = iter(_STEPS if ask else ())
    while (base := repository.git.line("merge-base", head, other)) is None:
        edges = _shallow_edges(repository, head, other)
        if not edges:
            raise RepositoryError(
                f"this branch and {against!r} have no commit in common", "name the branch that this one was made from"
            )
        step = next(steps, None)
        if step is None:
            raise _cut_off_error(repository, against)
        _deepen(repository, edges, step, against)
    return base


def commit_of(repository: Repository, against: str, *, ask: bool) -> str:
    """Return the full id of a revision, which may be one that only a remote has: then it is fetched, if remotes may be
    asked (`ask`). RepositoryError if there is no such commit."""
    try:
        return resolve(repository, against)
    except RepositoryError as error:
        if not against or against.startswith("-"):
            raise
        if not ask and remotes(repository):
            raise RepositoryError(
                error.message, "without --offline it is fetched; or fetch it with git fetch"
            ) from None
        for remote, commit in _remote_candidates(repository, against):
            if has_commit(repository.git, commit) or _fetched(repository, remote, commit):
                return commit
        raise


def _fetched(repository: Repository, remote: str, commit: str) -> bool:
    """Fetch a commit from a remote that may have it. A shallow fetch does not cut off history that is here."""
    try:
        fetch_commits(
            repository, remote=remote, commits=(commit,), depth="--depth=1" if shallow_commits(repository) else ""
        )
    except RepositoryError:
        return False
    return has_commit(repository.git, commit)


def _remote_candidates(repository: Repository, against: str) -> Iterator[tuple[str, str]]:
    """Yield each remote that may have the revision, and its id there."""
    for remote in likely_first(repository, remotes(repository)):
        if is_object_id(against):
            yield remote, against
        branch = against.removeprefix("refs/remotes/").removeprefix(f"{remote}/").removeprefix("refs/heads/")
        tip = remote_tip(repository, remote=remote, ref=f"refs/heads/{branch}")
        if tip is not None:
            yield remote, tip


def _shallow_edges(repository: Repository, *commits: str) -> list[str]:
    """The commits in these histories whose parents are missing here; none if the history is complete."""
    if not (cut := shallow_commits(repository)):
        return []
    return [logged.commit for logged in read_log(repository, *commits, roots=True) if logged.commit in cut]


def _deepen(repository: Repository, edges: list[str], step: str, against: str) -> None:
    """Fetch history before these commits, from the first remote that has it."""
    why: RepositoryError | None = None
    for remote in likely_first(repository, remotes(repository)):
        try:
            fetch_commits(repository, remote=remote, commits=edges, depth=step)
            return
        except RepositoryError as error:
            why = why or error
    cut = _cut_off_error(repository, against)
    raise RepositoryError(f"{cut.message}{f', and {why.message}' if why else ''}", cut.hint)


def _cut_off_error(repository: Repository, against: str) -> RepositoryError:
    where = repository.worktree or Path(repository.git_dir)
    return RepositoryError(
        f"the history in {where} is cut off before the commit at which this branch left {against!r}",
        "fetch it: git fetch --unshallow, or in a job check out with fetch-depth: 0 (GitHub), GIT_DEPTH: 0 (GitLab)",
    )
