"""`derived/` on a branch of its own: which one (`Fleet.spec.derived.branch`), and a commit of people's seen with it.

Which branch that is has to be known before anything of a fleet is read, so the setting counts in `fleet.yaml` at the
root. Where no Fleet can be read there, the last version of the file in which one could says it: a slip must not make
everything derived look as if it were gone.

People's commit and what is derived are *joined* into a commit that no ref points at: people's files, and the other
branch's `derived/`. Its parents are both, so all that asks a commit or its history is answered as if one branch held
everything. The same two give the same commit.
"""

import re
from dataclasses import dataclass
from typing import Final

from muster.data.locations import FLEET_FILE, FOLDER
from muster.data.tree import Tree, dig
from muster.data.yaml.loader import load_documents
from muster.git.commit import advance, swap_ref
from muster.git.config import remotes
from muster.git.errors import Committed, Moved, Refused, Rejected, RepositoryError
from muster.git.landing import Landed, Tips, land
from muster.git.push import LIMIT_SECONDS, fetch_ref, push, remote_tip, tracking
from muster.git.repository import Repository, blob_at, branch_tip, is_ancestor, ref_tip


@dataclass(frozen=True, slots=True)
class Apart:
    """Where a commit is to land: the branch, its tips here and on the remote, and `base`, the one to build on, which is
    a commit of ours that nobody has yet where there is no such branch."""

    branch: str
    remote: str | None
    local: str | None
    theirs: str | None
    base: str


def find_apart(repository: Repository, tips: Tips) -> Apart | None:
    """Return where what is derived lies, of what `tips` say to evaluate; None where that is the same branch.

    RepositoryError where a remote that may have it does not answer.
    """
    branch, remote = derived_branch(repository, tips.base), tips.remote
    if not branch or branch == tips.branch:
        return None
    theirs = None
    if remote is not None and remote_tip(repository, remote=remote, ref=f"refs/heads/{branch}"):
        theirs = fetch_ref(repository, remote=remote, ref=f"refs/heads/{branch}")
    local = branch_tip(repository, branch)
    found = theirs if remote is not None else local
    if found is None and remote is None:
        if derived_tip(repository, branch) is None:
            fetch_missing(repository, branch)
        found = derived_tip(repository, branch)
    return Apart(branch, remote, local, theirs, found or root_of(repository, tips.base))


def seen_from(repository: Repository, tips: Tips, apart: Apart | None) -> str:
    """Return the commit to evaluate."""
    return joined(repository, tips.base, apart.base) if apart else tips.base


def land_apart(repository: Repository, tips: Tips, apart: Apart, commit: str) -> Landed | None:
    """Move the branch to a commit over `apart.base`, and bring the one that is evaluated along to what the remote has.
    None where it moved meanwhile.

    RepositoryError where the remote rejects the push, or a person's edit is in the way.
    """
    pushed = commit != apart.base
    if pushed and apart.remote is not None:
        outcome = push(repository, remote=apart.remote, branch=apart.branch, new=commit, expected=apart.theirs)
        if isinstance(outcome, Rejected):
            raise RepositoryError(f"{apart.remote} rejected the push: {outcome.reason}", outcome.text)
        if isinstance(outcome, Moved):
            return None
        swap_ref(
            repository, f"{tracking(repository, apart.remote)}{apart.branch}", commit, apart.theirs, reason="muster"
        )
    if pushed and (apart.remote is None or apart.local is not None):
        moved = _moved_here(repository, apart, commit)
        if apart.remote is None and not isinstance(moved, Committed):
            if isinstance(moved, Refused):
                raise RepositoryError(moved.message, moved.hint)
            return None
    landed = land(repository, tips, tips.base) if tips.base == tips.theirs else Landed(tips.local)
    return None if landed is None else Landed(landed.local, pushed and apart.remote is not None, landed.left_behind,
                                              landed.followed)  # fmt: skip


def _moved_here(repository: Repository, apart: Apart, commit: str) -> Committed | Moved | Refused:
    if apart.local is None:
        return swap_ref(repository, f"refs/heads/{apart.branch}", commit, None, reason=f"muster: {commit[:12]}")
    return advance(repository, branch=apart.branch, expected=apart.local, commit=commit)


def fetch_missing(repository: Repository, branch: str, *, limit_seconds: float = LIMIT_SECONDS) -> None:
    """Fetch a branch from the first remote that has it, if any. RepositoryError where a remote does not answer: what it
    has would look as if it were nowhere."""
    for remote in remotes(repository):
        ref = f"refs/heads/{branch}"
        if remote_tip(repository, remote=remote, ref=ref, limit_seconds=limit_seconds):
            fetch_ref(repository, remote=remote, ref=ref, limit_seconds=limit_seconds)
            return


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
        listing = repository.git.output("log", f"-n{_MOST_VERSIONS}", "--format=%H", commit, "--", FLEET_FILE)
        versions = (blob_at(repository, version, FLEET_FILE) for version in listing.decode().split())
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


def seen(repository: Repository, commit: str) -> str:
    """Return a commit as a fleet is read from it: joined with what is derived, where that lies on another branch."""
    branch = derived_branch(repository, commit)
    tip = derived_tip(repository, branch) if branch else None
    return joined(repository, commit, tip) if tip else commit


def joined(repository: Repository, commit: str, tip: str) -> str:
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


def root_of(repository: Repository, commit: str) -> str:
    """Return a first commit for the branch: what a commit of people's has under `derived/`, from before the switch."""
    git = repository.git
    entry = dict(_entries(git.output("ls-tree", "-z", commit))).get(_ROOT)
    listing = b"" if entry is None else entry + b"\t" + _ROOT + b"\0"
    tree = git.output("mktree", "--missing", "-z", stdin=listing).decode().strip()
    return git.output("commit-tree", "-m", "Begin a branch for what is derived", tree, env=_WHO).decode().strip()


def follows(repository: Repository, earlier: str, later: str) -> bool:
    """Whether a commit has another in its past; for a joined one, whether it has both that were joined."""
    if is_ancestor(repository, earlier, later):
        return True
    told = repository.git.line("show", "--no-patch", "--format=%s%x09%P", earlier) or ""
    subject, _, parents = told.partition("\t")
    return subject == _SUBJECT and all(is_ancestor(repository, parent, later) for parent in parents.split())


def derived_of(repository: Repository, commit: str) -> str:
    """Return the commit whose first parents are the history of what is derived: for a joined one, that which `derived/`
    is from."""
    told = repository.git.line("show", "--no-patch", "--no-show-signature", "--format=%s%x09%P", commit, "--") or ""
    subject, _, parents = told.partition("\t")
    return parents.split()[1] if subject == _SUBJECT and len(parents.split()) > 1 else commit


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
