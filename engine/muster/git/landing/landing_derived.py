"""Lands derived files on a branch of their own (`Fleet.spec.derived.branch`), for a protected main branch."""

from dataclasses import replace

from muster.git.derivedbranch import derived_branch, derived_tip, first_derived_commit, join_commits
from muster.git.errors import Committed, Moved, Refused, RepositoryError
from muster.git.landing.commit import advance, swap_ref
from muster.git.landing.landing import Landed, Tips, land, push_commit
from muster.git.push import RefUpdate, fetch, fetch_missing, remote_tip, tracking
from muster.git.repository import Repository, branch_tip


def find_derived_tips(repository: Repository, tips: Tips) -> Tips | None:
    """Return where derived files land if `tips` are evaluated; None if that is the same branch.

    Without such a branch, `base` is a new commit that no ref has. RepositoryError if a remote that may have the branch
    does not answer.
    """
    branch, remote = derived_branch(repository, tips.base), tips.remote
    if not branch or branch == tips.branch:
        return None
    theirs = None
    if remote is not None and remote_tip(repository, remote=remote, ref=f"refs/heads/{branch}"):
        theirs = fetch(repository, remote=remote, branch=branch)
    local = branch_tip(repository, branch)
    tip = theirs if remote is not None else local
    if tip is None and remote is None:
        if derived_tip(repository, branch) is None:
            fetch_missing(repository, branch)
        tip = derived_tip(repository, branch)
    return Tips(branch, remote, local, theirs, tip or first_derived_commit(repository, tips.base))


def commit_to_evaluate(repository: Repository, tips: Tips, derived: Tips | None) -> str:
    return join_commits(repository, tips.base, derived.base) if derived else tips.base


def land_derived(
    repository: Repository, tips: Tips, derived: Tips, commit: str, record: RefUpdate | None = None
) -> Landed | None:
    """Move the branch to a commit over `derived.base`, and the evaluated branch to what the remote has. With a remote,
    the commit's record is pushed, too.

    None if it moved meanwhile. RepositoryError if the remote rejects the push, or a person's edit is in the way.
    """
    pushed, refused = commit != derived.base, ""
    if pushed and derived.remote is not None:
        done = push_commit(repository, derived, derived.remote, commit, record)
        if done is None:
            return None
        refused = done
        swap_ref(
            repository,
            f"{tracking(repository, derived.remote)}{derived.branch}",
            commit,
            derived.theirs,
            reason="muster",
        )
    if pushed and (derived.remote is None or derived.local is not None):
        moved = _move_local(repository, derived, commit)
        if derived.remote is None and not isinstance(moved, Committed):
            if isinstance(moved, Refused):
                raise RepositoryError(moved.message, moved.hint)
            return None
    landed = land(repository, tips, tips.base) if tips.base == tips.theirs else Landed(tips.local)
    return landed and replace(landed, pushed=pushed and derived.remote is not None, unrecorded=refused)


def _move_local(repository: Repository, derived: Tips, commit: str) -> Committed | Moved | Refused:
    if derived.local is None:
        return swap_ref(repository, f"refs/heads/{derived.branch}", commit, None, reason=f"muster: {commit[:12]}")
    return advance(repository, branch=derived.branch, expected=derived.local, commit=commit)
