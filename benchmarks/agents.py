"""Thousands of agents at one time: how soon the engine sees what they say, and what that costs who pushes to main.

python -m benchmarks.agents [--clusters 10000] [--lease 60] [--seconds 120] [--every 0.5]

On this machine: a hub (a bare repository), `muster watch` in it, a relay that takes heartbeats over HTTP and commits
them as one, and agents as loops on loopback (no processes of their own), each of which asks what the hub says of its
cluster and renews its lease in 0.8 to 0.95 of its duration, as `muster heartbeat` does. A person pushes a commit to
main every second.

First without heartbeats, then with them. Printed are the renewals, the time from the moment in which an agent sends one
until the engine has decided by it, and how long the person's pushes took, as a ratio of both times.
"""

import argparse
import hashlib
import heapq
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median, quantiles
from threading import Event, Thread

from benchmarks import fleets
from muster.agents.heartbeat.heartbeat import EARLIEST, LATEST
from muster.agents.relay.relay import Relay, files_digest
from muster.cli.cache import open_state_of, use_cache
from muster.cli.listening import Freshness
from muster.cli.reconcile_result import ReconcileResult
from muster.features.watch.watch import Watcher, watch
from muster.git.errors import UnreadableError
from muster.git.repository import open_repository

_FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: agents}
spec:
  derived: {shards: 256}
  agents:
    relays: [{name: site, clusters: ["*"]}]
"""
_OBSERVED = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {{name: {name}}}
status:
  version: {{kubernetes: v1.33.4}}
  capacity: {{cpu: "64", memory: 256Gi, pods: "2500"}}
  allocatable: {{cpu: "60", memory: 240Gi, pods: "2500"}}
  clusterClaims:
  - {{name: id.k8s.io, value: {name}}}
  conditions:
  - type: ManagedClusterConditionAvailable
    status: "True"
    reason: ManagedClusterAvailable
    message: Managed cluster is available
    lastTransitionTime: "2026-01-01T00:00:00Z"
"""
#: Beside the lease, for the measurement alone: when it was sent. Not read by muster, which reads YAML and JSON.
_SENT = "sent"
_LOOPS = 4
_SETTLING_SECONDS = 5.0
#: After so long a renewal is lost.
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Result:
    """What was measured, times in seconds. `lost`: renewals that the engine never decided by."""

    renewals: int
    lost: int
    latencies: Sequence[float]
    quiet: Sequence[float]
    busy: Sequence[float]

    def text(self) -> str:
        """As it is printed."""
        seen = quantiles(self.latencies, n=100)
        quiet, busy = quantiles(self.quiet, n=10), quantiles(self.busy, n=10)
        return (
            f"renewals: {self.renewals}, lost: {self.lost}\n"
            f"seen by the engine: median {seen[49]:.2f} s, 90 % {seen[89]:.2f} s, 99 % {seen[98]:.2f} s, "
            f"all {max(self.latencies):.2f} s\n"
            f"a push to main: median {median(self.quiet) * 1000:.0f} ms without heartbeats, "
            f"{median(self.busy) * 1000:.0f} ms with: ratio {median(self.busy) / median(self.quiet):.2f} "
            f"(90 %: {busy[8] / quiet[8]:.2f})"
        )


def measure(
    folder: Path, clusters: int, lease: int, seconds: float, every: float, settling: float = _SETTLING_SECONDS
) -> Result:
    """Set everything up in a folder, and measure both times for so long; `settling` before and between."""
    environ = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": str(folder / "none"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "MUSTER_CACHE_DIR": str(folder / "cache"),
        "PYTHONUNBUFFERED": "1",
    }
    hub, site = folder / "hub.git", folder / "site.git"
    present = datetime.now(UTC).replace(microsecond=0)
    names = [fleets.name_of(number) for number in range(clusters)]
    _make(hub, clusters, lease)
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(site)], check=True)
    _say_all(site, hub, environ, clusters, present)
    _muster(environ, "reconcile", "--repo", str(hub), "--branch", "main")
    fleets.pack(hub)
    (folder / "tokens").write_text("".join(f"{name} {_digest(name)}\n" for name in names))
    with ExitStack() as stack:
        log = folder / "seen"
        log.touch()
        stack.enter_context(_running(environ, "-m", "benchmarks.agents", "--engine", str(hub), str(log)))
        url = stack.enter_context(_relaying(environ, site, hub, folder / "tokens", every))
        person = _Person(hub, folder / "person", environ)
        time.sleep(settling)
        quiet = person.push_for(seconds)
        sent, stop = dict[str, int](), Event()
        loops = [_Loop(url, range(first, clusters, _LOOPS), lease, present, sent, stop) for first in range(_LOOPS)]
        for loop in loops:
            loop.start()
        time.sleep(settling)
        busy = person.push_for(seconds)
        stop.set()
        for loop in loops:
            loop.join()
        until = time.monotonic() + _PATIENCE_SECONDS
        while (lost := _lost(sent, seen := _noted(log))) and time.monotonic() < until:
            time.sleep(0.1)
    return Result(sum(sent.values()), lost, [float(latency) for _, _, latency in seen], quiet, busy)


