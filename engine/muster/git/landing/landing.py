"""Lands a commit on a branch: here, or on a remote and then here, by compare-and-swap.

Derived files and people's edits land in the same way. If the branch has moved meanwhile, the caller starts again with
the new head.

A remote's history may have been rewritten. What the remote had before is kept under `refs/muster/rewritten/`, the last
time of each branch: so it is known later, and nothing is lost.
"""

from muster.data.names import few
from muster.dataclass import dataclass
from muster.git.enginecommits import EngineCommits
from muster.git.errors import Committed, Pushed, Refused, Rejected, RepositoryError
from muster.git.landing.commit import advance, swap_ref
from muster.git.log import count_commits, read_log
from muster.git.push import RefUpdate, fetch, push, push_both, tracking
from muster.git.repository import Repository, branch_tip, current_branch, is_ancestor, ref_tip

#: So many commits are checked for being muster's own.
_MOST = 1000


def rewritten_ref(branch: str) -> str:
    """Return the ref that keeps what a remote's branch had before it was rewritten."""
    return f"refs/muster/rewritten/{branch}"


def keep_rewritten(repository: Repository, branch: str, before: str | None, now: str | None) -> None:
    """Keep what the remote's branch had `before`, if it does not contain that `now`."""
    if before and now and before != now and not is_ancestor(repository, before, now):
        ref = rewritten_ref(branch)
        swap_ref(repository, ref, before, ref_tip(repository, ref), reason="muster: the remote was rewritten")


def has_dropped(repository: Repository, branch: str, local: str, theirs: str) -> bool:
    """Does the local branch have commits that the remote once had and has dropped?"""
    kept = ref_tip(repository, rewritten_ref(branch))
    if kept is None:
        return False
    ahead = count_commits(repository, local, "--not", theirs)
    return ahead > count_commits(repository, local, "--not", theirs, kept)


def commits_of_people(repository: Repository, branch: str, local: str, theirs: str) -> tuple[str, ...]:
    """Return the local branch's commits that the remote neither has nor had and muster did not make: `id subject` each.

    muster can make its own commits again.
    """
    kept = ref_tip(repository, rewritten_ref(branch))
    which = (local, "--not", theirs, *([kept] if kept else []))
    log = tuple(read_log(repository, *which, most=_MOST))
    engine = EngineCommits(repository, theirs)
    of_engine = engine.among([logged.commit for logged in log])
    return tuple(f"{logged.commit[:12]} {logged.subject}" for logged in log if logged.commit not in of_engine)


class PushRejectedError(RepositoryError):
    """The remote does not let this account move the branch so."""


@dataclass(frozen=True, slots=True)
class Tips:
    """Where a commit is to land: the branch, its tips here and on the remote, and `base`, the one to build on.

    `followed` says why the local tip is replaced by the remote's, which does not contain it.
    """

    branch: str
    remote: str | None
    local: str | None
    theirs: str | None
    base: str
    followed: str = ""


@dataclass(frozen=True, slots=True)
class Landed:
    """The branch has the commit. `local` is the local branch's tip now, None without one; `pushed`: was anything
    pushed? `left_behind` says why the local branch lacks the commit, empty if it has it; `followed` that a rewritten
    history was adopted; `unrecorded` why the remote did not take the record with the commit, empty if it did."""

    local: str | None
    pushed: bool = False
    left_behind: str = ""
    followed: str = ""
    unrecorded: str = ""


def target_branch(repository: Repository) -> str:
    """Return the branch to move: the one that is checked out. RepositoryError on a detached HEAD."""
    branch = current_branch(repository)
    if branch is None:
        raise RepositoryError(
            "HEAD is detached, so there is no branch to commit to", "check out a branch, or name one with --branch"
        )
    return branch


