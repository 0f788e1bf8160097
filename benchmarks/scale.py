"""What whole runs cost in fleets of growing size: processor time of whole processes, as ratios within one run.

python -m benchmarks.scale [--clusters N,N...] [--repeats N] [--rows NAME,NAME...]

A row of `ROWS` is a name, what is prepared, the command that is measured, and the row by which it is divided. Each size
has one derived fleet (`benchmarks.fleets`) at rest in a packed bare repository; every measurement begins with a copy of
it, so that none sees what another left behind. Measured are a process and all that it started (`wait4`; what outlives
it becomes ours, on Linux), and of memory the largest of them; of the repeats, which go through the rows in turn, the
least counts.
"""

import argparse
import contextlib
import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from benchmarks import fleets
from muster.data.times import format_time

#: PR_SET_CHILDSUBREAPER of Linux: whoever loses its parent becomes our child.
SUBREAPER = 36
AT_REST = format_time(fleets.NOON)


@dataclass(frozen=True, slots=True)
class Scene:
    """Where one measurement takes place: a copy of the fleet, and what muster keeps outside of repositories.

    `cache` has the compiled expressions of earlier runs in it, and nothing of the fleet.
    """

    repository: Path
    cache: Path
    clusters: int

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of every command. Bytecode is kept, as it is of what is installed."""
        own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {
            **own,
            "MUSTER_CACHE_DIR": str(self.cache),
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@b",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b",
        }

    def run(self, command: list[str], *, status: int = 0) -> None:
        """Run a command that has to end so."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode != status:
            sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")


Command = Callable[[Scene], list[str]]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `prepare` is not measured; `per` is the row by which the figure is divided.

    `of` is the figure: processor time, `wall`, or what the command itself `said`. `placements` stand in the fleet.
    `goal` is what issue and design ask for of the largest size; `status` the exit code.
    """

    name: str
    prepare: Callable[[Scene], None]
    command: Command
    per: str
    of: str = "cpu"
    placements: int = 0
    goal: str = ""
    status: int = 0


class Cost(NamedTuple):
    """What a command took, in seconds, the most memory of its processes, in MiB, and the seconds that it said."""

    cpu: float
    wall: float
    memory: float
    said: float


def muster(*arguments: str) -> list[str]:
    """The command line of a verb."""
    return [sys.executable, "-m", "muster", *arguments]


def _reconcile(scene: Scene) -> list[str]:
    return muster("reconcile", "--repo", str(scene.repository), "--now", AT_REST, "--workers", "1")


def _by_two(scene: Scene) -> list[str]:
    return muster("reconcile", "--repo", str(scene.repository), "--now", AT_REST, "--workers", "2")


def _floor(scene: Scene) -> list[str]:
    return [sys.executable, "-m", "benchmarks.floor", str(scene.repository)]


def _later(seconds: int) -> Callable[[Scene], list[str]]:
    """Reconcile so many seconds after noon."""
    instant = format_time(fleets.NOON + timedelta(seconds=seconds))

    def command(scene: Scene) -> list[str]:
        return muster("reconcile", "--repo", str(scene.repository), "--now", instant, "--workers", "1")

    return command


def _nothing(scene: Scene) -> None:
    """The fleet as it is, and nothing kept of earlier runs over it."""


def _kept(scene: Scene) -> None:
    """The fleet at rest, and kept what the last run left of it."""
    scene.run(_reconcile(scene))


def _leases(scene: Scene) -> None:
    """A hundred leases are renewed."""
    _kept(scene)
    fleets.renew(scene.repository, fleets.NOON + timedelta(seconds=10))


def _silent(scene: Scene) -> None:
    """Of a hundred clusters nothing was heard for so long that their leases run out with the next second."""
    last = fleets.NOON - timedelta(seconds=299)
    fleets.commit(
        scene.repository,
        {f"{fleets.folder_of(n)}/lease.yaml": fleets.lease_text(n, last) for n in fleets.hundred(scene.clusters)},
    )
    _kept(scene)


def _written(scene: Scene) -> None:
    """A run has written a file for every cluster, because all are dark."""
    _kept(scene)
    scene.run(_later(_DARK)(scene))


def _outage(scene: Scene) -> None:
    """All clusters are dark, and the budget holds what follows; then a hundred of them are back."""
    _written(scene)
    fleets.renew(scene.repository, fleets.NOON + timedelta(seconds=_DARK + 5))


def _failing(scene: Scene) -> None:
    """A policy fails for every cluster, and a hundred leases are renewed."""
    fleets.commit(scene.repository, {"policies/failing.yaml": _FAILING})
    scene.run(_reconcile(scene), status=1)
    fleets.renew(scene.repository, fleets.NOON + timedelta(seconds=10))


def _policy(scene: Scene) -> None:
    """One policy of the fleet's own was edited, which can match every cluster."""
    fleets.commit(scene.repository, {"policies/old.yaml": _POLICY.format(version="v1.20")})
    _kept(scene)
    fleets.commit(scene.repository, {"policies/old.yaml": _POLICY.format(version="v1.21")})


