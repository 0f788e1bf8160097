"""Simulated days as they happen in git: agents push to a hub, a further repository and a relay's branch, people commit,
and muster reconciles whenever `watch` would.

    lived = Lived.begun(folder, Days.of(seed=1, clusters=8, days=1))
    lived.live()
"""

import hashlib
import json
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from shutil import copytree
from typing import Final, Self

from muster.agents.identity.authority import load_authority
from muster.agents.identity.request import CertificateRequest, new_request
from muster.cli.reconcile_result import ReconcileResult
from muster.features.pulses.publish import Publication
from muster.features.replay.tally import Tally
from muster.features.sign.signing import sign
from muster.features.watch.watch import Watcher
from muster.git.push import branch_attempts
from muster.git.repository import Repository, open_repository
from muster.git.signatures.signature import sealed
from muster.run.memo.state import RunState, open_state
from tests.features.sign.test_signing import manifest
from tests.support.authority import new_authority
from tests.support.days import BRANCH, DAY, FURTHER, RELAY, START, Agent, Days
from tests.support.git import Repo, git_environ, new_repository

SECOND: Final = timedelta(seconds=1)
#: Loose objects pile up with every renewal; so many runs later they are packed, and what nobody needs is pruned.
_PACKED_EVERY: Final = 100
_FLEET: Final = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {{name: days}}
spec:
  agents:
    signing: {signing}
    remotes: [{{name: further, url: ../further.git, clusters: {further_clusters}}}]
    relays: [{{name: edge, clusters: {relay_clusters}}}]
  pulses: {{sinks: [{{name: file, url: "file:pulses"}}]}}
  policyParams:
    csr-approval: {{autoApprovedUsers: ["agents/*"]}}
