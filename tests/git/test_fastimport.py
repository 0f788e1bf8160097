"""Making commits: of any path and content, as whoever is configured, signed where that is asked for."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.git.errors import Committed, RepositoryError
from muster.git.repository import branch_tip, open_repository
from tests.git.committing import AFTER, BASE, CHANGE, check_sound, commit
from tests.support.committing import commit_files
from tests.support.git import Repo, clone, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit(BASE)
    return made


@pytest.fixture
def bare(repo: Repo, tmp_path: Path) -> Repo:
    return clone(repo, tmp_path / "bare.git", "--bare")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/x",
        "a//b",
        "../x",
        "a/../b",
        "a/.",
        ".git/config",
        "a/.GIT/hooks/x",
        "a\0b",
        "git~1/config",
        "a/.git /x",
        ".g\u200cit/config",
        "a\\.git\\config",
    ],
)
def test_refuses_paths_that_no_repository_can_hold(repo: Repo, path: str) -> None:
    before = repo.tip()
    with pytest.raises(ValueError, match="is not a path inside a repository"):
        commit(repo, {path: "x"})
    assert repo.tip() == before


@pytest.mark.parametrize(
    "path",
    [
        "new\nline.yaml",
        'quo"te.yaml',
        "back\\slash\\n.yaml",
        "-rf.yaml",
        " spaces .yaml",
        "tab\t.yaml",
        "ü/😀.yaml",
        os.fsdecode(b"latin\xe9.yaml"),
        "M 100644 inline x\ndata 3\n",
    ],
)
def test_awkward_paths_are_written_and_removed(repo: Repo, bare: Repo, path: str) -> None:
    for where in (repo, bare):
        assert isinstance(commit(where, {path: "x: 1\n"}), Committed)
        assert path in where.paths("main")
        assert isinstance(commit(where, {path: None}), Committed)
        assert path not in where.paths("main")
        check_sound(where)
    assert repo.status() == []


_SEGMENT = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=8
).filter(lambda part: part not in {".", ".."} and part.lower() != ".git" and "git~" not in part.lower())


@settings(max_examples=20)
@given(
    files=st.dictionaries(st.builds("derived/{}/{}".format, _SEGMENT, _SEGMENT), st.binary(max_size=100), max_size=5)
)
def test_what_is_committed_is_what_was_given(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    repo = new_repository(tmp_path_factory.mktemp("any") / "fleet.git", bare=True)
    repo.commit_to("refs/heads/main", {"a.yaml": "a: 1\n"})
    assert isinstance(commit(repo, files), Committed)
    assert set(repo.paths("main")) == {"a.yaml", *files}
    assert {path: repo.git_bytes("cat-file", "blob", f"main:{path}") for path in files} == files


def test_a_directory_takes_the_place_of_a_file_that_goes(repo: Repo) -> None:
    assert commit(repo, {"derived/a.yaml": None, "derived/a.yaml/b.yaml": "b: 1\n"}) == Committed(repo.tip())
    assert "derived/a.yaml/b.yaml" in repo.paths()
    assert repo.status() == []


def test_removing_what_is_not_there_is_fine(bare: Repo) -> None:
    assert commit(bare, {"derived/never.yaml": None}) == Committed(bare.tip("main"))


@pytest.mark.parametrize(
    ("unset", "config", "expected"),
    [
        (True, {}, "muster <muster@localhost>"),
        (True, {"user.name": "Grace", "user.email": "grace@example.com"}, "Grace <grace@example.com>"),
        (True, {"user.name": "Grace"}, "muster <muster@localhost>"),
        (False, {"user.name": "Grace", "user.email": "grace@example.com"}, "Ada <ada@example.com>"),
    ],
)
def test_commits_as_whoever_is_configured(bare: Repo, unset: bool, config: dict[str, str], expected: str) -> None:
    for name, value in config.items():
        bare.git("config", name, value)
    who = {name for name in bare.environ if name.endswith(("_NAME", "_EMAIL"))} if unset else set()
    anonymous = Repo(bare.path, {name: value for name, value in bare.environ.items() if name not in who})
    assert isinstance(commit(anonymous), Committed)
    assert bare.git("log", "-1", "--format=%an <%ae>", "main") == expected
    assert bare.git("log", "-1", "--format=%cn <%ce>", "main") == expected
    assert bare.git("log", "-1", "--format=%at", "main") == "1767225600"


def test_signs_where_the_configuration_asks_for_it(repo: Repo, bare: Repo, tmp_path: Path) -> None:
    signer = tmp_path / "signer"
    signature = "-----BEGIN PGP SIGNATURE-----"
    signer.write_text(f"#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho '{signature}'\n")
    signer.chmod(0o755)
    for where in (repo, bare):
        where.git("config", "commit.gpgSign", "true")
        where = where.with_environ(GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="gpg.program", GIT_CONFIG_VALUE_0=str(signer))
        base = where.tip("main")
        assert commit(where, message="Ünïcode\n\nbody") == Committed(where.tip("main"))
        raw = where.git("cat-file", "commit", "main")
        assert f"gpgsig {signature}" in raw
        assert "author Ada <ada@example.com> 1767225600 +0000" in raw
        assert raw.endswith("\n\nÜnïcode\n\nbody")
        assert where.tip("main~1") == base
        assert where.paths("main") == AFTER
    assert repo.status() == []


def test_a_signature_that_fails_is_an_error_and_nothing_changes(repo: Repo) -> None:
    repo.git("config", "commit.gpgSign", "true")
    repo.git("config", "gpg.program", "false")
    before = repo.tip()
    with pytest.raises(RepositoryError, match="gpg"):
        commit(repo)
    assert repo.tip() == before
    assert repo.status() == []


def test_commits_to_a_sha256_repository(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "sha256", object_format="sha256")
    repo.commit(BASE)
    assert commit(repo) == Committed(repo.tip())
    assert repo.paths() == AFTER
    check_sound(repo)


def test_fast_import_that_fails_leaves_nothing(bare: Repo) -> None:
    repository = open_repository(bare.path, bare.environ)
    blob = bare.tip("main:derived/a.yaml")
    bare.write("refs/heads/odd", f"{blob}\n")
    with pytest.raises(RepositoryError):
        commit_files(repository, branch="odd", expected=blob, files=CHANGE, message="x")
    assert branch_tip(repository, "odd") == blob
    (bare.path / "refs/heads/odd").unlink()
    check_sound(bare)
