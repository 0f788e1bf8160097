"""`--workers`: who decides a whole fleet."""

from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.living import Living


@pytest.fixture
def living(tmp_path: Path) -> Living:
    return Living.small(tmp_path / "fleet", 3, 6)


def test_two_processes_decide_what_one_does(muster: Run, living: Living) -> None:
    where = ("--repo", str(living.repo.path), "--now", "2026-01-01T12:00:00Z")
    alone = muster("plan", *where, "--workers", "1", "-o", "json")
    assert muster("plan", *where, "--workers", "2", "-o", "json") == alone
    _, _, errors = muster("reconcile", *where, "--workers", "2", "-v")
    assert "looked at the whole fleet, in " in errors


@pytest.mark.parametrize("text", ("0", "many", "/nowhere/scheduler.json"))
def test_anybody_else_is_a_mistake(muster: Run, living: Living, text: str) -> None:
    code, _, errors = muster("reconcile", "--repo", str(living.repo.path), "--workers", text)
    assert code == 2
    assert "neither a number" in errors
