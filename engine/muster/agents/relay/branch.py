"""The branch that a relay writes, `relays/<relay>`: each step is one commit, pushed at once.

The branch has a short history that is restarted regularly: without history git would send the whole tree each time, and
a long one would keep all heartbeats. If the fleet's repository refuses a push, it is bisected until it is known which
clusters are refused, and the rest is sent.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from itertools import chain
from typing import Final, TypeAlias

from muster.data.agentref import RELAYS
from muster.data.printable import counted
from muster.dataclass import dataclass
from muster.git.agents.relays import relayed_folders
from muster.git.errors import Moved, Rejected, RepositoryError
from muster.git.fastimport import build_changed
from muster.git.log import count_commits
from muster.git.push import fetch_ref, push_ref, remote_tip
from muster.git.repository import Repository, ref_tip

#: The branch starts anew after this many commits.
_LONGEST: Final = 128
#: By cluster, the fast-import commands that write what changed.
BranchChanges: TypeAlias = Mapping[str, list[bytes]]


@dataclass
class RelayBranch:
    """The branch of the relay `name` in the `remote` that muster reads, built in `repository`. `reports` is what a
    commit is about, in its subject."""

    repository: Repository
    name: str
    remote: str
    limit_seconds: float = 30.0
    reports: str = "agent"
    _remote_tip: str | None = None  # where the branch points in the remote, as far as is known
    _length: int = 0  # commits of the branch
    _refused: set[str] = field(default_factory=set)  # the remote refused their last files: they go in an own push

    @property
    def ref(self) -> str:
        """The full name of the branch."""
        return f"refs/heads/{RELAYS}{self.name}"

    def load(self) -> None:
        """Find the last commit, in the remote if the repository has none. RepositoryError without an answer."""
        self._remote_tip = self._read_remote_tip()
        if self._remote_tip is not None and ref_tip(self.repository, self.ref) is None:
            fetch_ref(self.repository, remote=self.remote, ref=self.ref, limit_seconds=self.limit_seconds)
            self._set_local_ref(self._remote_tip)
        if ref_tip(self.repository, self.ref) is not None:
            self._length = count_commits(self.repository, self.ref)

    def folders(self) -> tuple[tuple[str, str], ...]:
        """Return the clusters of the last commit, with the trees of their folders."""
        base = ref_tip(self.repository, self.ref)
        return () if base is None else tuple(chain.from_iterable(relayed_folders(self.repository, base).agents))

    def send(self, changes: BranchChanges) -> dict[str, str]:
        """Commit and push the changes. Return the clusters that the remote refuses, and why.

        RepositoryError if it takes nothing.
        """
        refused, taken = dict[str, str](), False
        for group in (changes.keys() - self._refused, changes.keys() & self._refused):
            part = {cluster: change for cluster, change in changes.items() if cluster in group}
            done = self._push(part) if part else None
            if isinstance(done, Rejected):
                if not taken and isinstance(empty := self._push({}), Rejected):  # so no agent is the cause
                    hint = "allow the relay to force-push its branch"
                    raise RepositoryError(f"the hub refuses {self.ref}: {empty}", hint)
                refused |= self._bisect(part, done)
            taken = taken or bool(part)
        self._refused = (self._refused - changes.keys()) | refused.keys()
        return refused

    def _bisect(self, changes: BranchChanges, refusal: Rejected) -> dict[str, str]:
        """Push the part of some refused changes that the hub takes. Return the clusters of the rest, and why."""
        clusters = list(changes)
        if len(clusters) == 1:
            return dict.fromkeys(clusters, refusal.reason)
        refused, middle = dict[str, str](), len(clusters) // 2
        for half in (clusters[:middle], clusters[middle:]):
            part = {cluster: changes[cluster] for cluster in half}
            if isinstance(done := self._push(part), Rejected):
                refused |= self._bisect(part, done)
        return refused

    def _push(self, changes: BranchChanges) -> Rejected | None:
        """Push one commit with these changes; Rejected if the hub does not take it."""
        base = ref_tip(self.repository, self.ref)
        commands = (line for lines in changes.values() for line in lines)
        root = self._length >= _LONGEST
        commit = build_changed(self.repository, base, commands, f"{counted(len(changes), self.reports)}\n", root=root)
        for _ in range(2):
            done = push_ref(
                self.repository,
                remote=self.remote,
                ref=self.ref,
                new=commit,
                expected=self._remote_tip,
                limit_seconds=self.limit_seconds,
            )
            if not isinstance(done, Moved):
                break
            self._remote_tip = self._read_remote_tip()
        if isinstance(done, Rejected):
            return done
        if isinstance(done, Moved):
            raise RepositoryError(f"{self.ref} kept moving", "does another relay have the same name?")
        self._remote_tip, self._length = commit, 1 if root else self._length + 1
        self._set_local_ref(commit)
        return None

    def _read_remote_tip(self) -> str | None:
        return remote_tip(self.repository, remote=self.remote, ref=self.ref, limit_seconds=self.limit_seconds)

    def _set_local_ref(self, commit: str) -> None:
        self.repository.git.output("-c", "core.logAllRefUpdates=false", "update-ref", self.ref, commit)


def stamp(name: str, at: datetime) -> bytes:
    """Return what stands for the commit of an agent that pushed none: the relay's name, and when it heard the agent."""
    return f"tree {'0' * 40}\ncommitter {name} <relay> {int(at.timestamp())} +0000\n\n".encode()
