"""Which commits are the engine's own: only what they say of runs counts."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.data.times import parse_time
from muster.git.enginecommits import EngineCommit, EngineCommits, require_own
from muster.git.errors import RepositoryError
from muster.git.repository import open_repository
from tests.support.git import DATE, Repo, new_repository

LATER = "2026-01-01T00:05:00Z"
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec: {commit: {signers: ["KEY a comment"]}}
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"fleet.yaml": "# nothing\n", "derived/a.yaml": "0\n"})
    return made


def own(repo: Repo, commit: str) -> EngineCommit | None:
    engine = EngineCommits(open_repository(repo.path, repo.environ), repo.tip())
    return next(engine.of((commit,)))


def last(repo: Repo, revision: str = "HEAD") -> str:
    engine = EngineCommits(open_repository(repo.path, repo.environ), repo.tip(revision))
    found = engine.last()
    return found.commit if found else ""


def test_what_a_run_commits_is_its_own(repo: Repo) -> None:
    source = repo.tip()
    commit = repo.commit_run({"derived/a.yaml": "1\n"}, now=LATER, more=f"\nMuster-Whole: {source}\nMuster-Policies: x")
    assert own(repo, commit) == EngineCommit(commit, parse_time(LATER), source, source, parent=source)
    assert own(repo, repo.commit_run()) is None, "it changes nothing"


def _elsewhere(repo: Repo) -> str:
    return repo.commit_run({"derived/a.yaml": "1\n", "clusters/a.yaml": "x\n"})


def _beside(repo: Repo) -> str:
    return repo.commit_run({"derived.yaml": "1\n"})


def _amended(repo: Repo) -> str:
    repo.commit_run({"derived/a.yaml": "1\n"})
    repo.write("notes.md", "x")
    repo.git("add", "notes.md")
    repo.git("commit", "--quiet", "--amend", "--no-edit")
    return repo.tip()


def _rebased(repo: Repo) -> str:
    repo.git("switch", "--quiet", "--create", "topic")
    repo.commit_run({"derived/a.yaml": "1\n"})
    repo.git("switch", "--quiet", "main")
    repo.commit({"notes.md": "x"})
    repo.git("rebase", "--quiet", "main", "topic")
    return repo.tip()


def _squashed(repo: Repo) -> str:
    base = repo.tip()
    repo.commit({"clusters/a.yaml": "x\n"})
    repo.commit_run({"derived/a.yaml": "1\n"})
    message = repo.git("log", "-1", "--format=%B")
    repo.git("reset", "--quiet", "--soft", base)
    return repo.commit(message=message)


def _merged(repo: Repo) -> str:
    source = repo.tip()
    repo.git("switch", "--quiet", "--create", "topic")
    repo.commit({"derived/a.yaml": "1\n"})
    repo.git("switch", "--quiet", "main")
    message = f"Merge\n\nMuster-Now: {DATE}\nMuster-Source: {source}"
    repo.git("merge", "--quiet", "--no-ff", "topic", "--message", message)
    return repo.tip()


def _first(repo: Repo) -> str:
    message = f"First\n\nMuster-Now: {DATE}\nMuster-Source: {repo.tip()}"
    return repo.git("commit-tree", "HEAD^{tree}", "-m", message)


@pytest.mark.parametrize("make", [_elsewhere, _beside, _amended, _rebased, _squashed, _merged, _first])
def test_what_changes_more_or_has_another_parent_is_not(repo: Repo, make: Callable[[Repo], str]) -> None:
    assert own(repo, make(repo)) is None


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Muster-Now: {now}",
        "Muster-Source: {tip}",
        "Muster-Now: soon\nMuster-Source: {tip}",
        "Muster-Now: {now}\nMuster-Source: HEAD",
        "Muster-Now: {now}\nMuster-Source: {tip}\n\nMore text",
        "Muster-Now: {now}\nMuster-Now: {now}\nMuster-Source: {tip}",
    ],
)
def test_what_does_not_say_what_a_run_says_is_not(repo: Repo, said: str) -> None:
    assert own(repo, repo.commit({"derived/a.yaml": "1\n"}, f"Run\n\n{said.format(now=DATE, tip=repo.tip())}")) is None


def test_what_is_not_a_commit_that_is_here_is_not(repo: Repo, tmp_path: Path) -> None:
    commit = repo.commit_run({"derived/a.yaml": "1\n"})
    assert [own(repo, one) for one in ("0" * 40, repo.tip("HEAD^{tree}"))] == [None, None]
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    assert own(Repo(tmp_path / "shallow", repo.environ), commit) is None, "what it changes is not known"


def test_on_a_branch_of_derived_files_alone_the_source_is_elsewhere(repo: Repo) -> None:
    source = repo.tip()
    repo.git("switch", "--quiet", "--orphan", "derived")
    repo.commit({"derived/a.yaml": "1\n"}, "Begin")
    said = f"Run\n\nMuster-Now: {DATE}\nMuster-Source: {source}"
    commit = repo.commit({"derived/a.yaml": "2\n"}, said)
    assert own(repo, commit) is not None
    assert own(repo, repo.commit({"derived/a.yaml": "3\n", "more.yaml": "x\n"}, said)) is None


def test_the_last_run_is_the_one_that_made_what_is_derived(repo: Repo) -> None:
    """However histories are merged, and whatever a branch says that gave nothing to it."""
    first = repo.commit_run({"derived/a.yaml": "1\n"})
    repo.git("switch", "--quiet", "--create", "evil")
    repo.commit_run({"derived/a.yaml": "2\n"}, now=LATER)
    repo.commit_run({"derived/a.yaml": "1\n"}, now=LATER)
    repo.commit_run({}, now=LATER)
    repo.git("switch", "--quiet", "main")
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", "evil")
    assert last(repo) == first
    repo.git("switch", "--quiet", "--create", "persons", "HEAD~1")
    repo.commit({"notes.md": "x"})
    repo.git("switch", "--quiet", "main")
    newest = repo.commit_run({"derived/a.yaml": "3\n"})
    repo.git("switch", "--quiet", "persons")
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", "main")
    assert last(repo) == newest, "also by the second parent"
    repo.commit({"derived/a.yaml": "by hand\n"})
    assert last(repo) == newest


def _key(folder: Path, name: str) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / name)], check=True)
    return folder / name


def test_where_the_fleet_names_signers_others_commits_are_not(repo: Repo, tmp_path: Path) -> None:
    unsigned = repo.commit_run({"derived/a.yaml": "1\n"})
    ours, theirs = _key(tmp_path, "ours"), _key(tmp_path, "theirs")
    repo.commit({"fleet.yaml": FLEET.replace("KEY", ours.with_suffix(".pub").read_text().strip())})
    repo.git("config", "gpg.format", "ssh")
    repo.git("config", "commit.gpgSign", "true")
    signed = dict[str, str]()
    for key in (ours, theirs):
        repo.git("config", "user.signingKey", str(key))
        signed[key.name] = repo.commit_run({"derived/a.yaml": f"{key.name}\n"})
    assert [own(repo, one) is not None for one in (unsigned, signed["ours"], signed["theirs"])] == [False, True, False]
    assert last(repo) == signed["ours"]
    opened = open_repository(repo.path, repo.environ)
    require_own(opened, signed["ours"], repo.tip())
    with pytest.raises(RepositoryError, match=r"Fleet\.spec\.commit\.signers"):
        require_own(opened, signed["theirs"], repo.tip())
