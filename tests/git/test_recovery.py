"""What a run that was killed at any instant left is put right by the next one, and nobody else's work is touched."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from muster.git.errors import Committed, Refused, RepositoryError
from muster.git.fastimport import build_commit
from muster.git.journal import JournalNote, noted
from muster.git.landing.commit import advance
from muster.git.push import fetch
from muster.git.recovery import recover
from muster.git.repository import open_repository
from muster.git.store.restricted import TRUST
from tests.git.committing import commit
from tests.support.committing import commit_files
from tests.support.git import Repo, add_worktree, clone, new_repository
from tests.support.killing import Killer, killer
from tests.support.patience import wait_until

BASE = {
    "derived/changed.yaml": "old\n",
    "derived/gone.yaml": "gone\n",
    "derived/sub/gone.yaml": "gone\n",
    "derived/turns": "a file\n",
    "derived/kept.yaml": "kept\n",
    "mine.yaml": "mine\n",
}
CHANGE = {
    "derived/changed.yaml": "new\n" * 500,
    "derived/gone.yaml": None,
    "derived/sub/gone.yaml": None,
    "derived/turns": None,
    "derived/turns/into.yaml": "a folder\n",
    "derived/more/added.yaml": "added\n",
}
LAND = """
import os
from pathlib import Path
from muster.git.landing.commit import advance
from muster.git.repository import open_repository
def run(path):
    repository = open_repository(Path(path), os.environ)
    base, commit = (repository.git.line("rev-parse", name) for name in ("main", "refs/next"))
    advance(repository, branch="main", expected=base, commit=commit)
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = new_repository(tmp_path_factory.mktemp("template") / "fleet")
    repo.commit(BASE)
    repo.write("mine.yaml", "edited\n")
    new = build_commit(open_repository(repo.path, repo.environ), CHANGE, "Reconcile", repo.tip())
    repo.git("update-ref", "refs/next", new)
    return repo


@pytest.fixture(scope="module")
def landing(template: Repo) -> Iterator[Killer]:
    with killer(LAND, {**template.environ, TRUST: "1", "PYTHONPATH": os.pathsep.join(("", *os.sys.path))}) as made:  # type: ignore[attr-defined]
        yield made


@pytest.fixture
def repo(template: Repo, tmp_path: Path) -> Repo:
    return copy_of(template, tmp_path / "fleet")


def copy_of(repo: Repo, path: Path) -> Repo:
    shutil.copytree(repo.path, path, symlinks=True)
    return Repo(path, repo.environ)


def put_right(repo: Repo) -> tuple[str, ...]:
    return recover(open_repository(repo.path, repo.environ))


def locks(repo: Repo) -> list[str]:
    return sorted(path.name for path in (repo.path / ".git").rglob("*.lock"))


def check_next_run(repo: Repo) -> None:
    """Nothing but a person's edit is left, nothing is locked, and the next commit goes through."""
    assert repo.status() == [" M mine.yaml"]
    assert locks(repo) == []
    assert [left.name for left in (repo.path / ".git").glob("muster/*") if left.suffix != ".new"] == []
    if (base := repo.tip()) != (new := repo.tip("refs/next")):
        if repo.tip("refs/next~1") != base:
            new = build_commit(open_repository(repo.path, repo.environ), CHANGE, "Reconcile", base)
        landed = advance(open_repository(repo.path, repo.environ), branch="main", expected=base, commit=new)
        assert landed == Committed(new)
    files = {str(path.relative_to(repo.path)) for path in repo.path.glob("derived/**/*") if path.is_file()}
    assert files == {path for path, content in CHANGE.items() if content} | {"derived/kept.yaml"}
    assert not (repo.path / "derived/sub").exists()
    assert repo.status() == [" M mine.yaml"]
    assert repo.git("fsck", "--strict", "--no-dangling") == ""


def test_killed_before_every_second_step(landing: Killer, template: Repo, tmp_path: Path) -> None:
    """Of muster's: whatever it does to a file, and every process that it starts. The first ones only read."""
    killed_before(range(9, 100, 2), landing, template, tmp_path)


