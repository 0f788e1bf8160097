"""Files of Projections in a real repository: text and JSON, edits by hand, a file where a folder was; and what a run
costs."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from muster.data.ids import ObjectId
from muster.rules.projections.policy import Projection
from muster.rules.projections.stage import ProjectedText, Projector
from muster.run.incremental import answer
from muster.run.memo.state import open_state
from tests.support.commandline import Run, muster
from tests.support.git import Repo, new_repository
from tests.support.living import Living, cluster

__all__ = ["muster"]

NOW = ("--now", "2026-01-01T12:00:00Z")
FILE = "derived/projections/conf/web.conf"


def projection(name: str, each: str, path: str, text: str) -> str:
    return (
        f"apiVersion: muster.dev/v1alpha1\nkind: Projection\nmetadata: {{name: {name}}}\n"
        f"spec:\n  forEach: {each}\n  path: {path}\n  text: {text}\n"
    )


@pytest.fixture
def repo(tmp_path: Path, muster: Run) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    conf = projection("conf", "all", "\"'web.conf'\"", "clusters.map(c, c.metadata.name).join()")
    repo.commit({"a.yaml": cluster("a"), "conf.yaml": conf})
    assert muster("reconcile", "--repo", repo.path, *NOW)[0] == 0
    return repo


def reconciled(repo: Repo, muster: Run) -> list[str]:
    code, out, _ = muster("reconcile", "--repo", repo.path, *NOW)
    assert code == 0
    assert "nothing to do" in muster("reconcile", "--repo", repo.path, *NOW)[1]
    assert repo.git("status", "--porcelain") == ""
    return out.splitlines()


def test_a_run_without_news_writes_nothing(repo: Repo, muster: Run) -> None:
    assert (repo.path / FILE).read_text() == "a\n"
    assert reconciled(repo, muster)[0] == "nothing to do"


def test_edits_by_hand_do_not_last(repo: Repo, muster: Run) -> None:
    repo.commit({FILE: "mine\n", "derived/projections/conf/other.conf": "mine\n"})
    reconciled(repo, muster)
    assert (repo.path / FILE).read_text() == "a\n"
    assert not (repo.path / "derived/projections/conf/other.conf").exists()


def test_a_file_takes_the_place_of_a_folder_and_back(repo: Repo, muster: Run) -> None:
    for path in ("web.conf/a/b", "web.conf", "web.conf/a"):
        repo.commit({"conf.yaml": projection("conf", "all", f"\"'{path}'\"", "\"'x'\"")})
        (subject, change, *_) = reconciled(repo, muster)
        assert subject.endswith("projection conf updated")
        assert f"derived/projections/conf/{path} (" in change
        files = [file for file in (repo.path / "derived/projections/conf").rglob("*") if file.is_file()]
        assert [str(file.relative_to(repo.path / "derived/projections/conf")) for file in files] == [path]


def test_files_go_with_their_projection_and_are_explained(repo: Repo, muster: Run) -> None:
    _, out, _ = muster("explain", "projection/conf", "--repo", repo.path, *NOW)
    assert f"file={FILE}" in out
    assert "conf.yaml" in out
    repo.commit({"conf.yaml": None})
    assert any("-> gone" in line for line in reconciled(repo, muster))
    assert not (repo.path / "derived/projections").exists()


def test_one_cluster_that_changes_costs_one_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    living = Living.small(tmp_path / "fleet", 1, 8)
    each = projection("each", "clusters", "cluster.metadata.name", "cluster.metadata.labels.region")
    listed = projection("list", "all", "\"'list'\"", "clusters.map(c, c.metadata.labels.region).join()")
    living.repo.commit({"each.yaml": each, "list.yaml": listed})
    state = open_state(tmp_path / "state.sqlite")
    assert state is not None
    seen = list[ObjectId]()
    real = Projector.project

    def counted(
        self: Projector, projection: Projection, about: ObjectId, values: Mapping[str, object]
    ) -> ProjectedText:
        seen.append(about)
        return real(self, projection, about, values)

    monkeypatch.setattr(Projector, "project", counted)
    for _ in range(3):  # what a run has written is looked at once more
        seen.clear()
        found = answer(living.question(), state)
        living.land(found.settled)
        found.remember(state)
    name = living.names[0]
    living.put(living._path(name), cluster(name, region="ap"))
    seen.clear()
    found = answer(living.question(), state)
    assert {f"derived/projections/each/{name}", "derived/projections/list/list"} <= found.settled.files.keys()
    assert sorted({one.name for one in seen}) == sorted((name, "list"))


def test_a_file_is_no_object_of_its_name(repo: Repo, muster: Run) -> None:
    """`muster get` finds the kind of a name by the files below derived/."""
    repo.commit({"conf.yaml": projection("conf", "clusters", "cluster.metadata.name + '/web.yaml'", "\"'x'\"")})
    reconciled(repo, muster)
    assert muster("get", "web", "--repo", repo.path, *NOW)[0] != 0
    assert muster("get", "projections", "--repo", repo.path, *NOW)[1].splitlines()[1].split()[0] == "conf"
