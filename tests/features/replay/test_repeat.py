"""Repeated runs: all the same, unless a byte of a derived file, a message, a trailer or a record was changed."""

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from muster.features.replay.answers import Repeated, repeat, repeated_text
from muster.git.errors import RepositoryError
from muster.git.repository import open_repository
from tests.features.replay.test_replay import UNRECORDED, Past
from tests.support.commandline import Run
from tests.support.git import Repo, copy

A = "derived/managedclusters/a.yaml"


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A fleet of which an agent reports on a branch: it is silent, and comes back. Today it says something else."""
    past = Past.of(tmp_path_factory.mktemp("repeated") / "fleet", 6)
    past.repo.commit({"a/lease.yaml": None, "a/seen.yaml": None})
    past.speak("a")
    past.run()
    past.repo.git("tag", "then")
    for minutes, speaks in ((10, False), (1, True), (10, False)):
        past.now += timedelta(minutes=minutes)
        past.repo.commit(past.beats(tuple("bcdef")))
        if speaks:
            past.speak("a")
        past.run()
    past.now += timedelta(days=1)
    past.speak("a")
    return past.repo


@pytest.fixture
def repo(lived: Repo, tmp_path: Path) -> Repo:
    return copy(lived.path, tmp_path / "fleet")


def repeated(repo: Repo, commits: str = "then..HEAD") -> Repeated:
    start, end = (repo.tip(name) for name in commits.split(".."))
    return repeat(open_repository(repo.path, repo.environ), start, end)


def amended(repo: Repo, path: str, change: Callable[[str], str]) -> None:
    """Change a file in the newest commit."""
    repo.write(path, change(repo.show(path) + "\n"))
    repo.git("commit", "--quiet", "--all", "--amend", "--no-edit")


def reworded(repo: Repo, change: Callable[[str], str]) -> None:
    """Change the message of the newest commit."""
    message = change(repo.git("log", "-1", "--format=%B").strip()) + "\n"
    repo.git("commit", "--quiet", "--amend", "--cleanup=verbatim", "--file=-", stdin=message.encode())


def test_runs_over_agents_branches_are_repeated(repo: Repo) -> None:
    found = repeated(repo)
    assert (found.runs, found.repeated, list(found.differences)) == (3, 3, [])
    assert found.is_proved
    assert repeated_text(found) == "3 runs repeated: all the same\n"


@pytest.mark.parametrize(
    ("change", "field", "committed", "again"),
    [
        (lambda text: text.replace("status: Unknown", 'status: "True"'), ".status", "True", "Unknown"),
        (lambda text: text.replace("2026-01-01T12:21", "2026-01-01T12:20"), "", "12:20", "12:21"),
        (lambda text: f"{text} ", "(the file)", "its bytes", "its bytes"),
        (lambda text: f"{text}# A note\n", "(the file)", "its bytes", "its bytes"),
    ],
)
def test_a_changed_byte_of_a_derived_file_is_named(
    repo: Repo, change: Callable[[str], str], field: str, committed: str, again: str
) -> None:
    amended(repo, A, change)
    found = repeated(repo)
    assert found.repeated == 3
    assert not found.is_proved
    assert {(one.commit, one.file, one.object and one.object.name) for one in found.differences} == {
        (repo.tip(), A, "a")
    }
    assert all(field in one.field for one in found.differences)
    assert all(committed in one.committed and again in one.repeated for one in found.differences)
    assert "1 commit with differences" in repeated_text(found)


def test_derived_files_that_were_added_and_removed_are_named(repo: Repo) -> None:
    amended(repo, "derived/managedclusters/b.yaml", lambda _: "")
    repo.write(A.replace("a.yaml", "z.yaml"), repo.show(A).replace("name: a", "name: z"))
    repo.git("add", "derived")
    repo.git("commit", "--quiet", "--amend", "--no-edit")
    found = {(one.file[-6:], one.field, one.committed, one.repeated) for one in repeated(repo).differences}
    assert ("z.yaml", "(the file)", "there", "") in found
    assert {file for file, *_ in found} == {"z.yaml", "b.yaml"}
    repo.write("derived/managedclusters/b.yaml", "x: [")
    repo.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    assert {one.file[-6:] for one in repeated(repo).differences} == {"z.yaml", "b.yaml"}


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("Muster-Policies: ", "Muster-Policies: 0", "Muster-Policies"),
        ("ManagedCluster/a: condition", "ManagedCluster/b: condition", "message"),
        ("a Unknown", "a available", "message"),
        ("Muster-Heard: ", "Muster-Heard: 0\nMuster-Heard: ", "Muster-Heard"),
        ("Muster-Heard: ", "Muster-Heard:  ", "Muster-Heard"),
        ("\n\n", "\n\n\n", "message"),
    ],
)
def test_a_changed_message_is_named(repo: Repo, old: str, new: str, field: str) -> None:
    reworded(repo, lambda text: text.replace(old, new, 1))
    assert {one.field for one in repeated(repo).differences} == {field}


@pytest.mark.parametrize("name", ["Muster-Now: 2026-01-01T12:21:00Z", "Muster-Heard: "])
def test_a_run_whose_record_is_of_another_is_not_repeated(repo: Repo, name: str) -> None:
    trailer, _, value = name.partition(": ")
    if value:
        reworded(repo, lambda text: text.replace(name, f"{trailer}: 2026-01-01T12:22:00Z"))
    else:
        record = repo.git("log", "-1", "--format=%(trailers:key=Muster-Heard,valueonly)").strip()
        other = record.translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))
        reworded(repo, lambda text: text.replace(record, other))
    found = repeated(repo)
    assert (found.runs, found.repeated, [commit for commit, _ in found.unreadable]) == (3, 2, [repo.tip()])
    assert not found.is_proved


@pytest.mark.parametrize("amend", (("--amend", "--no-edit"), ("-m", "A person")), ids=("run", "person"))
@pytest.mark.parametrize(
    ("mode", "path"), (("100755", A), ("120000", A), ("160000", "derived/sub"), ("100644", 'derived/q"\t.yaml'))
)
def test_entries_that_no_run_writes_are_named(repo: Repo, mode: str, path: str, amend: tuple[str, ...]) -> None:
    oid = repo.tip() if mode == "160000" else repo.git("rev-parse", f"HEAD:{A}")
    repo.git("update-index", "--add", "--cacheinfo", f"{mode},{oid},{path}")
    repo.git("commit", "--quiet", *amend)
    differences = repeated(repo).differences
    assert [(one.commit, one.field) for one in differences] == [(repo.tip(), "(the file)")]


def test_a_range_of_which_the_end_does_not_follow_is_refused(repo: Repo) -> None:
    other = repo.git("commit-tree", "-m", "History that was rewritten", "HEAD^{tree}")
    for commits in (f"{other}..HEAD", "HEAD..then"):
        with pytest.raises(RepositoryError, match="does not follow from"):
            repeated(repo, commits)


def merged(repo: Repo, derived: str, *parents: str) -> None:
    """Make a merge of what people have at the head, with the derived files of a commit."""
    repo.git("read-tree", "HEAD")
    repo.git("rm", "-r", "--quiet", "--cached", "derived")
    repo.git("read-tree", "--prefix=derived/", f"{derived}:derived")
    options = [option for parent in parents for option in ("-p", parent)]
    repo.git("reset", "--quiet", "--hard", repo.git("commit-tree", *options, "-m", "Merge", repo.git("write-tree")))


def test_runs_are_repeated_on_either_side_of_a_merge(repo: Repo) -> None:
    head = repo.tip()
    side = repo.git("commit-tree", "-p", "then", "-m", "A person's", "then^{tree}")
    for parents in ((head, side), (side, head)):
        merged(repo, head, *parents)
        found = repeated(repo)
        assert (found.repeated, list(found.differences)) == (3, [])
        repo.git("reset", "--quiet", "--hard", head)


@pytest.mark.parametrize("turned", (False, True))
def test_a_merge_that_drops_what_runs_derived_is_named(repo: Repo, turned: bool) -> None:
    head = repo.tip()
    side = repo.git("commit-tree", "-p", "then", "-m", "A person's", "then^{tree}")
    merged(repo, "then", *((side, head) if turned else (head, side)))
    found = repeated(repo)
    assert {one.commit for one in found.differences} == {repo.tip()}
    assert A in {one.file for one in found.differences}


def test_a_run_that_names_another_parent_is_no_run(repo: Repo) -> None:
    """So all that it changed is what no run decided."""
    reworded(repo, lambda text: text.replace(repo.tip("HEAD^"), repo.tip("then")))
    found = repeated(repo)
    assert found.runs == 2
    assert {one.commit for one in found.differences} == {repo.tip()}
    assert A in {one.file for one in found.differences}


def test_what_people_change_in_derived_files_is_named(repo: Repo) -> None:
    repo.commit({A: repo.show(A).replace("status: Unknown", 'status: "True"') + "\n"})
    found = repeated(repo)
    assert {(one.commit, one.file) for one in found.differences} == {(repo.tip(), A)}


def test_a_clone_of_the_branch_alone_repeats_nothing_and_guesses_nothing(
    muster: Run, lived: Repo, tmp_path: Path
) -> None:
    lived.git("clone", "--quiet", "--no-local", str(lived.path), str(tmp_path / "clone"))
    clone = ("--repo", tmp_path / "clone")
    code, out, _ = muster("replay", "then..HEAD", *clone, "--exit-code")
    assert code == 1
    assert "0 of 3 runs repeated\n" in out
    assert "git fetch" not in out
    document = json.loads(muster("replay", "then..HEAD", *clone, "-o", "json")[1])
    assert (document["runs"], document["repeated"], len(document["unreadable"])) == (3, 0, 3)
    lived.git("-C", str(tmp_path / "clone"), "fetch", "--quiet", "origin", "refs/muster/heard/*:refs/muster/heard/*")
    code, out, _ = muster("replay", "then..HEAD", *clone, "--exit-code")
    assert (code, out) == (0, "3 runs repeated: all the same\n")


def test_runs_without_a_record_are_counted(tmp_path: Path) -> None:
    past = Past.of(tmp_path / "fleet", 7)
    first = past.repo.tip()
    past.repo.commit({"fleet.yaml": UNRECORDED})
    past.now += timedelta(minutes=10)
    past.run()
    found = repeat(past.repository, first, past.repo.tip())
    assert (found.runs, found.repeated, list(found.unrecorded)) == (1, 0, [past.repo.tip()])
    assert repeated_text(found) == f"0 of 1 run repeated\n1 run without a record: {past.repo.tip()[:12]}\n"


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="git signs with ssh-keygen")
def test_who_signed(tmp_path: Path) -> None:
    past = Past.of(tmp_path / "fleet", 8)
    first = past.repo.tip()
    key = tmp_path / "key"
    past.repo.git("init", "--quiet")
    past.repo.git("config", "gpg.format", "ssh")
    past.repo.git("config", "user.signingKey", str(key))
    past.repo.git("config", "commit.gpgSign", "true")
    keygen = shutil.which("ssh-keygen")
    assert keygen
    past.repo.git("-c", f"alias.keygen=!{keygen} -q -t ed25519 -N '' -C ci@fleet -f {key}", "keygen")
    public = (tmp_path / "key.pub").read_text().strip()
    spec = f"{{commit: {{signers: ['{public}']}}}}"
    fleet = f"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: f}}\nspec: {spec}\n"
    past.now += timedelta(minutes=10)
    past.repo.commit({"fleet.yaml": fleet})
    past.run()
    past.repo.git("config", "commit.gpgSign", "false")
    past.repo.commit({"notes.md": "unsigned\n"})
    found = repeat(past.repository, first, past.repo.tip())
    assert [(one.comment, one.runs, one.others) for one in found.signers] == [("ci@fleet", 1, 1), ("", 0, 1)]
    assert found.is_proved
    text = repeated_text(found)
    assert "(ci@fleet): 1 run, 1 other commit\nnot signed: 0 runs, 1 other commit\n" in text
    fingerprint = past.repo.git("-c", f"alias.keygen=!{keygen} -l -f {key}.pub", "keygen").split()[1]
    assert f"signed with {fingerprint} " in text
