"""Drills on the page: the matrix that `muster drill` prints, what was asked and when; and when none is asked."""

import json
from pathlib import Path

import pytest

from muster.data.tree import Tree
from tests.support.commandline import Run
from tests.support.example import NOON
from tests.support.git import Repo, new_repository
from tests.support.living import BINDING, cluster, lease, observed, placement

NAME = "<img src=x onerror=alert(1)>"
DRILL = (
    "apiVersion: muster.dev/v1alpha1\nkind: Drill\nmetadata: {name: each}\n"
    "spec:\n  lose: {clusters: [c0, c2]}\n  for: 10m\n"
    f"  never:\n  - {{name: short, expression: \"placement.clusters.size() < 1 || '{NAME}' == ''\"}}\n"
)
AT = ("--now", "2026-01-01T12:00:00Z")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    files = {"b.yaml": BINDING, "p.yaml": placement("some", 1, region="ap"), "drill.yaml": DRILL}
    for name in ("c0", "c1", "c2"):
        files |= {f"{name}.yaml": cluster(name, region="ap" if name == "c0" else "eu")}
        files |= {f"{name}-lease.yaml": lease(name, NOON), f"{name}-observed.yaml": observed(name)}
    repo.commit(files)
    return repo


def handed_over(path: Path) -> Tree:
    text = path.read_text()
    assert "<" not in text
    return json.loads(text.partition(",")[2].rstrip(");\n"))


def test_the_matrix_is_that_of_the_drill(muster: Run, repo: Repo, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    code, _, err = muster("site", folder, "--repo", repo.path, *AT)
    assert code == 0, err
    assert handed_over(folder / "data/drills.js") == [
        {
            "name": "each",
            "lose": "{clusters: [c0, c2]}",
            "for": "10m",
            "start": "2026-01-01T12:00:00Z",
            "never": [["short", f"placement.clusters.size() < 1 || '{NAME}' == ''"]],
            "columns": [["Placement", "apps", "some"]],
            "rows": [["c0", 1, [[["short from 12:05:00"], []]]], ["c2", 1, [0]]],
            "empty": "",
        }
    ]
    assert handed_over(folder / "data/fleet.js")["drills"] == [["each", 1]]
    assert "short from 12:05:00" in muster("drill", "--repo", repo.path, *AT)[1]


def test_when_none_is_asked(muster: Run, repo: Repo, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    for path in repo.path.glob("*.yaml"):
        (plain / path.name).write_bytes(path.read_bytes())
    folder = tmp_path / "page"
    for more in (("--repo", repo.path, "--no-drills"), ("--repo", plain, "--worktree")):
        code, _, err = muster("site", folder, *AT, *more)
        assert code == 0, err
        assert not (folder / "data/drills.js").exists()
        assert handed_over(folder / "data/fleet.js")["drills"] is None


def test_a_drill_that_loses_nothing_says_so(muster: Run, repo: Repo, tmp_path: Path) -> None:
    repo.commit({"drill.yaml": DRILL.replace("[c0, c2]", "[c9]")})
    folder = tmp_path / "page"
    assert muster("site", folder, "--repo", repo.path, *AT)[0] == 0
    (matrix,) = handed_over(folder / "data/drills.js")
    assert (matrix["rows"], matrix["empty"]) == ([], "Drill/each loses no cluster")