def _noted(log: Path) -> list[list[str]]:
    """What the engine has noted: cluster, number and age of each renewal."""
    text = log.read_text()
    return [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]


def _lost(sent: Mapping[str, int], seen: Sequence[Sequence[str]]) -> int:
    """Clusters whose last renewal the engine has not seen."""
    last = {cluster: int(number) for cluster, number, _ in seen}
    return sum(last.get(cluster, 0) != number for cluster, number in sent.items())


class _Loop(Thread):
    """Many agents, one after the other as they are due, over one connection."""

    def __init__(
        self, url: str, numbers: range, lease: int, present: datetime, sent: dict[str, int], stop: Event
    ) -> None:
        super().__init__(daemon=True)
        self._url, self._numbers, self._lease, self._stop_, self._sent = url, numbers, lease, stop, sent
        self._known = {number: files_digest(_files(number, present, "0 0")) for number in numbers}

    def run(self) -> None:
        began = time.monotonic()
        due = [(began + random.uniform(0, self._lease), number) for number in self._numbers]
        heapq.heapify(due)
        with closing(http.client.HTTPConnection(self._url.removeprefix("http://"), timeout=30)) as connection:
            while due and not self._stop_.wait(max(0.0, due[0][0] - time.monotonic())):
                at, number = heapq.heappop(due)
                self._beat(connection, number)
                heapq.heappush(due, (at + self._lease * random.uniform(EARLIEST, LATEST), number))

    def _beat(self, connection: http.client.HTTPConnection, number: int) -> None:
        name = fleets.name_of(number)
        path, headers = f"/v1/agents/{name}", {"Authorization": f"Bearer {name}"}
        _answer(connection, "GET", f"{path}/hub", None, headers)
        count = self._sent.get(name, 0) + 1
        files = _files(number, datetime.now(UTC), f"{count} {time.time()}")
        body = json.dumps({"expected": self._known[number], "files": {p: c.decode() for p, c in files.items()}})
        self._known[number] = _answer(connection, "PUT", path, body, headers)["commit"]
        self._sent[name] = count


class _Person:
    """Somebody who pushes to main."""

    def __init__(self, hub: Path, path: Path, environ: Mapping[str, str]) -> None:
        self._path, self._environ, self._count = path, environ, 0
        subprocess.run(["git", "clone", "--quiet", str(hub), str(path)], env=environ, check=True)
        for key, value in (("user.name", "a"), ("user.email", "a@example.com"), ("gc.auto", "0")):
            self._git("config", key, value)

    def push_for(self, seconds: float) -> list[float]:
        """Push a commit every second; return how long each took."""
        took, until = list[float](), time.monotonic() + seconds
        while (began := time.monotonic()) < until:
            self._count += 1
            (self._path / "notes.txt").write_text(f"{self._count}\n")
            self._git("add", "notes.txt")
            self._git("commit", "--quiet", "-m", "Note")
            for _ in range(10):
                started = time.monotonic()
                if not self._git("push", "--quiet", "origin", "HEAD:main", check=False):
                    took.append(time.monotonic() - started)
                    break
                self._git("pull", "--quiet", "--rebase", "origin", "main")  # the engine was first
            time.sleep(max(0.0, began + 1.0 - time.monotonic()))
        return took

    def _git(self, *arguments: str, check: bool = True) -> int:
        done = subprocess.run(
            ["git", "-C", str(self._path), *arguments], env=self._environ, capture_output=True, check=check
        )
        return done.returncode


