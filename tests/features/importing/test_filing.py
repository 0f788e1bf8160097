"""Files go below the folder and nowhere else, over nothing that is not asked for, and whole or not at all."""

import os
from pathlib import Path

import pytest

from muster.features.importing.filing import create, obstacle, replace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    root = tmp_path / "fleet"
    (root / "clusters").mkdir(parents=True)
    (root / "clusters/a.yaml").write_text("a\n")
    (root / "away").symlink_to(tmp_path / "outside")
    (root / "nowhere.yaml").symlink_to(tmp_path / "missing")
    return root


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("clusters/b.yaml", ""),
        ("new/folders/b.yaml", ""),
        ("clusters/a.yaml", "there is something of that name"),
        ("clusters", "there is something of that name"),
        ("clusters/a.yaml/b.yaml", "clusters/a.yaml is no folder"),
        ("away/b.yaml", "away is a symbolic link"),
        ("nowhere.yaml", "nowhere.yaml is a symbolic link"),
        (f"clusters/{'x' * 300}.yaml", "File name too long"),
    ],
)
def test_what_is_in_the_way_is_said_before_and_refused_after(root: Path, path: str, why: str) -> None:
    assert obstacle(root, path) == why
    if why:
        with pytest.raises(OSError):
            create(root, path, "new\n")
    else:
        create(root, path, "new\n")
        assert (root / path).read_text() == "new\n"
    assert (root / "clusters/a.yaml").read_text() == "a\n"
    assert list((root.parent / "outside").iterdir()) == []


@pytest.mark.parametrize("path", ["../b.yaml", "clusters/../../b.yaml", "/b.yaml", "clusters//b.yaml", "./b.yaml"])
def test_a_path_that_leaves_is_none(root: Path, path: str) -> None:
    for write in (create, replace):
        with pytest.raises(OSError, match="is no path below a folder"):
            write(root, path, "x\n")


def test_a_file_is_replaced_as_a_whole(root: Path) -> None:
    (root / "clusters/a.yaml").chmod(0o600)
    before = (root / "clusters/a.yaml").stat().st_ino
    replace(root, "clusters/a.yaml", "new\n")
    assert (root / "clusters/a.yaml").read_text() == "new\n"
    assert (root / "clusters/a.yaml").stat().st_ino != before


def test_what_cannot_be_replaced_leaves_nothing_behind(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OSError, match="no space"):
        replace(root, "clusters/a.yaml", "new\n")
    assert sorted(path.name for path in (root / "clusters").iterdir()) == ["a.yaml"]
    assert (root / "clusters/a.yaml").read_text() == "a\n"
