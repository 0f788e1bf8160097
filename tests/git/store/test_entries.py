"""Which entries of a tree are read, and what is said of the others: links, submodules, what `.musterignore` names."""

from pathlib import Path

import pytest

from muster.data.snapshot import Skipped
from muster.git.store.paths import MAX_BLOB_BYTES
from tests.git.reading import read
from tests.support.git import Repo, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return new_repository(tmp_path / "fleet")


def test_a_file_beyond_the_limit_is_never_read(repo: Repo) -> None:
    repo.commit(
        {"fits.yaml": b"x" * MAX_BLOB_BYTES, "over.yaml": b"x" * (MAX_BLOB_BYTES + 1), "huge.yaml": b"x" * 50_000_000}
    )
    files, skipped = read(repo)
    assert list(files) == ["fits.yaml"]
    assert skipped == (
        Skipped("huge.yaml", "too-large", f"50000000 bytes, more than {MAX_BLOB_BYTES}"),
        Skipped("over.yaml", "too-large", f"{MAX_BLOB_BYTES + 1} bytes, more than {MAX_BLOB_BYTES}"),
    )


@pytest.mark.parametrize(
    ("link", "target", "detail"),
    [
        ("link.yaml", "a/real.yaml", "a/real.yaml"),
        ("a/link.yaml", "../../secret", "../../secret (outside the repository)"),
        ("link.yaml", "/etc/passwd", "/etc/passwd (outside the repository)"),
        ("directory", "a", "a"),
        ("a/up", "..", ".."),
        ("away", "../elsewhere", "../elsewhere (outside the repository)"),
        ("gone.yaml", "nowhere", "nowhere"),
    ],
)
def test_reports_a_link_that_could_stand_for_data(repo: Repo, link: str, target: str, detail: str) -> None:
    repo.commit({"a/real.yaml": "a: 1\n"})
    (repo.path / link).symlink_to(target)
    repo.commit()
    assert read(repo) == ({"a/real.yaml": b"a: 1\n"}, (Skipped(link, "symlink", detail),))


def test_says_nothing_of_a_link_that_could_not(repo: Repo) -> None:
    repo.commit({"a.yaml": "a: 1\n", "README.md": "", "docs/x.md": ""})
    (repo.path / "CONTRIBUTING").symlink_to("README.md")
    (repo.path / "documents").symlink_to("docs")
    repo.commit()
    assert read(repo) == ({"a.yaml": b"a: 1\n"}, ())


def test_reports_a_submodule(repo: Repo) -> None:
    commit = repo.commit({"a.yaml": "a: 1\n"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},vendor")
    repo.git("commit", "--quiet", "--message", "Add a submodule")
    assert read(repo) == ({"a.yaml": b"a: 1\n"}, (Skipped("vendor", "submodule", commit),))


@pytest.mark.parametrize(
    ("ignore", "left"),
    [
        ("", ["a/x.yaml", "a/y.yaml", "b/x.yaml", "x.yaml"]),
        ("# only a comment\n\n", ["a/x.yaml", "a/y.yaml", "b/x.yaml", "x.yaml"]),
        ("x.yaml", ["a/y.yaml"]),
        ("/x.yaml", ["a/x.yaml", "a/y.yaml", "b/x.yaml"]),
        ("a/", ["b/x.yaml", "x.yaml"]),
        ("*.yaml\n!y.yaml", ["a/y.yaml"]),
        ("**/x.yaml\r\n", ["a/y.yaml"]),
        ("*a" * 60 + "b", ["a/x.yaml", "a/y.yaml", "b/x.yaml", "x.yaml"]),
    ],
)
def test_musterignore_names_what_is_left_out(repo: Repo, ignore: str, left: list[str]) -> None:
    repo.commit(dict.fromkeys(["a/x.yaml", "a/y.yaml", "b/x.yaml", "x.yaml"], "a: 1\n") | {".musterignore": ignore})
    files, skipped = read(repo)
    assert list(files) == left
    assert skipped == ()


def test_what_musterignore_names_is_not_reported_either(repo: Repo) -> None:
    repo.commit({".musterignore": "big.yaml\n", "big.yaml": b"x" * (MAX_BLOB_BYTES + 1)})
    assert read(repo) == ({}, ())


@pytest.mark.parametrize("line", ["!", "[z-a]", "\\"])
def test_a_line_that_is_no_pattern_is_reported_and_the_others_count(repo: Repo, line: str) -> None:
    repo.commit({".musterignore": f"x.yaml\n{line}\ny.yaml\n", "x.yaml": "", "y.yaml": "", "z.yaml": ""})
    files, skipped = read(repo)
    assert list(files) == ["z.yaml"]
    assert skipped == (Skipped(".musterignore", "unreadable", "line 2 is not a pattern"),)


def test_a_musterignore_that_is_a_link_or_huge_names_nothing(repo: Repo) -> None:
    repo.commit({"x.yaml": "", "patterns": "*.yaml\n"})
    (repo.path / ".musterignore").symlink_to("patterns")
    repo.commit()
    files, [skipped] = read(repo)
    assert list(files) == ["x.yaml"]
    assert (skipped.path, skipped.reason) == (".musterignore", "unreadable")
    (repo.path / ".musterignore").unlink()
    repo.commit({".musterignore": "*.yaml\n" * 20_000})
    files, [skipped] = read(repo)
    assert list(files) == ["x.yaml"]
    assert skipped.reason == "unreadable"
