"""Runs that are killed at any instant, over and over: the next one reaches what an undisturbed one reaches."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from muster.features.pulses.publish import Publication
from muster.git.recovery import recover
from muster.git.store.restricted import TRUST
from muster.run.memo.state import open_state
from tests.features.notify.test_notify import Fleet, events, told, webhook
from tests.features.pulses.receiver import receiving
from tests.features.pulses.test_walkthrough import cluster
from tests.git.record.test_killed import RECONCILE
from tests.git.test_recovery import killed_before, landing, template
from tests.soak.conftest import share
from tests.support.git import Repo, clone, new_repository
from tests.support.killing import Killer, killer

__all__ = ["landing", "template"]  # fixtures
NOW = "2026-01-01T00:10:00Z"


def test_killed_before_every_step(landing: Killer, template: Repo, tmp_path: Path) -> None:
    killed_before(range(1, 100), landing, template, tmp_path)


def test_what_is_killed_while_it_tells_people_is_told(tmp_path: Path, figures: list[str]) -> None:
    """Before whatever a run does to files, and every process that it starts: what it would have told, the next one
    does, also where that has nothing to look at. What comes twice has one id."""
    environ = {**os.environ, TRUST: "1", "PYTHONPATH": os.pathsep.join(("", *sys.path))}
    with receiving() as receiver, killer(RECONCILE, environ) as killing:
        template = Fleet(tmp_path / "template", webhook(receiver))
        template.say("False", "a")
        killed = again = 0
        for step in range(1, 1000, 3):
            receiver.requests.clear()
            fleet = Fleet.__new__(Fleet)
            fleet.__dict__.update(template.__dict__)
            fleet.repo = Repo(tmp_path / str(step), template.repo.environ)
            shutil.copytree(template.repo.path, fleet.repo.path)
            status = killing.kill_at(step, str(fleet.repo.path))
            kept = open_state(fleet.repo.path / ".git" / "kept.sqlite")
            assert kept is not None
            with closing(kept) as fleet.state:
                recover(fleet.repository)
                fleet.run(1)
                assert fleet.run() == Publication()
            found = events(receiver)
            assert [told(event) for event in found] == [["a True>False"]] * len(found), step
            assert len({event["id"] for event in found}) == 1, step
            again += len(found) - 1
            shutil.rmtree(fleet.repo.path)
            if status == 0:
                break
            assert status == -signal.SIGKILL
            killed += 1
        assert status == 0, "it ended by itself"
        assert killed > 15
        figures.append(f"killed a run that tells at {killed} steps, and {again} times it was told twice")


def _muster(repo: Repo, *arguments: str) -> "subprocess.Popen[str]":
    main = "from muster.__main__ import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", main, "reconcile", "--repo", str(repo.path), "--now", NOW, *arguments],
        env=dict(repo.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    with process:
        said, _ = process.communicate()
    return process.returncode, said


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = new_repository(tmp_path_factory.mktemp("fleet") / "fleet")
    repo.commit({f"clusters/c{number}.yaml": cluster(f"c{number}") for number in range(60)} | {"mine.yaml": ""})
    return repo


def _kills(seconds: float) -> Iterator[tuple[int, int]]:
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until:
        number += 1
        yield number, random.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))


@pytest.mark.parametrize("pushing", [False, True], ids=["here", "pushing"])
def test_killed_at_any_instant(fleet: Repo, tmp_path: Path, figures: list[str], *, pushing: bool) -> None:
    """All of the process group, as a container is killed: muster and every git."""
    whole = Repo(tmp_path / "whole", {**fleet.environ, "MUSTER_STATE": str(tmp_path / "whole.sqlite")})
    shutil.copytree(fleet.path, whole.path)
    began = time.monotonic()
    assert _ended(_muster(whole))[0] == 0
    took = time.monotonic() - began
    killed = recovered = 0
    for number, how in _kills(share(0.1)):
        origin = clone(fleet, tmp_path / "origin.git", "--bare")
        here = clone(origin, tmp_path / "here") if pushing else fleet
        repo = Repo(tmp_path / "run", {**fleet.environ, "MUSTER_STATE": str(tmp_path / "run.sqlite")})
        shutil.copytree(here.path, repo.path)
        repo.write("mine.yaml", "edited\n")
        before = repo.tip()
        more = ("--push",) if pushing else ()
        process = _muster(repo, *more)
        if number % 4:  # while git changes refs and files, which is a twentieth of a run
            while process.poll() is None and not any(repo.path.glob(".git/muster/*.note")):
                time.sleep(0.001)
            time.sleep(random.uniform(0.0, 0.1))
        else:
            time.sleep(random.uniform(0.2, 1.0) * took)
        if process.poll() is None:
            os.killpg(process.pid, how)
            killed += 1
        _ended(process)
        assert repo.tip() == before or repo.tip("HEAD^{tree}") == whole.tip("HEAD^{tree}"), number
        status, said = _ended(_muster(repo, *more))
        assert status == 0, said
        recovered += "repaired" in said
        assert repo.tip("HEAD^{tree}") == whole.tip("HEAD^{tree}")
        assert repo.status() == [" M mine.yaml"]
        assert not list((repo.path / ".git").rglob("*.lock"))
        assert repo.git("fsck", "--no-dangling") == ""
        if pushing:
            assert origin.tip("main") == repo.tip()
        assert "nothing to do" in _ended(_muster(repo, *more))[1]
        for left in ("origin.git", "here", "run"):
            shutil.rmtree(tmp_path / left, ignore_errors=True)
        for kept in tmp_path.glob("run.sqlite*"):
            kept.unlink()
    figures.append(f"killed {killed} runs of {number}; {recovered} times something was put right")
    assert killed
