"""Where a branch goes."""

import re
from pathlib import Path

import pytest

from muster.git.config import Upstream, identities, identity, remotes, upstream
from muster.git.errors import RepositoryError
from muster.git.repository import open_repository
from tests.support.git import Repo, clone, new_repository


@pytest.fixture
def origin(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "origin")
    made.commit({"a.yaml": "a: 1\n"})
    return made


def test_a_clone_goes_where_it_came_from(origin: Repo, tmp_path: Path) -> None:
    here = clone(origin, tmp_path / "here")
    repository = open_repository(here.path, here.environ)
    assert remotes(repository) == ("origin",)
    assert upstream(repository, "main") == Upstream("origin", "main")
    assert upstream(repository, "new") == Upstream("origin", "new")


@pytest.mark.parametrize(
    ("names", "config", "expected"),
    [
        ([], {}, None),
        (["hub"], {}, Upstream("hub", "main")),
        (["hub", "origin"], {}, Upstream("origin", "main")),
        (["hub", "mirror"], {}, None),
        (
            ["hub", "mirror"],
            {"branch.main.remote": "hub", "branch.main.merge": "refs/heads/prod"},
            Upstream("hub", "prod"),
        ),
        (["hub"], {"branch.main.remote": ".", "branch.main.merge": "refs/heads/x"}, Upstream("hub", "main")),
    ],
)
def test_chooses_the_remote(origin: Repo, names: list[str], config: dict[str, str], expected: Upstream | None) -> None:
    for name in names:
        origin.git("remote", "add", name, f"https://example.com/{name}.git")
    for name, value in config.items():
        origin.git("config", name, value)
    assert upstream(open_repository(origin.path, origin.environ), "main") == expected


@pytest.mark.parametrize(
    ("environ", "config", "same"),
    [
        ({}, {"user.name": "Ada", "user.email": "ada@example.com"}, True),
        ({}, {"user.name": "Ada", "user.email": "ada@example.com", "committer.name": "Bot"}, False),
        ({"GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}, {}, False),
        ({}, {}, True),
    ],
)
def test_author_and_committer_are_each_whom_git_names(
    origin: Repo, environ: dict[str, str], config: dict[str, str], same: bool
) -> None:
    plain = {name: value for name, value in origin.environ.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMM"))}
    for name, value in config.items():
        origin.git("config", name, value)
    repository = open_repository(origin.path, {**plain, **environ})
    author, committer = identities(repository)
    assert (author == committer) == same
    for found, role in ((author, "AUTHOR"), (committer, "COMMITTER")):
        assert found.rpartition(" <")[0] == identity(repository, role).rpartition(" <")[0]


@pytest.mark.parametrize(
    ("name", "mail"),
    [
        ("Ada", "ada@example.com"),
        ("Ünal Ö", "ünal@example.com"),
        ("A. Lovelace Jr.", "ada@example.com"),
        (" Ada\t", "ada@example.com"),
        ("Ada <the first>", "ada@example.com"),
        ("Ada, 'Countess'", "<ada@example.com>"),
        ("Ada", ""),
        ("", "ada@example.com"),
        ("Ada", None),
        (None, "ada@example.com"),
    ],
)
def test_who_commits_is_whom_git_would_name(origin: Repo, name: str | None, mail: str | None) -> None:
    plain = {name: value for name, value in origin.environ.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMM"))}
    for key, value in (("user.name", name), ("user.email", mail)):
        if value is not None:
            origin.git("config", key, value)
    repository = open_repository(origin.path, plain)
    said = repository.git.line("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
    expected, _, _ = (said or "muster <muster@localhost> 0 +0000").rpartition(" <")
    found = re.fullmatch(r"(.*) <(.*)> \d+ [+-]\d{4}", identity(repository, "AUTHOR"))
    assert found is not None
    assert found[1] == expected
    assert f"<{found[2]}>" in (said or "<muster@localhost>")


NAMED = [("Bo", "bo@example.com"), ("", "bo@example.com"), (" Bo.", None), (None, "<b>")]
DATES = (
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00+01:00",
    "2026-01-01T00:00:00",
    "2026-01-01T00:00:00.5Z",
    "@1767225600 +0130",
    "1767225600 +0000",
    "2026-06-31T00:00:00Z",
    "1969-01-01T00:00:00Z",
    "",
)


@pytest.mark.parametrize(
    ("name", "mail", "section", "date"),
    [
        *((*named, section, "2026-01-01T00:00:00Z") for named in NAMED for section in ("author", "user", None)),
        *(("Bo", "bo@example.com", None, date) for date in DATES),
    ],
)
def test_what_the_environment_says_of_a_role_is_what_git_makes_of_it(
    origin: Repo, name: str | None, mail: str | None, section: str | None, date: str
) -> None:
    environ = {name: value for name, value in origin.environ.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMM"))}
    named = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": mail, "GIT_AUTHOR_DATE": date}
    environ |= {key: value for key, value in named.items() if value is not None}
    if section is not None:
        for key, value in (("name", "Ada"), ("email", "ada@example.com")):
            origin.git("config", f"{section}.{key}", value)
    repository = open_repository(origin.path, environ)
    asked = ("-c", "user.useConfigOnly=true", "-c", "user.name=muster", "-c", "user.email=muster@localhost")
    expected = repository.git.run(*asked[: 2 if section else 6], "var", "GIT_AUTHOR_IDENT")
    if expected.status:
        with pytest.raises(RepositoryError):
            identity(repository, "AUTHOR")
    else:
        given, expected_text = identity(repository, "AUTHOR"), expected.stdout.decode().strip()
        assert given.rpartition("> ")[0] == expected_text.rpartition("> ")[0]
        assert not date or given == expected_text  # without a date it is the present
