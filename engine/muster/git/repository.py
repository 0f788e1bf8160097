"""Opens a repository and answers questions about it: where it is, which commit a name means, what is checked out.

Works for a work tree, any directory inside one, a linked worktree and a bare repository.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, TypeAlias

from muster.dataclass import dataclass
from muster.git.errors import LostObjectError, RepositoryError, UnreadableError, complaint, explain
from muster.git.store.objects import GitObject, Objects, first_parent, is_object_id, raw_entries
from muster.git.store.process import LOCATION, OBJECTS, Completed, Git, lies_in_repository, without_location
from muster.git.store.restricted import Configuration, Setting, read_configuration, restricted

_MOST_KEPT: Final = 4
_MOST_KEPT_BYTES: Final = 1 << 20  # the files of 3,000 clusters, listed
_LOST: Final = b" BAD\t"  # what `ls-tree -l` says in place of a size
_NEAR: Final = 8  # commits that are read one by one, rather than ask another process
_HEADS: Final = "refs/heads/"
_PLACING: Final = ("core.worktree", "extensions.objectformat")  # where else it may be, or of what format
_NOT_IN_FILES: Final = "refs/heads/.invalid"  # what the file HEAD says if the repository keeps refs in another way


class AnswerCache:
    """The last few answers about commits named by their full ids, which never change; no large ones."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, ...], Completed] = {}

    def run(self, git: Git, *arguments: str, commit: str) -> Completed:
        """Return the output of a command about `commit`, cached if possible. Failures and lost objects are not cached:
        an object may come back."""
        done = self._answers.get(arguments)
        if done is None:
            done = git.run(*arguments)
            lost = done.status or _LOST in done.stdout
            if is_object_id(commit) and not lost and len(done.stdout) <= _MOST_KEPT_BYTES:
                for oldest in list(self._answers)[: 1 - _MOST_KEPT]:
                    self._answers.pop(oldest, None)
                self._answers[arguments] = done
        return done


@dataclass(frozen=True, slots=True)
class Repository:
    """An opened repository.

    `git_dir` is this work tree's own (HEAD and index; linked worktrees share refs and objects). `worktree` is None for
    a bare repository and if it was opened from within its git directory, as a server's hooks do. `git` runs in the work
    tree's root, else in `git_dir`. `object_format` is `sha1` or `sha256`. `staged_index` is the index that a hook was
    told to look at (`GIT_INDEX_FILE`), else the work tree's. `settings` are git's when it was opened. `objects` reads
    what commits hold; `kept` caches the last lists of what is in them.
    """

    git: Git
    git_dir: Path
    worktree: Path | None
    object_format: str
    staged_index: Path
    settings: Mapping[str, Setting] = field(default_factory=dict, repr=False, compare=False)
    kept: AnswerCache = field(default_factory=AnswerCache, init=False, repr=False, compare=False)
    objects: Objects = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "objects", Objects(self.git))

    @property
    def id_bytes(self) -> int:
        return 32 if self.object_format == "sha256" else 20

    def setting(self, key: str) -> str | None:
        """Return the value of a key of git's configuration as it was when the repository was opened; None if it is not
        set."""
        setting = self.settings.get(key)
        return setting and setting.value

    def is_set(self, key: str) -> bool:
        """Is a key of git's configuration true?"""
        setting = self.settings.get(key)
        return setting is not None and setting.is_true

    @property
    def null_id(self) -> str:
        return "00" * self.id_bytes


def open_repository(path: Path, environ: Mapping[str, str]) -> Repository:
    """Open the repository that `path` lies in.

    `environ` is the environment for every git process, usually `os.environ`. RepositoryError if there is no repository,
    git is missing or too old, or git does not trust the directory.
    """
    if not path.is_dir():
        raise RepositoryError(f"{path} is not a directory", "give the path of a git repository")
    if not lies_in_repository(path):
        raise _no_repository(path)
    probe = Git(path, without_location(environ))
    configured = read_configuration(probe)
    object_format, git_dir, worktree = _usual_place(path, configured) or _asked_place(probe)
    git, counting = restricted(Git(worktree or git_dir, _environ_for(environ, git_dir)), configured.settings)
    return Repository(git, git_dir, worktree, object_format, _staged_index(environ, git_dir, worktree), counting)


_Place: TypeAlias = tuple[str, Path, Path | None]
"""The object format of a repository, its git directory and its work tree."""