def _staged(scene: Scene) -> None:
    """A clone in which the hook has run for one edited file, which then was edited once more."""
    work = work_of(scene)
    scene.run(["git", "clone", "--quiet", str(scene.repository), str(work)])
    for team in (1, 2):
        path = f"{fleets.folder_of(0)}/cluster.yaml"
        (work / path).write_text(fleets.cluster_text(0, team))
        scene.run(["git", "-C", str(work), "add", path])
        if team == 1:
            scene.run(_hook(scene))


def work_of(scene: Scene) -> Path:
    return scene.repository.parent / "work"


def _hook(scene: Scene) -> list[str]:
    return muster("validate", "--staged", "--touched", "--repo", str(work_of(scene)))


def _watching(what: str) -> Callable[[Scene], list[str]]:
    """A process that says itself what its work cost when it was under way."""

    def command(scene: Scene) -> list[str]:
        return [sys.executable, "-m", "benchmarks.watching", what, str(scene.repository)]

    return command


_POLICY = """\
apiVersion: muster.dev/v1alpha1
kind: TaintPolicy
metadata:
  name: old-version
spec:
  target: {{kind: ManagedCluster}}
  taints:
  - key: example.com/old
    effect: PreferNoSelect
    when: "has(self.status.version) && self.status.version.kubernetes < '{version}'"
"""
_FAILING = """\
apiVersion: muster.dev/v1alpha1
kind: TaintPolicy
metadata:
  name: failing
spec:
  target: {kind: ManagedCluster}
  taints:
  - key: example.com/failing
    effect: PreferNoSelect
    when: "self.metadata.labels.absent == 'a'"
"""
#: So many seconds after noon no lease holds.
_DARK = 400

ROWS: tuple[Row, ...] = (
    Row("floor", _nothing, _floor, per="floor"),
    Row("cold", _nothing, _reconcile, per="floor", goal="<= 3"),
    Row("two workers", _nothing, _by_two, per="cold", of="wall", goal="<= 0.6"),
    Row("unchanged", _kept, _reconcile, per="cold", goal="growth <= 1.6, wall <= 0.45"),
    Row("written", _written, _later(_DARK + 1), per="cold", goal="as unchanged"),
    Row("leases", _leases, _later(10), per="cold", goal="<= 0.15, growth <= 1.8"),
    Row("outage", _outage, _later(_DARK + 10), per="cold", goal="<= 0.3"),
    Row("failing", _failing, _later(10), per="cold", goal="<= 0.15, growth <= 1.8", status=1),
    Row("reading", _kept, _watching("reading"), per="reading", of="said"),
    Row("in a watch", _kept, _watching("watch"), per="reading", of="said", goal="<= 6"),
    Row("cold, placed", _nothing, _reconcile, per="floor", placements=100),
    Row("unknown", _silent, _later(2), per="cold, placed", placements=100, goal="<= 0.3"),
    Row("policy", _policy, _later(1), per="cold"),
    Row("hook", _staged, _hook, per="cold", goal="growth <= 1.6, wall <= 0.45"),
)


def derived_fleet(directory: Path, clusters: int, placements: int) -> Scene:
    """Make a fleet and reconcile it until it rests; its compiled expressions are in the cache."""
    directory.mkdir(exist_ok=True)
    scene = Scene(directory / "fleet.git", directory / "cache", clusters)
    made = str(scene.repository), str(clusters), str(placements)
    scene.run([sys.executable, "-m", "benchmarks.fleets", *made])
    kept = Scene(scene.repository, directory / "elsewhere", clusters)  # what is kept of this fleet is of no use later
    kept.run(_reconcile(kept))
    fleets.pack(scene.repository)
    tiny = Scene(directory / "tiny.git", scene.cache, 1)
    fleets.create(tiny.repository, 1)
    tiny.run(_reconcile(tiny))
    return scene