"""


@dataclass
class Lived:
    """The hub in which muster runs, the further repository, and what has happened so far. `runs` are the commits of
    runs with their instants, `made` counts all, and `tally` what they came to since the fleet had settled; `keys` are
    the agents' keys if they sign, and `said` is what the watch prints. `landed`: called with the instant and the commit
    of each run that made one."""

    days: Days
    hub: Repo
    further: Repo
    folder: Path
    repository: Repository
    state: RunState | None
    keys: dict[str, CertificateRequest] = field(default_factory=dict)
    runs: list[tuple[datetime, str]] = field(default_factory=list)
    now: datetime = START
    due: datetime | None = None
    made: int = 0
    said: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    landed: Callable[[datetime, str], None] | None = None
    _manifests: dict[str, str] = field(default_factory=dict)

    @classmethod
    def begun(cls, folder: Path, days: Days, *, signed: bool = True) -> Self:
        """The fleet at the start, joined and settled."""
        new_repository(folder / "hub.git", bare=True)
        new_repository(folder / "further.git", bare=True)
        made = cls._in(folder, days)
        made.commit(START, {**days.beginning, "fleet.yaml": made._fleet(signed=signed)})
        if signed:
            made._join()
        made.speak(START)
        made.run(START)
        made.tally = Tally()
        return made

    @classmethod
    def _in(cls, folder: Path, days: Days) -> Self:
        hub, further = (Repo(folder / name, git_environ(folder)) for name in ("hub.git", "further.git"))
        repository = open_repository(hub.path, hub.environ)
        return cls(days, hub, further, folder, repository, open_state(folder / "kept" / "state.sqlite"))

    def copy(self, folder: Path, **params: dict[str, object]) -> "Lived":
        """The same fleet somewhere else, with parameters of policies by their names."""
        for name in ("hub.git", "further.git"):
            copytree(self.folder / name, folder / name)
        made = self._in(folder, self.days)
        made.keys, made._manifests = self.keys, self._manifests
        given = "".join(f"\n    {policy.replace('_', '-')}: {json.dumps(one)}" for policy, one in params.items())
        made.commit(START, {"fleet.yaml": made._fleet(signed=bool(self.keys)) + f"{given}\n"})
        made.speak(START)
        made.run(START)
        return made

    def _fleet(self, *, signed: bool) -> str:
        places = {place: [one.name for one in self.days.agents if one.place == place] for place in (FURTHER, RELAY)}
        return _FLEET.format(
            signing="required" if signed else "optional",
            further_clusters=places[FURTHER],
            relay_clusters=places[RELAY],
        )

    def _join(self) -> None:
        """The agents ask for certificates and get them."""
        begin = START - DAY
        authority = load_authority(*new_authority(self.folder / "ca"), 3000 * DAY, begin)
        self.keys = {agent.name: new_request(agent.name) for agent in self.days.agents}
        self._manifests = {name: manifest(one.object_name(name), name, one) for name, one in self.keys.items()}
        self.speak(START)
        self.run(START)
        sign(self.repository, authority, lambda: begin, branch="main", remote=None, attempts=branch_attempts())

    def live(self, until: datetime | None = None) -> None:
        """Let the days pass up to an instant, by default to their end."""
        until = until or self.days.end
        instants, edits = self.days.instants(), {edit.at: edit.files for edit in self.days.edits}
        while (at := self._next(instants)) is not None and at <= until:
            if at in edits:
                self.commit(at, edits[at])
            self.speak(at)
            self.run(at)

    def _next(self, instants: list[datetime]) -> datetime | None:
        """When there is something new, or time alone may change something."""
        after = bisect_right(instants, self.now)
        news = instants[after] if after < len(instants) else None
        due = None if self.due is None else max(self.due, self.now + SECOND)
        return min((at for at in (news, due) if at is not None), default=None)

    def run(self, at: datetime) -> None:
        """Let the watch look: it reconciles and publishes pulses."""
        self.now, made = at, self.made
        self._watcher.look()
        assert self.made == made + 1, self.said
        if self.made % _PACKED_EVERY == 0:
            self.hub.git("gc", "--quiet", "--prune=now")
            self.further.git("gc", "--quiet", "--prune=now")

    @cached_property
    def _watcher(self) -> Watcher:
        return Watcher(
            self.repository,
            "main",
            None,
            timedelta(),
            self.said.append,
            clock=lambda: self.now,
            state=self.state,
            sink_dir=self.folder / "sinks",
            observers=(self,),
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """A run of the watch: nothing to do."""
        yield

    def completed(self, done: ReconcileResult, publication: Publication) -> None:
        """The watch has made a run."""
        self.made += 1
        self.due = done.settled.last.horizon
        self.tally.see(self.now, done.settled)
        if done.commit is not None:
            self.runs.append((self.now, done.commit))
            if self.landed is not None:
                self.landed(self.now, done.commit)

    def failed(self, error: Exception) -> None:
        """The watch could not run."""
        raise AssertionError from error

    def sleeps(self, seconds: float) -> None:
        """Nobody sleeps here."""

    # -- people

    def commit(self, at: datetime, files: Mapping[str, str | None]) -> None:
        """A person commits to the branch."""
        commands = [
            f"commit refs/heads/main\ncommitter Ada <ada@example.com> {_seconds(at)} +0000\ndata 5\nEdit\n".encode()
        ]
        if self.hub.tip("main") if (self.hub.path / "refs/heads/main").exists() else self._packed("main"):
            commands.append(b"from refs/heads/main^0\n")
        for path, text in files.items():
            content = b"" if text is None else text.encode()
            named = f"D {path}\n" if text is None else f"M 100644 inline {path}\ndata {len(content)}\n"
            commands.append(named.encode() + (content + b"\n" if text is not None else b""))
        self.hub.git("fast-import", "--quiet", stdin=b"".join(commands))

    def _packed(self, branch: str) -> str:
        return self.hub.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")

    # -- agents

    def speak(self, at: datetime) -> None:
        """What agents have pushed by an instant. While the further repository does not answer, it is not there."""
        for place, repo in ((BRANCH, self.hub), (FURTHER, self.further)):
            lines = []
            for agent in self._speaking(place, at):
                text, _ = self._commit_of(repo, agent, at)
                lines.append(f"update refs/heads/agents/{agent.name} {_store(repo, 'commit', text)}\n")
            repo.git("update-ref", "--stdin", stdin="".join(lines).encode())
        self._relay(at)
        away, here = self.further.path.with_suffix(".away"), self.further.path
        if self.days.is_unreachable(at) and here.exists():
            here.rename(away)

    def _speaking(self, place: str, at: datetime) -> Iterable[Agent]:
        away = self.further.path.with_suffix(".away")
        if place == FURTHER and away.exists():
            away.rename(self.further.path)
        return (agent for agent in self.days.agents if agent.place == place and agent.begin <= at)

    def _relay(self, at: datetime) -> None:
        shards: dict[bytes, dict[bytes, tuple[bytes, str]]] = {}
        for agent in self._speaking(RELAY, at):
            text, entries = self._commit_of(self.hub, agent, at)
            entries[b".commit"] = (b"100644", _store(self.hub, "blob", text))
            shard = hashlib.sha256(agent.name.encode()).hexdigest()[:2].encode()
            shards.setdefault(shard, {})[agent.name.encode()] = (b"40000", _tree(self.hub, entries))
        root = {shard: (b"40000", _tree(self.hub, folders)) for shard, folders in shards.items()}
        commit = _store(self.hub, "commit", _commit_text(_tree(self.hub, root), at))
        self.hub.git("update-ref", "refs/heads/relays/edge", commit)

    def _commit_of(self, repo: Repo, agent: Agent, at: datetime) -> tuple[bytes, dict[bytes, tuple[bytes, str]]]:
        """An agent's commit, signed if agents sign, and the entries of its tree."""
        files = agent.files(at)
        request = self.keys.get(agent.name)
        if request is not None:
            files["request.yaml"] = self._manifests[agent.name]
        entries = {name.encode(): (b"100644", _store(repo, "blob", text.encode())) for name, text in files.items()}
        text = _commit_text(_tree(repo, entries), agent.renewed(at))
        return (text if request is None else sealed(text, request.key)), entries


def _seconds(at: datetime) -> int:
    return int(at.timestamp())


def _commit_text(tree: str, at: datetime) -> bytes:
    who = f"Agent <agent@example.com> {_seconds(at)} +0000"
    return f"tree {tree}\nauthor {who}\ncommitter {who}\n\nHeartbeat\n".encode()


def _tree(repo: Repo, entries: Mapping[bytes, tuple[bytes, str]]) -> str:
    lines = (b"%b %b\0%b" % (mode, name, bytes.fromhex(id_)) for name, (mode, id_) in sorted(entries.items()))
    return _store(repo, "tree", b"".join(lines))


def _store(repo: Repo, sort: str, content: bytes) -> str:
    """Write an object as a file."""
    data = b"%b %d\0%b" % (sort.encode(), len(content), content)
    id_ = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    file = repo.path / "objects" / id_[:2] / id_[2:]
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(zlib.compress(data, 1))
    return id_
