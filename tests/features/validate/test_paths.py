"""The files that arguments of `muster validate` name."""

from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

BROKEN = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: NAME}
spec: {hubAcepts: true}
"""


@pytest.fixture
def two_broken(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({f"clusters/eu/{name}/cluster.yaml": BROKEN.replace("NAME", name) for name in ("a", "b")})
    return repo


@pytest.mark.parametrize("how", [[], ["--rev", "HEAD"], ["--staged"]])
@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("clusters", "ab"),
        ("clusters/eu/", "ab"),
        (".", "ab"),
        ("clusters/eu/b", "b"),
        ("clusters/eu/b/..", "ab"),
        ("clusters/eu/a/cluster.yaml", "a"),
        ("README.md", ""),
    ],
)
def test_a_folder_stands_for_all_that_is_below_it(
    how: list[str], named: str, told: str, two_broken: Repo, muster: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_broken.commit({"README.md": "A fleet.\n"})
    monkeypatch.chdir(two_broken.path)
    code, out, _ = muster("validate", *how, named)
    assert (code, "".join(name for name in "ab" if f"eu/{name}/cluster.yaml:4:" in out)) == (int(bool(told)), told), out


def test_a_folder_is_told_from_within_from_elsewhere_and_without_git(
    two_broken: Repo, muster: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(two_broken.path / "clusters/eu")
    assert "eu/a/cluster.yaml:4:" in muster("validate", "a")[1]
    monkeypatch.chdir(tmp_path)
    assert "eu/a/cluster.yaml:4:" in muster("validate", "--repo", "fleet", "clusters/eu/")[1]
    (tmp_path / "fleet/.git").rename(tmp_path / "git")
    assert "eu/a/cluster.yaml:4:" in muster("validate", "--repo", "fleet", "clusters/eu")[1]


def test_what_a_folder_held_counts_too(two_broken: Repo, muster: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is gone answers for what follows from that."""
    two_broken.write("clusters/eu/b/cluster.yaml", None)
    monkeypatch.chdir(two_broken.path)
    assert muster("validate", "clusters/eu/b/cluster.yaml")[0] == 0
    assert muster("validate", "clusters/eu")[0] == 1


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("clusters/eu/a/clutser.yaml", "there is no 'clusters/eu/a/clutser.yaml'; did you mean 'cluster.yaml'?"),
        ("cluster", "there is no 'cluster'; did you mean 'clusters'?"),
        ("/elsewhere.yaml", "there is no '/elsewhere.yaml'"),
    ],
)
def test_a_file_that_is_nowhere_is_a_mistake(
    named: str, told: str, two_broken: Repo, muster: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(two_broken.path)
    code, _, err = muster("validate", named)
    assert (code, told in err) == (2, True), err
    assert muster("validate", "--rev", "HEAD", named)[0] == 0, "CI names what a change deleted"
