"""Thirty clusters of a real API server, relayed beside a watch for minutes, while all of it is killed and restarted."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from math import ceil
from pathlib import Path
from time import monotonic, sleep

from muster.data.times import parse_time
from tests.agents.relay.test_from_hub import CLUSTER, SETTINGS, available
from tests.soak.conftest import share
from tests.support.git import Repo, clone, new_repository
from tests.support.hub import needs_hub, running_hub
from tests.support.klusterlets import Klusterlets
from tests.support.patience import wait_until
from tests.support.processes import Process

pytestmark = needs_hub
SECONDS = 10
NAMES = tuple(f"c{number:02}" for number in range(30))
#: It ends after all leases of the dead have run out.
LEAST_SECONDS = 150.0


class Running:
    """Processes of muster by name, which are killed and started again."""

    def __init__(self, fleet: Repo, **commands: tuple[str, ...]) -> None:
        self._commands, self._processes = commands, dict[str, Process]()
        environ = {key: value for key, value in fleet.environ.items() if not key.endswith("_DATE")}
        self._environ = {**environ, "PYTHONUNBUFFERED": "1"}

    def start(self, *names: str) -> None:
        for name in names:
            self._processes[name] = Process(self._commands[name], self._environ)

    def kill(self, *names: str) -> None:
        for name in names:
            self._processes.pop(name).kill()

    @contextmanager
    def started(self) -> Iterator[None]:
        self.start(*self._commands)
        try:
            yield
        finally:
            for process in self._processes.values():
                process.stop()


def test_restarts_lose_nothing_and_the_dead_are_unknown_to_the_second(tmp_path: Path, figures: list[str]) -> None:
    fleet = new_repository(tmp_path / "fleet.git", bare=True)
    person = clone(fleet, tmp_path / "person")
    person.commit({"fleet.yaml": SETTINGS, **{f"clusters/{name}.yaml": CLUSTER % (name, SECONDS) for name in NAMES}})
    person.git("push", "--quiet", "origin", "main")
    whole = max(LEAST_SECONDS, share(0.3))
    with running_hub(tmp_path / "hub") as hub:
        agents = Klusterlets(hub, NAMES, SECONDS)
        relay = ("relay", "--from-hub", str(hub.kubeconfig), "--remote", str(fleet.path), "--name", "ocm")
        watch = ("watch", "--repo", str(fleet.path), "--branch", "main")
        muster = Running(fleet, relay=relay, watch=watch)
        with agents.running(SECONDS / 2), muster.started():
            wait_until(lambda: all(available(fleet, name).get("status") == "True" for name in NAMES))
            head, began = fleet.git("rev-parse", "main"), monotonic()
            first = {name: available(fleet, name) for name in NAMES}

            def at(part: float) -> None:
                sleep(max(0.0, began + part * whole - monotonic()))

            at(0.02)
            agents.kill("c00", "c01")
            at(0.1)
            muster.kill("relay")
            sleep(5)
            muster.start("relay")
            at(0.25)
            hub.kill()
            hub.start()
            agents.kill("c02")
            at(0.45)
            muster.kill("watch")
            muster.start("watch")
            at(0.5)
            muster.kill("relay", "watch")
            hub.kill()
            hub.start()
            muster.start("relay", "watch")
            agents.kill("c03")
            at(1.0)
        dead = ("c00", "c01", "c02", "c03")
        for name in dead:
            due = (agents.renewed[name] + timedelta(seconds=5 * SECONDS)).timestamp()
            found = available(fleet, name)
            assert (name, found["status"]) == (name, "Unknown")
            assert parse_time(found["lastTransitionTime"]).timestamp() == ceil(due), name
        for name in set(NAMES) - set(dead):
            assert available(fleet, name) == first[name]
        subjects = fleet.git("log", "--format=%s", f"{head}..main").splitlines()
        assert len(subjects) <= len(dead), subjects
        figures.append(f"a hub's relay: {whole:.0f} s, 30 clusters, {len(subjects)} commits on main: {subjects}")
