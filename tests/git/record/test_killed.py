"""Runs that are killed: a commit that landed has its record, and can be repeated."""

import os
import shutil
import signal
import sys
from pathlib import Path

from muster.features.replay.answers import repeat
from muster.git.repository import open_repository
from muster.git.store.restricted import TRUST
from tests.support.git import Repo, new_repository
from tests.support.killing import killer
from tests.support.living import cluster, observed

#: A run of the command that keeps a state in the repository, as of noon.
RECONCILE = """
from pathlib import Path
from muster.commandline import run as command
def run(path):
    arguments = ["--repo", path, "--now", "2026-01-01T12:00:00Z", "--state", path + "/.git/kept.sqlite"]
    assert command(["reconcile", *arguments]) == 0
"""


def test_what_landed_before_a_run_was_killed_can_be_repeated(tmp_path: Path) -> None:
    template = new_repository(tmp_path / "template")
    template.commit({"a/cluster.yaml": cluster("a")})
    template.commit_to("refs/heads/agents/a", {"observed.yaml": observed("a")})
    before, killed = template.tip(), 0
    environ = {**os.environ, **template.environ, TRUST: "1", "PYTHONPATH": os.pathsep.join(("", *sys.path))}
    with killer(RECONCILE, environ) as killing:
        for step in range(15, 200):
            repo = Repo(tmp_path / str(step), template.environ)
            shutil.copytree(template.path, repo.path)
            status = killing.kill_at(step, str(repo.path))
            if repo.tip() != before:
                repo.git("prune", "--expire=now")
                repeated = repeat(open_repository(repo.path, repo.environ), before, repo.tip())
                assert (list(repeated.differences), repeated.repeated, repeated.runs) == ([], 1, 1), step
                killed += status != 0
            shutil.rmtree(repo.path)
            if status == 0:
                break
            assert status == -signal.SIGKILL
    assert status == 0
    assert killed > 1
