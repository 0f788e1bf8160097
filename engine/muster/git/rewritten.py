"""Histories that were rewritten: whether a remote has dropped what it had, and what a local branch would lose with it.

What the remote had is kept under `refs/muster/rewritten/`, the last time of each branch: so it is known at the next
look, too, and nothing is lost.
"""

import os
from contextlib import closing

from muster.git.commit import swap_ref
from muster.git.enginecommits import EngineCommits
from muster.git.repository import LOG, Repository, is_ancestor, ref_tip

#: More are not told apart from people's.
_MOST = 1000


def kept_ref(branch: str) -> str:
    """Where it is kept what a remote's branch had before it was rewritten."""
    return f"refs/muster/rewritten/{branch}"


def note_rewriting(repository: Repository, branch: str, before: str | None, now: str | None) -> None:
    """Keep what the remote's branch had `before`, if it has dropped that `now`."""
    if before and now and before != now and not is_ancestor(repository, before, now):
        ref = kept_ref(branch)
        swap_ref(repository, ref, before, ref_tip(repository, ref), reason="muster: the remote was rewritten")


def has_dropped(repository: Repository, branch: str, local: str, theirs: str) -> bool:
    """Tell whether the local branch has commits that the remote had once, and has no more."""
    kept = ref_tip(repository, kept_ref(branch))
    if kept is None:
        return False
    here = _count(repository, local, "--not", theirs)
    return here > _count(repository, local, "--not", theirs, kept)


def peoples_commits(repository: Repository, branch: str, local: str, theirs: str) -> tuple[str, ...]:
    """Return what the local branch has, the remote neither has nor had, and muster has not made: `id subject` each.

    muster's own can be made again.
    """
    kept = ref_tip(repository, kept_ref(branch))
    which = (local, "--not", theirs, *([kept] if kept else []))
    listing = repository.git.output(*LOG, f"--max-count={_MOST}", "--format=%H %s", *which)
    told = [line.partition(" ") for line in os.fsdecode(listing).split("\n") if line]
    with closing(EngineCommits(repository, theirs)) as engine:
        own = engine.among([id_ for id_, _, _ in told])
    return tuple(f"{id_[:12]} {subject}" for id_, _, subject in told if id_ not in own)


def _count(repository: Repository, *which: str) -> int:
    return int(repository.git.output("rev-list", "--count", *which))
