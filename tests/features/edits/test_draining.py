"""`muster drain`: it ends when the decisions that a reconcile commits have left the cluster."""

import subprocess
from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.forking import muster_command
from tests.support.git import Repo, new_repository
from tests.support.patience import PATIENCE_SECONDS

NOW = "2026-01-01T12:02:00Z"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()})
    return made


def test_what_still_chooses_it_is_named(repo: Repo, muster: Run) -> None:
    code, _, err = muster("drain", "prod-eu-1", "--timeout", "0s", "--repo", repo.path, "--now", NOW)
    assert code == 1
    assert "Placement/shop/web still chooses prod-eu-1" in err


def test_it_ends_when_a_reconcile_has_moved_the_decisions(repo: Repo, muster: Run) -> None:
    process = subprocess.Popen(
        [*muster_command(repo.environ), "drain", "prod-eu-1", "--timeout", "60s", "--repo", str(repo.path)],
        env=dict(repo.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    assert "Drain prod-eu-1" in process.stdout.readline()
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, out
    assert out.splitlines()[-1] == "no placement chooses prod-eu-1"