def staged_scene(directory: Path, clusters: int) -> Scene:
    """Make a derived fleet with all that is kept of a run, and a clone of it with a staged file."""
    scene = derived_fleet(directory / "made", clusters, 0)
    _staged(scene)
    _kept(scene)
    return scene


def measure(row: Row, scene: Scene) -> Cost:
    """Measure a row once, on a copy of the scene."""
    with tempfile.TemporaryDirectory() as copy:
        own = Scene(Path(copy) / "fleet.git", Path(copy) / "cache", scene.clusters)
        shutil.copytree(scene.repository, own.repository)
        shutil.copytree(scene.cache, own.cache)
        row.prepare(own)
        list(_left_behind())  # its workers are none of the command's
        return cost_of(row.command(own), own, says=row.of == "said", status=row.status)


def cost_of(command: list[str], scene: Scene, *, says: bool = False, status: int = 0) -> Cost:
    """Run a command that has to end with a status, and `says` at its end how many seconds count."""
    started = time.perf_counter()
    process = subprocess.Popen(command, env=scene.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    said = process.stdout.read()
    _, ended, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(ended)
    wall = time.perf_counter() - started
    all_used = [used, *_left_behind()]
    if process.returncode != status:
        sys.exit(f"{' '.join(command)}: {process.returncode}\n{said.decode()}")
    cpu = sum(one.ru_utime + one.ru_stime for one in all_used)
    return Cost(cpu, wall, max(one.ru_maxrss for one in all_used) / 1024, float(said.split()[-1]) if says else 0.0)


def _left_behind() -> Iterator[resource.struct_rusage]:
    """Wait for what processes started that ended before it; what each used."""
    with contextlib.suppress(ChildProcessError):
        while True:
            yield os.wait4(-1, 0)[2]


def table(rows: tuple[Row, ...], clusters: int, repeats: int) -> dict[str, Cost]:
    """Measure the rows in turn, so that the machine's moods meet them alike; the least of each."""
    least: dict[str, Cost] = {}
    with tempfile.TemporaryDirectory() as directory:
        scenes = {
            placements: derived_fleet(Path(directory) / str(placements), clusters, placements)
            for placements in sorted({row.placements for row in rows})
        }
        for _ in range(repeats):
            for row in rows:
                cost = measure(row, scenes[row.placements])
                known = least.get(row.name, cost)
                least[row.name] = Cost(*map(min, cost, known))
    return least


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", default="500,2000", help="sizes of fleets  [default: 500,2000]")
    parser.add_argument("--repeats", type=int, default=2, help="how often each row is measured  [default: 2]")
    parser.add_argument("--rows", default="", help="only these rows, and what they are divided by")
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    by_name = {row.name: row for row in ROWS}
    chosen = given.rows.split(",") if given.rows else list(by_name)
    wanted = set(chosen)
    while more := {by_name[name].per for name in wanted} - wanted:
        wanted |= more
    rows = tuple(row for row in ROWS if row.name in wanted)
    before: dict[str, Cost] = {}
    for clusters in map(int, given.clusters.split(",")):
        print(f"{clusters} clusters, the least of {given.repeats}")
        print(f"  {'':<13}{'cpu s':>8}{'wall s':>8}{'MiB':>6}  ratio, and growth since the size before")
        costs = table(rows, clusters, given.repeats)
        for row in rows:
            cost, per = costs[row.name], costs[row.per]
            mine, theirs = getattr(cost, row.of), getattr(per, row.of)
            growth = f" x{mine / getattr(before[row.name], row.of):.2f}" if row.name in before else ""
            ratio = f"{mine / theirs:6.2f} of {row.per}'s {row.of}{growth}"
            goal = f"  goal: {row.goal}" if row.goal else ""
            cpu = cost.said if row.of == "said" else cost.cpu
            print(f"  {row.name:<13}{cpu:8.2f}{cost.wall:8.2f}{cost.memory:6.0f}  {ratio:<42}{goal}", flush=True)
        before = costs


if __name__ == "__main__":
    main()
