"""What the hub has decided of clusters, read from a copy of its branch: for a relay, whom thousands ask."""

from dataclasses import dataclass, field
from threading import Lock

from muster.agent.hub import View, read_body, view_of
from muster.gitio.errors import UnreadableError
from muster.gitio.objects import Objects
from muster.gitio.paths import MAX_BLOB_BYTES
from muster.gitio.repository import Repository, branch_tip
from muster.model.kinds import MANAGED_CLUSTER
from muster.model.locations import SHARDS, derived_path


@dataclass
class HubCopy:
    """The branch in a repository here. Safe to ask from many threads."""

    repository: Repository
    branch: str
    _tip: str = ""
    _views: dict[str, View] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _objects: Objects | None = None

    def turn(self) -> None:
        """Look where the branch points now; what was read of another commit is forgotten."""
        tip = branch_tip(self.repository, self.branch) or ""
        with self._lock:
            if tip != self._tip:
                self._tip, self._views = tip, {}

    def view(self, cluster: str) -> View:
        """Return what the branch says of a cluster, as of the last turn. RepositoryError where nobody can read it."""
        with self._lock:
            tip, found = self._tip, self._views.get(cluster)
            self._objects = objects = self._objects or Objects(self.repository.git, max_bytes=MAX_BLOB_BYTES)
        if found is None:
            found = self._read(objects, tip, cluster)
            with self._lock:
                if tip == self._tip:
                    self._views[cluster] = found
        return found

    def _read(self, objects: Objects, tip: str, cluster: str) -> View:
        paths = [derived_path(MANAGED_CLUSTER.id(cluster), shards) for shards in SHARDS]
        for path, answer in zip(paths, objects.read([f"{tip}:{path}" for path in paths] if tip else []), strict=False):
            if not isinstance(answer, UnreadableError):
                return view_of(read_body(answer.content, path))
        return View()
