"""Records that do not count: missing, cut off, damaged, of another version or run, too large. Each is a finding."""

import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import pytest

from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.reconcile.reconcile import reconcile
from muster.git.record import reading
from muster.git.record.reading import RecordReading, heard_at
from muster.git.repository import Repository, open_repository
from muster.git.store.objects import tree_of
from tests.support.example import NOON
from tests.support.git import Repo, copy
from tests.support.living import Living

TWO_HOURS_LATER = datetime(2026, 1, 1, 14, tzinfo=UTC)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A fleet of six clusters, decided once."""
    living = Living.small(tmp_path_factory.mktemp("fleet") / "fleet", 1, 6)
    assert reconcile(living.repository, lambda: NOON, branch="main", attempts=(1,)).commit
    return living.repo


def files_of(repo: Repo, commit: str = "main") -> dict[str, bytes]:
    """The files of a commit's record, by path."""
    tree = repo.git("show", "--no-patch", "--format=%(trailers:key=Muster-Heard,valueonly)", commit).strip()
    paths = repo.git("ls-tree", "-r", "--name-only", tree).splitlines()
    return {path: repo.git_bytes("cat-file", "blob", f"{tree}:{path}") for path in paths}


def with_record(repo: Repo, files: Mapping[str, bytes], **more: str) -> RecordReading:
    """Read the record of a commit like the last one, whose trailer names a tree with these files."""
    oids = {path: repo.git("hash-object", "-w", "--stdin", stdin=data) for path, data in files.items()}
    index = {**repo.environ, "GIT_INDEX_FILE": str(repo.path / ".git" / "other-index")}
    lines = "".join(f"100644 {oid}\t{path}\n" for path, oid in oids.items())
    other = Repo(repo.path, index)
    other.git("read-tree", "--empty")
    other.git("update-index", "--index-info", stdin=lines.encode())
    tree = other.git("write-tree")
    assert tree == tree_of({path: (b"100644", oid) for path, oid in oids.items()})
    return named(repo, tree, **more)


def named(repo: Repo, tree: str, now: str = "") -> RecordReading:
    """Read the record of a commit like the last one that names another tree, and another instant."""
    message = repo.git("show", "--no-patch", "--format=%B", "main")
    lines = [f"Muster-Heard: {tree}" if line.startswith("Muster-Heard") else line for line in message.splitlines()]
    lines = [f"Muster-Now: {now}" if now and line.startswith("Muster-Now") else line for line in lines]
    commit = repo.git("commit-tree", "-p", "main~1", "-m", "\n".join(lines), "main^{tree}")
    return heard_at(open_repository(repo.path, repo.environ), commit)


def edited(files: Mapping[str, bytes], **values: Tree) -> dict[str, bytes]:
    """The files with other values in run.json."""
    return {**files, "run.json": json.dumps({**json.loads(files["run.json"]), **values}).encode() + b"\n"}


def test_it_has_what_the_run_heard(made: Repo) -> None:
    repository = open_repository(made.path, made.environ)
    heard = heard_at(repository, made.tip()).heard
    assert heard is not None
    assert {ref.cluster for ref in heard.refs.refs} == {"c001", "c003", "c005"}
    assert heard.refs.agents.present == {"c001", "c003", "c005"}
    assert heard.commit_of("refs/heads/agents/c001") == made.git("rev-parse", "refs/heads/agents/c001")
    assert heard.newest_renewal == int(NOON.timestamp())
    assert with_record(made, files_of(made)).heard == heard_like(repository, made)


def heard_like(repository: Repository, made: Repo) -> object:
    """The same by the commit that `with_record` makes of the unchanged files."""
    message = made.git("show", "--no-patch", "--format=%B", "main")
    commit = made.git("commit-tree", "-p", "main~1", "-m", message, "main^{tree}")
    return heard_at(repository, commit).heard


def test_commits_of_people_and_runs_without_a_record_have_none(made: Repo, tmp_path: Path) -> None:
    repo = copy(made.path, tmp_path / "fleet")
    first = repo.tip()
    repo.commit(
        {
            "fleet.yaml": "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: a}\n"
            "spec: {record: {keep: 0s}}\n"
        }
    )
    repository = open_repository(repo.path, repo.environ)
    done = reconcile(repository, lambda: TWO_HOURS_LATER, branch="main", attempts=(1,))
    assert done.commit
    assert heard_at(repository, first).heard
    assert heard_at(repository, repo.tip("main~1")) == RecordReading(None)
    assert heard_at(repository, done.commit) == RecordReading(None)
    assert "Muster-Heard" not in repo.git("show", "--format=%B", "--no-patch", done.commit)


