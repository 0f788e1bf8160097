"""Fetches from remotes and pushes to them, without a prompt, within a time, and never over others' work.

Every push names the value that it replaces (a lease), so the remote's ref is compared and swapped like a local one.
Pre-push hooks do not run; what the remote's own hooks say is in `Rejected`.
"""

import hashlib
import os
import random
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from muster.git.config import remotes, require_no_programs
from muster.git.errors import Moved, Pushed, Rejected, RepositoryError, explain, remote_text
from muster.git.journal import JournalNote, noted
from muster.git.repository import Repository, open_repository, ref_tip
from muster.git.store.process import Completed, Git, without_location

#: At least so many attempts, for so long, to move a branch that others keep moving. The pauses are short: another
#: evaluation costs what changed since the first, and after a long wait there is the next commit.
_FEWEST_ATTEMPTS, _LONGEST_SECONDS = 8, 120.0
_BASE_SECONDS, _MOST_SECONDS = 0.1, 1.0
_EVER = 1 << 20


def jittered(
    retries: int, *, base_seconds: float, most_seconds: float, random: Callable[[], float] = random.random
) -> Iterator[float]:
    """Yield `retries` delays, each at random between zero and a bound that doubles from `base_seconds` on.

    `random` returns a number of [0, 1), as `random.random` does.
    """
    for retry in range(retries):
        yield random() * min(most_seconds, base_seconds * 2 ** min(retry, 64))


def attempts(delays: Iterable[float], sleep: Callable[[float], None] = time.sleep) -> Iterator[int]:
    """Yield 1, 2, ...: one attempt more than there are `delays` (in seconds; see `jittered`), with one before each."""
    yield 1
    for number, delay in enumerate(delays, 2):
        sleep(delay)
        yield number


