"""The hub's view of clusters, read from the copy of its branch in a relay's repository."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias

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
from muster.data.kinds import CSR, MANAGED_CLUSTER, MANIFEST_WORK
from muster.data.locations import FOLDER, SHARDS, SUFFIX, derived_path, file_name
from muster.data.tree import Tree, digest_of
from muster.dataclass import dataclass
from muster.git.agents.identities import certificates_at
from muster.git.changes import changed_paths
from muster.git.derivedbranch import derived_branch
from muster.git.errors import RepositoryError, UnreadableError
from muster.git.repository import Repository, branch_tip
from muster.git.store.entries import DIRECTORY
from muster.git.store.objects import Objects, raw_entries

if TYPE_CHECKING:
    from muster.git.signatures.certificate import Issued

#: If more files changed, all views are read again on demand.
_MOST_CHANGES: Final = 1000
WORKS: Final = f"{FOLDER}{MANIFEST_WORK.folder}"


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
    _all_works: tuple[str, "_Folder"] = ("", {})  # the folder of all works, and the commit that it was read at

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
            views = (
                {}
                if changed is None
                else {name: view for name, view in self._views.items() if file_name(name) not in changed}
            )
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
        return _body(self.repository.objects, tip, id_) is not None

    def view(self, cluster: str, requests: Collection[str] = (), *, known_works: str | None = None) -> HubView:
        """Return what the branch says about a cluster and about certificate requests, as of the last refresh.

        With `known_works` its ManifestWorks as well, without their bodies if that is their digest.
        RepositoryError if a file cannot be read.
        """
        with self._lock:
            tip, view = self._tip, self._views.get(cluster)
        if view is None:
            view = view_of(_body(self.repository.objects, tip, MANAGED_CLUSTER.id(cluster)))
            with self._lock:
                if tip == self._tip:
                    self._views[cluster] = view
        if known_works is not None and view.accepted:
            view = replace(view, works=self._works(self.repository.objects, tip, cluster, known_works))
        if not requests:
            return view
        bodies = {name: _body(self.repository.objects, tip, CSR.id(name)) for name in requests}
        return replace(view, answers={name: answer_of(body) for name, body in bodies.items() if body is not None})

    def _works(self, objects: Objects, tip: str, cluster: str, known: str) -> ClusterWorks:
        """The works of a cluster; without their bodies if they have the digest `known`."""
        id_bytes = self.repository.id_bytes
        at, listed = self._all_works
        if at != tip:
            listed = _subfolder(objects, _folder(objects, f"{tip}^{{tree}}", id_bytes), WORKS, id_bytes)
            self._all_works = (tip, listed)
        paths = _work_ids(objects, listed, cluster, id_bytes)
        digest = digest_of(sorted(paths))
        return ClusterWorks(digest, {}) if digest == known else works_of(cluster, digest, _bodies(objects, paths))

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


#: A folder: by name, mode and id.
_Folder: TypeAlias = dict[bytes, tuple[bytes, str]]


def _folder(objects: Objects, tree: str, id_bytes: int) -> _Folder:
    """The entries of a tree. RepositoryError if it cannot be read: lost is not the same as absent."""
    (answer,) = objects.read([tree])
    if isinstance(answer, UnreadableError):
        raise RepositoryError("a folder of the hub cannot be read", "the relay has to fetch the hub anew")
    return {name: (mode, oid) for mode, name, oid in raw_entries(answer.content, id_bytes)}


def _subfolder(objects: Objects, folder: _Folder, path: str, id_bytes: int) -> _Folder:
    """The folder at a path below another; empty if there is none."""
    for step in path.split("/"):
        mode, oid = folder.get(step.encode(), (b"", ""))
        if mode != DIRECTORY:
            return {}
        folder = _folder(objects, oid, id_bytes)
    return folder


def _work_ids(objects: Objects, all_works: _Folder, cluster: str, id_bytes: int) -> dict[str, str]:
    """The paths of the works of a cluster by the ids of their contents."""
    ids = dict[str, str]()
    for folder in work_folders(cluster):
        entries = _subfolder(objects, all_works, folder.removeprefix(f"{WORKS}/"), id_bytes)
        for name, (mode, oid) in entries.items():
            if is_work_file(mode, name):
                ids[oid] = f"{folder}/{name.decode(errors='replace')}"
    return ids


def _bodies(objects: Objects, paths: Mapping[str, str]) -> Iterator[Tree]:
    for path, answer in zip(paths.values(), objects.read(list(paths)), strict=True):
        if isinstance(answer, UnreadableError):
            raise RepositoryError(f"{path} of the hub cannot be read", "the relay has to fetch the hub anew")
        yield read_body(answer.content, path)
