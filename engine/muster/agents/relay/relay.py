"""A relay: the reports of many agents become one commit on one branch, `relays/<relay>`, of the fleet's repository.

Agents push to the relay's own repository, each to its own branch, as they would push to the hub; or they send their
files over HTTP (`muster.agents.relay.server`). All changes go into the next commit
(`muster.git.agents.relays` defines its form), so the hub receives at most one push a second, however many
agents there are.

One agent cannot silence the others: the relay forwards only what git servers accept, however strictly they check. If
the hub refuses a push nevertheless, the relay finds out which agents are refused (`branch`), reports these agents, and
sends the rest.

The relay also copies the hub's branch into its repository, where agents read whether they are accepted and how long
their leases last. It keeps no other state: what it sent last is in its own commit.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from itertools import groupby
from threading import Lock
from time import monotonic
from typing import Final, TypeAlias

from muster.agents.relay.branch import RelayBranch, stamp
from muster.agents.relay.collected import CollectedFiles
from muster.data.agentref import COLLECTED, is_cluster_name
from muster.data.snapshot import DEFAULT_LIMITS, AgentLimits
from muster.dataclass import dataclass
from muster.git.agents.refs import AgentFiles, AgentRef
from muster.git.agents.relays import COMMIT, cluster_folder, copy_commands
from muster.git.derivedbranch import derived_branch
from muster.git.errors import Moved, UnreadableError
from muster.git.fastimport import remove_command, tree_command, write_command
from muster.git.memory.rootref import NO_CONTENTS, RefContents
from muster.git.push import fetch, remote_tip
from muster.git.repository import Repository, ref_tip
from muster.git.store.objects import Objects, commit_tree, object_id, raw_entries, tree_id
from muster.git.trees import AgentEntry

_AGENTS: Final = "refs/heads/agents/"
#: A step that takes longer has probably come to a halt.
_LONGEST_STEP_SECONDS: Final = 900.0
#: Stands among clusters for what collectors say; no cluster has this name.
_COLLECTORS: Final = f"~{COLLECTED}"
#: By cluster: the id of its files (empty if they are gone), and the fast-import commands that write them.
_Changes: TypeAlias = Mapping[str, tuple[str, list[bytes]]]


@dataclass
class Relay:
    """The relay `name` between `repository`, to which agents push, and the `remote` that muster reads.

    Files of an agent beyond `limits` are left out. `clock` returns the present.
    """

    repository: Repository
    name: str
    remote: str
    branch: str
    clock: Callable[[], datetime]
    limits: AgentLimits = DEFAULT_LIMITS
    limit_seconds: float = 30.0
    _sent: dict[str, str] | None = None  # by cluster, the id of the files that were sent
    _initial: dict[str, str] | None = None  # by cluster, its folder in the branch when the relay started
    _posted: dict[str, Mapping[str, bytes]] = field(default_factory=dict)
    _unsent: set[str] = field(default_factory=set)
    _present: set[str] = field(default_factory=set)  # clusters whose branches existed at the last step
    _excluded: dict[str, str] = field(default_factory=dict)  # by cluster, why it is left out
    _announced: dict[str, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _stepped: float = field(default_factory=monotonic)  # when a step last began or ended
    is_ready: bool = False  # did the hub take the last step?

    def __post_init__(self) -> None:
        self._branch = RelayBranch(self.repository, self.name, self.remote, self.limit_seconds)
        #: What collectors say; known once the relay has fetched the hub.
        self.collected = CollectedFiles(self.repository, self.limits)

    @property
    def ref(self) -> str:
        """The full name of the branch that the relay writes."""
        return self._branch.ref

    def fetch_hub(self) -> None:
        """Copy the hub's branch, and its branch for derived files if that is another.

        RepositoryError if the hub does not answer.
        """
        tip = self._fetch_branch(self.branch)
        apart = derived_branch(self.repository, tip) if tip else ""
        ref = f"refs/heads/{apart}"
        if apart and remote_tip(self.repository, remote=self.remote, ref=ref, limit_seconds=self.limit_seconds):
            self._fetch_branch(apart)
        self._load_sent()

    def look(self, cluster: str) -> RefContents:
        """Return the files of a cluster that reports over HTTP; `commit` is their digest."""
        with self._lock:
            if cluster not in self._posted:
                self._posted[cluster] = self._initial_files(cluster)
            files = self._posted[cluster]
        return RefContents(files_digest(files), files) if files else NO_CONTENTS

    def post(self, cluster: str, expected: str | None, files: Mapping[str, bytes]) -> RefContents | Moved:
        """Take the files of a cluster over HTTP, for the next commit; they replace those with the digest `expected`.

        ValueError if they are too large, or include a signed commit of other files.
        """
        size = sum(map(len, files.values()))
        if size > self.limits.max_bytes or len(files) > self.limits.max_files:
            raise ValueError(f"more than {self.limits.max_bytes} bytes or {self.limits.max_files} files")
        self._check_signed_commit(files)
        contents = self.look(cluster)
        with self._lock:
            if contents.commit != expected or self._posted.get(cluster) not in (None, contents.files):
                return Moved(contents.commit)
            self._posted[cluster] = files
            self._unsent.add(cluster)
        return RefContents(files_digest(files), files)

    def step(self) -> int:
        """Send all changes and return the number of clusters sent.

        RepositoryError if the hub takes nothing: the next step sends these changes again.
        """
        self._stepped = monotonic()
        try:
            done = self._step()
            self.is_ready = True
        except BaseException:
            self.is_ready = False
            raise
        finally:
            self._stepped = monotonic()
        return done

    @property
    def is_alive(self) -> bool:
        """Does the relay take steps? Failed steps count."""
        return monotonic() - self._stepped <= _LONGEST_STEP_SECONDS

    def new_exclusions(self) -> list[str]:
        """Return a line for each agent that is left out and was not announced yet."""
        fresh = {cluster: why for cluster, why in self._excluded.items() if self._announced.get(cluster) != why}
        self._announced = dict(self._excluded)
        return [f"agents/{cluster} is left out: {why}" for cluster, why in sorted(fresh.items())]

    def _step(self) -> int:
        sent = self._load_sent()
        tips = self._agent_tips()
        with self._lock:
            posted = {cluster: self._posted[cluster] for cluster in self._unsent}
            self._unsent = set()
        try:
            changes = dict(self._changes(sent, tips, posted))
            refused = self._branch.send({cluster: lines for cluster, (_, lines) in changes.items()})
        except BaseException:
            with self._lock:
                self._unsent |= posted.keys()
            raise
        self._excluded.update((cluster, f"the hub refuses it ({reason})") for cluster, reason in refused.items())
        for cluster, (id_, _) in changes.items():  # refused changes are not sent again
            sent.pop(cluster, None)
            if id_:
                sent[cluster] = id_
        return len(changes) - len(refused)

    def _fetch_branch(self, branch: str) -> str | None:
        tip = fetch(self.repository, remote=self.remote, branch=branch, limit_seconds=self.limit_seconds)
        if tip is not None and tip != ref_tip(self.repository, f"refs/heads/{branch}"):
            self.repository.git.output("update-ref", f"refs/heads/{branch}", tip)
        return tip

    def _check_signed_commit(self, files: Mapping[str, bytes]) -> None:
        """ValueError if a signed commit has other files: the hub would refuse it and could not tell the agent."""
        signed = files.get(COMMIT)
        if signed is None:
            return
        others = {path: content for path, content in files.items() if path != COMMIT}
        id_ = tree_id(others, self.repository.object_format)
        if commit_tree(signed) != id_:
            raise ValueError(f"{COMMIT} is not a commit of the files beside it, which are the tree {id_}")

    def _changes(
        self, sent: Mapping[str, str], tips: Mapping[str, str], posted: Mapping[str, Mapping[str, bytes]]
    ) -> Iterator[tuple[str, tuple[str, list[bytes]]]]:
        """The changes since the last step, as items of `_Changes`."""
        # Only a branch that disappears while the relay runs is gone: a new repository has no branches yet.
        for cluster in sorted((self._present & sent.keys()) - tips.keys() - posted.keys()):
            yield cluster, ("", [remove_command(cluster_folder(cluster))])
        self._present = set(tips)
        moved = {cluster: commit for cluster, commit in tips.items() if sent.get(cluster) != commit}
        self._excluded = {name: why for name, why in self._excluded.items() if name not in moved and name not in posted}
        yield from self._branch_changes(moved)
        heard = stamp(self.name, now := self.clock())
        for cluster, files in posted.items():
            folder = cluster_folder(cluster)
            placed = sorted({COMMIT: heard, **files}.items())
            lines = [remove_command(folder), *(write_command(f"{folder}/{path}", content) for path, content in placed)]
            yield cluster, (f"http {int(now.timestamp())}", lines)
        tree = self.collected.tree
        if tree != sent.get(_COLLECTORS, ""):
            yield _COLLECTORS, (tree, [remove_command(COLLECTED), *([tree_command(COLLECTED, tree)] if tree else ())])

    def _branch_changes(self, moved: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, list[bytes]]]]:
        refs = [AgentRef(f"{_AGENTS}{cluster}", commit) for cluster, commit in moved.items()]
        listing = AgentFiles(self.repository.objects, refs, self.limits)
        self._excluded |= {skip.ref.removeprefix("agents/"): skip.detail for skip in listing.skipped if not skip.path}
        files = {ref: list(files_of_ref) for ref, files_of_ref in groupby(listing.found, lambda file: file.ref)}
        for (cluster, commit), answer in zip(
            moved.items(), self.repository.objects.read(list(moved.values())), strict=True
        ):
            if isinstance(answer, UnreadableError) or cluster in self._excluded:
                continue
            try:
                files_of_ref = files.get(f"agents/{cluster}", ())
                yield cluster, (commit, self._folder_commands(cluster, answer.content, files_of_ref))
            except ValueError as error:
                self._excluded[cluster] = str(error)

    def _folder_commands(self, cluster: str, commit: bytes, files: Sequence[AgentEntry]) -> list[bytes]:
        """The commands that write the folder of an agent's commit. ValueError if no relay may forward it."""
        tree = commit_tree(commit)
        if not tree:
            raise ValueError("its branch does not point at a commit")
        if len(commit) > self.limits.max_bytes:
            raise ValueError(f"its commit has {len(commit)} bytes, more than {self.limits.max_bytes}")
        folder = cluster_folder(cluster)
        lines = copy_commands(folder, tree, files)
        return [remove_command(folder), *lines, write_command(f"{folder}/{COMMIT}", commit)]

    def _agent_tips(self) -> dict[str, str]:
        """By cluster, the tip of its agent's branch in the relay's repository."""
        listing = self.repository.git.output("for-each-ref", "--format=%(objectname) %(refname)", _AGENTS)
        rows = (line.partition(" ") for line in listing.decode("utf-8", "surrogateescape").splitlines())
        named = ((name.removeprefix(_AGENTS), commit) for commit, _, name in rows)
        return {cluster: commit for cluster, commit in named if is_cluster_name(cluster)}

    def _initial_files(self, cluster: str) -> Mapping[str, bytes]:
        """The files of a cluster when the relay started. Later ones are in memory."""
        if self._initial is None:
            self._initial = dict(self._branch.folders())
        tree = self._initial.get(cluster)
        return {} if tree is None else dict(_read_folder(self.repository.objects, tree))

    def _load_sent(self) -> dict[str, str]:
        """By cluster, the id of the files that were sent; read from the last commit when the relay starts."""
        if self._sent is None:
            self._branch.load()
            folders = self._branch.folders()
            answers = self.repository.objects.read([f"{tree}:{COMMIT}" for _, tree in folders])
            pairs = zip(folders, answers, strict=True)
            self._sent = {cluster: _commit_id(self.repository, answer) for (cluster, _), answer in pairs}
            if tree := ref_tip(self.repository, f"{self.ref}:{COLLECTED}"):
                self.collected.restore(tree)
                self._sent[_COLLECTORS] = tree
        return self._sent