def _usual_place(path: Path, configured: Configuration) -> _Place | None:
    """Return where a repository is whose git directory is `path`/.git; None if git has to say. Nearly every run asks
    this, and git's answer takes a tenth of one that changes nothing.

    git uses that folder if it accepts it: then the configuration is from there. It looks further up if there is no HEAD
    in it, or one that names nothing.
    """
    settings = {setting.key: setting.value for setting in configured.settings}
    worktree = Path(os.path.realpath(path))
    git_dir = worktree / ".git"
    usual = configured.is_usual and settings.get("core.bare") == "false" and settings.keys().isdisjoint(_PLACING)
    if not usual or git_dir.is_symlink() or not all((git_dir / name).is_dir() for name in ("objects", "refs")):
        return None
    try:
        head = (git_dir / "HEAD").read_bytes()
    except OSError:
        return None
    return ("sha1", git_dir, worktree) if head.startswith(b"ref: refs/") else None


def _asked_place(probe: Git) -> _Place:
    """Return what git says. RepositoryError if there is no repository, or git does not trust it."""
    done = probe.run(
        "rev-parse", "--show-object-format", "--is-inside-work-tree", "--absolute-git-dir", "--show-toplevel"
    )
    if done.status and not done.stdout:  # without a work tree it fails at the last of them
        raise _not_a_repository(probe.directory, done.stderr, done.status)
    object_format, inside, location, *more = os.fsdecode(done.stdout).removesuffix("\n").split("\n")
    whole = not done.status
    if (inside == "true") != whole or len(more) != whole:  # a path with a line break, or an odd place
        location = probe.line("rev-parse", "--absolute-git-dir") or location
        more = [probe.line("rev-parse", "--show-toplevel") or ""] if inside == "true" else []
    return object_format, Path(location), Path(more[0]) if more and more[0] else None


def resolve(repository: Repository, revision: str) -> str:
    """Return the full id of the commit that `revision` names (a branch, tag, id, `HEAD~2`, ...).

    RepositoryError if there is none, with the nearest names as a hint, and if the repository has no commits.
    """
    if not revision or revision.startswith("-") or "\0" in revision:
        raise RepositoryError(f"{revision!r} is not a revision", "give a branch, a tag or a commit id")
    tip = ref_tip(repository, f"{revision}^{{commit}}")
    if tip and is_object_id(tip):
        return tip
    if is_empty(repository):
        raise RepositoryError(
            f"the repository {repository.git.directory} has no commits yet", "commit the fleet's files first"
        )
    import difflib  # few runs name a revision that does not exist

    names = [name for name in _ref_names(repository) if not name.startswith("agents/")]
    near = difflib.get_close_matches(revision, names, n=3)
    raise RepositoryError(
        f"there is no commit {revision!r} in {repository.git.directory}",
        f"did you mean {', '.join(near)}?" if near else "git branch --all and git tag list the names there are",
    )


def is_empty(repository: Repository) -> bool:
    """Is there no branch or tag, and no commit at HEAD?"""
    if repository.git.line("rev-parse", "--verify", "--quiet", "HEAD") is not None:
        return False
    return not repository.git.output("for-each-ref", "--count=1", "--format=%(refname)")


def current_branch(repository: Repository) -> str | None:
    """Return the short name of HEAD's branch, which may have no commit yet; None if HEAD is detached."""
    try:
        head = os.fsdecode((repository.git_dir / "HEAD").read_bytes()).strip().removeprefix("ref: ")
    except OSError:
        head = ""
    if not head.startswith(_HEADS) or head == _NOT_IN_FILES:
        head = repository.git.line("symbolic-ref", "--quiet", "HEAD") or ""
    return head.removeprefix(_HEADS) if head.startswith(_HEADS) else None


def branch_tip(repository: Repository, branch: str) -> str | None:
    """Return the commit that the local branch points at; None if there is no such branch."""
    return ref_tip(repository, f"refs/heads/{branch}")


def ref_tip(repository: Repository, ref: str) -> str | None:
    """Return the object that the full ref name points at; None if there is no such ref."""
    asked = "rev-parse", "--verify", "--quiet", "--end-of-options", ref
    return repository.objects.id_of(ref) or repository.git.line(*asked)


def list_refs(repository: Repository, *patterns: str) -> dict[str, str]:
    """Return where the refs point that match a pattern of for-each-ref, by their full names."""
    listing = repository.git.output("for-each-ref", "--format=%(objectname) %(refname)", *patterns)
    return {name: oid for oid, _, name in (line.partition(" ") for line in os.fsdecode(listing).split("\n")) if name}


