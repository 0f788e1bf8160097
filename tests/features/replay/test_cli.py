"""replay as people use it."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.features.replay.test_replay import EAGER, NAMES, Past
from tests.support.commandline import Run


@pytest.fixture
def past(tmp_path: Path) -> Past:
    made = Past.of(tmp_path / "fleet", 5)
    made.repo.git("tag", "then")
    made.now += timedelta(minutes=10)
    made.repo.commit(made.beats(NAMES[1:]))
    made.run()
    return made


def test_what_a_remedy_would_have_done(muster: Run, past: Past, tmp_path: Path) -> None:
    code, out, err = muster("replay", "then..HEAD", "--repo", past.repo.path)
    assert (code, out, err) == (0, "1 run repeated: all the same\n", "")
    code, out, err = muster("replay", "then..HEAD", "--repo", past.repo.path, "--policies", "HEAD")
    assert (code, out, err) == (0, "1 run replayed: all decisions would have been the same.\n", "")
    eager = tmp_path / "eager.yaml"
    eager.write_text(EAGER)
    code, out, _ = muster("replay", "then..", "--repo", past.repo.path, "--policies", eager, "--exit-code")
    assert code == 1
    assert "ManagedCluster/a" in out
    assert out.endswith("1 run replayed: 1 difference.\n")
    found = json.loads(muster("replay", "then..", "--repo", past.repo.path, "--policies", eager, "-o", "json")[1])
    assert found["differences"][0]["since"] == "2026-01-01T12:10:00Z"


def test_what_is_no_range(muster: Run, past: Past) -> None:
    assert muster("replay", "then", "--repo", past.repo.path)[0] == 2
    assert muster("replay", "nowhere..", "--repo", past.repo.path)[0] == 4
    assert muster("replay", "then..", "--repo", past.repo.path, "--policies", "then", "--policies", "HEAD")[0] == 2
    both = ("--policies", "HEAD", "--set", "managed-cluster-available.graceFactor=2")
    assert muster("replay", "then..", "--repo", past.repo.path, *both)[0] == 2


def test_a_file_that_cannot_be_read_is_no_policy(muster: Run, past: Past, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: [")
    code, _, err = muster("replay", "then..", "--repo", past.repo.path, "--policies", broken)
    assert (code, "broken.yaml:1:" in err) == (2, True)
