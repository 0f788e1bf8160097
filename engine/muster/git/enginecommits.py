"""The engine's own commits: the only ones whose trailers count as its word.

Anybody can write `Muster-Now: ...` into a commit message, a pull request's as well. A commit is the engine's own if

* it changes nothing outside `derived/`,
* its only parent is the commit that it names as its `Muster-Source` (on a branch that holds nothing but `derived/`,
  `Fleet.spec.derived.branch`, the source is a commit of another branch), and
* it is signed with a key of `Fleet.spec.commit.signers`, if the Fleet names any.

All else that a message says is text. A commit whose parent is not in this clone (a shallow one) cannot be checked, and
does not count.

When the last run decided: the instant that the newest of the engine's own commits names.

History may not reach it (a shallow clone), or have lost it (a squashed merge, a rebase). Then the latest time at which
anything changed under `derived/` is the nearest that can be known: no run decided earlier than that.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

from muster.data.locations import FOLDER
from muster.data.times import try_time
from muster.data.tree import dig
from muster.dataclass import dataclass
from muster.git.agentsettings import fleet_spec
from muster.git.errors import IdentityError, RepositoryError, UnreadableError, require_library
from muster.git.log import read_log
from muster.git.objects import GitObject, commit_header, commit_tree, is_object_id, raw_entries
from muster.git.repository import Repository, grep_lines, has_derived

_TRANSITION: Final = b"lastTransitionTime: "


@dataclass(frozen=True, slots=True)
class LastRun:
    """The `now` of the last run, and its commit; empty if only derived files tell."""

    instant: datetime
    commit: str = ""


def last_run(repository: Repository, commit: str) -> LastRun | None:
    """Return the last run in a commit's history; None if nothing has been derived yet."""
    if not has_derived(repository, commit):
        return None
    engine = EngineCommits(repository, commit)
    last = engine.last()
    if last is None:
        return _latest_transition(repository, commit)
    last = engine.turned_back(last) or last
    return LastRun(last.now, last.commit)


def last_runs(repository: Repository, commit: str, most: int) -> list[datetime]:
    """Return the instants of the last runs in a commit's history that changed anything, newest first."""
    engine = EngineCommits(repository, commit)
    return [run.now for run in islice(engine.runs(), most)]


def _latest_transition(repository: Repository, commit: str) -> LastRun | None:
    parsed = grep_lines(repository, "lastTransitionTime: ", commit, "derived")
    texts = (line.rpartition(_TRANSITION)[2].strip(b"\"'") for line in parsed.split(b"\n"))
    instants = [instant for text in texts if (instant := try_time(text.decode(errors="replace")))]
    return LastRun(max(instants).replace(microsecond=0)) if instants else None


#: Trailers: the instant of a run, the commit that it evaluated, and the last commit at which every file was whole.
NOW: Final = "Muster-Now"
SOURCE: Final = "Muster-Source"
WHOLE: Final = "Muster-Whole"

_PREFIX: Final = b"Muster-"
_ROOT: Final = FOLDER.rstrip("/").encode()
_AT_ONCE: Final = 1000


class EngineCommit(NamedTuple):
    """What a run's commit says: its instant, the commit that it evaluated, and the last commit at which every file was
    whole, empty if that is the same. `empty`: it changes nothing."""

    commit: str
    now: datetime
    source: str
    whole: str
    empty: bool


class _Text(NamedTuple):
    tree: str
    parents: tuple[str, ...]
    trailers: dict[str, list[str]]