def has_commit(git: Git, commit: str) -> bool:
    """Is a commit in this clone?"""
    return git.run("cat-file", "-e", f"{commit}^{{commit}}").status == 0


def blob_at(repository: Repository, commit: str, path: str) -> bytes | None:
    """Return the content of a commit's file; None if there is no such file or commit. LostObjectError if the repository
    has lost it."""
    name = f"{commit}:{path}"
    answer = next(repository.objects.read((name,), sys.maxsize)) if "\n" not in path else None
    if isinstance(answer, GitObject) and answer.kind == "blob":
        return answer.content
    if _is_absent(repository, commit, path):
        return None
    done = repository.git.run("cat-file", "blob", name)
    if done.status and _entry_at(repository, commit, path).split(b" ")[1:2] == [b"blob"]:
        raise LostObjectError(path, complaint(done.stderr, done.status))
    return None if done.status else done.stdout


def has_derived(repository: Repository, commit: str) -> bool:
    """Does a commit have derived files? LostObjectError if that cannot be read."""
    if repository.objects.id_of(f"{commit}:derived") is not None:
        return True
    return not _is_absent(repository, commit, "derived") and bool(_entry_at(repository, commit, "derived"))


def _is_absent(repository: Repository, commit: str, path: str) -> bool:
    """Do the commit's trees say that it has no such file? False if one of them cannot be read."""
    tree = f"{commit}^{{tree}}"
    for name in os.fsencode(path).split(b"/"):
        answer = next(repository.objects.read((tree,), sys.maxsize))
        if isinstance(answer, UnreadableError) or answer.kind != "tree":
            return False
        try:
            entry = next(raw_entries(answer.content, repository.id_bytes, (name,)), None)
        except ValueError:
            return False
        if entry is None:
            return True
        tree = entry[2]
    return False


def _entry_at(repository: Repository, commit: str, path: str) -> bytes:
    """Return the entry of a commit's tree as `ls-tree` lists it; nothing if there is no such entry or commit."""
    done = repository.git.run("ls-tree", "-z", "--full-tree", commit, "--", path)
    if done.status and repository.git.line("rev-parse", "--verify", "--quiet", commit) is not None:
        raise LostObjectError(path, complaint(done.stderr, done.status))
    return done.stdout


def grep_lines(repository: Repository, pattern: str, commit: str, *paths: str) -> bytes:
    """Return the lines of a commit's files that match an extended regular expression. LostObjectError if one of the
    files cannot be read."""
    plain = ("-h", "-a", "-E", "--no-color", "--no-line-number", "--no-column")
    done = repository.git.run("grep", *plain, pattern, commit, "--", *paths)
    is_commit = done.status <= 1 or repository.git.line("rev-parse", "--verify", "--quiet", commit) is not None
    if is_commit and any(line.startswith(("error: ", "fatal: ")) for line in done.stderr.splitlines()):
        raise LostObjectError(" or ".join(paths), complaint(done.stderr, done.status))
    return done.stdout


def is_ancestor(repository: Repository, ancestor: str, commit: str) -> bool:
    """Is `ancestor` in the history of `commit`, or the same? RepositoryError for a commit that is missing here."""
    if _is_near_ancestor(repository, ancestor, commit):
        return True
    done = repository.git.run("merge-base", "--is-ancestor", ancestor, commit)
    if done.status not in (0, 1):
        raise explain("merge-base", done.stderr, done.status)
    return done.status == 0


def _is_near_ancestor(repository: Repository, ancestor: str, commit: str) -> bool:
    """Is a commit one of the last few first parents of another? Both are full ids."""
    for _ in range(_NEAR):
        answer = next(repository.objects.read((commit,))) if commit else None
        if not isinstance(answer, GitObject):
            return False
        if commit == ancestor:
            return True
        commit = first_parent(answer.content)
    return False


def shallow_commits(repository: Repository) -> frozenset[str]:
    """Return the commits at which a shallow clone ends: they look as if they had written every file."""
    try:
        return frozenset((common_directory(repository) / "shallow").read_text(encoding="ascii").split())
    except OSError:
        return frozenset()


def common_directory(repository: Repository) -> Path:
    """Return the directory that holds the refs and objects, also where this is a linked worktree."""
    try:
        named = (repository.git_dir / "commondir").read_bytes()
    except OSError:
        return repository.git_dir
    return Path(os.path.normpath(repository.git_dir / os.fsdecode(named.rstrip(b"\n"))))


