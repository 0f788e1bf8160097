"""A relay: what many agents say becomes one commit on one branch, `relays/<relay>`, of the fleet's repository.

Agents push to a repository of the relay's, each to its own branch, as they would to the hub; or they send what they say
over HTTP (`muster.agents.relay.server`). Whatever is new goes into the next commit (`muster.git.relayed` has its form):
the hub gets a push a second at the most, however many agents there are. The branch has a short history, which begins
anew again and again: without any, git would send the whole tree each time, and with a whole one heartbeats would stay.

One agent cannot silence the others: what it says is carried only if git servers take it, however strictly they check.
Where the hub refuses a push all the same, the relay halves it until it knows whose words are refused, names these
agents, and sends the rest.

The relay also keeps the hub's branch in its repository, where agents look whether they are accepted and how long their
leases last. It keeps nothing else: what it said last stands in its own commit.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, groupby
from threading import Lock
from time import monotonic
from typing import Final, TypeAlias

from muster.data.agentref import RELAYS, is_cluster_name
from muster.data.snapshot import DEFAULT_LIMITS, AgentLimits
from muster.git.agents import AgentFiles, AgentRef
from muster.git.apart import derived_branch
from muster.git.errors import Moved, Rejected, RepositoryError, UnreadableError
from muster.git.importing import build_changed, removed, written
from muster.git.log import count_commits
from muster.git.objects import Objects, object_id, tree_id
from muster.git.paths import MAX_BLOB_BYTES
from muster.git.push import fetch, fetch_ref, push_ref, remote_tip
from muster.git.relayed import COMMIT, folder_of, placed_files, relayed_clusters
from muster.git.repository import Repository, ref_tip
from muster.git.rootref import NOTHING, Standing
from muster.git.trees import AgentEntry, raw_entries

#: Commits after which the branch begins anew.
_LONGEST: Final = 128
_AGENTS: Final = "refs/heads/agents/"
#: A step that takes longer has probably come to a halt.
_LONGEST_STEP_SECONDS: Final = 900.0
_TREE: Final = re.compile(rb"tree ([0-9a-f]+)\n")
#: By cluster: the id of what it says (empty where it is gone), and the commands that write it.
_Changes: TypeAlias = Mapping[str, tuple[str, list[bytes]]]
#: The tree of a commit that stands for what came over HTTP: there is none.
_NO_TREE: Final = re.compile(rb"tree 0+\n")


@dataclass
class Relay:
    """One relay, `name`, between `repository`, to which agents push, and the `remote` that muster reads.

    What an agent says beyond `limits` is left out. `clock` gives the present.
    """

    repository: Repository
    name: str
    remote: str
    branch: str
    clock: Callable[[], datetime]
    limits: AgentLimits = DEFAULT_LIMITS
    limit_seconds: float = 30.0
    _sent: dict[str, str] | None = None  # the id of what was sent of each cluster
    _theirs: str | None = None  # where the relay's branch of the remote points, as far as is known
    _first: dict[str, str] | None = None  # the folder of each cluster in the branch as it was at the start
    _length: int = 0  # commits of the branch
    _posted: dict[str, Mapping[str, bytes]] = field(default_factory=dict)
    _waiting: set[str] = field(default_factory=set)
    _had: set[str] = field(default_factory=set)  # whose branches were here at the last look
    _over: dict[str, str] = field(default_factory=dict)  # who is left out, and why
    _refused: set[str] = field(default_factory=set)  # whose last words the hub refused: they go in a push of their own
    _told: dict[str, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _stepped: float = field(default_factory=monotonic)  # when a step last began or ended
    is_ready: bool = False  # whether the hub took the last step

    def __post_init__(self) -> None:
        self._objects = Objects(self.repository.git, max_bytes=MAX_BLOB_BYTES)

    @property
    def ref(self) -> str:
        """The branch that it writes, by its full name."""
        return f"refs/heads/{RELAYS}{self.name}"

    def follow(self) -> None:
        """Bring the hub's branch here, and that which has what is derived, where that is another. RepositoryError where
        the hub is not to be had."""
        tip = self._follow(self.branch)
        apart = derived_branch(self.repository, tip) if tip else ""
        ref = f"refs/heads/{apart}"
        if apart and remote_tip(self.repository, remote=self.remote, ref=ref, limit_seconds=self.limit_seconds):
            self._follow(apart)

    def look(self, cluster: str) -> Standing:
        """What is known of a cluster that speaks over HTTP; the `commit` is a name of it."""
        with self._lock:
            if cluster not in self._posted:
                self._posted[cluster] = self._before(cluster)
            files = self._posted[cluster]
        return Standing(name_of(files), files) if files else NOTHING

    def post(self, cluster: str, expected: str | None, files: Mapping[str, bytes]) -> Standing | Moved:
        """Take what a cluster says over HTTP, in place of what is known by the name `expected`; it goes out with the
        next commit. ValueError where it is too much, or comes with a commit of something else."""
        size = sum(map(len, files.values()))
        if size > self.limits.max_bytes or len(files) > self.limits.max_files:
            raise ValueError(f"more than {self.limits.max_bytes} bytes or {self.limits.max_files} files")
        self._require_its_own(files)
        known = self.look(cluster)
        with self._lock:
            if known.commit != expected or self._posted.get(cluster) not in (None, known.files):
                return Moved(known.commit)
            self._posted[cluster] = files
            self._waiting.add(cluster)
        return Standing(name_of(files), files)

    def step(self) -> int:
        """Send what is new; return of how many clusters that is. RepositoryError where the hub takes nothing: then it
        is sent with what is new by the next time."""
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
        """Whether it goes on: steps that fail are steps, too."""
        return monotonic() - self._stepped <= _LONGEST_STEP_SECONDS

    def _step(self) -> int:
        sent = self._known()
        tips = self._pushed()
        with self._lock:
            posted = {cluster: self._posted[cluster] for cluster in self._waiting}
            self._waiting = set()
        try:
            changes = dict(self._changes(sent, tips, posted))
            refused = self._send(changes)
        except BaseException:
            with self._lock:
                self._waiting |= posted.keys()
            raise
        self._refused = (self._refused - changes.keys()) | refused.keys()
        self._over.update((cluster, f"the hub refuses it ({reason})") for cluster, reason in refused.items())
        for cluster, (id_, _) in changes.items():  # what is refused is not sent again
            sent.pop(cluster, None)
            if id_:
                sent[cluster] = id_
        return len(changes) - len(refused)

    def _follow(self, branch: str) -> str | None:
        tip = fetch(self.repository, remote=self.remote, branch=branch, limit_seconds=self.limit_seconds)
        if tip is not None and tip != ref_tip(self.repository, f"refs/heads/{branch}"):
            self.repository.git.output("update-ref", f"refs/heads/{branch}", tip)
        return tip

    def _require_its_own(self, files: Mapping[str, bytes]) -> None:
        """A commit that comes along is of these files: its signature would be refused at the hub, and nobody told."""
        signed = files.get(COMMIT)
        if signed is None:
            return
        others = {path: content for path, content in files.items() if path != COMMIT}
        id_ = tree_id(others, self.repository.object_format)
        if (tree := _TREE.match(signed)) is None or tree[1].decode() != id_:
            raise ValueError(f"{COMMIT} is no commit of the files beside it, which are the tree {id_}")

    def news(self) -> list[str]:
        """A line for each agent that is left out and was not told of yet."""
        fresh = {cluster: why for cluster, why in self._over.items() if self._told.get(cluster) != why}
        self._told = dict(self._over)
        return [f"agents/{cluster} is left out: {why}" for cluster, why in sorted(fresh.items())]

    def _changes(
        self, sent: Mapping[str, str], tips: Mapping[str, str], posted: Mapping[str, Mapping[str, bytes]]
    ) -> Iterator[tuple[str, tuple[str, list[bytes]]]]:
        """What is new: by cluster, the id of it (empty where it is gone) and the commands that write it."""
        # Only what went away under our eyes is gone: a repository that was made anew has no branches yet.
        for cluster in sorted((self._had & sent.keys()) - tips.keys() - posted.keys()):
            yield cluster, ("", [removed(folder_of(cluster))])
        self._had = set(tips)
        moved = {cluster: commit for cluster, commit in tips.items() if sent.get(cluster) != commit}
        self._over = {name: why for name, why in self._over.items() if name not in moved and name not in posted}
        yield from self._of_branches(moved)
        second = int(self.clock().timestamp())
        stamp = f"tree {'0' * 40}\ncommitter {self.name} <relay> {second} +0000\n\n".encode()
        for cluster, files in posted.items():
            folder = folder_of(cluster)
            said = {COMMIT: stamp, **files}
            lines = [removed(folder), *(written(f"{folder}/{path}", content) for path, content in sorted(said.items()))]
            yield cluster, (f"http {second}", lines)

    def _of_branches(self, moved: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, list[bytes]]]]:
        refs = [AgentRef(f"{_AGENTS}{cluster}", commit) for cluster, commit in moved.items()]
        listing = AgentFiles(self._objects, refs, self.limits)
        self._over |= {skip.ref.removeprefix("agents/"): skip.detail for skip in listing.skipped if not skip.path}
        files = {ref: list(found) for ref, found in groupby(listing.found, lambda one: one.ref)}
        for (cluster, commit), answer in zip(moved.items(), self._objects.read(list(moved.values())), strict=True):
            if isinstance(answer, UnreadableError) or cluster in self._over:
                continue
            try:
                yield cluster, (commit, self._folder(cluster, answer.content, files.get(f"agents/{cluster}", ())))
            except ValueError as error:
                self._over[cluster] = str(error)

    def _folder(self, cluster: str, commit: bytes, files: Sequence[AgentEntry]) -> list[bytes]:
        """The commands that write what an agent committed. ValueError for what no relay carries."""
        tree = _TREE.match(commit)
        if tree is None:
            raise ValueError("its branch points at no commit")
        if len(commit) > self.limits.max_bytes:
            raise ValueError(f"its commit has {len(commit)} bytes, more than {self.limits.max_bytes}")
        folder = folder_of(cluster)
        lines = placed_files(folder, tree[1].decode(), files)
        return [removed(folder), *lines, written(f"{folder}/{COMMIT}", commit)]

    def _send(self, changes: _Changes) -> dict[str, str]:
        """Put it on the branch, here and at the remote. Return whose words the hub refuses, and why."""
        refused, taken = dict[str, str](), False
        for group in (changes.keys() - self._refused, changes.keys() & self._refused):
            part = {cluster: change for cluster, change in changes.items() if cluster in group}
            done = self._try(part) if part else None
            if isinstance(done, Rejected):
                if not taken and isinstance(empty := self._try({}), Rejected):  # so it is no agent's fault
                    raise RepositoryError(
                        f"the hub refuses {self.ref} ({empty.reason})", "let the relay force-push its branch"
                    )
                refused |= self._without_culprits(part, done)
            taken = taken or bool(part)
        return refused

    def _without_culprits(self, changes: _Changes, refusal: Rejected) -> dict[str, str]:
        """Send the part of some refused changes that the hub takes. Return the clusters of the others, and why."""
        clusters = list(changes)
        if len(clusters) == 1:
            return dict.fromkeys(clusters, refusal.reason)
        refused, middle = dict[str, str](), len(clusters) // 2
        for half in (clusters[:middle], clusters[middle:]):
            part = {cluster: changes[cluster] for cluster in half}
            if isinstance(done := self._try(part), Rejected):
                refused |= self._without_culprits(part, done)
        return refused

    def _try(self, changes: _Changes) -> Rejected | None:
        """Push a commit with some changes; Rejected where the hub does not take it."""
        base = ref_tip(self.repository, self.ref)
        count = f"{len(changes)} agents" if len(changes) != 1 else "1 agent"
        commands = (line for _, lines in changes.values() for line in lines)
        root = self._length >= _LONGEST
        commit = build_changed(self.repository, base, commands, f"{count}\n", root=root)
        for _ in range(2):
            done = push_ref(
                self.repository, remote=self.remote, ref=self.ref, new=commit, expected=self._theirs,
                limit_seconds=self.limit_seconds,
            )  # fmt: skip
            if not isinstance(done, Moved):
                break
            self._theirs = remote_tip(
                self.repository, remote=self.remote, ref=self.ref, limit_seconds=self.limit_seconds
            )
        if isinstance(done, Rejected):
            return done
        if isinstance(done, Moved):
            raise RepositoryError(f"{self.ref} kept moving", "does another relay have the same name?")
        self._theirs, self._length = commit, 1 if root else self._length + 1
        self._keep(commit)
        return None

    def _keep(self, commit: str) -> None:
        self.repository.git.output("-c", "core.logAllRefUpdates=false", "update-ref", self.ref, commit)

    def _pushed(self) -> dict[str, str]:
        """The agents' branches here."""
        listing = self.repository.git.output("for-each-ref", "--format=%(objectname) %(refname)", _AGENTS)
        found = (line.partition(" ") for line in listing.decode("utf-8", "surrogateescape").splitlines())
        named = ((name.removeprefix(_AGENTS), commit) for commit, _, name in found)
        return {cluster: commit for cluster, commit in named if is_cluster_name(cluster)}

    def _before(self, cluster: str) -> Mapping[str, bytes]:
        """What was said of a cluster when the relay started. After that it is in memory."""
        if self._first is None:
            self._first = dict(self._said())
        tree = self._first.get(cluster)
        return {} if tree is None else dict(_files(self._objects, tree))

    def _said(self) -> tuple[tuple[str, str], ...]:
        base = ref_tip(self.repository, self.ref)
        return () if base is None else tuple(chain.from_iterable(relayed_clusters(self.repository, base)))

    def _known(self) -> dict[str, str]:
        """What was sent of each cluster, read from the last commit when the relay starts."""
        if self._sent is None:
            self._theirs = remote_tip(
                self.repository, remote=self.remote, ref=self.ref, limit_seconds=self.limit_seconds
            )
            if self._theirs is not None and ref_tip(self.repository, self.ref) is None:
                fetch_ref(self.repository, remote=self.remote, ref=self.ref, limit_seconds=self.limit_seconds)
                self._keep(self._theirs)
            said = self._said()
            if said:
                self._length = count_commits(self.repository, self.ref)
            answers = self._objects.read([f"{tree}:{COMMIT}" for _, tree in said])
            pairs = zip(said, answers, strict=True)
            self._sent = {cluster: _id(self.repository, answer) for (cluster, _), answer in pairs}
        return self._sent


def _files(objects: Objects, tree: str, folder: str = "") -> Iterator[tuple[str, bytes]]:
    """The files below a folder of the relay's own, all of which are small."""
    (answer,) = objects.read([tree])
    if isinstance(answer, UnreadableError):
        return
    for mode, name, oid in raw_entries(answer.content, len(tree) // 2):
        path = folder + name.decode("utf-8", "surrogateescape")
        if mode == b"40000":
            yield from _files(objects, oid, f"{path}/")
        else:
            content = objects.blob(oid)
            if path != COMMIT or not _NO_TREE.match(content):
                yield path, content


def name_of(files: Mapping[str, bytes]) -> str:
    """A name of what some files hold, another one for others."""
    text = json.dumps({path: content.decode("utf-8", "backslashreplace") for path, content in sorted(files.items())})
    return hashlib.sha256(text.encode()).hexdigest()


def _id(repository: Repository, answer: object) -> str:
    """The id of the commit that a relay keeps."""
    content = getattr(answer, "content", b"")
    if _NO_TREE.match(content):
        return "http "
    return object_id("commit", content, repository.object_format)
