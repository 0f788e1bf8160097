"""What the record of runs takes: bytes for each cluster and run, and time.

python -m benchmarks.records [--runs 1000] [--changing] CLUSTERS...

Agents renew a lease of a minute at instants of their own, some stay silent for a while, and now and then one says
something else. A run records every 13 minutes. Sizes are those of the repository after `git gc`, indexes included.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from tests.support.git import git_environ

from benchmarks.fleets import NOON
from muster.data.snapshot import Agents
from muster.data.times import format_time
from muster.git.agents.listing import AgentRefs
from muster.git.agents.refs import AgentRef, RecordedContents
from muster.git.fastimport import build_commits
from muster.git.record.draft import HeardNow, RecordDraft, draft_record
from muster.git.record.form import AGES, RUN, facts_bytes, parse_facts
from muster.git.record.renewals import RenewTime, packed
from muster.git.record.storing import RecordTips, record_commit
from muster.git.repository import Repository, open_repository

_LEASE = (
    "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  name: managed-cluster-lease\n  namespace: {name}\n"
    "  labels:\n    open-cluster-management.io/cluster-name: {name}\nspec:\n  holderIdentity: {name}-agent\n"
    '  leaseDurationSeconds: 60\n  acquireTime: "2026-01-01T11:00:00Z"\n  renewTime: "{renewed}"\n'
)
_CLUSTER = (
    "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata:\n  name: {name}\nspec:\n"
    '  hubAcceptsClient: false\n  leaseDurationSeconds: 60\nstatus:\n  capacity:\n    cpu: "{cpu}"\n    memory: 64Gi\n'
    "  version:\n    kubernetes: v1.31.4\n  conditions:\n  - type: ManagedClusterConditionAvailable\n"
    '    status: "True"\n'
    "    reason: ManagedClusterAvailable\n    message: Managed cluster is available\n"
    '    lastTransitionTime: "2026-01-01T11:00:00Z"\n'
)
_EVERY = timedelta(minutes=13)


class _Agents:
    """Agents that renew once a minute, at any second of it."""

    def __init__(self, count: int) -> None:
        self.chance = random.Random(count)
        self._cpus = [self.chance.choice((8, 16, 32)) for _ in range(count)]
        self._silent: dict[int, tuple[datetime, datetime]] = {}

    def heard(self, now: datetime, *, changing: bool) -> AgentRefs:
        """What they have said by an instant. `changing`: one of a thousand has news, one of five thousand stops."""
        for number in range(len(self._cpus)) if changing else ():
            if self.chance.random() < 1 / 1000:
                self._cpus[number] += 1
            elif self.chance.random() < 1 / 5000:
                self._silent[number] = now, now + timedelta(hours=self.chance.randrange(1, 40))
        return AgentRefs(tuple(self._refs(now)), Agents(asked=True))

    def _refs(self, now: datetime) -> Iterator[AgentRef]:
        for number, cpu in enumerate(self._cpus):
            name = f"cluster-{number:06}"
            since, until = self._silent.get(number, (now, now))
            last = since if since <= now < until else now - timedelta(seconds=self.chance.randrange(60))
            texts = (
                _LEASE.format(name=name, renewed=format_time(last)),
                _CLUSTER.format(name=name, cpu=cpu),
            )
            files = dict(zip(("lease.yaml", "cluster.yaml"), map(str.encode, texts), strict=True))
            yield AgentRef(
                f"refs/heads/agents/{name}", f"{self.chance.getrandbits(160):040x}", recorded=RecordedContents(files)
            )


def measure(count: int, runs: int, *, changing: bool) -> tuple[float, float]:
    """Return the bytes for each cluster and run after the first one, and the seconds of processor time that a record
    takes, all agents having renewed."""
    with tempfile.TemporaryDirectory(prefix="muster-records-") as folder:
        path = Path(folder) / "fleet"
        environ = git_environ(Path(folder))
        subprocess.run(["git", "init", "--quiet", "--bare", str(path)], env=environ, check=True)
        repository, agents = open_repository(path, environ), _Agents(count)
        refs = agents.heard(NOON, changing=False)
        begun = time.process_time()
        draft = draft_record(repository, HeardNow(refs, {}, "", NOON, "0" * 40))
        spent = time.process_time() - begun
        tip = _recorded(repository, draft, "")
        before = _size(repository, tip)
        for number in range(1, runs + 1):
            now, source = NOON + number * _EVERY, f"{agents.chance.getrandbits(160):040x}"
            if changing:
                refs = agents.heard(now, changing=True)
                draft = draft_record(repository, HeardNow(refs, {}, "", now, source))
            else:
                draft = _renewed(draft, agents, now, source)
            tip = _recorded(repository, draft, tip)
        return (_size(repository, tip) - before) / runs / count, spent


def _renewed(draft: RecordDraft, agents: _Agents, now: datetime, source: str) -> RecordDraft:
    """The record of a run for which all agents have renewed, and nothing else is new: what `draft_record` makes."""
    second = int(now.timestamp())
    ages = [RenewTime(second - agents.chance.randrange(60)) for _ in range(len(draft.files[AGES]) // 2)]
    facts = replace(parse_facts(draft.files[RUN]), now=format_time(now), source=source)
    return replace(draft, files={**draft.files, AGES: packed(ages, second), RUN: facts_bytes(facts)})


def _recorded(repository: Repository, draft: RecordDraft, tip: str) -> str:
    commit = record_commit(repository, draft, RecordTips("refs/muster/heard/all", tip or None))
    return build_commits(repository, {}, "Run\n", None, (commit,))[1]


def _size(repository: Repository, tip: str) -> int:
    """The bytes of the repository after `git gc`."""
    repository.git.output("update-ref", "refs/muster/heard/all", tip)
    repository.git.output("gc", "--quiet", "--prune=now")
    return sum(file.stat().st_size for file in (repository.git_dir / "objects").rglob("*") if file.is_file())


def main(arguments: list[str]) -> None:
    runs, changing = 1000, False
    if arguments[:1] == ["--runs"]:
        runs, arguments = int(arguments[1]), arguments[2:]
    if arguments[:1] == ["--changing"]:
        changing, arguments = True, arguments[1:]
    for count in map(int, arguments or ["1000", "10000"]):
        size, seconds = measure(count, runs, changing=changing)
        what = "besides, one of a thousand changes" if changing else "renewals alone"
        print(f"{count} clusters, {runs} runs, {what}: {size:.2f} bytes each, {1000 * seconds:.0f} ms a record")


if __name__ == "__main__":
    main(sys.argv[1:])
