"""Reconcile: evaluate a branch and commit what follows, once, by compare-and-swap.

When the branch moved meanwhile, locally or on the remote, the new head is evaluated again: never a rebase of an
answer to another question.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from muster.answers.message import commit_message
from muster.answers.publish.memory import read_memory
from muster.answers.settle import Settled, settle
from muster.gitio.commit import advance
from muster.gitio.errors import RepositoryError
from muster.gitio.importing import build_commit
from muster.gitio.open import open_commit
from muster.gitio.outcomes import Committed, Pushed, Refused, Rejected
from muster.gitio.push import fetch, push
from muster.gitio.repository import Repository, branch_tip, current_branch, is_ancestor


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a reconcile did. `commit` is the commit it made, None where nothing had to change; `attempts` counts
    evaluations; `pushed` says whether it pushed anything; `left_behind` says why the local branch does not have
    what was pushed, empty where it has."""

    settled: Settled
    commit: str | None
    attempts: int
    pushed: bool = False
    left_behind: str = ""


#: Yields before each further attempt, after waiting as long as is wise; ends when it is time to give up.
Attempts = Callable[[], Iterator[int]]


def target_branch(repository: Repository) -> str:
    """Return the branch that a reconcile moves: the one that is checked out. RepositoryError on a detached HEAD."""
    branch = current_branch(repository)
    if branch is None:
        raise RepositoryError(
            "HEAD is detached, so there is no branch to commit to", "check out a branch, or name one with --branch"
        )
    return branch


def reconcile(
    repository: Repository,
    now: Callable[[], datetime],
    *,
    branch: str,
    remote: str | None = None,
    attempts: Attempts,
) -> Reconciled:
    """Evaluate the branch's head and commit what follows; with a remote, push it there too.

    `now` is asked once per attempt. With a remote, what is evaluated is its head, or the local one where that is
    ahead. RepositoryError where the branch does not exist, the two have diverged, a person's edit is in the way,
    the remote refuses, or the branch keeps moving.
    """
    for attempt in attempts():
        done = _once(repository, now, branch, remote, attempt)
        if done is not None:
            return done
    raise RepositoryError(
        f"{branch} kept moving while it was evaluated, so nothing was committed",
        "run it again, or more rarely at one time: two reconciles do no harm but each makes the other start over",
    )


def _once(
    repository: Repository, now: Callable[[], datetime], branch: str, remote: str | None, attempt: int
) -> Reconciled | None:
    """One attempt; None where the branch moved meanwhile."""
    local = branch_tip(repository, branch)
    theirs = fetch(repository, remote=remote, branch=branch) if remote else None
    base = _base(repository, branch, local, theirs)
    memory = read_memory(repository, remote)
    settled = settle(open_commit(repository, base), now(), memory.published)
    if not settled.files:
        commit = base
    else:
        files = {path: None if text is None else text.encode() for path, text in settled.files.items()}
        commit = build_commit(repository, files, commit_message(settled.last, settled.changes), base)
    made = commit if settled.files else None
    if remote is not None:
        return _pushed(repository, settled, _Step(branch, remote, local, theirs, base, commit), attempt)
    if made is None:
        return Reconciled(settled, None, attempt)
    outcome = advance(repository, branch=branch, expected=base, commit=commit, paths=tuple(settled.files))
    if isinstance(outcome, Refused):
        raise RepositoryError(_refusal(outcome), outcome.hint)
    return Reconciled(settled, made, attempt) if isinstance(outcome, Committed) else None


@dataclass(frozen=True, slots=True)
class _Step:
    """The ends of one push: the local and the remote tip, what was evaluated, and what came of it."""

    branch: str
    remote: str
    local: str | None
    theirs: str | None
    base: str
    commit: str


def _pushed(repository: Repository, settled: Settled, step: _Step, attempt: int) -> Reconciled | None:
    """Push, then bring the local branch along as far as no person's edit is in the way."""
    made = step.commit if step.commit != step.base else None
    pushed = step.commit != step.theirs
    if pushed:
        outcome = push(repository, remote=step.remote, branch=step.branch, new=step.commit, expected=step.theirs)
        if isinstance(outcome, Rejected):
            raise RepositoryError(f"{step.remote} rejected the push: {outcome.reason}", outcome.text)
        if not isinstance(outcome, Pushed):
            return None
    return Reconciled(settled, made, attempt, pushed, _bring_along(repository, settled, step))


def _bring_along(repository: Repository, settled: Settled, step: _Step) -> str:
    """Fast-forward the local branch to what the remote has. Returns why it could not, or nothing."""
    if step.local is None or step.local == step.commit:
        return ""
    moved = advance(repository, branch=step.branch, expected=step.local, commit=step.commit, paths=tuple(settled.files))
    if isinstance(moved, Refused):
        return _refusal(moved)
    return "" if isinstance(moved, Committed) else f"the local {step.branch} moved meanwhile"


def _refusal(refused: Refused) -> str:
    """What is in the way, with the files named."""
    return refused.message + (f": {', '.join(refused.paths)}" if refused.paths else "")


def _base(repository: Repository, branch: str, local: str | None, theirs: str | None) -> str:
    """What to evaluate: the one of the two tips that has the other in it."""
    tips = [tip for tip in (theirs, local) if tip]
    if not tips:
        raise RepositoryError(f"there is no branch {branch!r}", "commit something to it first")
    if len(tips) == 1 or theirs == local:
        return tips[0]
    if is_ancestor(repository, tips[1], tips[0]):
        return tips[0]
    if is_ancestor(repository, tips[0], tips[1]):
        return tips[1]
    raise RepositoryError(
        f"the local {branch} and the remote's have diverged",
        "bring them together first, for example with git pull --rebase",
    )