def branch_attempts(
    fewest: int = _FEWEST_ATTEMPTS,
    longest_seconds: float = _LONGEST_SECONDS,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[int]:
    """Yield attempts to evaluate a branch and move it: until `longest_seconds` are over, and at least `fewest`."""
    until = clock() + longest_seconds
    delays = jittered(_EVER, base_seconds=_BASE_SECONDS, most_seconds=_MOST_SECONDS)
    for number in attempts(delays, sleep):
        yield number
        if number >= fewest and clock() >= until:
            return


_SHA256_DIGITS: Final = 64
LIMIT_SECONDS: Final = 120.0  # of one fetch or push; a first clone is not done here
AFTERWARDS_SECONDS: Final = 10.0  # for git to change refs once it has everything

# Switches off everything that would write or run anything besides the named refs.
FETCH: Final = (
    *("-c", "core.logAllRefUpdates=false"),  # a log of agents' refs would keep every heartbeat
    *("fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc"),
    "--refmap=",
)
_PUSH: Final = ("push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no")

# How a remote says that another push was first, by `git push --porcelain`: before this one, or while it was served.
_LOST: Final = (
    "stale info",
    "fetch first",
    "non-fast-forward",
    "already exists",
    "failed to update ref",
    "cannot lock ref",
    "incorrect old value",
    "failed to lock",
    "transaction failed",
)
_NO_OPTIONS: Final = "does not support push options"
#: Why a remote does not take a ref that another push has moved.
MOVED: Final = "it has moved"
_NOT_ATOMIC: Final = "does not support --atomic push"
_BOTH_FAILED: Final = b"transaction failed"
_REJECTED: Final = "!"


def fetch(repository: Repository, *, remote: str, branch: str, limit_seconds: float = LIMIT_SECONDS) -> str:
    """Fetch `branch` of `remote`, to the prefix of `tracking`, and return its commit there.

    `remote` is a configured name, a URL or a path. RepositoryError if it cannot be read or has no such branch.
    """
    return fetch_ref(repository, remote=remote, ref=f"refs/heads/{branch}", limit_seconds=limit_seconds)


def tracking(repository: Repository, remote: str, known: Collection[str] | None = None) -> str:
    """Return the prefix of the refs under which `remote`'s branches are kept here.

    A URL that is not configured gets a name of its own, so that its agents are found with all others. `known` are the
    remotes, if the caller has asked.
    """
    if remote in (remotes(repository) if known is None else known):
        return f"refs/remotes/{remote}/"
    return f"refs/remotes/url-{hashlib.sha256(os.fsencode(remote)).hexdigest()[:12]}/"


def remote_tip(repository: Repository, *, remote: str, ref: str, limit_seconds: float = LIMIT_SECONDS) -> str | None:
    """Ask the remote where the full ref name points; None if there is no such ref."""
    return dict(list_remote_refs(repository, remote, (ref,), limit_seconds)).get(ref)


def list_remote_refs(
    repository: Repository, remote: str, patterns: Sequence[str], limit_seconds: float, *options: str
) -> Iterator[tuple[str, str]]:
    """Ask the remote for the refs that match a pattern, by default all: full names, and where they point."""
    done = remote_command(repository, ("ls-remote", "--quiet", *options), remote, patterns, limit_seconds)
    if done.status:
        raise explain("ls-remote", done.stderr, done.status)
    lines = (line.partition("\t") for line in os.fsdecode(done.stdout).split("\n"))
    return ((name, oid) for oid, _, name in lines if name)


def fetch_ref(
    repository: Repository, *, remote: str, ref: str, limit_seconds: float = LIMIT_SECONDS, shallow: bool = False
) -> str:
    """Fetch what the full ref name points at on the remote, keep it under the remote's own prefix, and return it.

    `shallow`: only the commit without its history, and its files when they are read, if the server allows it.
    """
    space = tracking(repository, remote)
    kept = f"{space}{ref.removeprefix('refs/').removeprefix('heads/')}"
    options = (*FETCH, *(("--depth=1", "--filter=blob:none") if shallow else ()))
    done = _fetched(repository, space, options, remote, (f"+{ref}:{kept}",), limit_seconds)
    tip = ref_tip(repository, kept) if done.status == 0 else None
    if tip is None:
        raise explain("fetch", done.stderr, done.status)
    return tip


def fetch_matching(
    repository: Repository, *, remote: str, ref: str, into: str, limit_seconds: float = LIMIT_SECONDS
) -> None:
    """Fetch the refs that match a pattern with one `*`, with their histories, and keep them under the names that match
    `into`. No such ref is no error."""
    space = into.partition("*")[0]
    done = _fetched(repository, space, FETCH, remote, (f"+{ref}:{into}",), limit_seconds)
    if done.status:
        raise explain("fetch", done.stderr, done.status)


def fetch_missing(repository: Repository, branch: str, *, limit_seconds: float = LIMIT_SECONDS) -> None:
    """Fetch a branch from the first remote that has it, if any. RepositoryError if a remote does not answer: its branch
    would look as if it did not exist."""
    for remote in remotes(repository):
        if remote_tip(repository, remote=remote, ref=f"refs/heads/{branch}", limit_seconds=limit_seconds):
            fetch(repository, remote=remote, branch=branch, limit_seconds=limit_seconds)
            return


def fetch_commits(repository: Repository, *, remote: str, commits: Collection[str], depth: str = "") -> None:
    """Fetch commits by their full ids, with their histories; no ref changes. `depth` is git's option for how much
    history (`--depth=1`, `--deepen=50`), empty for all that is missing. RepositoryError if the remote lacks one."""
    options = (*FETCH, depth) if depth else FETCH
    done = remote_command(repository, options, remote, tuple(commits), LIMIT_SECONDS)
    if done.status:
        raise explain("fetch", done.stderr, done.status)


def push(
    repository: Repository,
    *,
    remote: str,
    branch: str,
    new: str,
    expected: str | None,
    limit_seconds: float = LIMIT_SECONDS,
) -> Pushed | Moved | Rejected:
    """Push commit `new` to `branch` of `remote` if that is still at `expected` (None: if there is no such branch)."""
    ref = f"refs/heads/{branch}"
    return push_ref(repository, remote=remote, ref=ref, new=new, expected=expected, limit_seconds=limit_seconds)


class RefUpdate(NamedTuple):
    """A ref that moves to `new`, empty to remove it, if it is at `expected` (None: if there is no such ref)."""

    ref: str
    new: str
    expected: str | None


def push_ref(
    repository: Repository,
    *,
    remote: str,
    ref: str,
    new: str,
    expected: str | None,
    limit_seconds: float = LIMIT_SECONDS,
    options: Sequence[str] = (),
) -> Pushed | Moved | Rejected:
    """Point `ref` of `remote` at `new` if it points at `expected` there (None: if there is no such ref).

    An empty `new` removes it. The push `options` are sent if the server supports them. Moved and Rejected change
    nothing. RepositoryError if the remote cannot be reached at all (whether it took the push is then unknown, and the
    next fetch tells), or if the push would run programs that only the repository's own configuration leads to.
    """
    update = RefUpdate(ref, new, expected)
    push_options = tuple(f"--push-option={option}" for option in options)
    done = push_updates(repository, remote, (update,), push_options, limit_seconds)
    if push_options and done.status and _NO_OPTIONS in done.stderr:
        done = push_updates(repository, remote, (update,), (), limit_seconds)
    result = _result_of(done, update)
    if result is None:
        raise explain("push", done.stderr, done.status)
    return result


def push_both(
    repository: Repository, *, remote: str, first: RefUpdate, second: RefUpdate, limit_seconds: float = LIMIT_SECONDS
) -> tuple[Pushed | Moved | Rejected, str]:
    """Push two refs, both or neither if the remote can do that. If it refuses the second one, the first goes alone.

    Return what became of the first, as `push_ref` does, and why the second was refused, empty if it was not.
    """
    updates = first, second
    done = push_updates(repository, remote, updates, ("--atomic",), limit_seconds)
    if done.status and _NOT_ATOMIC in done.stderr:
        done = push_updates(repository, remote, updates, (), limit_seconds)
    outcome, other = (_result_of(done, update) for update in updates)
    # Perhaps only because of the other: a transaction that fails says the same of both.
    if outcome is None or isinstance(outcome, Rejected) or _BOTH_FAILED in done.stdout:
        ref, new, expected = first
        outcome = push_ref(repository, remote=remote, ref=ref, new=new, expected=expected, limit_seconds=limit_seconds)
    if isinstance(other, Pushed):
        return outcome, ""
    return outcome, str(other) if isinstance(other, Rejected) else MOVED


def push_updates(
    repository: Repository, remote: str, updates: Sequence[RefUpdate], options: Sequence[str], limit_seconds: float
) -> Completed:
    """Push several refs, each with its lease, and return what git says: see `push_ref`."""
    require_no_programs(repository, remote)
    leases = (f"--force-with-lease={update.ref}:{update.expected or ''}" for update in updates)
    refs = [f"{update.new}:{update.ref}" for update in updates]
    return remote_command(repository, (*_PUSH, *leases, *options), remote, refs, limit_seconds)


def _result_of(done: Completed, update: RefUpdate) -> Pushed | Moved | Rejected | None:
    """What a push says of a ref; None for nothing."""
    for line in done.stdout.decode(errors="backslashreplace").split("\n"):
        flag, _, rest = line.partition("\t")
        names, tab, summary = rest.partition("\t")
        if tab and names.rpartition(":")[2] == update.ref:
            return _outcome(flag, summary, done, update.new)
    return None


def absolute_remote(remote: str) -> str:
    """Return a remote for a `scratch_repository`, in which a relative path would mean something else."""
    return str(Path(remote).absolute()) if Path(remote).exists() else remote


@contextmanager
def scratch_repository(
    environ: Mapping[str, str], remote: str, *, limit_seconds: float = LIMIT_SECONDS
) -> Iterator[Repository]:
    """Provide an empty bare repository in a temporary directory, for an agent that has no clone.

    It has the object format of `remote`, a URL or a path, because git cannot exchange objects with another one. The
    remote is asked once per process. RepositoryError without an answer.
    """
    with tempfile.TemporaryDirectory(prefix="muster-") as directory:
        path = Path(directory)
        git = Git(path, without_location(environ))
        git.output("init", "--quiet", "--bare", "--template=", "--object-format=sha1")
        repository = open_repository(path, environ)
        if _object_format(repository, remote, limit_seconds) != repository.object_format:
            git.output("init", "--quiet", "--bare", "--template=", "--object-format=sha256", "sha256")
            repository = open_repository(path / "sha256", environ)
        yield repository


_formats: dict[str, str] = {}


def _object_format(repository: Repository, remote: str, limit_seconds: float) -> str:
    """Return the object format of a remote by the length of an id there; an empty one counts as sha1."""
    if remote in _formats:
        return _formats[remote]
    for only in (("HEAD",), ()):  # HEAD may point nowhere; all refs may be thousands
        if oid := next((oid for _, oid in list_remote_refs(repository, remote, only, limit_seconds)), ""):
            return _formats.setdefault(remote, "sha256" if len(oid) == _SHA256_DIGITS else "sha1")
    return "sha1"


def _outcome(flag: str, summary: str, done: Completed, new: str) -> Pushed | Moved | Rejected:
    if flag != _REJECTED:
        return Pushed(new)
    _, opened, behind = summary.rstrip().partition("(")
    reason = behind.removesuffix(")") if opened and behind.endswith(")") else summary
    rejected = Rejected(reason, remote_text(done.stderr))
    # A server that forbids this kind of push altogether also says "non-fast-forward", but in its own name.
    if summary.startswith("[remote rejected]") and reason == "non-fast-forward":
        return rejected
    return Moved(None) if any(words in reason for words in _LOST) else rejected


def _fetched(
    repository: Repository,
    space: str,
    options: tuple[str, ...],
    remote: str,
    refs: Sequence[str],
    limit_seconds: float,
) -> Completed:
    """Fetch into refs below `space`, with a journal note: a fetch that is killed leaves locks."""
    with noted(repository, JournalNote(space, seconds=limit_seconds + AFTERWARDS_SECONDS)) as journal:
        git = journal.holding(repository.git)
        return journal.after(remote_command(repository, options, remote, refs, limit_seconds, git))


def remote_command(
    repository: Repository,
    options: tuple[str, ...],
    remote: str,
    refs: Sequence[str],
    limit_seconds: float,
    git: Git | None = None,
) -> Completed:
    """Run a git command that talks to a remote, without prompts."""
    if not remote or remote.startswith("-"):
        raise RepositoryError(f"{remote!r} is not a remote", "give a remote's name or URL")
    git = git or repository.git
    return git.run(*options, "--", remote, *refs, env=_unattended(repository), limit_seconds=limit_seconds)


def _unattended(repository: Repository) -> dict[str, str]:
    """Return the variables that keep git, ssh and credential helpers from prompting.

    `GIT_ASKPASS` stays: automation hands over tokens by it.
    """
    environ = repository.git.environ
    ssh = environ.get("GIT_SSH_COMMAND") or repository.setting("core.sshcommand")
    more = {"GIT_TERMINAL_PROMPT": "0", "GCM_INTERACTIVE": "never", "SSH_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never"}
    if ssh or "GIT_SSH" not in environ:
        more["GIT_SSH_COMMAND"] = f"{ssh or 'ssh'} -oBatchMode=yes"
    return more
