"""People, agents and engines on one bare repository: who gets through, and how old what is derived becomes.

python -m benchmarks.contention [--seconds 120] [--writers 8] [--agents 200] [--engines 3] [--per-second 2]

Writers commit files of people and push them, as often as asked for in all; each of their commits has something follow
for a cluster. Agents replace their refs in turn. Engines are real processes, `muster watch --push`, each with a clone
of its own. In the end nobody's commit may be missing, and what is derived must be what follows from nothing; else it
ends with 1. *Age*, twice a second, is how long the oldest commit of people has waited that no engine has decided.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

from muster.data.times import format_time
from muster.run.evaluate import evaluate

_CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: {name}
  labels: {{region: eu}}
spec:
  hubAcceptsClient: true
  leaseDurationSeconds: {seconds}
"""
_LEASE = """\
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: managed-cluster-lease, namespace: {name}}}
spec: {{renewTime: "{now}", leaseDurationSeconds: 600}}
"""
_OBSERVED = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {{name: {name}}}
status:
  conditions:
  - {{type: ManagedClusterConditionAvailable, status: "True", reason: Ok, message: ok,
     lastTransitionTime: "2026-01-01T00:00:00Z"}}
"""
_WAIT_SECONDS = 60.0


@dataclass
class Figures:
    """What came of it. Seconds and numbers; `ages` and `pushes` are sorted."""

    people: int = 0
    beats: int = 0
    derived: int = 0
    attempts: int = 0
    given_up: int = 0
    overtaken: int = 0
    ages: list[float] = field(default_factory=list)
    pushes: list[float] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The figures in words."""
        yield f"commits of people {self.people}, of engines {self.derived}; words of agents {self.beats}"
        yield f"tries to land {self.attempts}, given up {self.given_up}; landed over newer commits {self.overtaken}"
        for name, found in (("age of what is derived", self.ages), ("a person's push", self.pushes)):
            if found:
                middle, late = statistics.median(found), found[int(len(found) * 0.99)]
                yield f"{name}: median {middle:.2f} s, 99th percentile {late:.2f} s, longest {found[-1]:.2f} s"
        yield f"commits lost: {len(self.lost)}; derived files that are wrong: {len(self.wrong)}"