def _environ_for(environ: Mapping[str, str], git_dir: Path) -> Mapping[str, str]:
    """Return the environment for commands on `git_dir`.

    A hook's object directories are kept if the hook runs for this very repository: pushed objects are readable only
    through them until the push is accepted.
    """
    if _hook_git_dir(environ) == git_dir:
        return {name: value for name, value in environ.items() if name not in LOCATION}
    return {name: value for name, value in environ.items() if name not in LOCATION and name not in OBJECTS}


def _hook_git_dir(environ: Mapping[str, str]) -> Path | None:
    git_dir = environ.get("GIT_DIR")
    return Path(os.path.realpath(git_dir)) if git_dir else None


def _staged_index(environ: Mapping[str, str], git_dir: Path, worktree: Path | None) -> Path:
    """Return the index of `GIT_INDEX_FILE` if that was set for this repository, else the repository's own.

    A pre-commit hook gets it without `GIT_DIR`: it then counts if the file lies in this repository, or if the current
    directory is in this work tree.
    """
    own_index = git_dir / "index"
    named = environ.get("GIT_INDEX_FILE")
    if not named:
        return own_index
    index = Path(os.path.normpath((worktree or git_dir) / named))
    hook = _hook_git_dir(environ)
    if hook is not None:
        return index if hook == git_dir else own_index
    here = worktree is not None and Path.cwd().is_relative_to(worktree)
    return index if here or Path(os.path.realpath(index.parent)) == git_dir else own_index


def _ref_names(repository: Repository) -> list[str]:
    names = os.fsdecode(repository.git.output("for-each-ref", "--format=%(refname:lstrip=2)"))
    return names.splitlines()


def _not_a_repository(path: Path, stderr: str, status: int) -> RepositoryError:
    if "not a git repository" in stderr and "dubious" not in stderr:
        return _no_repository(path)
    return explain("rev-parse", stderr, status)


def _no_repository(path: Path) -> RepositoryError:
    return RepositoryError(
        f"{path} is not in a git repository", "run it inside the fleet's repository, or name it with --repo"
    )


@dataclass(frozen=True, slots=True)
class Worktree:
    """A work tree: the main one or a linked one. `branch` is None if it is bare or its HEAD is detached."""

    path: Path
    branch: str | None
    locked: bool


def worktrees(repository: Repository) -> tuple[Worktree, ...]:
    """Return all work trees of the repository, the main one first, also those whose directory is missing."""
    top = repository.worktree
    if top is not None and repository.git_dir == top / ".git" and not (repository.git_dir / "worktrees").is_dir():
        return (Worktree(top, current_branch(repository), locked=False),)
    listing = os.fsdecode(repository.git.output("worktree", "list", "--porcelain"))
    return tuple(_parsed(record) for record in _records(listing))


def checkouts(repository: Repository, branch: str) -> tuple[Worktree, ...]:
    """Return the work trees that have `branch` checked out.

    A work tree whose directory is missing counts only if it is locked: then it will come back.
    """
    if repository.is_set("core.bare") and not (common_directory(repository) / "worktrees").is_dir():
        return ()
    return tuple(
        tree for tree in worktrees(repository) if tree.branch == branch and (tree.locked or tree.path.is_dir())
    )


def git_directory(repository: Repository, tree: Worktree) -> Path:
    """Return the git directory of a work tree, which has its HEAD and index. RepositoryError if it is missing."""
    if tree.path == repository.worktree:
        return repository.git_dir
    folder = Git(tree.path, repository.git.environ).output("rev-parse", "--absolute-git-dir")
    return Path(os.fsdecode(folder).removesuffix("\n"))


def _records(listing: str) -> Iterator[list[str]]:
    """Split the listing into records. A path may have newlines, which git before 2.36 cannot quote: it ends where
    the next attribute begins.
    """
    record: list[str] = []
    path_ended = False
    for line in listing.split("\n"):
        if not record:
            if line:
                record, path_ended = [line], False
        elif not path_ended and not _is_attribute(line):
            record[0] += f"\n{line}"
        elif line:
            record.append(line)
            path_ended = True
        else:
            yield record
            record = []


def _is_attribute(line: str) -> bool:
    """Is this what follows the path: `bare`, or `HEAD` and an id?"""
    return line == "bare" or (line.startswith("HEAD ") and is_object_id(line.removeprefix("HEAD ")))


def _parsed(record: list[str]) -> Worktree:
    attributes = dict(line.partition(" ")[::2] for line in record)
    branch = attributes.get("branch", "")
    return Worktree(
        Path(attributes["worktree"]),
        branch.removeprefix("refs/heads/") if branch.startswith("refs/heads/") else None,
        "locked" in attributes,
    )
