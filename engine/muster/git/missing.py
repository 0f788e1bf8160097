"""A branch that is not here is fetched from the remote that has it: a clone of a single branch, as CI makes it, lacks
the one on which `derived/` lies."""

from muster.git.config import remotes
from muster.git.push import LIMIT_SECONDS, fetch_ref, remote_tip
from muster.git.repository import Repository


def fetch_missing(repository: Repository, branch: str, *, limit_seconds: float = LIMIT_SECONDS) -> None:
    """Fetch a branch from the first remote that has it, if any. RepositoryError where a remote does not answer: what it
    has would look as if it were nowhere."""
    for remote in remotes(repository):
        ref = f"refs/heads/{branch}"
        if remote_tip(repository, remote=remote, ref=ref, limit_seconds=limit_seconds):
            fetch_ref(repository, remote=remote, ref=ref, limit_seconds=limit_seconds)
            return
