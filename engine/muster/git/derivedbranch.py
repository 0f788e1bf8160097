"""`derived/` on a branch of its own: which one (`Fleet.spec.derived.branch`), and a commit of people's seen with it.

Which branch that is has to be known before anything of a fleet is read, so the setting counts in `fleet.yaml` at the
root. Where no Fleet can be read there, the last version of the file in which one could says it: a slip must not make
everything derived look as if it were gone.

People's commit and what is derived are *joined* into a commit that no ref points at: people's files, and the other
branch's `derived/`. Its parents are both, so all that asks a commit or its history is answered as if one branch held
everything. The same two give the same commit.
"""

import re
from typing import Final

from muster.data.locations import FLEET_FILE, FOLDER
from muster.data.tree import Tree, dig
from muster.data.yaml.loader import load_documents
from muster.git.config import remotes
from muster.git.log import read_log
from muster.git.repository import Repository, blob_at, is_ancestor, ref_tip

#: How a joined commit says what it is; its identity and date are as much a part of its id.
_SUBJECT: Final = "People's files, and what is derived of them"
_WHO: Final = {
    f"GIT_{role}_{name}": value
    for role in ("AUTHOR", "COMMITTER")
    for name, value in (("NAME", "muster"), ("EMAIL", "muster@localhost"), ("DATE", "@0 +0000"))
}
_MOST_VERSIONS: Final = 20
_NAME: Final = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_./]*")
_ROOT: Final = FOLDER.rstrip("/").encode()


def derived_branch(repository: Repository, commit: str, known: str = "") -> str:
    """Return the branch that holds what is derived of a commit; empty where that is the commit's own. `known` is what
    counts where no Fleet can be read in what there is of the history."""
    content = blob_at(repository, commit, FLEET_FILE)
    if content is None:
        return ""
    found = _setting(content)
    if found is None:
        log = read_log(repository, commit, paths=(FLEET_FILE,), most=_MOST_VERSIONS)
        versions = (blob_at(repository, one.commit, FLEET_FILE) for one in log)
        settings = (_setting(version) for version in versions if version is not None)
        found = next((one for one in settings if one is not None), known)
    return found


def derived_tip(repository: Repository, branch: str) -> str | None:
    """Return the newest commit of a branch that is here, of our own and of remotes; None where there is none."""
    names = (f"refs/heads/{branch}", *(f"refs/remotes/{remote}/{branch}" for remote in remotes(repository)))
    newest: str | None = None
    for tip in filter(None, (ref_tip(repository, name) for name in names)):
        if newest is None or is_ancestor(repository, newest, tip):
            newest = tip
    return newest


def evaluated_commit(repository: Repository, commit: str) -> str:
    """Return a commit as a fleet is read from it: joined with what is derived, where that lies on another branch."""
    branch = derived_branch(repository, commit)
    tip = derived_tip(repository, branch) if branch else None
    return join_commits(repository, commit, tip) if tip else commit


def join_commits(repository: Repository, commit: str, tip: str) -> str:
    """Return the commit that has people's files from one commit and `derived/` from another, and both in its past."""
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
    """Whether a commit has another in its past; for a joined one, whether it has both that were joined."""
    if is_ancestor(repository, earlier, later):
        return True
    parents = _joined_parents(repository, earlier)
    return bool(parents) and all(is_ancestor(repository, parent, later) for parent in parents)


def derived_commit_of(repository: Repository, commit: str) -> str:
    """Return the commit whose first parents are the history of what is derived: for a joined one, that which `derived/`
    is from."""
    parents = _joined_parents(repository, commit)
    return parents[1] if len(parents) > 1 else commit


def _joined_parents(repository: Repository, commit: str) -> tuple[str, ...]:
    """The commits that were joined into a commit; none if it is not a joined one."""
    (one,) = read_log(repository, commit, most=1)
    return one.parents if one.subject == _SUBJECT else ()


def _setting(content: bytes) -> str | None:
    """What a version of the file says; None where no Fleet can be read in it."""
    for document in load_documents(content, FLEET_FILE).documents:
        body: Tree = document.body
        if dig(body, "kind") == "Fleet" and str(dig(body, "apiVersion")).startswith("muster.dev/"):
            name = dig(body, "spec", "derived", "branch")
            return name if isinstance(name, str) and _NAME.fullmatch(name) and ".." not in name else ""
    return None


def _entries(listing: bytes) -> list[tuple[bytes, bytes]]:
    """The entries of a tree: name, and what stands before it."""
    return [(name, head) for head, _, name in (entry.partition(b"\t") for entry in listing.split(b"\0")) if name]
