"""A cluster's own ref in a remote repository, for an agent that has no clone.

Several agents may share the ref: each puts its own file among what the others left there. Every exchange has a
temporary repository of its own, so that an agent which runs for months leaves nothing behind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from muster.gitio.errors import RepositoryError
from muster.gitio.outcomes import Moved, Rejected
from muster.gitio.push import remote_tip, scratch_repository
from muster.gitio.rootref import remote_files, replace_remote
from muster.model.agentref import agent_ref


@dataclass(frozen=True, slots=True)
class Standing:
    """What a ref points at (None: there is no such ref), and the files that this holds."""

    commit: str | None
    files: Mapping[str, bytes]


NOTHING: Final = Standing(None, {})


@dataclass(frozen=True, slots=True)
class OwnRef:
    """`refs/heads/agents/<cluster>` of `remote`, a URL or a path. No exchange takes longer than `limit_seconds`."""

    remote: str
    cluster: str
    limit_seconds: float
    environ: Mapping[str, str] = field(repr=False)

    @property
    def ref(self) -> str:
        """The full name."""
        return agent_ref(self.cluster)

    def look(self, known: Standing = NOTHING) -> Standing:
        """Return what the ref holds; `known` itself where it still points there. RepositoryError without an answer."""
        where, limit = self.remote, self.limit_seconds
        with scratch_repository(self.environ, where, limit_seconds=limit) as scratch:
            if known.commit and remote_tip(scratch, remote=where, ref=self.ref, limit_seconds=limit) == known.commit:
                return known
            return Standing(*remote_files(scratch, remote=where, ref=self.ref, limit_seconds=limit))

    def replace(self, standing: Standing, files: Mapping[str, bytes], message: str) -> Standing | None:
        """Replace what the ref holds by `files` and return that; None where it is not at `standing` any more.

        RepositoryError where the remote refuses, or does not answer.
        """
        with scratch_repository(self.environ, self.remote, limit_seconds=self.limit_seconds) as scratch:
            done = replace_remote(
                scratch, remote=self.remote, ref=self.ref, expected=standing.commit, files=files, message=message,
                limit_seconds=self.limit_seconds,
            )  # fmt: skip
        if isinstance(done, Rejected):
            said = f": {done.text}" if done.text else ""
            raise RepositoryError(
                f"the remote refuses {self.ref} ({done.reason}){said}", "let the agent force-push its own ref"
            )
        return None if isinstance(done, Moved) else Standing(done.commit, files)
