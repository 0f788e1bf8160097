"""A commit read whole, as tests look at it."""

from collections.abc import Sequence

from muster.data.snapshot import Skipped
from muster.git.agents.refs import AgentRef
from muster.git.repository import Repository, open_repository, resolve
from muster.git.snapshot import CommitSnapshot
from tests.support.git import Repo


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def read(
    repo: Repo, revision: str = "HEAD", refs: Sequence[AgentRef] = ()
) -> tuple[dict[str, bytes], tuple[Skipped, ...]]:
    """Return the content of every file by its label, and what was skipped."""
    repository = opened(repo)
    snapshot = CommitSnapshot(repository, resolve(repository, revision), refs)
    files = {file.label: file.read() for file in snapshot.files()}
    return files, snapshot.skipped
