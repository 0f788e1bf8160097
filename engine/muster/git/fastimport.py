"""Builds a commit with one `git fast-import`, without touching any branch, index or work tree.

fast-import can only write to a ref, so the commit is made on a private ref with a unique name, and the same stream
removes the ref before it is ever stored: nothing has to be cleaned up, even after a crash. The commit is then found by
its id alone, and git keeps unreferenced objects for two weeks.
"""

import contextlib
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from muster.git.config import identities, signs_commits
from muster.git.errors import explain
from muster.git.repository import Repository
from muster.git.store.paths import is_dotgit
from muster.regex import Regex

Files = Mapping[str, str | bytes | None]
"""Content by path from the repository's root; None removes the file. Paths may hold what `os.fsdecode` makes."""

_CRASH_REPORT = Regex(r"dumping crash report to (.*fast_import_crash_\d+)")


class CommitDraft(NamedTuple):
    """A commit to make: the commands for what it changes of its first parent, its message, and its parents."""

    changes: Iterable[bytes]
    message: str
    parents: Sequence[str] = ()


def build_commit(repository: Repository, files: Files, message: str, parent: str | None) -> str:
    """Make a commit of `files` over `parent` (None: of these files alone) and return its id.

    It is signed if the configuration asks for it. ValueError for a path that no tree can hold.
    """
    return build_commits(repository, files, message, parent)[0]


def build_commits(
    repository: Repository, files: Files, message: str, parent: str | None, more: Sequence[CommitDraft] = ()
) -> list[str]:
    """Make a commit as `build_commit` does and `more` unsigned ones, in one process. Return the ids of all."""
    author, committer = identities(repository)
    parents = (parent,) if parent else ()
    first = CommitDraft(_changes(files), message, parents)
    commits = _imported(repository, (first, *more), author, committer)
    if not signs_commits(repository):
        return commits
    env = {**_environ("AUTHOR", author), **_environ("COMMITTER", committer)}
    return [_signed(repository, commits[0], _clean(message), parent, env), *commits[1:]]


def build_merge(repository: Repository, ours: str, theirs: str, message: str) -> str:
    """Make a commit of what one commit holds, after two, and return its id. Never signed."""
    return _imported(repository, (CommitDraft((), message, (ours, theirs)),), *identities(repository))[0]


def build_changed(
    repository: Repository, base: str | None, changes: Iterable[bytes], message: str, *, root: bool
) -> str:
    """Make a commit of what `base` holds (None: nothing), changed by commands (`write_command`, `keep_command`,
    `tree_command`, `remove_command`), and return its id. Its parent is `base`, unless it is a `root`. Never signed."""
    author, committer = identities(repository)
    first = b""
    if root and base is not None:
        first = tree_command("", repository.git.output("rev-parse", f"{base}^{{tree}}").decode().strip())
    parent = None if root else base
    # All of them before git starts: a caller's fault must not interrupt it.
    commands = iter([first, *changes])
    draft = CommitDraft(commands, message, (parent,) if parent else ())
    return _imported(repository, (draft,), author, committer)[0]


def write_command(path: str, content: bytes) -> bytes:
    return b"M 100644 inline %b\n%b" % (_quoted(checked_path(path)), _data(content))


def keep_command(path: str, mode: bytes, blob: str) -> bytes:
    """Return the command that writes a file whose blob exists."""
    return b"M %b %b %b\n" % (mode, blob.encode(), _quoted(checked_path(path)))


def tree_command(path: str, tree: str) -> bytes:
    """Return the command that replaces a folder, or everything for an empty path, by a tree that exists."""
    return b"M 040000 %b %b\n" % (tree.encode(), _quoted(checked_path(path) if path else b""))


def remove_command(path: str) -> bytes:
    return b"D %b\n" % _quoted(checked_path(path))


def checked_path(path: str) -> bytes:
    """Return `path` as git stores it; ValueError for one that cannot, or must not, be checked out."""
    raw = os.fsencode(path)
    parts = raw.split(b"/")
    if b"\0" in raw or any(part in (b"", b".", b"..") or is_dotgit(part) for part in parts):
        raise ValueError(f"{path!r} is not a path inside a repository")
    return raw


def _imported(repository: Repository, drafts: Sequence[CommitDraft], author: str, committer: str) -> list[str]:
    done = repository.git.run("fast-import", "--quiet", "--done", stdin=_stream(repository, drafts, author, committer))
    if done.status:
        _remove_crash_report(repository, done.stderr)
        raise explain("fast-import", done.stderr, done.status)
    return done.stdout.decode().split()


def _stream(repository: Repository, drafts: Sequence[CommitDraft], author: str, committer: str) -> Iterator[bytes]:
    """Yield the commands for fast-import: for each commit its id is printed, and its ref forgotten."""
    for mark, draft in enumerate(drafts, 1):
        ref = f"refs/muster/{uuid.uuid4().hex}"
        yield os.fsencode(f"commit {ref}\nmark :{mark}\nauthor {author}\ncommitter {committer}\n")
        yield _data(_clean(draft.message))
        for number, parent in enumerate(draft.parents):
            yield f"{'merge' if number else 'from'} {parent}\n".encode()
        yield from draft.changes
        yield f"get-mark :{mark}\nreset {ref}\nfrom {repository.null_id}\n\n".encode()
    yield b"done\n"


def _changes(files: Files) -> Iterator[bytes]:
    """The commands, made as they are written: together they are as large as all files. ValueError comes before the
    first."""
    for path in files:
        checked_path(path)
    return map(_change, sorted(files, key=lambda path: (files[path] is not None, path)), repeat(files))


def _change(path: str, files: Files) -> bytes:
    content = files[path]
    if content is None:  # first, so that a directory can take the place of a removed file
        return remove_command(path)
    return write_command(path, content if isinstance(content, bytes) else content.encode())


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _quoted(path: bytes) -> bytes:
    for byte, escape in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
        path = path.replace(byte, escape)
    return b'"%b"' % path


def _clean(message: str) -> bytes:
    """Return the message as a commit can hold it: no NUL, one newline at its end."""
    return message.replace("\0", "").rstrip("\n").encode(errors="backslashreplace") + b"\n"


def _signed(repository: Repository, commit: str, message: bytes, parent: str | None, env: Mapping[str, str]) -> str:
    parents = ("-p", parent) if parent else ()
    arguments = ("-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", *parents, f"{commit}^{{tree}}")
    return repository.git.output(*arguments, stdin=message, env=env).decode().strip()


def _environ(role: str, who: str) -> dict[str, str]:
    """Return the variables that make git use exactly the identity `who` (`Name <mail> seconds zone`)."""
    name, _, rest = who.rpartition(" <")
    mail, _, date = rest.partition("> ")
    return {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": mail, f"GIT_{role}_DATE": f"@{date}"}


def _remove_crash_report(repository: Repository, stderr: str) -> None:
    """Delete the report that fast-import leaves in the git directory; its standard error has all that matters."""
    report = _CRASH_REPORT.search(stderr)
    if report:
        with contextlib.suppress(OSError):
            (repository.git.directory / Path(report[1])).unlink()
