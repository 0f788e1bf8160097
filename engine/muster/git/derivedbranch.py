"""A branch of its own for `derived/` (`Fleet.spec.derived.branch`): its name, and commits joined with it.

The name has to be known before a fleet is read, so it is read from `fleet.yaml` at the root. If no Fleet can be read
there, the last readable version of the file counts: a mistake must not make all derived files look removed.

A commit of people's and the derived files are *joined* into a commit that no ref points at: people's files, and the
other branch's `derived/`. Both are its parents, so a question about a commit or its history is answered as if one
branch held everything. Joining the same two gives the same commit.
"""

from string import ascii_letters, digits
from typing import Final

from muster.data.locations import FLEET_FILE, FOLDER
from muster.data.tree import Tree, dig
from muster.data.yaml.loader import load_documents
from muster.git.config import remotes
from muster.git.log import read_log
from muster.git.repository import Repository, blob_at, is_ancestor, ref_tip

#: The subject of joined commits. Identity and date are fixed too, because they are part of the id.
_SUBJECT: Final = "People's files, and what is derived of them"
_WHO: Final = {
    f"GIT_{role}_{name}": value
    for role in ("AUTHOR", "COMMITTER")
    for name, value in (("NAME", "muster"), ("EMAIL", "muster@localhost"), ("DATE", "@0 +0000"))
}
_MOST_VERSIONS: Final = 20
#: The trailer that names what a run evaluated (`muster.git.enginecommits`).
_SOURCE: Final = "Muster-Source"
_NAME: Final = f"{ascii_letters}{digits}_-./"
_ROOT: Final = FOLDER.rstrip("/").encode()


def derived_branch(repository: Repository, commit: str, known: str = "") -> str:
    """Return the branch that holds a commit's derived files; empty if they are on its own. `known` counts if no version
    of the file in this clone's history is readable."""
    content = blob_at(repository, commit, FLEET_FILE)
    if content is None:
        return ""
    branch = _setting(content)
    if branch is None:
        log = read_log(repository, commit, paths=(FLEET_FILE,), most=_MOST_VERSIONS)
        versions = (blob_at(repository, logged.commit, FLEET_FILE) for logged in log)
        settings = (_setting(version) for version in versions if version is not None)
        branch = next((setting for setting in settings if setting is not None), known)
    return branch


def derived_tip(repository: Repository, branch: str) -> str | None:
    """Return the newest commit of a branch in this clone, local or of a remote; None if there is none."""
    names = (f"refs/heads/{branch}", *(f"refs/remotes/{remote}/{branch}" for remote in remotes(repository)))
    newest: str | None = None
    for tip in filter(None, (ref_tip(repository, name) for name in names)):
        if newest is None or is_ancestor(repository, newest, tip):
            newest = tip
    return newest


def evaluated_commit(repository: Repository, commit: str) -> str:
    """Return the commit to read a fleet from: joined with the derived files, if they are on another branch."""
    branch = derived_branch(repository, commit)
    tip = derived_tip(repository, branch) if branch else None
    return join_commits(repository, commit, tip) if tip else commit


def evaluated_then(repository: Repository, commit: str, *, undecided: bool = False) -> str:
    """Return the commit to read a fleet from as it was at a past commit: joined with the derived files of the last run
    that evaluated it or one before it; `undecided`: one before it. A run's commit on the branch of derived files is
    joined with what it evaluated.
    """
    source = _source_of(repository, commit)
    if source:
        return join_commits(repository, source, commit)
    branch = derived_branch(repository, commit)
    tip = derived_tip(repository, branch) if branch else None
    if tip is None:
        return commit
    before = frozenset(repository.git.output("rev-list", commit).decode().split()) - {commit if undecided else ""}
    log = read_log(repository, tip, first_parent=True, trailer=_SOURCE, streamed=True)
    run = next((logged.commit for logged in log if logged.trailers in before), None)
    return join_commits(repository, commit, run) if run else commit


def _source_of(repository: Repository, commit: str) -> str:
    """What the run evaluated that made a commit of derived files alone; empty for another commit."""
    entries = dict(_entries(repository.git.output("ls-tree", "-z", commit)))
    if set(entries) != {_ROOT}:
        return ""
    (one,) = read_log(repository, commit, most=1, trailer=_SOURCE)
    return one.trailers if repository.objects.id_of(f"{one.trailers}^{{commit}}") == one.trailers else ""


def join_commits(repository: Repository, commit: str, tip: str) -> str:
    """Return the commit with people's files of one commit and `derived/` of another; both are its parents."""
    git = repository.git
    entries = dict(_entries(git.output("ls-tree", "-z", commit)))
    derived = dict(_entries(git.output("ls-tree", "-z", tip))).get(_ROOT)
    if entries.get(_ROOT) == derived:
        return commit
    entries.pop(_ROOT, None)
    if derived is not None:
        entries[_ROOT] = derived
    listing = b"".join(head + b"\t" + name + b"\0" for name, head in entries.items())
    tree = git.output("mktree", "--missing", "-z", stdin=listing).decode().strip()
    parents = ("-p", commit, "-p", tip)
    return git.output("commit-tree", *parents, "-m", _SUBJECT, tree, env=_WHO).decode().strip()


def first_derived_commit(repository: Repository, commit: str) -> str:
    """Return a first commit for the branch: what a commit of people's has under `derived/`, from before the switch."""
    git = repository.git
    entry = dict(_entries(git.output("ls-tree", "-z", commit))).get(_ROOT)
    listing = b"" if entry is None else entry + b"\t" + _ROOT + b"\0"
    tree = git.output("mktree", "--missing", "-z", stdin=listing).decode().strip()
    return git.output("commit-tree", "-m", "Begin a branch for what is derived", tree, env=_WHO).decode().strip()


def has_ancestor(repository: Repository, earlier: str, later: str) -> bool:
    """Is a commit an ancestor of another? Of a joined one, both that were joined have to be."""
    if is_ancestor(repository, earlier, later):
        return True
    parents = _joined_parents(repository, earlier)
    return bool(parents) and all(is_ancestor(repository, parent, later) for parent in parents)


def derived_commit_of(repository: Repository, commit: str) -> str:
    """Return the commit whose first parents are the history of `derived/`: of a joined one, the parent with the derived
    files."""
    parents = _joined_parents(repository, commit)
    return parents[1] if len(parents) > 1 else commit


def people_commit_of(repository: Repository, commit: str) -> str:
    """Return the commit with people's files: of a joined one, its first parent."""
    return (*_joined_parents(repository, commit), commit)[0]


def _joined_parents(repository: Repository, commit: str) -> tuple[str, ...]:
    (logged,) = read_log(repository, commit, most=1)
    return logged.parents if logged.subject == _SUBJECT else ()


def _setting(content: bytes) -> str | None:
    """The branch that a version of the file sets; None if no Fleet can be read in it."""
    for document in load_documents(content, FLEET_FILE).documents:
        body: Tree = document.body
        if dig(body, "kind") == "Fleet" and str(dig(body, "apiVersion")).startswith("muster.dev/"):
            name = dig(body, "spec", "derived", "branch")
            sound = isinstance(name, str) and not name.strip(_NAME) and ".." not in name
            return name if sound and not name.startswith(("-", ".", "/")) else ""
    return None


def _entries(listing: bytes) -> list[tuple[bytes, bytes]]:
    """The entries of a tree: name, and what `ls-tree` prints before it."""
    return [(name, head) for head, _, name in (entry.partition(b"\t") for entry in listing.split(b"\0")) if name]
