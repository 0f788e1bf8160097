"""Remotes: compare-and-swap over the wire, with real remotes in directories."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from muster.git.errors import Committed, Moved, Pushed, Rejected, RepositoryError
from muster.git.fastimport import build_commit
from muster.git.memory.rootref import NO_CONTENTS, RefContents, RootRef
from muster.git.push import attempts, fetch, jittered, push, push_ref, remote_tip, scratch_repository
from muster.git.repository import Repository, open_repository, resolve
from tests.support.committing import commit_files
from tests.support.git import Repo, clone, new_repository

AGENT = "refs/heads/agents/prod-eu-1"


@pytest.fixture
def remote(tmp_path: Path) -> Repo:
    """The server: a bare repository with one commit on main."""
    seed = new_repository(tmp_path / "seed")
    seed.commit({"a.yaml": "a: 1\n"})
    return clone(seed, tmp_path / "remote.git", "--bare")


@pytest.fixture
def here(remote: Repo, tmp_path: Path) -> Repo:
    return clone(remote, tmp_path / "here")


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def commit(repo: Repo, name: str) -> str:
    """Commit a file on top of origin/main, leaving every branch alone, and return the commit."""
    return build_commit(opened(repo), {f"derived/{name}.yaml": "x: 1\n"}, name, repo.tip("origin/main"))


def _hook(remote: Repo, name: str, script: str) -> None:
    hook = remote.write(f"hooks/{name}", f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)


def test_pushes_what_nobody_else_has_changed(here: Repo, remote: Repo) -> None:
    old, new = remote.tip("main"), commit(here, "one")
    assert push(opened(here), remote="origin", branch="main", new=new, expected=old) == Pushed(new)
    assert remote.tip("main") == new == here.tip("origin/main")
    assert here.tip("main") == old
    again = push(opened(here), remote="origin", branch="main", new=new, expected=new)
    assert again == Pushed(new)


def test_pushes_to_a_path_that_is_no_configured_remote(here: Repo, remote: Repo) -> None:
    old, new = remote.tip("main"), commit(here, "one")
    here.git("remote", "remove", "origin")
    assert push(opened(here), remote=str(remote.path), branch="main", new=new, expected=old) == Pushed(new)


def test_a_remote_that_moved_is_not_overwritten(here: Repo, remote: Repo, tmp_path: Path) -> None:
    other = clone(remote, tmp_path / "other")
    old = remote.tip("main")
    theirs, mine = commit(other, "theirs"), commit(here, "mine")
    assert isinstance(push(opened(other), remote="origin", branch="main", new=theirs, expected=old), Pushed)
    assert push(opened(here), remote="origin", branch="main", new=mine, expected=old) == Moved(None)
    assert remote.tip("main") == theirs
    assert fetch(opened(here), remote="origin", branch="main") == theirs


def test_a_remote_that_moves_while_it_is_served_is_not_overwritten(here: Repo, remote: Repo) -> None:
    old, new = remote.tip("main"), commit(here, "mine")
    rival = remote.git("commit-tree", "main^{tree}", "-p", "main", "-m", "Rival")
    _hook(remote, "update", f"git update-ref refs/heads/main {rival}")
    assert push(opened(here), remote="origin", branch="main", new=new, expected=old) == Moved(None)
    assert remote.tip("main") == rival


def test_a_new_branch_must_not_exist_yet(here: Repo, remote: Repo) -> None:
    new = commit(here, "one")
    assert push(opened(here), remote="origin", branch="derived", new=new, expected=None) == Pushed(new)
    other = commit(here, "two")
    assert push(opened(here), remote="origin", branch="derived", new=other, expected=None) == Moved(None)
    assert push(opened(here), remote="origin", branch="gone", new=other, expected=new) == Moved(None)
    assert remote.tip("derived") == new
    assert "refs/heads/gone" not in remote.refs()


@pytest.mark.parametrize(
    ("hook", "reason"), [("pre-receive", "pre-receive hook declined"), ("update", "hook declined")]
)
def test_a_server_that_declines_is_quoted(here: Repo, remote: Repo, hook: str, reason: str) -> None:
    old, new = remote.tip("main"), commit(here, "one")
    _hook(remote, hook, "echo 'GH006: Protected branch update failed.' >&2; echo 'Ask an admin.' >&2; exit 1")
    outcome = push(opened(here), remote="origin", branch="main", new=new, expected=old)
    assert isinstance(outcome, Rejected)
    assert outcome.reason == reason
    assert outcome.text.startswith("GH006: Protected branch update failed.\nAsk an admin.")
    assert remote.tip("main") == old


def test_a_branch_checked_out_at_the_remote_is_rejected(here: Repo, tmp_path: Path) -> None:
    work = tmp_path / "seed"
    old, new = here.tip("origin/main"), commit(here, "one")
    outcome = push(opened(here), remote=str(work), branch="main", new=new, expected=old)
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "branch is currently checked out"
    assert "refusing to update checked out branch" in outcome.text


def test_a_server_that_forbids_replacing_refs_is_quoted(here: Repo, remote: Repo) -> None:
    remote.git("config", "receive.denyNonFastForwards", "true")
    ref = RootRef(opened(here), AGENT, "origin")
    first = ref.replace(NO_CONTENTS, {"l.yaml": b"1"}, "1")
    assert isinstance(first, RefContents)
    second = ref.replace(first, {"l.yaml": b"2"}, "2")
    assert isinstance(second, Rejected)
    assert second.reason == "non-fast-forward"
    assert remote.tip(AGENT) == first.commit


@pytest.mark.parametrize("action", ["fetch", "push", "tip"])
@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("/nowhere/at/all.git", "git remote -v"),
        ("ext::sh -c 'touch pwned'", "use a file, ssh, git or https URL"),
        ("--upload-pack=touch pwned", "give a remote's name or URL"),
        ("", "give a remote's name or URL"),
    ],
)
def test_a_remote_that_is_none_is_explained(here: Repo, action: str, url: str, hint: str) -> None:
    repository, tip = opened(here), here.tip()
    with pytest.raises(RepositoryError) as caught:
        if action == "fetch":
            fetch(repository, remote=url, branch="main")
        elif action == "push":
            push(repository, remote=url, branch="main", new=tip, expected=tip)
        else:
            remote_tip(repository, remote=url, ref="refs/heads/main")
    assert hint in caught.value.hint
    assert not (here.path / "pwned").exists()


def test_credentials_in_a_url_are_not_repeated(here: Repo) -> None:
    url = "http://ada:secret@127.0.0.1:1/fleet.git"
    with pytest.raises(RepositoryError) as caught:
        fetch(opened(here), remote=url, branch="main")
    assert "127.0.0.1" in caught.value.message
    assert "secret" not in caught.value.message


def test_a_branch_that_the_remote_lacks_is_explained(here: Repo) -> None:
    with pytest.raises(RepositoryError) as caught:
        fetch(opened(here), remote="origin", branch="nope")
    assert "refs/heads/nope" in caught.value.message
    assert "git ls-remote" in caught.value.hint


def test_a_remote_that_hangs_is_given_up_on(here: Repo, remote: Repo) -> None:
    hanging = here.with_environ(GIT_SSH_COMMAND="sleep 600 #")
    with pytest.raises(RepositoryError, match="no answer within 0.3 seconds"):
        fetch(opened(hanging), remote="ssh://localhost/fleet.git", branch="main", limit_seconds=0.3)


def test_nothing_prompts(here: Repo, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    ssh = tmp_path / "ssh"
    ssh.write_text(
        f'#!/bin/sh\nenv > "{seen}"\necho "$@" >> "{seen}"\nexec 3</dev/tty && echo tty >> "{seen}"\nexit 255\n'
    )
    ssh.chmod(0o755)
    here.git("config", "core.sshCommand", str(ssh))
    with pytest.raises(RepositoryError):
        fetch(
            opened(here.with_environ(SSH_ASKPASS="/bin/false", MUSTER_TRUST_CONFIG="1")),
            remote="ssh://localhost/x.git",
            branch="main",
        )
    said = seen.read_text().splitlines()
    assert "GIT_TERMINAL_PROMPT=0" in said
    assert "SSH_ASKPASS=" in said
    assert any("-oBatchMode=yes" in line and "localhost" in line for line in said)
    assert "tty" not in said


def test_an_agent_without_a_clone_renews_its_ref(remote: Repo) -> None:
    url = str(remote.path)
    with scratch_repository(remote.environ, url) as scratch:
        ref = RootRef(scratch, AGENT, url)
        assert ref.look() == NO_CONTENTS
        for beat in (b"1", b"2", b"3"):
            before = ref.look()
            outcome = ref.replace(before, {"lease.yaml": beat}, "Beat")
            assert outcome == ref.look() == RefContents(remote.tip(AGENT), {"lease.yaml": beat})
        assert ref.replace(before, {"l.yaml": b"x"}, "Late") == Moved(None)
        directory = scratch.git.directory
    assert not directory.exists()
    assert remote.show("lease.yaml", AGENT) == "3"
    assert remote.git("rev-list", "--count", AGENT) == "1"


def test_of_clones_that_push_at_once_each_gets_in_exactly_once(remote: Repo, tmp_path: Path) -> None:
    clones = [clone(remote, tmp_path / f"clone{number}") for number in range(4)]
    generators = [random.Random(number) for number in range(4)]

    def reconcile(number: int) -> Pushed | Moved | Rejected:
        repository = opened(clones[number])

        delays = jittered(40, base_seconds=0.01, most_seconds=0.1, random=generators[number].random)
        waits: list[float] = []
        outcome: Pushed | Moved | Rejected = Moved(None)
        for _ in attempts(delays, waits.append):
            head = fetch(repository, remote="origin", branch="main")
            assert head is not None
            new = build_commit(repository, {f"derived/{number}.yaml": "x: 1\n"}, f"From {number}", head)
            outcome = push(repository, remote="origin", branch="main", new=new, expected=head)
            if not isinstance(outcome, Moved):
                break
        return outcome

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(reconcile, range(4)))
    assert all(isinstance(outcome, Pushed) for outcome in outcomes)
    assert remote.paths("main") == ["a.yaml", *(f"derived/{number}.yaml" for number in range(4))]
    assert sorted(remote.git("log", "--format=%s", "main").splitlines()) == ["Change", *(f"From {n}" for n in range(4))]
    assert remote.git("fsck", "--full", "--no-dangling") == ""


def test_threads_that_commit_to_one_repository_each_get_in_exactly_once(remote: Repo) -> None:
    repository = opened(remote)

    def write(number: int) -> int:
        tries = 0
        while True:
            tries += 1
            base = resolve(repository, "main")
            outcome = commit_files(
                repository, branch="main", expected=base, files={f"d/{number}.yaml": "1"}, message=f"{number}"
            )
            if isinstance(outcome, Committed):
                return tries
            assert isinstance(outcome, Moved)
            assert tries < 100

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    assert remote.paths("main") == ["a.yaml", *(f"d/{number}.yaml" for number in range(8))]
    assert remote.git("rev-list", "--count", "main") == "9"
    assert not [ref for ref in remote.refs() if ref.startswith("refs/muster")]


def test_the_users_hooks_do_not_run_on_push(here: Repo, remote: Repo) -> None:
    hook = here.write(".git/hooks/pre-push", "#!/bin/sh\ntouch ran\nexit 1\n")
    hook.chmod(0o755)
    old, new = remote.tip("main"), commit(here, "one")
    assert push(opened(here), remote="origin", branch="main", new=new, expected=old) == Pushed(new)
    assert not (here.path / "ran").exists()


def test_the_environment_of_a_hook_does_not_reach_the_remote(here: Repo, remote: Repo) -> None:
    """A post-commit hook that pushes: git's variables for the hook name another repository than the remote."""
    old, new = remote.tip("main"), commit(here, "one")
    inside = here.with_environ(GIT_DIR=str(here.path / ".git"), GIT_INDEX_FILE=str(here.path / ".git/index"))
    assert push(opened(inside), remote="origin", branch="main", new=new, expected=old) == Pushed(new)
    assert here.status() == []
    assert push_ref(opened(inside), remote="origin", ref=AGENT, new=new, expected=None) == Pushed(new)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_an_agent_without_a_clone_speaks_the_remotes_object_format(tmp_path: Path, object_format: str) -> None:
    remote = new_repository(tmp_path / f"{object_format}.git", bare=True, object_format=object_format)
    remote.commit_to("refs/heads/other", {"a.yaml": "a: 1\n"})  # HEAD points at no commit
    url = str(remote.path)
    with scratch_repository(remote.environ, url) as scratch:
        assert scratch.object_format == object_format
        outcome = RootRef(scratch, AGENT, url).replace(NO_CONTENTS, {"l": b"1"}, "Beat")
    assert outcome == RefContents(remote.tip(AGENT), {"l": b"1"})


@pytest.mark.parametrize(("ours", "theirs"), [("sha1", "sha256"), ("sha256", "sha1")])
@pytest.mark.parametrize("empty", [False, True])
def test_formats_that_git_cannot_mix_are_told(tmp_path: Path, ours: str, theirs: str, *, empty: bool) -> None:
    remote = new_repository(tmp_path / "remote.git", bare=True, object_format=theirs)
    if not empty:
        remote.commit_to("refs/heads/main", {"a.yaml": "a: 1\n"})
    here = new_repository(tmp_path / "here", object_format=ours)
    commit = here.commit({"a.yaml": "a: 2\n"})
    with pytest.raises(RepositoryError, match="names objects by another hash") as raised:
        push(opened(here), remote=str(remote.path), branch="main", new=commit, expected=None)
    assert raised.value.hint == "work in a clone of that remote, or outside any repository"
