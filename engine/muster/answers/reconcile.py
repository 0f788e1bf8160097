"""Reconcile: evaluate a branch and commit what follows, once, by compare-and-swap.

When the branch moved meanwhile, locally or on the remote, the new head is evaluated again: never a rebase of an
answer to another question.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from muster.answers.landing import find_ground, land, target_branch
from muster.answers.message import commit_message, plain_message
from muster.answers.publish.memory import read_memory
from muster.answers.settle import Settled, settle
from muster.fleet.faults import of_stage
from muster.gitio.errors import RepositoryError
from muster.gitio.importing import build_commit
from muster.gitio.open import open_commit
from muster.gitio.repository import Repository
from muster.model.finding import Finding

__all__ = ["Attempts", "Reconciled", "reconcile", "target_branch"]


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


def _message(settled: Settled) -> tuple[str, frozenset[Finding]]:
    """The commit's message; where muster fails to write it, a plain one, and the finding that says so."""
    try:
        return commit_message(settled.last, settled.changes), frozenset()
    except Exception as error:  # noqa: BLE001 - the boundary for texts, as `each` is for decisions
        told = of_stage("writing the commit message", error, "the commit has a plain one")
        return plain_message(settled.last, len(settled.files)), frozenset((told,))


def _once(
    repository: Repository, now: Callable[[], datetime], branch: str, remote: str | None, attempt: int
) -> Reconciled | None:
    """One attempt; None where the branch moved meanwhile."""
    ground = find_ground(repository, branch, remote)
    base = ground.base
    memory = read_memory(repository, remote)
    settled = settle(open_commit(repository, base), now(), memory.published)
    if not settled.files:
        commit = base
    else:
        files = {path: None if text is None else text.encode() for path, text in settled.files.items()}
        message, faults = _message(settled)
        settled = replace(settled, faults=settled.faults | faults)
        commit = build_commit(repository, files, message, base)
    landed = land(repository, ground, commit, tuple(settled.files))
    if landed is None:
        return None
    made = commit if settled.files else None
    return Reconciled(settled, made, attempt, landed.pushed, landed.left_behind)
