"""Moves a branch to a commit: compare-and-swap, all or nothing, and never over a person's work.

The commit was built beside everything (see `importing`); the branch moves in one step, by `update-ref` with the old
value. Where a work tree has the branch checked out, files and index are brought along first, and brought back where
the branch turns out to have moved. Killed at any instant, the branch is where it was or where it should be, and what
the work tree was left with is put right by the next run (see `recovery`). No hooks run: neither the user's nor the
repository's.
"""

from muster.git.bringing import bring, obstacle, unfinished
from muster.git.errors import Committed, LockedError, Moved, Refused, RepositoryError, explain
from muster.git.index import LentIndex, lent_index
from muster.git.journal import Journal, JournalNote, noted
from muster.git.process import Git
from muster.git.repository import Repository, Worktree, branch_tip, checkouts, git_directory, ref_tip
from muster.git.settling import settle

#: A tenth of that, git's default, is too short where many processes want the same ref.
_WAIT_FOR_LOCK = ("-c", "core.filesRefLockTimeout=1000")
#: Within that, git takes the locks that it needs for a ref.
_LOCKS_SECONDS = 10.0


def advance(repository: Repository, *, branch: str, expected: str, commit: str) -> Committed | Moved | Refused:
    """Move `branch` from `expected` to `commit`, and the work tree that has it checked out along."""
    trees = checkouts(repository, branch)
    if not trees:
        return swap_ref(repository, f"refs/heads/{branch}", commit, expected, reason=_reason(commit))
    if len(trees) > 1:
        where = ", ".join(str(tree.path) for tree in trees)
        return Refused((), f"{branch} is checked out in several work trees: {where}", "leave it checked out in one")
    return _with_work_tree(repository, trees[0], branch, expected, commit)


def swap_ref(
    repository: Repository, ref: str, commit: str, expected: str | None, *, reason: str, git: Git | None = None
) -> Committed | Moved:
    """Point `ref` at `commit` if it points at `expected` (None: if there is no such ref).

    `git` runs where HEAD's log is to tell of it. RepositoryError where git fails, for example of the lock of another
    process that stays for a second.
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
        return Refused((), f"{branch} is checked out in {tree.path}, which is away", "git worktree unlock or prune it")
    actual = branch_tip(repository, branch)
    if actual != expected:
        return Moved(actual)
    git = Git(tree.path, repository.git.environ)
    git_dir = git_directory(repository, tree)
    refused = unfinished(tree.path, git_dir)
    if refused:
        return refused
    note = JournalNote(new=commit, old=expected, worktree=str(tree.path))
    try:
        with noted(repository, note) as journal, lent_index(journal, git, git_dir) as lent:
            return obstacle(lent, expected, commit) or _bring_along(
                repository, lent, journal, f"refs/heads/{branch}", git
            )
    except LockedError as error:
        return Refused((), error.message, error.hint)


def _bring_along(
    repository: Repository, lent: LentIndex, journal: Journal, ref: str, git: Git
) -> Committed | Moved | Refused:
    """Change the work tree, then the branch; where either fails, the work tree becomes what it was."""
    old, new = journal.note.old, journal.note.new
    journal.unfinished = True  # from here on, until all of it is done or undone
    try:
        bring(lent, old, new)
        outcome = swap_ref(repository, ref, new, old, reason=_reason(new), git=git)
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
    """Put the work tree right; a later run does where it cannot be done now, for example because the disk is full."""
    try:
        settle(lent, journal.note.old, journal.note.new, repository.object_format)
        journal.unfinished = False
    except (RepositoryError, OSError):
        return


def _reason(commit: str) -> str:
    return f"muster: {commit[:12]}"