class _World:
    """One bare repository, and all who work on it."""

    def __init__(self, folder: Path, clusters: int, figures: Figures) -> None:
        self.folder, self.figures = folder, figures
        self.bare = folder / "fleet.git"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.com",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.com",
            "PYTHONUNBUFFERED": "1",
        }
        self.names = [f"c{number:04}" for number in range(clusters)]
        self.stop, self.lock = threading.Event(), threading.Lock()
        self.pushed: dict[str, float] = {}
        seed = folder / "seed"
        self.git(folder, "init", "--quiet", "--initial-branch=main", str(seed))
        for name in self.names:
            (seed / "clusters" / name).mkdir(parents=True)
            (seed / "clusters" / name / "cluster.yaml").write_text(_CLUSTER.format(name=name, seconds=600))
        self.git(seed, "add", "--all")
        self.git(seed, "commit", "--quiet", "--message", "A fleet")
        self.git(folder, "clone", "--quiet", "--bare", str(seed), str(self.bare))
        self._speak(self.names)  # a fleet that is heard of: of one that is silent, budgets hold every effect

    def git(self, where: Path, *arguments: str, stdin: str = "", check: bool = True) -> str:
        done = subprocess.run(
            ["git", "-C", str(where), *arguments],
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise RuntimeError(f"git {arguments}: {done.stderr}")
        return done.stdout.strip() if not done.returncode else ""

    def clone(self, name: str) -> Path:
        path = self.folder / name
        self.git(self.folder, "clone", "--quiet", str(self.bare), str(path))
        return path

    # -- people

    def write(self, number: int, mine: list[str], pause: float) -> None:
        """Commit and push, again and again, as a person does who pulls when somebody else was faster."""
        here, chance, done = self.clone(f"writer{number}"), random.Random(number), 0
        while not self.stop.wait(chance.uniform(0.5, 1.5) * pause):
            done += 1
            name = mine[done % len(mine)]
            text = _CLUSTER.format(name=name, seconds=600 + done)
            (here / "clusters" / name / "cluster.yaml").write_text(text)
            (here / f"notes{number}.md").write_text(f"{done}\n")
            self.git(here, "add", "--all")
            self.git(here, "commit", "--quiet", "--message", f"Edit {name}")
            began = time.monotonic()
            while not self.git(here, "push", "--porcelain", "origin", "HEAD:main", check=False):
                self.git(here, "pull", "--quiet", "--rebase", "origin", "main", check=False)
            now = time.monotonic()
            with self.lock:
                self.pushed[self.git(here, "rev-parse", "HEAD")] = now
                self.figures.pushes.append(now - began)
                self.figures.people += 1

    # -- agents

    def beat(self, agents: list[str], pause: float) -> None:
        """Replace one ref after the other."""
        for name in cycle(agents):
            if self.stop.wait(pause):
                return
            self._speak([name])
            self.figures.beats += 1

    def _speak(self, names: list[str]) -> None:
        now = datetime.now(UTC).replace(microsecond=0)
        stream = ""
        for name in dict.fromkeys(names):
            text, seen = _LEASE.format(name=name, now=format_time(now)), _OBSERVED.format(name=name)
            stream += (
                f"reset refs/heads/agents/{name}\n\ncommit refs/heads/agents/{name}\n"
                f"committer A <a@example.com> {int(now.timestamp())} +0000\ndata 4\nBeat\ndeleteall\n"
                f"M 100644 inline lease.yaml\ndata {len(text)}\n{text}\n"
                f"M 100644 inline observed.yaml\ndata {len(seen)}\n{seen}\n"
            )
        self.git(self.bare, "fast-import", "--quiet", "--force", stdin=stream)

    # -- engines

    def engine(self, number: int) -> "subprocess.Popen[str]":
        path = self.clone(f"engine{number}")
        main = "from muster.__main__ import main; main()"
        return subprocess.Popen(
            [
                sys.executable,
                "-c",
                main,
                "watch",
                "--repo",
                str(path),
                "--push",
                "--interval",
                "1",
                "--verbose",
                "--state",
                str(self.folder / f"kept{number}" / "state"),
            ],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def hear(self, process: "subprocess.Popen[str]") -> None:
        """Count what an engine says."""
        assert process.stdout is not None
        with process.stdout as said:
            for line in said:
                with self.lock:
                    self._count(line)

    def _count(self, line: str) -> None:
        if "looked at" in line:
            self.figures.attempts += 1
        if "it took " in line:
            self.figures.attempts += int(line.rpartition("it took ")[2].split()[0]) - 1
        if "kept moving" in line:
            self.figures.given_up += 1
        if "a fault in muster" in line or "Traceback" in line:
            self.figures.wrong.append(line.strip())

    def age(self) -> float:
        """How long the oldest commit of people has waited that no engine has decided."""
        waiting = self._waiting()
        now = time.monotonic()
        return max((now - when for commit, when in waiting.items()), default=0.0)

    def _waiting(self) -> dict[str, float]:
        sources = self.git(
            self.bare, "log", "--format=%(trailers:key=Muster-Source,valueonly,separator=%x20)", "main"
        ).split()
        decided = set(self.git(self.bare, "rev-list", "--stdin", stdin="\n".join(sources) + "\n").split())
        with self.lock:
            return {commit: when for commit, when in self.pushed.items() if commit not in decided}

    # -- in the end

    def settle(self) -> None:
        """Wait until all that people did is decided."""
        until = time.monotonic() + _WAIT_SECONDS
        while self._waiting() and time.monotonic() < until:
            time.sleep(0.3)

    def check(self) -> None:
        """Whether anybody's commit is missing, and whether what is derived follows from nothing."""
        there = set(self.git(self.bare, "rev-list", "main").split())
        self.figures.lost = sorted(self.pushed.keys() - there)
        subjects = self.git(self.bare, "log", "--format=%(trailers:key=Muster-Now,valueonly)%H", "main").split()
        self.figures.derived = sum(word.endswith("Z") for word in subjects)
        bodies = self.git(
            self.bare, "log", "--format=%H %P %(trailers:key=Muster-Source,valueonly,separator=%x20)", "main"
        ).splitlines()
        for line in bodies:
            _, *rest = line.split()
            self.figures.overtaken += len(rest) == 2 and rest[0] != rest[1]
        now = datetime.now(UTC).replace(microsecond=0)
        self.figures.wrong += sorted(evaluate(self.bare, now, "main").files)
        for found in (self.figures.ages, self.figures.pushes):
            found.sort()


def contend(
    folder: Path, seconds: float, *, writers: int = 8, agents: int = 200, engines: int = 3, per_second: float = 2.0
) -> Figures:
    """Let them all work for a time below a folder, and say what came of it."""
    figures = Figures()
    world = _World(folder, max(2 * writers, agents), figures)
    agents_named = world.names[:agents]
    processes = [world.engine(number) for number in range(engines)]
    hearing = [threading.Thread(target=world.hear, args=(process,), daemon=True) for process in processes]
    each = len(world.names) // writers
    working = [
        threading.Thread(target=world.write, args=(number, world.names[number * each :][:each], writers / per_second))
        for number in range(writers)
    ]
    if agents:
        working.append(threading.Thread(target=world.beat, args=(agents_named, 60 / agents)))
    try:
        for thread in (*hearing, *working):
            thread.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.5)
            figures.ages.append(world.age())
        world.stop.set()
        for thread in working:
            thread.join()
        world.settle()
    finally:
        world.stop.set()
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)
    for thread in hearing:
        thread.join(10)
    world.check()
    return figures


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    for name, type_, default in (
        ("seconds", float, 120.0),
        ("writers", int, 8),
        ("agents", int, 200),
        ("engines", int, 3),
        ("per-second", float, 2.0),
    ):
        parser.add_argument(f"--{name}", type=type_, default=default)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="muster-") as folder:
        figures = contend(
            Path(folder),
            given.seconds,
            writers=given.writers,
            agents=given.agents,
            engines=given.engines,
            per_second=given.per_second,
        )
    print("\n".join(figures.lines()))
    sys.exit(bool(figures.lost or figures.wrong))


if __name__ == "__main__":
    main()
