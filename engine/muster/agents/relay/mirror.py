"""What the agents of a live hub said, as a relay's branch has it: files by cluster, and which of them wait to be sent.

Only what changed is kept in memory, and of everything else an id: some hundred bytes a file. There is no other state: a
relay that starts compares what it lists with its own last commit.

Nothing is sent before every collection was listed once: a half list would look as if objects had been deleted.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from datetime import datetime
from threading import Lock
from typing import Final

from muster.agents.relay.branch import RelayBranch, stamp
from muster.agents.relay.hub_objects import COLLECTIONS, HubCollection, PassedOver
from muster.data.agentref import COLLECTED, Mandate
from muster.data.snapshot import DEFAULT_LIMITS, AgentLimits
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.git.agents.relays import COMMIT, cluster_folder
from muster.git.errors import RepositoryError
from muster.git.fastimport import remove_command, write_command
from muster.git.repository import ref_tip
from muster.git.store.objects import object_id
from muster.git.trees import list_tree

#: The folders of a cluster and its `.commit` count as files, too.
_BESIDE_FILES: Final = 8
_STAMP_BYTES: Final = 256
#: A cluster, and the path of a file in its folder.
FileKey = tuple[str, str]


@dataclass
class HubMirror:
    """The files of the `clusters` of a hub. Thread-safe.

    Files of a cluster beyond `limits` are left out, because a run would leave out the whole cluster: Lease and status
    never, as they come first.
    """

    branch: RelayBranch
    clusters: Mandate
    clock: Callable[[], datetime]
    collections: Collection[HubCollection] = COLLECTIONS
    limits: AgentLimits = DEFAULT_LIMITS
    _known: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)  # by cluster and path: id and size
    _unsent: dict[str, dict[str, bytes | None]] = field(default_factory=dict)
    _refused: dict[str, dict[str, bytes | None]] = field(default_factory=dict)  # until more of the cluster changes
    _absent: set[HubCollection] = field(default_factory=set)
    _listed: set[HubCollection] = field(default_factory=set)
    _notes: dict[str, str] = field(default_factory=dict)  # by cluster, why something is left out
    _said: dict[str, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def load(self) -> None:
        """Read the files of the last commit. RepositoryError if the fleet's repository does not answer."""
        self.branch.load()
        repository, tip = self.branch.repository, ref_tip(self.branch.repository, self.branch.ref)
        for entry in list_tree(repository, tip) if tip else ():
            folder, _, rest = os.fsdecode(entry.path).partition("/")
            cluster, _, path = rest.partition("/")
            if folder == COLLECTED or path == COMMIT or not path:
                continue
            self._known.setdefault(cluster, {})[path] = entry.oid, entry.size or 0
            if not any(collection.owns(path) for collection in self.collections):
                self._change(cluster, path, None)

    @property
    def is_complete(self) -> bool:
        """Was every collection listed once?"""
        return self._listed.issuperset(self.collections)

    def has_files(self, collection: HubCollection) -> bool:
        """Are there files of a collection?"""
        with self._lock:
            return any(collection.owns(path) for files in self._known.values() for path in files)

    def put(self, collection: HubCollection, body: Tree) -> FileKey | None:
        """Take an object; return where its file is, None for none. PassedOver if the object is not read."""
        cluster, path = collection.file_of(body)
        if cluster not in self.clusters:
            return None
        try:
            content = collection.content(body)
        except PassedOver:
            self.remove(collection, body)
            raise
        with self._lock:
            if content is not None and (why := self._beyond(collection, cluster, path, content)):
                self._notes[cluster] = why
                content = None
            self._change(cluster, path, content)
        return None if content is None else (cluster, path)

    def remove(self, collection: HubCollection, body: Tree) -> None:
        """Remove an object's file. PassedOver if it has none."""
        cluster, path = collection.file_of(body)
        with self._lock:
            self._change(cluster, path, None)

    def listed(self, collection: HubCollection, found: Collection[FileKey], *, absent: bool = False) -> None:
        """Remove the files of a collection that are not among those `found` in a whole list. `absent`: the hub does not
        have the kind."""
        with self._lock:
            for cluster, files in list(self._known.items()):
                for path in [path for path in files if collection.owns(path) and (cluster, path) not in found]:
                    self._change(cluster, path, None)
            self._listed.add(collection)
            (self._absent.add if absent else self._absent.discard)(collection)

    def step(self) -> int:
        """Send what changed; return the number of clusters. RepositoryError if the fleet's repository takes nothing, or
        the API server is none of a hub: the next step sends these changes again."""
        with self._lock:
            if not self.is_complete:
                return 0
            if self._absent.issuperset(collection for collection in self.collections if collection.clusters):
                kinds = ", ".join(
                    f"{collection.kind.plural}.{collection.kind.group}"
                    for collection in self.collections
                    if collection.clusters
                )
                raise RepositoryError(f"the API server has none of {kinds}", "give the kubeconfig of a hub")
            sending = {name: {**self._refused.pop(name, {}), **files} for name, files in self._unsent.items()}
            self._unsent = {}
            gone = {name for name in sending if name not in self._known}
        try:
            refused = self.branch.send({name: self._commands(name, sending[name], name in gone) for name in sending})
        except BaseException:
            with self._lock:
                for name, files in sending.items():
                    self._unsent[name] = {**files, **self._unsent.get(name, {})}
            raise
        with self._lock:
            self._refused |= {name: sending[name] for name in refused}
            self._notes.update((name, f"the fleet's repository refuses it ({why})") for name, why in refused.items())
        return len(sending) - len(refused)

    def new_notes(self) -> list[str]:
        """Return a line for each cluster of which something is left out that was not said yet."""
        with self._lock:
            fresh = {name: why for name, why in self._notes.items() if self._said.get(name) != why}
            self._said = dict(self._notes)
        return [f"{name} is left out, or a part of it: {why}" for name, why in sorted(fresh.items())]

    def counts(self) -> Mapping[str, int]:
        """Return the number of files of each kind."""
        with self._lock:
            paths = [path for files in self._known.values() for path in files]
        counts = Counter(
            collection.kind.name for path in paths for collection in self.collections if collection.owns(path)
        )
        return dict(sorted(counts.items()))

    def _change(self, cluster: str, path: str, content: bytes | None) -> None:
        files = self._known.get(cluster, {})
        id_ = "" if content is None else object_id("blob", content, self.branch.repository.object_format)
        if files.get(path, ("", 0))[0] == id_:
            return
        if content is None:
            del files[path]
            if not files:
                del self._known[cluster]
                self._notes.pop(cluster, None)
        else:
            self._known.setdefault(cluster, files)[path] = id_, len(content)
        self._unsent.setdefault(cluster, {})[path] = content

    def _beyond(self, collection: HubCollection, cluster: str, path: str, content: bytes) -> str:
        """Why a file is beyond the limits; empty if it is not."""
        if collection.is_single:
            return ""
        others = {name: size for name, (_, size) in self._known.get(cluster, {}).items() if name != path}
        if len(others) + _BESIDE_FILES >= self.limits.max_files:
            return f"more than {self.limits.max_files} files"
        size = sum(others.values()) + len(content) + _STAMP_BYTES
        return f"more than {self.limits.max_bytes} bytes" if size > self.limits.max_bytes else ""

    def _commands(self, cluster: str, files: Mapping[str, bytes | None], gone: bool) -> list[bytes]:  # noqa: FBT001
        """The commands that write what changed of a cluster, and when."""
        folder = cluster_folder(cluster)
        if gone:
            return [remove_command(folder)]
        written = [
            remove_command(f"{folder}/{path}") if content is None else write_command(f"{folder}/{path}", content)
            for path, content in sorted(files.items())
        ]
        return [*written, write_command(f"{folder}/{COMMIT}", stamp(self.branch.name, self.clock()))]