def _read_folder(objects: Objects, tree: str, folder: str = "") -> Iterator[tuple[str, bytes]]:
    """The files below a folder of the relay's branch, all of which are small."""
    (answer,) = objects.read([tree])
    if isinstance(answer, UnreadableError):
        return
    for mode, name, oid in raw_entries(answer.content, len(tree) // 2):
        path = folder + name.decode("utf-8", "surrogateescape")
        if mode == b"40000":
            yield from _read_folder(objects, oid, f"{path}/")
        else:
            content = objects.blob(oid)
            if path != COMMIT or not _has_no_tree(content):
                yield path, content


def _has_no_tree(commit: bytes) -> bool:
    """Is this the commit of files that came over HTTP?"""
    tree = commit_tree(commit)
    return tree != "" and not tree.strip("0")


def files_digest(files: Mapping[str, bytes]) -> str:
    """Return a digest of files, their paths and contents."""
    text = json.dumps({path: content.decode("utf-8", "backslashreplace") for path, content in sorted(files.items())})
    return hashlib.sha256(text.encode()).hexdigest()


def _commit_id(repository: Repository, answer: object) -> str:
    """The id of an agent's commit, from its content."""
    content = getattr(answer, "content", b"")
    if _has_no_tree(content):
        return "http "
    return object_id("commit", content, repository.object_format)