def row(**values: Tree) -> dict[str, bytes | None]:
    """One ref without renewals."""
    return {"refs/--": json.dumps({"ref": "refs/heads/agents/a", **values}).encode() + b"\n", "ages": b""}


@pytest.mark.parametrize(
    ("changed", "why"),
    (
        ({"ages": None}, "bytes are not the ages"),
        ({"ages": b"\0"}, "bytes are not the ages"),
        (row(digits=[99]), "bytes are not the ages"),
        (row(digits=[1]) | {"ages": b"\0\0\xff\0\0\0"}, "more than 1 digits"),
        (row(digits=[0] * 65) | {"ages": b"\0" * 130}, "too many renewals"),
        ({"run.json": None}, "run.json is not one line"),
        ({"run.json": b"{}"}, "cut off"),
        ({"run.json": b"{}\n"}, "missing required field"),
        ({"run.json": b"[" * 100_000 + b"\n"}, "not JSON"),
        ({"refs/--": b"{}\n{"}, "cut off"),
        ({"refs/--": b"{]\n"}, "not JSON"),
        (row(ref=1), "Expected `str`"),
        (row(ref="refs/heads/agents/\ud800"), "not JSON"),
        (row(skipped=[("\ud800", "link", "")]), "not JSON"),
        (row(files={"a.yaml": [0]}), "put together"),
        (row(files={"a.yaml": "?"}), "put together"),
        (row(files={"a.sh": []}), "no file of an agent"),
        (row(files={"a\n.yaml": []}), "no file of an agent"),
        ({"commits": b'{"ref": "a", "text": 5}\n'}, "Expected `str`"),
        ({"late": b"5\n"}, "Expected `object`"),
        ({f"refs/{number}": b"" for number in range(1100)}, "more than 1024 files"),
    ),
)
def test_what_does_not_fit_is_a_finding(made: Repo, changed: Mapping[str, bytes | None], why: str) -> None:
    files = {path: data for path, data in {**files_of(made), **changed}.items() if data is not None}
    found = with_record(made, files)
    assert found.heard is None
    (finding,) = found.findings
    assert finding.code == "MUS518"
    assert why in finding.message


@pytest.mark.parametrize(
    ("values", "why"),
    (
        ({"version": 2}, "version 2"),
        ({"now": "2026-01-01T12:00:01Z"}, "of another run"),
        ({"source": "0" * 40}, "of another run"),
    ),
)
def test_what_is_of_another_run_is_a_finding(made: Repo, values: dict[str, Tree], why: str) -> None:
    (finding,) = with_record(made, edited(files_of(made), **values)).findings
    assert (finding.code, why in finding.message) == ("MUS518", True)


def test_a_record_of_another_instant_is_one_of_another_run(made: Repo) -> None:
    (finding,) = with_record(made, files_of(made), now=format_time(TWO_HOURS_LATER)).findings
    assert (finding.code, "of another run" in finding.message) == ("MUS518", True)


def test_a_record_that_is_not_here_is_a_finding(made: Repo) -> None:
    for missing in ("1" * 40, "f" * 40):
        (finding,) = named(made, missing).findings
        assert finding.code == "MUS517"
        assert finding.hint.startswith("git fetch")


@pytest.mark.parametrize("path", ("", "ages", "run.json", "refs/--"))
def test_a_byte_that_changed_in_gits_store_is_a_finding(made: Repo, tmp_path: Path, path: str) -> None:
    """git reads such an object without a word."""
    repo = copy(made.path, tmp_path / "fleet")
    tree = repo.git("show", "--no-patch", "--format=%(trailers:key=Muster-Heard,valueonly)", "main").strip()
    oid = repo.git("rev-parse", f"{tree}:{path}" if path else tree)
    stored = repo.path / ".git" / "objects" / oid[:2] / oid[2:]
    data = bytearray(zlib.decompress(stored.read_bytes()))
    data[-1] ^= 1
    stored.chmod(0o644)
    stored.write_bytes(zlib.compress(data))
    read = heard_at(open_repository(repo.path, repo.environ), repo.tip())
    assert (read.heard, [found.code for found in read.findings]) == (None, ["MUS518"])


def test_other_objects_than_trees_are_no_records(made: Repo) -> None:
    for other in (made.tip(), made.git("rev-parse", "main:fleet.yaml")):
        (finding,) = named(made, other).findings
        assert finding.code == "MUS518"


def test_what_is_too_large_is_not_read(made: Repo) -> None:
    files = files_of(made)
    with patch.object(reading, "MAX_BYTES", sum(map(len, files.values())) - 1):
        (finding,) = with_record(made, files).findings
    assert (finding.code, "larger than" in finding.message) == ("MUS518", True)
