"""The entries of a commit's tree: all of them in byte order, or those that are asked for."""

from pathlib import Path

import pytest

from muster.git.errors import RepositoryError
from muster.git.repository import open_repository
from muster.git.store.objects import Objects
from muster.git.trees import find_entries, list_tree
from tests.support.git import Repo, new_repository


@pytest.fixture(params=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet", object_format=request.param)
    files: dict[str, str | bytes | None] = {f"many/{number:04}.yaml": "x\n" for number in range(900)}
    made.path.joinpath("link").symlink_to("b/deep.yaml")
    made.commit({"b.yaml": "bb\n", "b/deep.yaml": "", "b-c.yaml": "x", "od\\d \n\udcff.yaml": "odd\n", **files})
    return made


def listed(repo: Repo) -> list[tuple[bytes, bytes, int | None]]:
    repository = open_repository(repo.path, repo.environ)
    return [(e.path, e.mode, e.size) for e in list_tree(repository, repo.tip())]


def found(repo: Repo, *paths: str) -> list[tuple[bytes, bytes, int | None]]:
    repository = open_repository(repo.path, repo.environ)
    return [(e.path, e.mode, e.size) for e in find_entries(repository, repository.objects, repo.tip(), paths)]


def test_all_entries_with_mode_and_size_in_byte_order(repo: Repo) -> None:
    there = listed(repo)
    assert there[:4] == [
        (b"b-c.yaml", b"100644", 1),
        (b"b.yaml", b"100644", 3),
        (b"b/deep.yaml", b"100644", 0),
        (b"link", b"120000", 11),
    ]
    assert there[-1] == (b"od\\d \n\xff.yaml", b"100644", 4)
    assert (len(there), there) == (905, sorted(there))


def test_the_id_is_the_blobs(repo: Repo) -> None:
    (entry,) = (e for e in list_tree(open_repository(repo.path, repo.environ), repo.tip()) if e.path == b"b.yaml")
    assert entry.oid == repo.git("rev-parse", "HEAD:b.yaml")


@pytest.mark.parametrize("max_bytes", (1 << 20, 1), ids=("walking", "trees are too large to walk"))
def test_of_those_that_are_asked_for_the_ones_that_are_there(
    repo: Repo, max_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many, and no directory: by the walk as by git itself."""
    read = Objects.read
    monkeypatch.setattr(Objects, "read", lambda objects, names: read(objects, names, max_bytes))
    odd = "od\\d \n\udcff.yaml"
    asked = (
        "b.yaml",
        "nowhere.yaml",
        "b/deep.yaml",
        "b/deep.yaml/x",
        odd,
        "b.yaml",
        "b",
        "b/",
        "link",
        "many//0001.yaml",
    )
    assert found(repo, *asked) == [
        (b"b.yaml", b"100644", 3),
        (b"b/deep.yaml", b"100644", 0),
        (b"link", b"120000", 11),
        (b"od\\d \n\xff.yaml", b"100644", 4),
    ]
    assert len(found(repo, *(f"many/{number:04}.yaml" for number in range(1000)))) == 900


def test_a_submodule_and_what_the_repository_has_lost(repo: Repo) -> None:
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.tip()},sub.yaml")
    repo.git("commit", "-qm", "odd")
    blob = repo.git("rev-parse", "HEAD:b.yaml")
    (repo.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert found(repo, "sub.yaml", "b.yaml") == [(b"b.yaml", b"100644", None), (b"sub.yaml", b"160000", None)]


def test_a_tree_that_is_lost(repo: Repo) -> None:
    tree = repo.git("rev-parse", "HEAD:many")
    (repo.path / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert found(repo, "b.yaml") == [(b"b.yaml", b"100644", 3)]
    with pytest.raises(RepositoryError):
        found(repo, "many/0001.yaml")
