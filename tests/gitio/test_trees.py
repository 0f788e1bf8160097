"""The entries of a commit's tree: all of them in byte order, or those that are asked for."""

from pathlib import Path

import pytest

from muster.gitio.repository import open_repository
from muster.gitio.trees import list_tree
from tests.support.git import Repo, new_repository


@pytest.fixture(params=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet", object_format=request.param)
    files: dict[str, str | bytes | None] = {f"many/{number:04}.yaml": "x\n" for number in range(900)}
    made.path.joinpath("link").symlink_to("b/deep.yaml")
    made.commit({"b.yaml": "bb\n", "b/deep.yaml": "", "b-c.yaml": "x", "od\\d \n\udcff.yaml": "odd\n", **files})
    return made


def listed(repo: Repo, *only: str) -> list[tuple[bytes, bytes, int | None]]:
    repository = open_repository(repo.path, repo.environ)
    return [(e.path, e.mode, e.size) for e in list_tree(repository, repo.tip(), only or None)]


def test_all_entries_with_mode_and_size_in_byte_order(repo: Repo) -> None:
    found = listed(repo)
    assert found[:4] == [
        (b"b-c.yaml", b"100644", 1), (b"b.yaml", b"100644", 3), (b"b/deep.yaml", b"100644", 0),
        (b"link", b"120000", 11),
    ]  # fmt: skip
    assert found[-1] == (b"od\\d \n\xff.yaml", b"100644", 4)
    assert (len(found), found) == (905, sorted(found))


def test_the_id_is_the_blobs(repo: Repo) -> None:
    (entry,) = list_tree(open_repository(repo.path, repo.environ), repo.tip(), ["b.yaml"])
    assert entry.oid == repo.git("rev-parse", "HEAD:b.yaml")


def test_of_those_that_are_asked_for_the_ones_that_are_there(repo: Repo) -> None:
    """However many: a command line holds only so much."""
    assert listed(repo, "b.yaml", "nowhere.yaml", "b/deep.yaml", "od\\d \n\udcff.yaml", "b.yaml") == [
        (b"b.yaml", b"100644", 3), (b"b/deep.yaml", b"100644", 0), (b"od\\d \n\xff.yaml", b"100644", 4),
    ]  # fmt: skip
    assert len(listed(repo, *(f"many/{number:04}.yaml" for number in range(1000)))) == 900
