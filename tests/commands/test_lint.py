"""lint as people use it."""

import json
from pathlib import Path

from tests.commands.conftest import Run
from tests.support.git import new_repository
from tests.support.living import REMEDY, cluster


def test_what_it_prints_and_how_it_ends(muster: Run, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": cluster("a")})
    assert muster("lint", "--repo", repo.path) == (0, "nothing to say\n", "")
    repo.commit({"r.yaml": REMEDY.replace("ConditionAvailable", "ConditionAvailabel")})
    code, out, _ = muster("lint", "--repo", repo.path)
    assert code == 1
    assert "r.yaml:6:29: warning MUS602: Remedy/r waits for ManagedClusterConditionAvailabel" in out
    assert "did you mean 'ManagedClusterConditionAvailable'?" in out
    code, out, _ = muster("lint", "--repo", repo.path, "--rev", "HEAD", "-o", "json")
    assert [found["code"] for found in json.loads(out)] == ["MUS602"]
