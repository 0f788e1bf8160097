"""Moves a branch to a commit: compare-and-swap, all or nothing, and never over a person's work.

The commit was built beside everything (see `importing`); the branch moves in one step: by `update-ref` with
the old value, or, where a work tree has the branch checked out, by `merge --ff-only` there, which moves ref, index
and files together and refuses when an edit is in the way. Killed at any instant, the branch is where it was
or where it should be. No hooks run: neither the user's nor the repository's.
"""

from pathlib import PurePosixPath

from muster.gitio.errors import explain
from muster.gitio.outcomes import Committed, Moved, Refused
from muster.gitio.process import NO_HOOKS, Completed, Git
from muster.gitio.repository import Repository, branch_tip, ref_tip
from muster.gitio.worktrees import Worktree, checkouts

# Everything in the user's configuration that would make a fast-forward something else.
_PLAIN_MERGE = (
    *NO_HOOKS,
    *("-c", "submodule.recurse=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)
#: A tenth of that, git's default, is too short where many processes want the same ref.
_WAIT_FOR_LOCK = ("-c", "core.filesRefLockTimeout=1000")
_MERGE_OPTIONS = (
    *("--ff-only", "--no-squash", "--commit", "--no-autostash", "--no-verify-signatures", "--no-stat", "--quiet"),
    "--no-overwrite-ignore",  # a file that git ignores is a person's file all the same
)


def advance(
    repository: Repository, *, branch: str, expected: str, commit: str, paths: tuple[str, ...] = ()
) -> Committed | Moved | Refused:
    """Move `branch` from `expected` to `commit`, its descendant, and the work tree that has it checked out along.

    `paths` are the files that differ: those of them that are in the way are named in Refused.
    """
    trees = checkouts(repository, branch)
    if not trees:
        subject = f"muster: {commit[:12]}"
        return swap_ref(repository, f"refs/heads/{branch}", commit, expected, reason=subject)
    if len(trees) > 1:
        where = ", ".join(str(tree.path) for tree in trees)
        return Refused((), f"{branch} is checked out in several work trees: {where}", "leave it checked out in one")
    return _fast_forward(repository, trees[0], branch, expected, commit, paths)


def swap_ref(repository: Repository, ref: str, commit: str, expected: str | None, *, reason: str) -> Committed | Moved:
    """Point `ref` at `commit` if it points at `expected` (None: if there is no such ref).

    RepositoryError where git fails, for example of the lock of another process that stays for a second.
    """
    old = expected or "0" * len(commit)
    done = repository.git.run(*NO_HOOKS, *_WAIT_FOR_LOCK, "update-ref", "-m", reason, ref, commit, old)
    actual = ref_tip(repository, ref)
    if done.status == 0 or actual == commit:
        return Committed(commit)
    if actual != expected:
        return Moved(actual)
    raise explain("update-ref", done.stderr, done.status)


def _fast_forward(
    repository: Repository, tree: Worktree, branch: str, expected: str, commit: str, paths: tuple[str, ...]
) -> Committed | Moved | Refused:
    if not tree.path.is_dir():
        return Refused((), f"{branch} is checked out in {tree.path}, which is away", "git worktree unlock or prune it")
    git = Git(tree.path, repository.git.environ)
    # The last look before git takes its own locks: a branch that was reset to before `expected` in between would
    # fast-forward too.
    actual = branch_tip(repository, branch)
    if actual != expected:
        return Moved(actual)
    options = () if "=" in branch else ("-c", f"branch.{branch}.mergeOptions=")
    done = git.run(*_PLAIN_MERGE, *options, "merge", *_MERGE_OPTIONS, commit)
    actual = branch_tip(repository, branch)
    if actual == commit:
        return Committed(commit)
    if actual != expected:
        return Moved(actual)
    return _refusal(git, done, paths)


def _refusal(git: Git, done: Completed, paths: tuple[str, ...]) -> Refused:
    """Say in terms of files what git said: it names them one to a line after a tab, or in quotes.

    A file can also be in the way of a directory.
    """
    places = {place for path in paths for place in (path, *map(str, PurePosixPath(path).parents))}
    in_the_way = tuple(
        sorted(place for place in places if f"\t{place}\n" in done.stderr or f"'{place}'" in done.stderr)
    )
    if in_the_way:
        return Refused(
            in_the_way,
            f"changed or new in the work tree, and would be overwritten: {', '.join(in_the_way)}",
            _filtered(git, in_the_way)
            or "these files are written by muster: restore them (git restore --staged --worktree), or commit elsewhere",
        )
    error = explain("merge", done.stderr, done.status)
    hint = error.hint or "git status shows what is unfinished in the work tree"
    return Refused((), error.message, hint)


def _filtered(git: Git, paths: tuple[str, ...]) -> str:
    """What to do where a git filter, and no person, makes files differ from what was committed; empty otherwise."""
    listing = git.run("check-attr", "-z", "filter", "--", *paths).stdout.decode(errors="replace").split("\0")
    names = sorted({value for value in listing[2::3] if value not in ("unspecified", "unset")})
    if not names:
        return ""
    return (
        f"the git filter {', '.join(names)} changes these files, which muster writes: put the line "
        "`* -text -filter -ident !working-tree-encoding` into derived/.gitattributes, and check them out again"
    )