def killed_before(steps: Iterable[int], landing: Killer, template: Repo, tmp_path: Path) -> None:
    """Kill a landing before some steps, up to its end, and see that the next one goes through."""
    told = set[str]()
    for step in steps:
        repo = copy_of(template, tmp_path / str(step))
        status = landing.kill_at(step, str(repo.path))
        if status == 0:
            break
        assert status == -signal.SIGKILL
        told.update(line.partition(": ")[2] for line in put_right(repo))
        check_next_run(repo)
    assert status == 0
    assert step > 20
    done = "repaired"
    assert told >= {f"1 lock {done}", f"6 files and 1 lock {done}"}


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_killed_while_git_writes_files(landing: Killer, repo: Repo, nth: int) -> None:
    """A filter, which runs for each file that is written, kills git and muster."""
    count = repo.path.parent / "count"
    script = f"cat; echo >> '{count}'; [ $(wc -l < '{count}') -lt {nth} ] || kill -9 0"
    repo.git("config", "filter.kill.smudge", script)
    repo.write(".git/info/attributes", "derived/** filter=kill\n")
    before = repo.tip()
    assert landing.kill_at(1000, str(repo.path)) == -signal.SIGKILL
    assert repo.tip() == before
    assert locks(repo)
    repo.git("config", "--unset", "filter.kill.smudge")
    (line,) = put_right(repo)
    assert line.startswith(f"a run was killed while it wrote to {repo.path}: ")
    assert repo.status() == [" M mine.yaml"]
    check_next_run(repo)


def test_interrupted_at_every_third_step(landing: Killer, template: Repo, tmp_path: Path) -> None:
    """Ctrl-C leaves nothing to put right."""
    for step in range(9, 100, 3):
        repo = copy_of(template, tmp_path / str(step))
        status = landing.kill_at(step, str(repo.path), number=signal.SIGINT)
        if status == 0:
            break
        assert status == 130
        assert put_right(repo) == ()
        check_next_run(repo)


def _half_landed(repo: Repo, *, moved: bool = False) -> tuple[str, str]:
    """Leave a note of a run that is dead, and what it was about to do; return the commits."""
    repository = open_repository(repo.path, repo.environ)
    old, new = repo.tip(), repo.tip("refs/next")
    with noted(repository, JournalNote(new=new, old=old, worktree=str(repo.path))) as journal:
        journal.unfinished = True
    if moved:
        repo.git("update-ref", "refs/heads/main", new)
    return old, new


def test_a_persons_files_and_locks_stay(repo: Repo) -> None:
    _half_landed(repo)
    repo.write("derived/changed.yaml", "mine\n")
    repo.write("derived/more/added.yaml", "mine, too\n")
    lock = repo.write(".git/index.lock", "")
    assert put_right(repo) == ()
    assert lock.exists()
    refused = commit(repo, CHANGE)
    assert isinstance(refused, Refused)
    assert "index.lock" in refused.message
    lock.unlink()
    assert put_right(repo) == ()
    assert repo.status() == [" M derived/changed.yaml", " M mine.yaml", "?? derived/more/"]
    assert (repo.path / "derived/changed.yaml").read_text() == "mine\n"
    assert (repo.path / "derived/more/added.yaml").read_text() == "mine, too\n"


def test_what_a_person_staged_stays(repo: Repo) -> None:
    _half_landed(repo)
    repo.write("derived/changed.yaml", "staged\n")
    repo.git("add", "derived/changed.yaml")
    repo.write("derived/changed.yaml", CHANGE["derived/changed.yaml"])
    before = repo.status()
    assert put_right(repo) == ()
    assert repo.status() == before


def test_nothing_is_written_through_a_link(repo: Repo, tmp_path: Path) -> None:
    _half_landed(repo)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "changed.yaml").write_text("")
    shutil.rmtree(repo.path / "derived")
    (repo.path / "derived").symlink_to(elsewhere)
    put_right(repo)
    assert (elsewhere / "changed.yaml").read_text() == ""
    assert [path.name for path in elsewhere.iterdir()] == ["changed.yaml"]


@pytest.mark.parametrize("moved", [False, True])
def test_half_of_the_files(repo: Repo, *, moved: bool) -> None:
    """Some written, one of them in part, some removed: they become what the branch has, wherever it is."""
    _half_landed(repo, moved=moved)
    repo.write("derived/changed.yaml", "new\nne")
    repo.write("derived/gone.yaml", None)
    (line,) = put_right(repo)
    assert " files repaired" in line
    check_next_run(repo)


def test_the_branch_went_on_meanwhile(repo: Repo) -> None:
    """A person cleared the lock away and committed: what was left becomes what that commit has."""
    _half_landed(repo)
    repo.write("derived/changed.yaml", "")
    repo.write("derived/turns", None)
    repo.git("update-index", "--refresh", check=False)
    repo.git("commit", "--quiet", "--allow-empty", "--message", "Person")
    (line,) = put_right(repo)
    assert "2 files" in line
    assert repo.status() == [" M mine.yaml"]
    check_next_run(repo)


