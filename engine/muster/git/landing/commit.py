"""Moves a branch to a commit: compare-and-swap, all or nothing, and never over a person's work.

The commit was built without touching anything (see `fastimport`); the branch moves in one step, by `update-ref` with
the old value. If a work tree has the branch checked out, files and index are changed first, and changed back if the
branch turns out to have moved: what `git merge --ff-only` does, but on a lent index (see `index`), so that git, killed
at any instant, leaves no unexplained lock. Killed at any instant, the branch is where it was or where it should be, and
the next run repairs the work tree (see `recovery`). No hooks run: neither the user's nor the repository's.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from muster.data.locations import FOLDER
from muster.data.names import few
from muster.git.changes import PathChange, changes_between, entries_of_index, folders_of
from muster.git.errors import Committed, LockedError, Moved, Refused, RepositoryError, explain
from muster.git.index import LentIndex, lent_index
from muster.git.journal import Journal, JournalNote, noted
from muster.git.repository import Repository, Worktree, branch_tip, checkouts, git_directory, ref_tip
from muster.git.settling import settle
from muster.git.store.process import Git
from muster.git.store.restricted import TRUST, disabled_filters

#: In milliseconds. A tenth of that, git's default, is too short if many processes want the same ref.
_WAIT_FOR_LOCK = ("-c", "core.filesRefLockTimeout=1000")
#: git takes the locks that it needs for a ref within this time.
_LOCKS_SECONDS = 10.0
#: Switches off what the user's configuration would add to a merge.
_PLAIN: Final = ("-c", "submodule.recurse=false")
#: Files that git keeps while a merge or cherry-pick is not concluded.
_UNFINISHED: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD")
_RESTORE: Final = (
    "these files are written by muster: restore them (git restore --staged --worktree), or commit elsewhere"
)
_STASH: Final = "commit them, or put them aside with git stash"


def advance(repository: Repository, *, branch: str, expected: str, commit: str) -> Committed | Moved | Refused:
    """Move `branch` from `expected` to `commit`, with the work tree that has it checked out."""
    trees = checkouts(repository, branch)
    if not trees:
        return swap_ref(repository, f"refs/heads/{branch}", commit, expected, reason=_reflog_message(commit))
    if len(trees) > 1:
        where = ", ".join(str(tree.path) for tree in trees)
        return Refused((), f"{branch} is checked out in several work trees: {where}", "leave it checked out in one")
    return _with_work_tree(repository, trees[0], branch, expected, commit)


def swap_ref(
    repository: Repository, ref: str, commit: str, expected: str | None, *, reason: str, git: Git | None = None
) -> Committed | Moved:
    """Point `ref` at `commit` if it points at `expected` (None: if there is no such ref).

    `git` runs in the work tree whose HEAD log records the move. RepositoryError if git fails, for example because
    another process holds the lock for longer than a second.
    """
    old = expected or "0" * len(commit)
    with noted(repository, JournalNote(ref, commit, _LOCKS_SECONDS)) as journal:
        held = journal.holding(git or repository.git)
        done = journal.after(held.run(*_WAIT_FOR_LOCK, "update-ref", "-m", reason, ref, commit, old))
    if done.status == 0 or (actual := ref_tip(repository, ref)) == commit:
        return Committed(commit)
    if actual != expected:
        return Moved(actual)
    raise explain("update-ref", done.stderr, done.status)


def _with_work_tree(
    repository: Repository, tree: Worktree, branch: str, expected: str, commit: str
) -> Committed | Moved | Refused:
    if not tree.path.is_dir():
        what = f"{branch} is checked out in {tree.path}, which is missing"
        return Refused((), what, "git worktree unlock or prune it")
    actual = branch_tip(repository, branch)
    if actual != expected:
        return Moved(actual)
    git = Git(tree.path, repository.git.environ)
    git_dir = git_directory(repository, tree)
    refused = _unconcluded_merge(tree.path, git_dir)
    if refused:
        return refused
    note = JournalNote(new=commit, old=expected, worktree=str(tree.path))
    try:
        with noted(repository, note) as journal, lent_index(journal, git, git_dir) as lent:
            return _find_obstacle(lent, expected, commit) or _move_with_work_tree(
                repository, lent, journal, f"refs/heads/{branch}", git
            )
    except LockedError as error:
        return Refused((), error.message, error.hint)


def _move_with_work_tree(
    repository: Repository, lent: LentIndex, journal: Journal, ref: str, git: Git
) -> Committed | Moved | Refused:
    """Change the work tree, then the branch; if either fails, change the work tree back."""
    old, new = journal.note.old, journal.note.new
    journal.unfinished = True  # from here on, until all of it is done or undone
    try:
        lent.git.output(*_PLAIN, "read-tree", "-m", "-u", old, new)
        outcome = swap_ref(repository, ref, new, old, reason=_reflog_message(new), git=git)
        if isinstance(outcome, Committed):
            lent.put_back()
            journal.unfinished = False
            return outcome
    except BaseException as error:
        _undo(repository, lent, journal)
        if isinstance(error, RepositoryError) and not isinstance(error, LockedError):
            hint = error.hint or "git status shows what is unfinished in the work tree"
            return Refused((), error.message, hint)
        raise
    _undo(repository, lent, journal)
    return outcome


def _undo(repository: Repository, lent: LentIndex, journal: Journal) -> None:
    """Repair the work tree; a later run does if that fails now, for example because the disk is full."""
    try:
        settle(lent, journal.note.old, journal.note.new, repository.object_format)
        journal.unfinished = False
    except (RepositoryError, OSError):
        return


def _reflog_message(commit: str) -> str:
    return f"muster: {commit[:12]}"


def _unconcluded_merge(tree: Path, git_dir: Path) -> Refused | None:
    """Refuse if a person has begun a merge in the work tree."""
    if any((git_dir / name).exists() for name in _UNFINISHED):
        return Refused((), f"a merge is not concluded in {tree}", "commit or abort it: git status says what is left")
    return None


def _find_obstacle(lent: LentIndex, old: str, new: str) -> Refused | None:
    """Return what is in the way of changing the work tree from `old` to `new`. Changes nothing."""
    git = lent.git
    git.run(*_PLAIN, "update-index", "-q", "--refresh")
    changes = changes_between(git, old, new)
    if (off := disabled_filters(git)) and (filters := off & _filters(git, (change.raw for change in changes))):
        named = ", ".join(sorted(filters))
        return Refused(
            (),
            f"the git filter {named} is configured in the repository itself, and so is not run",
            f"configure it with git config --global, or set {TRUST}=1 if you trust the repository's configuration",
        )
    if _meets_something(git.directory, changes) and (path := _in_the_way(git, changes)):
        return _refused(git, path)  # git would overwrite a person's file that it ignores
    done = git.run(*_PLAIN, "read-tree", "-n", "-m", "-u", old, new)
    if not done.status:
        return None
    path = _in_the_way(git, changes)
    if path:
        return _refused(git, path)
    error = explain("read-tree", done.stderr, done.status)
    return Refused((), error.message, error.hint or "git status shows what is unfinished in the work tree")


def _meets_something(tree: Path, changes: Sequence[PathChange]) -> bool:
    """Does anything lie at the paths of new files or their folders?"""
    root, folders = os.fsencode(tree) + b"/", set[bytes]()
    for change in changes:
        if change.old is None:
            if os.path.lexists(root + change.raw):
                return True
            folders.update(folders_of(change.raw))
    return any(_is_no_folder(root + folder) for folder in folders)


def _in_the_way(git: Git, changes: Sequence[PathChange]) -> tuple[str, ...]:
    """The changed paths at which a person has something else than the old commit, and files in the way of folders."""
    root, entries = os.fsencode(git.directory) + b"/", entries_of_index(git)
    edited = set(git.output("diff-files", "--name-only", "-z").split(b"\0"))
    going = {change.raw for change in changes if change.new is None}
    present = set[bytes]()
    for _, old, new, path in changes:
        if path in entries:
            staged = entries[path] not in (old, new)
            if staged or (path in edited and os.path.lexists(root + path)):
                present.add(path)
            continue
        if new is not None and os.path.lexists(root + path) and not _only_goes(root, path, going):
            present.add(path)
        present.update(folder for folder in folders_of(path) if folder not in going and _is_no_folder(root + folder))
    return tuple(sorted(map(os.fsdecode, present)))


def _only_goes(root: bytes, path: bytes, going: set[bytes]) -> bool:
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
    names = b"".join(path + b"\0" for path in paths)
    listing = git.run("check-attr", "-z", "--stdin", "filter", stdin=names).stdout.decode(errors="replace").split("\0")
    return {value for value in listing[2::3] if value not in ("unspecified", "unset")}


def _refused(git: Git, paths: tuple[str, ...]) -> Refused:
    derived_only = all(path.startswith(FOLDER) for path in paths)
    text = f"the work tree has uncommitted changes that would be overwritten: {few(paths)}"
    return Refused(paths, text, _filtered(git, paths) or (_RESTORE if derived_only else _STASH))


def _filtered(git: Git, paths: tuple[str, ...]) -> str:
    """What to do if a git filter, and no person, makes files differ from the commit; empty if none does."""
    names = _filters(git, map(os.fsencode, paths))
    if not names:
        return ""
    return (
        f"the git filter {', '.join(sorted(names))} changes these files, which muster writes: put the line "
        "`* -text -filter -ident !working-tree-encoding` into derived/.gitattributes, and check them out again"
    )
