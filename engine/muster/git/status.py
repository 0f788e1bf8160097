"""What a work tree changes of a commit, told from git's index without reading every file.

The index stores each file's size, times and inode of when its content was last compared, and rechecks files as young as
itself: so git looks at every file's entry and opens few. The answer holds for a commit of the work tree only if git
stores files unchanged; if it converts them, there is no answer.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from string import ascii_letters, ascii_lowercase, digits
from typing import Final

from muster.git.changes import Blob, PathChange, path_change
from muster.git.repository import Repository, common_directory
from muster.git.store.paths import decode

#: Flags of `ls-files -v` for files that git does not look at: left out of a sparse checkout, or assumed unchanged.
_NOT_LOOKED_AT: Final = frozenset(f"{flag} ".encode() for flag in f"{ascii_lowercase}S")
_LOOKED_AT: Final = b"H "
_ATTRIBUTES: Final = ".gitattributes"
#: Attributes that, if set, make git store other bytes than a file has.
_CONVERTING: Final = (b"text", b"eol", b"crlf", b"filter", b"ident", b"working-tree-encoding")
_IN_WORDS: Final = f"{ascii_letters}{digits}_".encode()
_WORDS: Final = bytes(octet if octet in _IN_WORDS + b"-!" else ord(" ") for octet in range(256))
_MACRO: Final = b"[attr]"
_MOST_BYTES: Final = 1 << 16


class UnknownChangesError(Exception):
    """The index does not tell how the work tree differs; the message says why."""


def work_tree_changes(repository: Repository, commit: str) -> tuple[PathChange, ...]:
    """Return what differs from a commit, HEAD, to the work tree, sorted by path. New content has no id yet.

    NotToldError if every file has to be read to tell; RepositoryError if git fails.
    """
    tracked = repository.git.output("ls-files", "-v", "-z")
    if any(entry[:2] in _NOT_LOOKED_AT for entry in tracked.split(b"\0") if not entry.startswith(_LOOKED_AT)):
        raise UnknownChangesError("git does not look at every file of the work tree")
    listing = repository.git.output(
        "--no-optional-locks",
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--ignore-submodules=none",
    )
    by_path: dict[str, PathChange] = {}
    for record in listing.split(b"\0"):
        sort, _, rest = record.partition(b" ")
        if sort == b"#":
            if rest.startswith(b"branch.oid ") and rest.removeprefix(b"branch.oid ").decode() != commit:
                raise UnknownChangesError("HEAD has moved")
        elif sort == b"1":
            _, _, head_mode, _, mode, head, _, name = rest.split(b" ", 7)
            old = Blob(head_mode.decode(), head.decode()) if head.strip(b"0") else None
            change = path_change(name, old, Blob(mode.decode(), "") if mode.strip(b"0") else None)
            by_path[change.path] = change
        elif sort == b"?":  # or taken out of the index and still there
            earlier = by_path.get(decode(rest)[0])
            change = path_change(rest, earlier.old if earlier else None, Blob(_mode(repository, rest), ""))
            by_path[change.path] = change
        elif sort:
            raise UnknownChangesError("a merge is not resolved")
    attributes = {path for path in by_path if path.endswith(_ATTRIBUTES)}
    if f"{_ATTRIBUTES}\0".encode() in tracked:
        attributes.update(os.fsdecode(line[2:]) for line in tracked.split(b"\0") if line.endswith(_ATTRIBUTES.encode()))
    if _may_convert(repository, attributes):
        raise UnknownChangesError("git may store files otherwise than they are in the work tree")
    return tuple(sorted(by_path.values(), key=lambda change: change.raw))


def _mode(repository: Repository, path: bytes) -> str:
    """Return the mode that git would give the file at a path; a repository counts as a submodule."""
    full = os.fsencode(repository.git.directory) + b"/" + path
    try:
        mode = os.lstat(full).st_mode
    except OSError:
        return "000000"
    return "100644" if stat.S_ISREG(mode) else "120000" if stat.S_ISLNK(mode) else "160000"


def _may_convert(repository: Repository, attributes: Iterable[str]) -> bool:
    """Does git store any file differently from the work tree, or may it?"""
    if {repository.setting("core.autocrlf"), repository.setting("core.attributesfile")} - {None, "false"}:
        return True
    environ = repository.git.environ
    home = environ.get("XDG_CONFIG_HOME") or f"{environ.get('HOME', '')}/.config"
    everywhere = (
        Path("/etc/gitattributes"),
        Path(home, "git/attributes"),
        common_directory(repository) / "info/attributes",
    )
    ours = (repository.git.directory / path for path in attributes)
    return any(_converts(_content(file)) for file in (*everywhere, *ours))


def _converts(attributes: bytes) -> bool:
    """Do attributes name one that converts, without `-` or `!` before it, or define a macro?"""
    words = attributes.translate(_WORDS).split()
    behind = (word.removeprefix(name) for word in words for name in _CONVERTING if word.startswith(name))
    return _MACRO in attributes or any(not rest or rest[0] not in _IN_WORDS for rest in behind)


def _content(file: Path) -> bytes:
    """Return the content of a file of attributes; an attribute that converts if it cannot be read."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            return b"text"
        return file.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError:
        return b"text"