class EngineCommits:
    """Tells the engine's own commits from others, by the Fleet of a commit."""

    def __init__(self, repository: Repository, head: str) -> None:
        """`head` is a full id: its Fleet says whose signatures count, and `last` looks back from it."""
        self._repository, self._head = repository, head
        self._objects = repository.objects

    def of(self, commits: Sequence[str]) -> Iterator[EngineCommit | None]:
        """Yield for each commit what the engine says in it; None if it is not the engine's own."""
        for start in range(0, len(commits), _AT_ONCE):
            yield from self._of(commits[start : start + _AT_ONCE])

    def among(self, commits: Sequence[str]) -> dict[str, EngineCommit]:
        """Return those commits that are the engine's own, by their ids."""
        return {one.commit: one for one in self.of(commits) if one is not None}

    def runs(self) -> Iterator[EngineCommit]:
        """Yield the runs that made the derived files at the head, newest first.

        Merged branches that contributed nothing to `derived/` are not looked at, so runs on them do not count.
        """
        if not has_derived(self._repository, self._head):
            return
        for one in read_log(self._repository, self._head, paths=(FOLDER,), streamed=True):
            yield from filter(None, self.of((one.commit,)))

    def last(self) -> EngineCommit | None:
        """Return the last run that changed derived files; None if history does not tell."""
        newest = next(self.of((self._head,)))  # most often, and found without asking for a log
        return newest if newest is not None and not newest.empty else next(self.runs(), None)

    def turned_back(self, last: EngineCommit) -> EngineCommit | None:
        """Return the newest commit since the last run that only records a decision as of an earlier instant.

        It changes nothing, so it cannot make the last run a later one.
        """
        if last.commit == self._head:
            return None
        log = read_log(self._repository, f"{last.commit}..{self._head}", grep=f"^{NOW}: ")
        parsed = (one for one in self.of([one.commit for one in log]) if one is not None and one.empty)
        return next((one for one in parsed if one.now < last.now), None)

    def _of(self, commits: Sequence[str]) -> Iterator[EngineCommit | None]:
        raw = [_commit_text(answer) for answer in self._objects.read(commits)]
        parsed = [_parsed(content) for content in raw]
        parents = [text.parents[0] for text in parsed if text is not None]
        before = iter([_commit_text(answer) for answer in self._objects.read(parents)])
        for commit, content, text in zip(commits, raw, parsed, strict=True):
            tree = commit_tree(next(before)) if text is not None else ""
            if text is None or not tree or not self._is_own(text, tree, content):
                yield None
            else:
                yield _engine_commit(commit, text, empty=text.tree == tree)

    def _is_own(self, text: _Text, tree: str, content: bytes) -> bool:
        """Does a commit change nothing outside derived/, name its parent, which has this tree, and have a valid
        signature?"""
        id_bytes = self._repository.id_bytes
        here, before = (_other_entries(answer, id_bytes) for answer in self._objects.read((text.tree, tree)))
        follows = text.trailers[SOURCE] == list(text.parents)
        confined = here is not None and here == before and (follows or not here)
        return confined and (self.signers is None or _signed_with(content, self.signers))

    @cached_property
    def signers(self) -> frozenset[bytes] | None:
        """The keys with which the engine's commits are signed; None if the Fleet does not require signatures."""
        named = dig(fleet_spec(self._repository, self._head), "commit", "signers")
        if not isinstance(named, list) or not named:
            return None
        try:
            require_library()
        except IdentityError as error:
            raise RepositoryError("Fleet.spec.commit.signers cannot be checked here", str(error)) from error
        from muster.git.signatures.signature import ssh_key

        return frozenset(key for one in named if (key := ssh_key(str(one))) is not None)


def require_own(repository: Repository, commit: str, base: str) -> None:
    """Raise RepositoryError if a commit that the engine has just made would not count as its own."""
    known = EngineCommits(repository, base)
    if known.signers is None or next(known.of((commit,))) is not None:
        return
    raise RepositoryError(
        "the commit is not signed with a key that Fleet.spec.commit.signers names, so nothing was committed",
        "set gpg.format=ssh, user.signingKey and commit.gpgSign=true where muster runs, and name that key in the Fleet",
    )


def _commit_text(answer: GitObject | UnreadableError) -> bytes:
    return b"" if isinstance(answer, UnreadableError) or answer.kind != "commit" else answer.content


def _parsed(content: bytes) -> _Text | None:
    """Parse a commit that may be the engine's: with one parent, and each required trailer once; else None."""
    message = content.partition(b"\n\n")[2]
    tree, parents = "", list[str]()
    for name, value in commit_header(content):
        if name == b"tree":
            tree = value
        elif name == b"parent":
            parents.append(value)
    trailers = dict[str, list[str]]()
    for key, value in _trailers(message):
        trailers.setdefault(key, []).append(value)
    now, source = trailers.get(NOW, []), trailers.get(SOURCE, [])
    if len(parents) != 1 or len(now) != 1 or len(source) != 1 or not is_object_id(source[0]):
        return None
    return None if try_time(now[0]) is None else _Text(tree, tuple(parents), trailers)


def _trailers(message: bytes) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of a message's last paragraph that are written as muster writes them."""
    for line in message.rstrip().rpartition(b"\n\n")[2].split(b"\n"):
        key, colon, value = line.partition(b":")
        if colon and key.startswith(_PREFIX):
            yield key.decode(errors="replace"), value.strip(b" ").decode(errors="replace")


def _engine_commit(commit: str, text: _Text, *, empty: bool) -> EngineCommit:
    now = try_time(text.trailers[NOW][0])
    assert now is not None
    whole = next((one for one in text.trailers.get(WHOLE, ()) if is_object_id(one)), "")
    return EngineCommit(commit, now.replace(microsecond=0), text.trailers[SOURCE][0], whole, empty)


def _other_entries(answer: GitObject | UnreadableError, id_bytes: int) -> list[tuple[bytes, bytes, str]] | None:
    """The entries of a root tree except derived/; None if it cannot be read."""
    if isinstance(answer, UnreadableError) or answer.kind != "tree":
        return None
    try:
        return [entry for entry in raw_entries(answer.content, id_bytes) if entry[1] != _ROOT]
    except ValueError:
        return None


def _signed_with(content: bytes, keys: Collection[bytes]) -> bool:
    from muster.git.signatures.signature import signing_key

    return signing_key(content) in keys