def test_a_linked_work_tree_is_put_right_from_the_main_one(repo: Repo, tmp_path: Path) -> None:
    linked = add_worktree(repo, tmp_path / "linked", "side")
    _half_landed(linked)
    linked.write("derived/changed.yaml", "")
    (line,) = put_right(repo)
    assert str(linked.path) in line
    assert linked.status() == []


def test_what_nobody_remembers_is_left_as_it_is(repo: Repo) -> None:
    """The commit that was never landed is gone; the lock goes, and is not asked about again."""
    repository = open_repository(repo.path, repo.environ)
    with noted(repository, JournalNote(new="1" * 40, old=repo.tip(), worktree=str(repo.path))) as journal:
        journal.unfinished = True
        text = journal.text
    repo.write(".git/index.lock", text)
    repo.write("derived/changed.yaml", "")
    (line,) = put_right(repo)
    assert "1 lock" in line
    assert repo.status() == [" M derived/changed.yaml", " M mine.yaml"]
    assert locks(repo) == []
    assert put_right(repo) == ()


def test_a_run_that_lives_is_left_alone(repo: Repo) -> None:
    """Also when muster itself is dead, and git goes on: it has the note's lock."""
    _half_landed(repo)
    repo.write("derived/changed.yaml", "")
    (note,) = (repo.path / ".git/muster").glob("*.note")
    with note.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert put_right(repo) == ()
        assert (repo.path / "derived/changed.yaml").read_text() == ""
    assert len(put_right(repo)) == 1


def _locked(repo: Repo, name: str, content: str, note: JournalNote) -> Path:
    with noted(open_repository(repo.path, repo.environ), note) as journal:
        journal.unfinished = True
    return repo.write(f".git/{name}", content)


def test_locks_of_refs_that_a_killed_git_left(repo: Repo) -> None:
    old, new = _half_landed(repo)
    put_right(repo)
    note = JournalNote("refs/heads/main", new, 10.0)
    _locked(repo, "refs/heads/main.lock", f"{new}\n", note)
    repo.write(".git/HEAD.lock", "")
    (line,) = put_right(repo)
    assert line == "a run was killed while it wrote to refs/heads/main: 2 locks repaired"
    check_next_run(repo)
    assert repo.tip("HEAD~1") == old


@pytest.mark.parametrize("does", ["kill -9 $$", "sleep 30"])
def test_git_alone_is_killed_or_hangs(repo: Repo, tmp_path: Path, does: str) -> None:
    """It leaves its lock of the branch: muster puts files and index back at once, and the next run the rest."""
    directory, before = tmp_path / "bin", repo.tip()
    lock = repo.path / ".git/refs/heads/main.lock"
    directory.mkdir()
    wrapper = directory / "git"
    wrapper.write_text(
        "#!/bin/sh\nPATH=${PATH#*:}; export PATH\n"
        f'case " $* " in *" update-ref "*) touch {lock}; {does};; esac\nexec git "$@"\n'
    )
    wrapper.chmod(0o755)
    broken = repo.with_environ(PATH=f"{directory}{os.pathsep}{repo.environ['PATH']}")
    command = [sys.executable, "-c", f"import sys\n{LAND}\nrun(sys.argv[1])", str(repo.path)]
    with subprocess.Popen(command, env=broken.environ, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        if does == "sleep 30":
            while process.poll() is None and not lock.exists():
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGINT)
    assert (repo.tip(), repo.status()) == (before, [" M mine.yaml"])
    assert locks(repo) == ["main.lock"]
    lines = list[str]()

    def is_over() -> bool:  # what the wrapper started may take its time to go
        lines.extend(put_right(repo))
        return bool(lines)

    wait_until(is_over)
    assert lines == ["a run was killed while it wrote to refs/heads/main: 1 lock repaired"]
    check_next_run(repo)


@pytest.mark.parametrize(
    ("content", "age", "stays"),
    [("", 0.0, False), ("", 60.0, True), ("1" * 40 + "\n", 0.0, True)],
    ids=["empty", "empty and too late", "with somebody else's commit"],
)
def test_whose_the_lock_of_a_ref_is(repo: Repo, content: str, age: float, *, stays: bool) -> None:
    lock = _locked(repo, "refs/heads/main.lock", content, JournalNote("refs/heads/main", "2" * 40, 10.0))
    (note,) = (repo.path / ".git/muster").glob("*.note")
    os.utime(note, (time.time(), time.time() - age))
    put_right(repo)
    assert lock.exists() is stays


