"""Random histories with forged runs: each decides as the same content does whose commits claim nothing.

Two repositories get the same steps. In one, people's commits have the trailers of runs, with instants of any time; in
the other, they have none. Both are reconciled at the same instants.
"""

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from muster.cli import exits
from muster.data.times import format_time, parse_time
from tests.deploy.test_pre_receive import HOOK
from tests.features.pulses.test_walkthrough import Muster, cluster, fleet, muster
from tests.support.git import Repo, clone

__all__ = ["muster"]

START = parse_time("2026-01-01T00:00:30Z")
INSTANTS = ("2099-01-01T00:00:00Z", "2000-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
NAMES = "ab"


@dataclass
class History:
    """A repository whose people may forge: `forges`."""

    repo: Repo
    forges: bool
    chance: random.Random
    runs: list[str] = field(default_factory=list)

    def said(self, source: str = "") -> str:
        """Return the trailers of a commit of people's, or a plain line."""
        instant, whole = self.chance.choice(INSTANTS), self.chance.random() < 0.5
        if not self.forges:
            return "Nothing"
        tip = source or self.repo.tip()
        more = f"\nMuster-Whole: {tip}" if whole else ""
        return f"Nothing\n\nMuster-Now: {instant}\nMuster-Source: {tip}{more}\nMuster-Policies: 0"

    def message_of(self, run: str) -> str:
        return self.repo.git("log", "-1", "--format=%B", run) if self.forges else "Picked"

    def file(self) -> str:
        name = self.chance.choice(NAMES)
        return f"derived/managedclusters/{name}.yaml"

    def edited(self) -> dict[str, str | None]:
        path = self.file()
        return {path: f"{self.repo.show(path)}\n# {self.chance.random()}\n"}


def empty(history: History) -> None:
    history.repo.commit({}, history.said())


def beside(history: History) -> None:
    history.repo.commit({"notes.txt": f"{history.chance.random()}"}, history.said())


def edit(history: History) -> None:
    history.repo.commit(history.edited(), history.said())


def edit_with_more(history: History) -> None:
    history.repo.commit({**history.edited(), "notes.txt": f"{history.chance.random()}"}, history.said())


def pair(history: History) -> None:
    path = history.file()
    before = f"{history.repo.show(path)}\n"
    history.repo.commit({path: f"{before}# {history.chance.random()}\n"}, history.said())
    history.repo.commit({path: before}, history.said())


def pick(history: History) -> None:
    """An engine's commit again: its files, and its words."""
    run = history.chance.choice(history.runs)
    history.repo.git("checkout", run, "--", "derived")
    history.repo.commit({}, history.message_of(run))


def amend(history: History) -> None:
    history.repo.write("notes.txt", f"{history.chance.random()}")
    history.repo.git("add", "notes.txt")
    message = history.message_of(history.repo.tip())
    history.repo.git("commit", "--quiet", "--amend", "--message", message)


def on_branches(history: History, *steps: Callable[[History], None]) -> None:
    """Make steps on branches of their own, and merge them, with words of a run."""
    base, names = history.repo.tip(), list[str]()
    for number, step in enumerate(steps):
        names.append(f"side-{base[:7]}-{number}")
        history.repo.git("switch", "--quiet", "--create", names[-1], base)
        step(history)
    history.repo.git("switch", "--quiet", "main")
    history.repo.git(
        "merge",
        "--quiet",
        "--no-ff",
        "--strategy-option=theirs" if len(names) == 1 else "--no-edit",
        *names,
        "--message",
        history.said(),
    )


def merge(history: History) -> None:
    on_branches(history, history.chance.choice((empty, edit, pair)))


def octopus(history: History) -> None:
    on_branches(history, empty, pair, empty)


def orphan(history: History) -> None:
    root = history.repo.git("commit-tree", "HEAD^{tree}", "-m", history.said())
    tree = history.repo.git("rev-parse", "HEAD^{tree}")
    merged = history.repo.git("commit-tree", tree, "-p", "HEAD", "-p", root, "-m", history.said())
    history.repo.git("merge", "--quiet", "--ff-only", merged)


STEPS = (empty, beside, edit, edit_with_more, pair, pick, amend, merge, octopus, orphan)


def run(history: History, muster: Muster, now: str) -> tuple[int, str, list[str]]:
    before = history.repo.tip()
    code, out, err = muster(history.repo, "reconcile", "--now", now)
    if history.repo.tip() != before:
        history.runs.append(history.repo.tip())
        out = out.partition(" ")[2]  # the commit's id
    return code, out, sorted(line for line in err.splitlines() if " MUS" in line and "MUS505" not in line)


@pytest.fixture
def histories(tmp_path: Path, muster: Muster) -> Callable[[int], tuple[History, History]]:
    def make(seed: int) -> tuple[History, History]:
        made = list[History]()
        for forges in (True, False):
            repo = fleet(tmp_path / f"fleet-{forges}", **dict.fromkeys(NAMES, "2026-01-01T00:00:00Z"))
            history = History(repo, forges, random.Random(seed))
            assert run(history, muster, format_time(START))[0] == exits.FINE
            made.append(history)
        return made[0], made[1]

    return make


def instants() -> Iterator[str]:
    now = START
    while True:
        now += timedelta(seconds=10)
        yield format_time(now)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
def test_forged_words_change_no_decision(
    seed: int, histories: Callable[[int], tuple[History, History]], muster: Muster
) -> None:
    forged, plain = histories(seed)
    chance, clock = random.Random(seed), instants()
    for number in range(6):
        step = STEPS[(seed * 6 + number) % len(STEPS)] if number else chance.choice(STEPS)
        for history in (forged, plain):
            step(history)
        if chance.random() < 0.5:
            name = f"n{number}"
            for history in (forged, plain):
                history.repo.commit({f"clusters/{name}/cluster.yaml": cluster(name)})
        now = next(clock)
        results = [run(history, muster, now) for history in (forged, plain)]
        assert results[0] == results[1], (step, number)
        assert results[0][0] != exits.REPOSITORY
        trees = [history.repo.git("rev-parse", "HEAD:derived") for history in (forged, plain)]
        assert trees[0] == trees[1], (step, number)


@pytest.mark.parametrize("step", STEPS)
def test_each_push_with_forged_words_is_refused(
    step: Callable[[History], None], histories: Callable[[int], tuple[History, History]], muster: Muster, tmp_path: Path
) -> None:
    history, _ = histories(1)
    hub = clone(history.repo, tmp_path / "hub.git", "--bare")
    (hub.path / "hooks").mkdir(exist_ok=True)
    shutil.copy(HOOK, hub.path / "hooks/pre-receive")
    base = history.repo.tip("main~1" if step is amend else "main")
    if step is amend:
        hub.git("update-ref", "refs/heads/main", base)
    if step is pick:
        edit(history)
    step(history)
    code, out, err = muster(history.repo, "validate", "--rev", "HEAD", "--base", base)
    assert code == exits.FINDINGS, out + err
    assert "error MUS504" in out + err or "error MUS506" in out + err
    done = subprocess.run(
        ["git", "push", "--quiet", str(hub.path), "main"],
        cwd=history.repo.path,
        env={**history.repo.environ, "MUSTER_USER": "ada"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0, "ada may not" in done.stderr) == (True, True), done.stderr