class _Observed(Watcher):
    """`muster watch` that notes of each renewal how old it was when it had been decided by."""

    def note_into(self, path: Path) -> None:
        """Begin to note."""
        self._log = path.open("a", buffering=1)
        self._objects, self._tips = self.repository.objects, dict[str, str]()

    def _tell(self, done: ReconcileResult) -> None:
        now, fresh = time.time(), dict[str, str]()
        for ref in done.heard.refs:
            if self._tips.get(ref.cluster) != ref.commit:
                fresh[ref.cluster] = ref.commit
        first, self._tips = not self._tips, self._tips | fresh
        names = [f"{tree}:{_SENT}" for tree in fresh.values()]
        for cluster, answer in zip(fresh, self._objects.read(names), strict=True):
            if not first and not isinstance(answer, UnreadableError):
                number, at = answer.content.split()
                self._log.write(f"{cluster} {int(number)} {now - float(at):.3f}\n")


def _engine(path: Path, log: Path) -> None:
    use_cache(os.environ)
    repository = open_repository(path, os.environ)
    watcher = _Observed(
        repository,
        "main",
        None,
        timedelta(hours=1),
        lambda line: print(line, flush=True),
        clock=lambda: datetime.now(UTC).replace(microsecond=0),
        freshness=Freshness(ask=False),
        state=open_state_of(os.environ, repository, "main"),
    )
    watcher.note_into(log)
    watch(watcher, Event())


def _make(hub: Path, clusters: int, lease: int) -> None:
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(hub)], check=True)
    seconds = f"leaseDurationSeconds: {lease}"
    own = {
        f"{fleets.folder_of(number)}/cluster.yaml": fleets.cluster_text(number).replace(
            "leaseDurationSeconds: 60", seconds
        )
        for number in range(clusters)
    }
    fleets.commit(hub, {"fleet.yaml": _FLEET, **own})


def _say_all(site: Path, hub: Path, environ: Mapping[str, str], clusters: int, present: datetime) -> None:
    """Everybody has spoken once."""
    relay = Relay(open_repository(site, environ), "site", str(hub), "main", lambda: present)
    relay.fetch_hub()
    for number in range(clusters):
        relay.post(fleets.name_of(number), None, _files(number, present, "0 0"))
    relay.step()


def _files(number: int, renewed: datetime, sent: str) -> dict[str, bytes]:
    second = renewed.replace(microsecond=0)
    return {
        "cluster.yaml": _OBSERVED.format(name=fleets.name_of(number)).encode(),
        "lease.yaml": fleets.lease_text(number, second).encode(),
        _SENT: sent.encode(),
    }


def _answer(
    connection: http.client.HTTPConnection, method: str, path: str, body: str | None, headers: Mapping[str, str]
) -> dict[str, str]:
    connection.request(method, path, body, dict(headers))
    answer = connection.getresponse()
    said = answer.read()
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(f"{method} {path}: {answer.status} {said!r}")
    found: dict[str, str] = json.loads(said)
    return found


@contextmanager
def _relaying(environ: Mapping[str, str], site: Path, hub: Path, tokens: Path, every: float) -> Iterator[str]:
    main = "from muster.__main__ import main; main()"
    arguments = (
        "relay",
        "--repo",
        str(site),
        "--remote",
        str(hub),
        "--name",
        "site",
        "--every",
        str(every),
        "--listen",
        "127.0.0.1:0",
        "--tokens",
        str(tokens),
    )
    with _running(environ, "-c", main, *arguments) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "http://" in line:
                Thread(target=process.stdout.read, daemon=True).start()
                yield line.split()[-1]
                return
        raise RuntimeError("the relay did not start")


@contextmanager
def _running(environ: Mapping[str, str], *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen([sys.executable, *arguments], env=dict(environ), stdout=subprocess.PIPE, text=True)
    try:
        yield process
        if process.poll() is not None:
            raise RuntimeError(f"{arguments} has ended")
    finally:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _muster(environ: Mapping[str, str], *arguments: str) -> None:
    main = "from muster.__main__ import main; main()"
    subprocess.run([sys.executable, "-c", main, *arguments], env=dict(environ), capture_output=True, check=True)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=10_000)
    parser.add_argument("--lease", type=int, default=60, help="the leases' duration in seconds")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long each of the two times is")
    parser.add_argument("--every", type=float, default=0.5, help="how often the relay commits, in seconds")
    parser.add_argument("--engine", nargs=2, type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.engine:
        _engine(*asked.engine)
        return
    with tempfile.TemporaryDirectory(prefix="muster-agents-", ignore_cleanup_errors=True) as folder:
        print(f"{asked.clusters} agents, leases of {asked.lease} s, a relay that commits every {asked.every:g} s")
        print(measure(Path(folder), asked.clusters, asked.lease, asked.seconds, asked.every).text())


if __name__ == "__main__":
    main()