def test_a_lock_that_moves_is_somebodys(repo: Repo) -> None:
    lock = _locked(repo, "refs/heads/main.lock", "", JournalNote("refs/heads/main", "2" * 40, 10.0))
    replaced = lock.with_name("other")
    replaced.write_text("")
    if not os.fork():
        time.sleep(0.3)
        replaced.rename(lock)
        os._exit(0)
    assert put_right(repo) == ()
    os.wait()
    assert lock.exists()


def test_a_fetch_that_was_killed(repo: Repo, tmp_path: Path) -> None:
    here = clone(repo, tmp_path / "here")
    tip = repo.commit({"z.yaml": "z\n"})
    opened = open_repository(here.path, here.environ)
    _locked(here, "refs/remotes/origin/main.lock", f"{tip}\n", JournalNote("refs/remotes/origin/", seconds=10.0))
    for name in ("packed-refs.lock", "packed-refs.new"):
        here.write(f".git/{name}", "")
    with pytest.raises(RepositoryError, match="lock"):
        fetch(opened, remote="origin", branch="main")
    assert len(put_right(here)) == 1
    assert fetch(opened, remote="origin", branch="main") == tip


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        '{"ref": 1}',
        '{"ref": "refs/../../../x", "seconds": 9, "new": ""}',
        '{"worktree": "/etc", "old": "--x", "new": "y", "seconds": 1}',
    ],
)
def test_a_note_that_says_nothing_does_nothing(repo: Repo, text: str) -> None:
    note = repo.write(".git/muster/0.note", text)
    victim = repo.path.parent / "x.lock"
    victim.write_text("")
    assert put_right(repo) == ()
    assert victim.exists()
    assert not note.exists()


def _wrapped(repo: Repo, directory: Path, verb: str, script: str) -> Repo:
    directory.mkdir()
    wrapper = directory / "git"
    wrapper.write_text(
        f'#!/bin/sh\nPATH=${{PATH#*:}}; export PATH\ncase " $* " in *" {verb} -m "*) {script};; esac\nexec git "$@"\n'
    )
    wrapper.chmod(0o755)
    return repo.with_environ(PATH=f"{directory}{os.pathsep}{repo.environ['PATH']}")


def test_a_full_disk(repo: Repo, tmp_path: Path) -> None:
    """Files cannot be written whole: the commit is refused, and the work tree is what it was."""
    full = _wrapped(repo, tmp_path / "bin", "read-tree", "trap '' XFSZ; ulimit -f 1")
    before = repo.tip()
    refused = commit(full, CHANGE)
    assert isinstance(refused, Refused)
    assert "unable to write file" in refused.message
    assert repo.tip() == before
    check_next_run(repo)


def test_a_disk_so_full_that_nothing_can_be_put_right(repo: Repo, tmp_path: Path) -> None:
    """It is remembered, no lock stays, and the next run does it."""
    full = _wrapped(repo, tmp_path / "bin", "read-tree", "trap '' XFSZ; ulimit -f 1")
    script = tmp_path / "bin/git"
    script.write_text(script.read_text().replace("case", 'case " $* " in *" checkout-index "*) exit 1;; esac\ncase', 1))
    assert isinstance(commit(full, CHANGE), Refused)
    assert locks(repo) == []
    assert repo.status() != [" M mine.yaml"]
    assert len(put_right(repo)) == 1
    check_next_run(repo)


def test_no_note_can_be_written(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write(".git/muster", "a file where the folder should be")
    with pytest.raises(RepositoryError, match="cannot be written"):
        commit(repo, CHANGE)


def test_without_locks_of_files_it_works_all_the_same(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """On file systems that have none. What a dead run left there is left to a person, as nobody can tell it is dead."""

    def no_locks(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    _half_landed(repo)
    assert put_right(repo) == ()
    assert commit(repo, CHANGE) == Committed(repo.tip())
    assert repo.status() == [" M mine.yaml"]


def test_without_hard_links_the_lock_says_the_same(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """On file systems that have none; here what makes them is taken away."""

    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert commit(repo, CHANGE) == Committed(repo.tip())
    check_next_run(repo)


def test_a_bare_repository_is_not_asked_for_work_trees(repo: Repo, tmp_path: Path) -> None:
    bare = clone(repo, tmp_path / "bare.git", "--bare")
    files: Mapping[str, bytes] = {"derived/z.yaml": b"z\n"}
    opened = open_repository(bare.path, bare.environ)
    assert isinstance(
        commit_files(opened, branch="main", expected=bare.tip("main"), files=files, message="Z"), Committed
    )
    assert recover(opened) == ()
