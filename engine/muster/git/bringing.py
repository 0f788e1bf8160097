"""Brings a work tree along when its branch moves: files and index from one commit to the next, and back if need be.

It does what `git merge --ff-only` does, and changes nothing where a person's work is in the way. But the index is lent
(see `lentindex`), so that git, killed at any instant, leaves no lock that nobody can explain; and the branch is moved
in between, by compare-and-swap.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from muster.git.changes import PathChange, changes_between, entries_of_index, folders_of
from muster.git.closed import TRUST, not_run
from muster.git.errors import Refused, explain
from muster.git.index import LentIndex
from muster.git.process import Git

# Everything in the user's configuration that would make it something else.
_PLAIN: Final = ("-c", "submodule.recurse=false")
#: What git leaves while a person's merge or cherry-pick is not concluded.
_UNFINISHED: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD")
_RESTORE: Final = (
    "these files are written by muster: restore them (git restore --staged --worktree), or commit elsewhere"
)


def unfinished(tree: Path, git_dir: Path) -> Refused | None:
    """Say what a person has begun in a work tree, where that is something."""
    if any((git_dir / name).exists() for name in _UNFINISHED):
        return Refused((), f"a merge is not concluded in {tree}", "commit or abort it: git status says what is left")
    return None


def obstacle(lent: LentIndex, old: str, new: str) -> Refused | None:
    """Say what is in the way of bringing the work tree from `old` to `new`; nothing is changed."""
    git = lent.git
    git.run(*_PLAIN, "update-index", "-q", "--refresh")
    changes = changes_between(git, old, new)
    if (off := not_run(git)) and (filters := off & _filters(git, (change.raw for change in changes))):
        named = ", ".join(sorted(filters))
        return Refused(
            (), f"the git filter {named} is configured in the repository itself, and so is not run",
            f"configure it with git config --global, or set {TRUST}=1 if you trust the repository's configuration",
        )  # fmt: skip
    if _meets_something(git.directory, changes) and (found := _in_the_way(git, changes)):
        return _refused(git, found)  # git would overwrite a file that it ignores, which is a person's all the same
    done = git.run(*_PLAIN, "read-tree", "-n", "-m", "-u", old, new)
    if not done.status:
        return None
    found = _in_the_way(git, changes)
    if found:
        return _refused(git, found)
    error = explain("read-tree", done.stderr, done.status)
    return Refused((), error.message, error.hint or "git status shows what is unfinished in the work tree")


def bring(lent: LentIndex, old: str, new: str) -> None:
    """Bring files and the lent index from `old` to `new`. RepositoryError where that fails on the way."""
    lent.git.output(*_PLAIN, "read-tree", "-m", "-u", old, new)


def _meets_something(tree: Path, changes: Sequence[PathChange]) -> bool:
    """Whether there is anything where new files are to be, or where their folders are."""
    root, folders = os.fsencode(tree) + b"/", set[bytes]()
    for change in changes:
        if change.old is None:
            if os.path.lexists(root + change.raw):
                return True
            folders.update(folders_of(change.raw))
    return any(_is_no_folder(root + folder) for folder in folders)


def _in_the_way(git: Git, changes: Sequence[PathChange]) -> tuple[str, ...]:
    """The paths at which a person has something else than the old commit has, of those that differ.

    A file can also be in the way of a folder.
    """
    root, entries = os.fsencode(git.directory) + b"/", entries_of_index(git)
    edited = set(git.output("diff-files", "--name-only", "-z").split(b"\0"))
    going = {change.raw for change in changes if change.new is None}
    found = set[bytes]()
    for _, old, new, path in changes:
        if path in entries:
            staged = entries[path] not in (old, new)
            if staged or (path in edited and os.path.lexists(root + path)):
                found.add(path)
            continue
        if new is not None and os.path.lexists(root + path) and not _only_goes(root, path, going):
            found.add(path)
        found.update(folder for folder in folders_of(path) if folder not in going and _is_no_folder(root + folder))
    return tuple(sorted(map(os.fsdecode, found)))


def _only_goes(root: bytes, path: bytes, going: set[bytes]) -> bool:
    """Whether a folder has no file in it but such as are removed."""
    if _is_no_folder(root + path):
        return False
    inside = (where + b"/" + name for where, _, names in os.walk(root + path) for name in names)
    return all(full.removeprefix(root) in going for full in inside)


def _is_no_folder(full: bytes) -> bool:
    try:
        return not stat.S_ISDIR(os.lstat(full).st_mode)
    except OSError:
        return False


def _filters(git: Git, paths: Iterable[bytes]) -> set[str]:
    """The filters that attributes name for some paths."""
    asked = b"".join(path + b"\0" for path in paths)
    listing = git.run("check-attr", "-z", "--stdin", "filter", stdin=asked).stdout.decode(errors="replace").split("\0")
    return {value for value in listing[2::3] if value not in ("unspecified", "unset")}


def _refused(git: Git, paths: tuple[str, ...]) -> Refused:
    text = f"changed or new in the work tree, and would be overwritten: {', '.join(paths)}"
    return Refused(paths, text, _filtered(git, paths) or _RESTORE)


def _filtered(git: Git, paths: tuple[str, ...]) -> str:
    """What to do where a git filter, and no person, makes files differ from what was committed; empty otherwise."""
    names = _filters(git, map(os.fsencode, paths))
    if not names:
        return ""
    return (
        f"the git filter {', '.join(sorted(names))} changes these files, which muster writes: put the line "
        "`* -text -filter -ident !working-tree-encoding` into derived/.gitattributes, and check them out again"
    )
