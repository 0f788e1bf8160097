"""The hub's view of clusters, read from the copy of its branch in a relay's repository."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Final

from muster.agents.hub.view import HubView, answer_of, read_body, view_of
from muster.data.ids import ObjectId
from muster.data.kinds import CSR, MANAGED_CLUSTER
from muster.data.locations import SHARDS, SUFFIX, derived_path, file_name
from muster.data.tree import Tree
from muster.git.changes import changed_paths
from muster.git.derivedbranch import derived_branch
from muster.git.errors import RepositoryError, UnreadableError
from muster.git.identities import certificates_at
from muster.git.objects import Objects
from muster.git.paths import MAX_BLOB_BYTES
from muster.git.repository import Repository, branch_tip

if TYPE_CHECKING:
    from muster.git.signatures.certificate import Issued

#: If more files changed, all views are read again on demand.
_MOST_CHANGES: Final = 1000


@dataclass
class LocalHub:
    """The branch in a local repository, and the branch for derived files if `fleet.yaml` names one. Thread-safe."""

    repository: Repository
    branch: str
    _head: str = ""  # where the branch pointed at the last refresh
    _apart: str = ""  # the branch for derived files, if that is another
    _tip: str = ""  # the commit that has the derived files
    _views: dict[str, HubView] = field(default_factory=dict)
    _issued: Mapping[str, Sequence["Issued"]] | None = None
    _lock: Lock = field(default_factory=Lock)
    _objects: Objects | None = None

    def refresh(self) -> None:
        """Read where the branch points now, and forget the views of objects that changed."""
        head = branch_tip(self.repository, self.branch) or ""
        if head and head != self._head:
            self._head, self._apart = head, derived_branch(self.repository, head, self._apart)
        tip = (branch_tip(self.repository, self._apart) if self._apart else None) or head
        if tip == self._tip:
            return
        changed = self._changed(tip)
        with self._lock:
            views = {} if changed is None else {
                name: view for name, view in self._views.items() if file_name(name) not in changed
            }  # fmt: skip
            self._tip, self._views, self._issued = tip, views, None

    def issued(self, cluster: str) -> Sequence["Issued"]:
        """Return the certificates of a cluster's agents that were valid at the last refresh."""
        with self._lock:  # thousands of threads ask after the branch moved, and one reads
            if self._issued is None:
                self._issued = certificates_at(self.repository, self._tip) if self._tip else {}
            return self._issued.get(cluster, ())

    def knows(self, id_: ObjectId) -> bool:
        """Does the branch have the object, as of the last refresh? RepositoryError if its file cannot be read."""
        with self._lock:
            tip = self._tip
            self._objects = objects = self._objects or Objects(self.repository.git, max_bytes=MAX_BLOB_BYTES)
        return _body(objects, tip, id_) is not None

    def view(self, cluster: str, requests: Collection[str] = ()) -> HubView:
        """Return what the branch says about a cluster and about certificate requests, as of the last refresh.

        RepositoryError if a file cannot be read.
        """
        with self._lock:
            tip, found = self._tip, self._views.get(cluster)
            self._objects = objects = self._objects or Objects(self.repository.git, max_bytes=MAX_BLOB_BYTES)
        if found is None:
            found = view_of(_body(objects, tip, MANAGED_CLUSTER.id(cluster)))
            with self._lock:
                if tip == self._tip:
                    self._views[cluster] = found
        if not requests:
            return found
        bodies = {name: _body(objects, tip, CSR.id(name)) for name in requests}
        return replace(found, answers={name: answer_of(body) for name, body in bodies.items() if body is not None})

    def _changed(self, tip: str) -> frozenset[str] | None:
        """The names of the files that changed; None if they are too many, or unknown."""
        if not self._tip or not tip:
            return None
        try:
            changes = changed_paths(self.repository, self._tip, tip)
        except RepositoryError:
            return None
        names = (change.path.rsplit("/", 1)[-1].removesuffix(SUFFIX) for change in changes)
        return frozenset(names) if len(changes) <= _MOST_CHANGES else None


def _body(objects: Objects, tip: str, id_: ObjectId) -> Tree:
    """The derived part of an object; None if there is none."""
    paths = [derived_path(id_, shards) for shards in SHARDS]
    for path, answer in zip(paths, objects.read([f"{tip}:{path}" for path in paths] if tip else []), strict=False):
        if not isinstance(answer, UnreadableError):
            return read_body(answer.content, path)
    return None
