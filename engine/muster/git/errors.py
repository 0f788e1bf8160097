"""What goes wrong in a repository, and what to do about it.

Outcomes that a caller acts on (the branch moved, a person's edit is in the way) are values: `Moved`, `Refused`,
`Rejected`. Exceptions are for the rest: no repository, no such revision, no network.
"""

import signal

from muster.data.printable import printable_lines, without_secrets
from muster.data.source import LostFileError
from muster.dataclass import dataclass
from muster.regex import Regex


@dataclass(frozen=True, slots=True)
class Committed:
    """The branch is at `commit` now, and so is the work tree that has it checked out, if any."""

    commit: str


@dataclass(frozen=True, slots=True)
class Pushed:
    """The remote's branch is at `commit` now."""

    commit: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Another process was first: the branch is at `actual` (None: gone or unknown) and not where it was expected.

    Nothing was changed. Evaluate again on the new head.
    """

    actual: str | None


@dataclass(frozen=True, slots=True)
class Refused:
    """Something in the work tree is in the way: `paths` if it is files. Nothing was changed."""

    paths: tuple[str, ...]
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The remote does not accept it: a protected branch, a hook, a missing permission. Trying again does not help.

    `reason` is git's word for it, `text` what the remote said, in lines.
    """

    reason: str
    text: str

    def __str__(self) -> str:
        """The reason and, indented below it, what the remote said."""
        return "\n  ".join((self.reason, *self.text.splitlines()))


#: What servers and hooks put before their messages, in lower case.
_PREFIXES = ("remote:", "error:", "fatal:", "gitlab:", "gitea:", "forgejo:")
_MOST_LINES, _LONGEST_LINE = 12, 300
#: What git itself adds: it is the reason once more.
_OF_GIT = "hook declined to update "


def remote_text(stderr: str) -> str:
    """Return what a remote and its hooks said, from the output of git: each line once, without frames and prefixes."""
    said = (line for line in stderr.splitlines() if line.startswith("remote:"))
    lines = dict.fromkeys(
        line for line in map(_without_prefixes, said) if line.strip("=-*#+ |") and not line.startswith(_OF_GIT)
    )
    return "\n".join([line[:_LONGEST_LINE] for line in lines][:_MOST_LINES])


def _without_prefixes(line: str) -> str:
    line = line.strip()
    while prefix := next((prefix for prefix in _PREFIXES if line[: len(prefix)].casefold() == prefix), ""):
        line = line[len(prefix) :].strip()
    return line


class RepositoryError(Exception):
    """A repository or remote cannot be used: `message` says what is wrong and `hint` what to do.

    Credentials in URLs are removed from both, and control characters are escaped: much of the text comes from a server.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = printable_lines(without_secrets(message))
        self.hint = printable_lines(without_secrets(hint))
        super().__init__(self.message)


class LockedError(RepositoryError):
    """Another process is working on the same files or refs: it may be over in a moment."""


class KilledError(RepositoryError):
    """A git process was ended by a signal, so there is no answer; nothing is said of the repository."""

    def __init__(self, command: str, status: int) -> None:
        super().__init__(
            f"git {command} was ended by {signal_name(status)}",
            "run it again; the system's log says whether memory was short, and ulimit -a which limits there are",
        )


#: Signals of a program that fails by its own doing, here because of the object that it reads.
_CRASHES = frozenset((signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE))


def was_killed(status: int) -> bool:
    """Does a process's status say that a signal from outside ended it?"""
    return status < 0 and -status not in _CRASHES


def signal_name(status: int) -> str:
    """Return the name of the signal that ended a process with this negative status, such as `SIGKILL`."""
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


