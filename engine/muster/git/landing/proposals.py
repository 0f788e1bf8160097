"""The branches on which effects are proposed, here or on a remote: what they hold, and moving them by compare-and-swap.

muster marks its commits there by a trailer with a digest of the proposed file. muster may move a branch as long as it
has only such commits, and merges of the branch it was made from; if a person commits anything else there, or amends
such a commit with another content, the branch is theirs. The branch alone tells, so no engine has to remember what
another one pushed.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from muster.data.agentref import BRANCHES, approval_file, proposal_branch
from muster.data.names import is_short_label
from muster.dataclass import dataclass
from muster.git.changes import changed_paths
from muster.git.errors import Committed, Moved, Pushed, Rejected
from muster.git.fastimport import build_commit
from muster.git.landing.commit import swap_ref
from muster.git.log import read_log
from muster.git.mergebase import merge_base
from muster.git.push import LIMIT_SECONDS, fetch_ref, list_remote_refs, push_ref, tracking
from muster.git.repository import Repository, blob_at, checkouts, has_commit, list_refs, shallow_commits

TRAILER: Final = "Muster-Proposal"
_HEADS: Final = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Branches:
    """The proposals of a repository, or of a remote if one is named."""

    repository: Repository
    remote: str | None

    def tips(self) -> Mapping[str, str]:
        """Return the head of each topic's branch. RepositoryError if the remote does not answer."""
        return dict(self._remote() if self.remote is not None else self._here())

    def among(self, refs: Collection[str]) -> bool:
        """Is any of these refs a proposal's branch; with a remote, a copy of one that the remote had?"""
        prefix = _HEADS if self.remote is None else tracking(self.repository, self.remote)
        return any(topic_of(f"{_HEADS}{name.removeprefix(prefix)}") for name in refs if name.startswith(prefix))

    def _here(self) -> Iterator[tuple[str, str]]:
        for name, commit in list_refs(self.repository, f"{_HEADS}{BRANCHES}").items():
            if topic := topic_of(name):
                yield topic, commit

    def _remote(self) -> Iterator[tuple[str, str]]:
        for name, commit in list_remote_refs(
            self.repository, self.remote or "", (f"{_HEADS}{BRANCHES}*",), LIMIT_SECONDS
        ):
            if topic := topic_of(name):
                yield topic, commit

    def bring(self, topic: str, tip: str, head: str) -> None:
        """Fetch the commits of a topic's branch, back to where it left the branch it is proposed to."""
        if self.remote is not None and not has_commit(self.repository.git, tip):
            fetch_ref(self.repository, remote=self.remote, ref=f"{_HEADS}{proposal_branch(topic)}")
        if self.remote is not None and shallow_commits(self.repository):
            merge_base(self.repository, tip, head, ask=True)

    def build(self, topic: str, content: str, message: str, head: str) -> str:
        """Make the commit that proposes a content on top of the branch's head."""
        trailer = f"{TRAILER}: {_digest(content.encode())}"
        return build_commit(self.repository, {approval_file(topic): content}, f"{message}\n\n{trailer}\n", head)

    def proposes(self, topic: str, tip: str, content: str, head: str) -> bool:
        """Does a branch propose a content, so that it can be merged?"""
        file = approval_file(topic)
        if blob_at(self.repository, tip, file) != content.encode():
            return False
        base = self.repository.git.line("merge-base", head, tip)
        return base is not None and blob_at(self.repository, base, file) == blob_at(self.repository, head, file)

    def is_own(self, topic: str, tip: str, head: str) -> bool:
        """Does a branch contain nothing of people's beyond the branch it is proposed to?"""
        file = approval_file(topic)
        log = read_log(self.repository, f"{head}..{tip}", no_merges=True, trailer=TRAILER)
        digests = [logged.trailers for logged in log]
        if not digests:
            return True
        base = merge_base(self.repository, tip, head, ask=False)
        content = blob_at(self.repository, tip, file)
        return (
            all(digests)
            and content is not None
            and _digest(content) in digests
            and {change.path for change in changed_paths(self.repository, base, tip)} == {file}
        )

    def move(
        self, topic: str, new: str | None, expected: str | None, options: Sequence[str] = ()
    ) -> Committed | Pushed | Moved | Rejected:
        """Point a topic's branch at a commit, or remove it, if it is where it is expected (None: nowhere)."""
        ref = f"{_HEADS}{proposal_branch(topic)}"
        if self.remote is not None:
            return push_ref(
                self.repository, remote=self.remote, ref=ref, new=new or "", expected=expected, options=options
            )
        if checkouts(self.repository, proposal_branch(topic)):
            return Rejected("it is checked out", "")
        return swap_ref(self.repository, ref, new or self.repository.null_id, expected, reason="muster")


def topic_of(ref: str) -> str:
    """Return the topic of a branch by its full name; empty if it proposes nothing."""
    topic = ref.removeprefix(f"{_HEADS}{BRANCHES}")
    return topic if topic != ref and is_short_label(topic) else ""


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
