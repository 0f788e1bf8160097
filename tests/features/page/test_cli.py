"""`muster site`: what it links to, and what it forecasts."""

import json
from pathlib import Path

import pytest

from tests.features.pulses.test_walkthrough import lease
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

NOW = "2026-01-01T00:00:00Z"
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a}
spec: {hubAcceptsClient: true}
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": CLUSTER, "wrong.yaml": CLUSTER.replace("name: a", "name: b").replace("true", "7")})
    return repo


@pytest.mark.parametrize(
    ("remote", "linked"),
    [
        ("git@github.com:org/fleet.git", "https://github.com/org/fleet/blob/{commit}/{path}"),
        ("https://user:secret@github.com/org/fleet.git", "https://github.com/org/fleet/blob/{commit}/{path}"),
        (
            "ssh://git@gitlab.example.com:2222/a/b/fleet.git",
            "https://gitlab.example.com/a/b/fleet/-/blob/{commit}/{path}",
        ),
        ("/srv/fleet.git", None),
        ("https://git.example.com/fleet", None),
    ],
)
def test_files_are_linked_to_where_the_forge_is_known(
    repo: Repo, tmp_path: Path, muster: Run, remote: str, linked: str | None
) -> None:
    repo.git("remote", "add", "origin", remote)
    folder = tmp_path / "site"
    assert muster("site", folder, "--repo", repo.path, "--now", NOW, "--offline")[0] == 0
    said = (folder / "data/fleet.js").read_text()
    assert f'"file":"{linked}"' in said if linked else '"links":null' in said
    assert "secret" not in said


def test_what_happens_next_is_told_where_that_is_asked(repo: Repo, tmp_path: Path, muster: Run) -> None:
    repo.commit({"lease.yaml": lease("a", NOW)})
    told = []
    for more in ((), ("--forecast", "4m"), ("--forecast", "1h")):
        assert muster("site", tmp_path / "page", "--repo", repo.path, "--now", NOW, *more)[0] == 0
        text = (tmp_path / "page/data/fleet.js").read_text()
        told.append(json.loads(text.removeprefix('muster.put("fleet",').removesuffix(");\n"))["upcoming"])
    assert told[0] is None
    assert [one["at"] for one in told[1]] == [NOW]
    assert [one["at"] for one in told[2]] == [NOW, "2026-01-01T00:05:00Z"]
    assert any("ManagedClusterLeaseUpdateStopped" in line for line in told[2][1]["lines"])
    assert told[2][1]["count"] == len(told[2][1]["lines"])
    assert muster("site", tmp_path / "page", "--repo", repo.path, "--forecast", "soon")[0] == 2