class LostObjectError(RepositoryError, LostFileError):
    """The repository has lost an object of the evaluated commit, or of what was derived before. Its content would look
    deleted, so nothing can be decided."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(
            f"nothing is decided: git cannot read {path} ({detail})",
            "this is damage to the repository, not a deletion: git fsck --full lists what is damaged; get the objects "
            "back from another clone, or clone anew",
        )


class IdentityError(Exception):
    """A key, a certificate request or a certificate cannot be had, read or made; the message says why."""


def require_library() -> None:
    """Raise IdentityError if the library that makes keys and signatures is not installed."""
    from importlib.util import find_spec

    if find_spec("cryptography") is None:
        from muster.data.extras import install_command

        raise IdentityError(f"keys and certificates need an extra: {install_command('identity')}")


class UnreadableError(OSError):
    """The content of one object cannot be read: missing, damaged, or too large. Other objects may be fine."""


class TooLargeError(UnreadableError):
    """The object exists, but is larger than what is read: it has `size` bytes."""

    def __init__(self, message: str, size: int) -> None:
        super().__init__(message)
        self.size = size


@dataclass(frozen=True, slots=True)
class _Known:
    """A complaint of git for which there is a better wording or advice."""

    pattern: str
    message: str  # may use the pattern's groups; empty keeps git's own words
    hint: str
    error: type[RepositoryError] = RepositoryError


_KNOWN = (
    _Known(
        r"dubious ownership in repository at '(?P<path>[^']*)'",
        "the repository {path} belongs to another user, and git does not trust it",
        "if you trust it: git config --global --add safe.directory {path}",
    ),
    _Known(
        r"unable to create '(?P<path>[^']*\.lock)': file exists",
        "another git process holds {path}",
        "wait for it to end; if it was killed, delete that file",
        LockedError,
    ),
    _Known(
        r"entry '(?P<path>[^']*)' (would be overwritten by merge|not uptodate)",
        "the work tree has uncommitted changes that would be overwritten: {path}",
        "commit them, or put them aside with git stash",
    ),
    _Known(
        r"unknown repository extension|expected git repo version",
        "",
        "this repository uses a format that the installed git does not know: upgrade git",
    ),
    _Known(
        r"could ?n[o']t resolve host|temporary failure in name resolution|name or service not known",
        "",
        "the host name of the remote does not resolve: check the URL and the network",
    ),
    _Known(
        r"connection (refused|timed out|reset)|network is unreachable|no route to host|failed to connect",
        "",
        "the remote does not answer: check the network and try again",
    ),
    _Known(
        r"could not read (username|password)|authentication failed|permission denied \(|host key verification failed"
        r"|terminal prompts disabled|invalid username or",
        "",
        "muster never asks for a password: give git a credential helper, a token or an ssh key for this remote (those"
        " in .git/config count only with MUSTER_TRUST_CONFIG=1)",
    ),
    _Known(
        r"mismatched algorithms|does not support this repository's hash algorithm|unexpected capabilities\^\{\}",
        "the remote names objects by another hash (sha1 or sha256) than this repository, and git cannot mix them",
        "work in a clone of that remote, or outside any repository",
    ),
    _Known(
        r"'(?P<remote>[\w.-]+)' does not appear to be a git repository",
        "there is no remote '{remote}', and no repository at that path",
        "git remote -v lists the remotes; add it with git remote add {remote} URL",
    ),
    _Known(
        r"does not appear to be a git repository|repository .* (not found|does not exist)"
        r"|requested url returned error: 404",
        "",
        "check the remote's URL (git remote -v) and that this account may read it",
    ),
    _Known(r"couldn't find remote ref", "", "check the branch's name: git ls-remote --heads shows what there is"),
    _Known(r"transport '[^']*' not allowed|remote helper", "", "use a file, ssh, git or https URL"),
    _Known(r"no space left on device|disk quota exceeded", "", "free some space and run again"),
    _Known(r"file too large", "", "a limit of the process for the size of files is in the way: ulimit -f shows it"),
    _Known(
        r"permission denied|read-only file system|insufficient permission",
        "",
        "check who owns the repository's files and what they permit",
    ),
    _Known(r"corrupt|bad object|unable to read|missing blob|missing tree", "", "git fsck --full says what is damaged"),
    _Known(r"cannot lock ref|failed to lock|unable to lock", "", "", LockedError),
)


_PATTERNS = [Regex(f"(?i){cause.pattern}") for cause in _KNOWN]


def explain(command: str, stderr: str, status: int) -> RepositoryError:
    """Return the error for a failed `git <command>`: git's own last complaint, reworded if that helps, without
    credentials in URLs."""
    stderr = without_secrets(stderr)
    for cause, pattern in zip(_KNOWN, _PATTERNS, strict=True):
        match = pattern.search(stderr)
        if match is not None:
            groups = match.named()
            message = cause.message.format(**groups) or f"git {command}: {complaint(stderr, status)}"
            return cause.error(message, cause.hint.format(**groups))
    return RepositoryError(f"git {command}: {complaint(stderr, status)}")


def complaint(stderr: str, status: int) -> str:
    """Return the line of `stderr` that says why: the first `fatal:` or `error:`, else the last line with text."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for prefix in ("fatal: ", "error: "):
        for line in lines:
            if line.startswith(prefix):
                return line.removeprefix(prefix)
    if status < 0:
        return f"ended by {signal_name(status)}"
    return lines[-1] if lines else f"ended with status {status}"