def find_tips(repository: Repository, branch: str, remote: str | None) -> Tips:
    """Return what to build on: the branch's head; with a remote its head, or the local one if that is ahead.

    A rewritten remote is followed if the local branch has no commits of people's that the remote neither has nor had.
    RepositoryError if there is no such branch or the two have diverged.
    """
    local, theirs = branch_tip(repository, branch), None
    if remote:
        before = ref_tip(repository, f"{tracking(repository, remote)}{branch}")
        theirs = fetch(repository, remote=remote, branch=branch)
        keep_rewritten(repository, branch, before, theirs)
    base = _base(repository, branch, local, theirs)
    followed = ""
    if local and theirs and base == theirs and not is_ancestor(repository, local, theirs):
        followed = f"{remote}'s {branch} was rewritten and is followed: the local one was at {local[:12]}"
    return Tips(branch, remote, local, theirs, base, followed)


def land(repository: Repository, tips: Tips, commit: str, record: RefUpdate | None = None) -> Landed | None:
    """Move the branch to a commit over `tips.base`; None if it moved meanwhile. With a remote, its record is pushed,
    too; locally, the caller moves the record's branch afterwards.

    RepositoryError if a person's edit is in the way; PushRejectedError if the remote rejects the push.
    """
    if tips.remote is not None:
        return _push_and_move(repository, tips, tips.remote, commit, record)
    if commit == tips.base:
        return Landed(commit)
    outcome = advance(repository, branch=tips.branch, expected=tips.base, commit=commit)
    if isinstance(outcome, Refused):
        raise RepositoryError(outcome.message, outcome.hint)
    return Landed(commit) if isinstance(outcome, Committed) else None


def push_commit(
    repository: Repository, tips: Tips, remote: str, commit: str, record: RefUpdate | None = None
) -> str | None:
    """Push a commit, with its record. Return None if the remote's branch moved; else why the remote did not take the
    record, empty if it did. PushRejectedError if the remote rejects the push."""
    refused = ""
    if record is None:
        outcome = push(repository, remote=remote, branch=tips.branch, new=commit, expected=tips.theirs)
    else:
        update = RefUpdate(f"refs/heads/{tips.branch}", commit, tips.theirs)
        outcome, refused = push_both(repository, remote=remote, first=update, second=record)
    if isinstance(outcome, Rejected):
        raise PushRejectedError(
            f"{remote} rejected the push: {outcome}",
            f"allow this account to push to {tips.branch}, or keep derived files on a branch of their own "
            "(Fleet.spec.derived.branch)",
        )
    return refused if isinstance(outcome, Pushed) else None


def _push_and_move(
    repository: Repository, tips: Tips, remote: str, commit: str, record: RefUpdate | None
) -> Landed | None:
    """Push, then move the local branch too unless a person's edit is in the way."""
    pushed = commit != tips.theirs
    refused = push_commit(repository, tips, remote, commit, record) if pushed else ""
    if refused is None:
        return None
    left_behind = _move_local(repository, tips, commit)
    local = tips.local if left_behind or tips.local is None else commit
    return Landed(local, pushed, left_behind, "" if left_behind else tips.followed, refused)


def _move_local(repository: Repository, tips: Tips, commit: str) -> str:
    """Fast-forward the local branch to the commit. Return why that was not possible, or nothing."""
    if tips.local is None or tips.local == commit:
        return ""
    moved = advance(repository, branch=tips.branch, expected=tips.local, commit=commit)
    if isinstance(moved, Refused):
        return moved.message
    return "" if isinstance(moved, Committed) else f"the local {tips.branch} moved meanwhile"


def _base(repository: Repository, branch: str, local: str | None, theirs: str | None) -> str:
    """Return the tip that contains the other."""
    tips = [tip for tip in (theirs, local) if tip]
    if not tips:
        raise RepositoryError(f"there is no branch {branch!r}", "commit something to it first")
    if len(tips) == 1 or theirs == local:
        return tips[0]
    assert theirs is not None
    assert local is not None
    if is_ancestor(repository, local, theirs):
        return theirs
    if is_ancestor(repository, theirs, local) and not has_dropped(repository, branch, local, theirs):
        return local
    strangers = commits_of_people(repository, branch, local, theirs)
    if not strangers:
        return theirs
    raise RepositoryError(
        f"the local {branch} and the remote's have diverged: only the local one has {few(strangers, 1)}",
        "bring them together first, for example with git pull --rebase",
    )
