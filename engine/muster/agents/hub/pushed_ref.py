"""A cluster's own ref in a remote repository, for an agent that has no clone.

Several agents may share the ref: each adds its own file to those of the others. Every exchange uses a temporary
repository, so that an agent that runs for months leaves nothing behind.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from muster.data.agentref import agent_ref
from muster.dataclass import dataclass
from muster.git.errors import Moved, Rejected, RepositoryError
from muster.git.memory.rootref import NO_CONTENTS, RefContents, RootRef, Seal
from muster.git.push import scratch_repository


@dataclass(frozen=True, slots=True)
class PushedRef:
    """`refs/heads/agents/<cluster>` of `remote`, a URL or a path. `limit_seconds` bounds each exchange.

    Satisfies `muster.git.memory.rootref.Replaceable`.
    """

    remote: str
    cluster: str
    limit_seconds: float
    environ: Mapping[str, str] = field(repr=False)
    seal: Seal | None = None

    @property
    def ref(self) -> str:
        """The full name of the ref."""
        return agent_ref(self.cluster)

    def look(self, known: RefContents = NO_CONTENTS) -> RefContents:
        """Return what the ref holds; `known` itself if it still points there. RepositoryError without an answer."""
        with self._exchange() as ref:
            return ref.look(known)

    def replace(self, known: RefContents, files: Mapping[str, bytes], message: str) -> RefContents | Moved:
        """Replace what the ref holds with `files` and return the result; Moved if it is not at `known` any more.

        RepositoryError if the remote refuses, or does not answer.
        """
        with self._exchange() as ref:
            done = ref.replace(known, files, message)
        if isinstance(done, Rejected):
            raise RepositoryError(f"the remote refuses {self.ref}: {done}", "allow the agent to force-push its own ref")
        return done

    @contextmanager
    def _exchange(self) -> Iterator[RootRef]:
        with scratch_repository(self.environ, self.remote, limit_seconds=self.limit_seconds) as scratch:
            yield RootRef(scratch, self.ref, self.remote, self.limit_seconds, self.seal)
