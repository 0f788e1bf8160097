"""A hub, a bare repository and agents, all as real processes: what the hub made of it is read from its history."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import yaml

from muster.data.times import parse_time
from tests.agents.heartbeat.test_heartbeat import Server
from tests.features.pulses.test_walkthrough import cluster
from tests.support.git import Repo, clone, new_repository
from tests.support.patience import wait_until
from tests.support.processes import Process, running

AVAILABLE = "ManagedClusterConditionAvailable"


@dataclass
class Beating:
    """Agents that beat, beside a hub that watches. `durations`: by cluster, in seconds."""

    bare: Repo
    person: Repo
    server: Server
    environ: Mapping[str, str]
    stack: ExitStack
    agents: dict[str, Process] = field(default_factory=dict)

    def agent(self, name: str, *options: str) -> Process:
        """Start the agent of a cluster."""
        self.agents[name] = self.stack.enter_context(
            running(
                "heartbeat",
                "--cluster",
                name,
                "--remote",
                str(self.bare.path),
                "--api-server",
                self.server.url,
                "--every",
                *options,
                environ=self.environ,
            )
        )
        return self.agents[name]

    def set_duration(self, name: str, seconds: int) -> None:
        """Change how long a cluster's lease lasts, as a person does."""
        text = cluster(name).replace("Client: true", f"Client: true, leaseDurationSeconds: {seconds}")
        for _ in range(20):
            self.person.git("pull", "--quiet", "--rebase", "origin", "main")
            self.person.commit({f"clusters/{name}/cluster.yaml": text}, "Set the duration")
            try:
                self.person.git("push", "--quiet", "origin", "main")
            except AssertionError:
                self.person.git("reset", "--quiet", "--hard", "HEAD^")
            else:
                return
        raise AssertionError("somebody was always faster")

    def available(self, name: str) -> str:
        """What the hub says of a cluster now."""
        return condition_of(self.bare, "main", name)

    def statuses(self, name: str) -> list[str]:
        """What the hub has said of a cluster, one commit after the other, without repetitions."""
        commits = self.bare.git("rev-list", "--reverse", "main", "--", f"derived/managedclusters/{name}.yaml").split()
        said = [condition_of(self.bare, commit, name) for commit in commits]
        return [status for at, status in enumerate(said) if status and said[at - 1 : at] != [status]]

    def commits(self) -> int:
        """How many commits the branch has."""
        return int(self.bare.git("rev-list", "--count", "main"))

    def renewed(self, name: str) -> datetime | None:
        """When the Lease on a cluster's ref was renewed last."""
        spec = self._lease(name)
        return parse_time(str(spec["renewTime"])) if spec else None

    def obeys(self, name: str) -> int:
        """The duration by which a cluster's agent renews."""
        return int(self._lease(name).get("leaseDurationSeconds", "0"))

    def _lease(self, name: str) -> dict[str, str]:
        try:
            text = self.bare.git("show", f"refs/heads/agents/{name}:lease.yaml")
        except AssertionError:
            return {}
        found: dict[str, str] = yaml.load(text, Loader=yaml.BaseLoader)["spec"]
        return found

    def gaps(self, names: Sequence[str], seconds: float) -> dict[str, list[float]]:
        """Watch the refs for so long; return for how long each ref stood still, from one renewal to the next."""
        gaps: dict[str, list[float]] = {name: [] for name in names}
        tips, since = dict.fromkeys(names, ""), dict.fromkeys(names, time.monotonic())
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            listed = self.bare.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/agents/")
            for line in listed.splitlines():
                ref, _, tip = line.partition(" ")
                name = ref.rpartition("/")[2]
                if name in tips and tips[name] != tip:
                    if tips[name]:
                        gaps[name].append(now - since[name])
                    tips[name], since[name] = tip, now
            time.sleep(0.1)
        return gaps


def condition_of(repo: Repo, revision: str, name: str, type_: str = AVAILABLE) -> str:
    """The status that the hub has derived of a cluster's condition; empty for none."""
    try:
        body = yaml.load(repo.git("show", f"{revision}:derived/managedclusters/{name}.yaml"), Loader=yaml.BaseLoader)
    except AssertionError:
        return ""
    conditions = body.get("status", {}).get("conditions", ())
    return next((str(c["status"]) for c in conditions if c["type"] == type_), "")


@contextmanager
def beating(path: Path, durations: Mapping[str, int], interval: int = 30) -> Iterator[Beating]:
    """A fleet of accepted clusters with these lease durations, a hub that watches it, and an agent for each.

    The hub fetches when time would change something, and once in the interval.
    """
    seed = new_repository(path / "seed")
    seed.commit(
        {
            f"clusters/{name}/cluster.yaml": cluster(name).replace(
                "Client: true", f"Client: true, leaseDurationSeconds: {seconds}"
            )
            for name, seconds in durations.items()
        }
    )
    bare = clone(seed, path / "hub.git", "--bare")
    hub, person = clone(bare, path / "hub"), clone(bare, path / "person")
    environ = {**hub.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(path)}
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        environ.pop(name, None)
    server = Server()
    with ExitStack() as stack:
        stack.callback(server.close)
        stack.enter_context(
            running("watch", "--repo", str(hub.path), "--push", "--interval", str(interval), environ=environ)
        )
        world = Beating(bare, person, server, environ, stack)
        for name in durations:
            world.agent(name)
        wait_until(
            lambda: all(world.available(name) == "True" for name in durations),
            lambda: str({name: (world.statuses(name), agent.lines) for name, agent in world.agents.items()}),
        )
        yield world
