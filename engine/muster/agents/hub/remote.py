"""The hub's view of a cluster, read from a remote repository.

The agent reads the cluster's derived file, and one for each pending certificate request, from the branch that muster
reconciles, or from the branch for derived files if `fleet.yaml` names one.

Reading is cheap, because it comes before each renewal: the agent asks the remote where the branch points, and fetches
only if it moved: the newest commit, and no other files if the server supports that. A temporary repository keeps what
was fetched, so that the next fetch transfers only changes; it is replaced after a while, so that an agent that runs for
months leaves nothing behind.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import field, replace
from typing import Final

from muster.agents.hub.view import (
    ClusterWorks,
    HubView,
    answer_of,
    is_work_file,
    read_body,
    view_of,
    work_folders,
    works_of,
)
from muster.data.ids import ObjectId
from muster.data.kinds import CSR, MANAGED_CLUSTER
from muster.data.locations import SHARDS, derived_path
from muster.data.tree import Tree, digest_of
from muster.dataclass import dataclass
from muster.git.derivedbranch import derived_branch
from muster.git.errors import RepositoryError
from muster.git.push import fetch_ref, remote_tip, scratch_repository
from muster.git.repository import Repository

_FETCHES: Final = 200  # into one temporary repository


@dataclass
class RemoteHub:
    """The hub's branch, as one agent sees it.

    `limit_seconds` bounds each exchange; `requests` returns the names of certificate requests whose answers are read.
    `with_works`: read the cluster's ManifestWorks, too.
    """

    remote: str
    branch: str
    cluster: str
    environ: Mapping[str, str] = field(repr=False)
    limit_seconds: float = 30.0
    requests: Callable[[], Collection[str]] = tuple
    with_works: bool = False
    _tip: str | None = None  # of the branch that is reconciled
    _apart: str = ""  # the branch for derived files, if that is another
    _read: str | None = None  # the commit that `_view` was read from
    _view: HubView = field(default_factory=HubView)
    _works: dict[str, Tree] = field(default_factory=dict)  # by the id of their content
    _scratch: Repository | None = None
    _stack: ExitStack = field(default_factory=ExitStack)
    _fetches: int = 0

    def look(self) -> HubView:
        """Return what the branch says about the cluster now; an empty view for an unknown cluster.

        RepositoryError if the hub does not answer, has no such branch, or has an unreadable file: the previous view
        stays valid.
        """
        try:
            return self._look()
        except RepositoryError:
            self.close()  # the cause may lie in the temporary repository
            raise

    def close(self) -> None:
        """Remove the temporary repository. The next `look` creates another."""
        self._stack.close()
        self._scratch, self._tip, self._read, self._fetches = None, None, None, 0

    def _look(self) -> HubView:
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
        tip = self._remote_tip(scratch, self.branch)
        if tip is None:
            raise RepositoryError(f"the hub has no branch {self.branch}", "give the branch that muster reconciles")
        if tip != self._tip:
            self._apart = derived_branch(scratch, self._fetch(scratch, self.branch), self._apart)
            self._tip = tip
        apart = self._remote_tip(scratch, self._apart) if self._apart else None
        if (apart or tip) != self._read:
            self._view = self._view_at(scratch, self._fetch(scratch, self._apart) if apart else tip)
            self._read = apart or tip
        return self._view

    def _remote_tip(self, scratch: Repository, branch: str) -> str | None:
        return remote_tip(scratch, remote=self.remote, ref=f"refs/heads/{branch}", limit_seconds=self.limit_seconds)

    def _fetch(self, scratch: Repository, branch: str) -> str:
        self._fetches += 1
        return fetch_ref(
            scratch, remote="hub", ref=f"refs/heads/{branch}", limit_seconds=self.limit_seconds, shallow=True
        )

    def _view_at(self, scratch: Repository, tip: str) -> HubView:
        body = self._body(scratch, tip, MANAGED_CLUSTER.id(self.cluster))
        bodies = {name: self._body(scratch, tip, CSR.id(name)) for name in self.requests()}
        view = view_of(body)
        answers = {name: answer_of(body) for name, body in bodies.items() if body is not None}
        # Without the cluster's own file, the folder of its works may be missing for the same reason.
        works = self._works_at(scratch, tip) if self.with_works and view.accepted else None
        return replace(view, answers=answers, works=works)

    def _works_at(self, scratch: Repository, tip: str) -> ClusterWorks:
        known, self._works = self._works, {}
        for folder in work_folders(self.cluster):
            listed = scratch.git.run("ls-tree", "-z", tip, f"{folder}/", limit_seconds=self.limit_seconds)
            if listed.status:
                raise RepositoryError("the works of the hub cannot be listed", "try again")
            for record in listed.stdout.split(b"\0"):
                head, _, path = record.partition(b"\t")
                if is_work_file(head, path):
                    oid = head.split()[-1].decode()
                    self._works[oid] = known[oid] if oid in known else self._blob(scratch, oid, path)
        return works_of(self.cluster, digest_of(sorted(self._works)), self._works.values())

    def _blob(self, scratch: Repository, oid: str, path: bytes) -> Tree:
        done = scratch.git.run("cat-file", "blob", oid, limit_seconds=self.limit_seconds)
        if done.status:
            raise RepositoryError(f"{path.decode(errors='replace')} of the hub cannot be read", "try again")
        return read_body(done.stdout, path.decode(errors="replace"))

    def _body(self, scratch: Repository, tip: str, id_: ObjectId) -> Tree:
        """The derived part of an object; None if there is none."""
        for shards in SHARDS:
            path = derived_path(id_, shards)
            # If the server left files out of the fetch, this fetches the one.
            done = scratch.git.run("cat-file", "blob", f"{tip}:{path}", limit_seconds=self.limit_seconds)
            if done.status == 0:
                return read_body(done.stdout, path)
        return None
