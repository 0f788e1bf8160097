"""What the hub has decided of a cluster, as its agent reads it: one file of the branch that muster reconciles, and one
for each request for a certificate whose answer is waited for; or of the branch that has what is derived, where
`fleet.yaml` names one.

Looked at before each renewal, so it is cheap: the remote is asked where the branch points, and only where that moved,
the newest commit is fetched; where the server allows it none of its files but those. What was fetched before is kept
in a temporary repository, so that the next fetch brings what changed; after a while a new one takes its place, so that
an agent which runs for months leaves nothing behind.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Final

from muster.agents.hub.view import HubView, answer_of, read_body, view_of
from muster.data.ids import ObjectId
from muster.data.kinds import CSR, MANAGED_CLUSTER
from muster.data.locations import SHARDS, derived_path
from muster.data.tree import Tree
from muster.git.apart import derived_branch
from muster.git.errors import RepositoryError
from muster.git.push import fetch_ref, remote_tip, scratch_repository
from muster.git.repository import Repository

_FETCHES: Final = 200  # into one temporary repository


@dataclass
class Hub:
    """The hub's branch, as one agent sees it. `limit_seconds` bounds each exchange; `requests` names those for
    certificates of which an answer is waited for."""

    remote: str
    branch: str
    cluster: str
    environ: Mapping[str, str] = field(repr=False)
    limit_seconds: float = 30.0
    requests: Callable[[], Collection[str]] = tuple
    _tip: str | None = None  # of the branch that is reconciled
    _apart: str = ""  # the branch that has what is derived, where that is another
    _read: str | None = None  # the commit of which the view is
    _view: HubView = field(default_factory=HubView)
    _scratch: Repository | None = None
    _stack: ExitStack = field(default_factory=ExitStack)
    _fetches: int = 0

    def look(self) -> HubView:
        """Return what the branch says of the cluster now; of an unknown one nothing.

        RepositoryError where the hub does not answer, has no such branch, or says what nobody can read: then what was
        known before stands.
        """
        try:
            return self._looked()
        except RepositoryError:
            self.close()  # whatever was wrong, it shall not be wrong for ever
            raise

    def close(self) -> None:
        """Remove the temporary repository. Looking again makes another."""
        self._stack.close()
        self._scratch, self._tip, self._read, self._fetches = None, None, None, 0

    def _looked(self) -> HubView:
        if self._fetches >= _FETCHES:
            self.close()
        if self._scratch is None:
            self._scratch = self._stack.enter_context(
                scratch_repository(
                    {**self.environ, "GIT_TERMINAL_PROMPT": "0"}, self.remote, limit_seconds=self.limit_seconds
                )
            )
            self._scratch.git.output("remote", "add", "hub", self.remote)
        scratch = self._scratch
        tip = self._asked(scratch, self.branch)
        if tip is None:
            raise RepositoryError(f"the hub has no branch {self.branch}", "give the branch that muster reconciles")
        if tip != self._tip:
            self._apart = derived_branch(scratch, self._fetched(scratch, self.branch), self._apart)
            self._tip = tip
        apart = self._asked(scratch, self._apart) if self._apart else None
        if (apart or tip) != self._read:
            self._view = self._view_at(scratch, self._fetched(scratch, self._apart) if apart else tip)
            self._read = apart or tip
        return self._view

    def _asked(self, scratch: Repository, branch: str) -> str | None:
        return remote_tip(scratch, remote=self.remote, ref=f"refs/heads/{branch}", limit_seconds=self.limit_seconds)

    def _fetched(self, scratch: Repository, branch: str) -> str:
        self._fetches += 1
        return fetch_ref(
            scratch, remote="hub", ref=f"refs/heads/{branch}", limit_seconds=self.limit_seconds, shallow=True
        )

    def _view_at(self, scratch: Repository, tip: str) -> HubView:
        body = self._body(scratch, tip, MANAGED_CLUSTER.id(self.cluster))
        bodies = {name: self._body(scratch, tip, CSR.id(name)) for name in self.requests()}
        return replace(
            view_of(body), answers={name: answer_of(body) for name, body in bodies.items() if body is not None}
        )

    def _body(self, scratch: Repository, tip: str, id_: ObjectId) -> Tree:
        """The derived part of an object; None where there is none."""
        for shards in SHARDS:
            path = derived_path(id_, shards)
            # Where the server leaves files out of a fetch, this asks for the one.
            found = scratch.git.run("cat-file", "blob", f"{tip}:{path}", limit_seconds=self.limit_seconds)
            if found.status == 0:
                return read_body(found.stdout, path)
        return None
