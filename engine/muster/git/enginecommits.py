"""The engine's own commits: the only ones whose trailers count as its word.

Anybody can write `Muster-Now: ...` into a commit message, a pull request's as well. A commit is the engine's own if

* it changes something below `derived/`, and nothing else,
* its only parent is the commit that it names as its `Muster-Source` (on a branch that holds nothing but `derived/`,
  `Fleet.spec.derived.branch`, the source is a commit of another branch), and
* it is signed with a key of `Fleet.spec.commit.signers`, if the Fleet names any.

All else that a message says is text. A commit whose parent is not in this clone (a shallow one) cannot be checked, and
does not count.

Without signatures, a person's commit can look like a run. So its trailers give it no power: a run whose result was
undone does not count, an instant ahead of the clock does not count, an earlier instant than that of a run before it
turns nothing back, and what a run claims to have read is compared with what it derived (`muster.fleet.vanished`).

History may not reach the last run (a shallow clone), or have lost it (a squashed merge, a rebase). Then the latest time
at which anything changed under `derived/` is the nearest that can be known: no run decided earlier than that.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice, takewhile
from typing import Final, NamedTuple

from muster.data.locations import FOLDER
from muster.data.times import try_time
from muster.data.tree import dig
from muster.dataclass import dataclass
from muster.git.agents.settings import fleet_spec
from muster.git.errors import IdentityError, RepositoryError, UnreadableError, require_library
from muster.git.log import read_log
from muster.git.repository import Repository, grep_lines, has_derived
from muster.git.store.objects import GitObject, commit_header, commit_tree, is_object_id, raw_entries

_TRANSITION: Final = b"lastTransitionTime: "


@dataclass(frozen=True, slots=True)
class LastRun:
    """The latest instant of the last runs, and that run's commit, empty if only derived files tell; both empty if
    nothing is known. `ahead`: runs since then that do not count, because their instant lies ahead of the clock."""

    instant: datetime | None = None
    commit: str = ""
    ahead: "tuple[EngineCommit, ...]" = ()


def last_run(repository: Repository, commit: str, now: datetime, until: datetime, *, is_live: bool = False) -> LastRun:
    """Return the last run in a commit's history, without runs whose instant lies after `until`.

    `is_live`: `now` is the present, so runs before it do not matter, and an empty LastRun is returned for them.
    """
    if not has_derived(repository, commit):
        return LastRun()
    engine = EngineCommits(repository, commit)
    newest = next(engine.commits(), None)
    if newest is None:
        return LastRun(_latest_transition(repository, commit, until))
    runs = list[EngineCommit]()
    if newest.now > now:
        runs = list(islice(engine.runs(), _NEAR))
    elif not is_live:
        runs = [newest, *engine.recent()]  # the newest may be forged, and name an early instant
    ahead = tuple(takewhile(lambda run: run.now > until, runs))
    last = max((run for run in runs if run.now <= until), key=lambda run: run.now, default=None)
    return LastRun(ahead=ahead) if last is None else LastRun(last.now, last.commit, ahead)


def last_runs(repository: Repository, commit: str, most: int) -> list[datetime]:
    """Return the instants of the engine's last commits in a commit's history, newest first."""
    return [run.now for run in islice(EngineCommits(repository, commit).commits(), most)]


def _latest_transition(repository: Repository, commit: str, until: datetime) -> datetime | None:
    parsed = grep_lines(repository, "lastTransitionTime: ", commit, "derived")
    texts = (line.rpartition(_TRANSITION)[2].strip(b"\"'") for line in parsed.split(b"\n"))
    instants = (instant for text in texts if (instant := try_time(text.decode(errors="replace"))) is not None)
    latest = max((instant for instant in instants if instant <= until), default=None)
    return latest.replace(microsecond=0) if latest is not None else None


#: Trailers: the instant of a run, the commit that it evaluated, the last commit at which every file was whole, and the
#: record of what it heard (`muster.git.record`).
NOW: Final = "Muster-Now"
SOURCE: Final = "Muster-Source"
WHOLE: Final = "Muster-Whole"
HEARD: Final = "Muster-Heard"

_PREFIX: Final = b"Muster-"
_ROOT: Final = FOLDER.rstrip("/").encode()
_AT_ONCE: Final = 1000
#: So many of the newest commits are compared with each other. They are read without asking for a log.
_NEAR: Final = 50


class EngineCommit(NamedTuple):
    """What a run's commit says: its instant, the commit that it evaluated, the last commit at which every file was
    whole, empty if that is the same, and the tree of its record, empty if there is none. `parent` has the derived files
    that it replaced: it is the source, unless derived files are on a branch of their own."""

    commit: str
    now: datetime
    source: str
    whole: str
    heard: str = ""
    parent: str = ""


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
        return {run.commit: run for run in self.of(commits) if run is not None}

    def commits(self) -> Iterator[EngineCommit]:
        """Yield the engine's commits that made the derived files at the head, newest first, undone or not.

        Merged branches that contributed nothing to `derived/` are not looked at.
        """
        for commit in self._log():
            yield from filter(None, self.of((commit,)))

    def runs(self) -> Iterator[EngineCommit]:
        """Yield the same without commits whose changes were undone, among the newest ones."""
        near, rest = self._near
        yield from filter(None, self.of(_lasting(near)))
        yield from (run for commit in self._log_of(rest) for run in self.of((commit,)) if run is not None)

    def recent(self) -> Iterator[EngineCommit]:
        """Yield those runs that are among the newest commits."""
        yield from filter(None, self.of(_lasting(self._near[0])))

    def last(self) -> EngineCommit | None:
        """Return the last run; None if history does not tell."""
        return next(self.runs(), None)

    def _log(self) -> Iterator[str]:
        """The commits that changed derived files, newest first."""
        if next(self.of((self._head,))) is not None:  # most often
            yield self._head
        near, rest = self._near
        yield from (commit for commit, _ in near if commit != self._head)
        yield from self._log_of(rest)

    def _log_of(self, head: str) -> Iterator[str]:
        if head and has_derived(self._repository, head):
            yield from (logged.commit for logged in read_log(self._repository, head, paths=(FOLDER,), streamed=True))

    @cached_property
    def _near(self) -> tuple[list[tuple[str, str]], str]:
        """The nearest commits that changed derived files, each with what it left, and the commit where the log goes on;
        empty if history ends before. As in git's log, a merge leads to the parent with the same derived files."""
        changed, commit = list[tuple[str, str]](), self._head
        (tree,) = self.derived_trees((commit,))
        for _ in range(_NEAR):
            parents = [value for name, value in commit_header(self._text(commit)) if name == b"parent"]
            before = self.derived_trees(parents)
            if tree not in before:
                changed.append((commit, tree))
            if not parents:
                return changed, ""
            at = before.index(tree) if tree in before else 0
            commit, tree = parents[at], before[at]
        return changed, commit

    def _text(self, commit: str) -> bytes:
        return _commit_text(next(self._objects.read((commit,))))

    def derived_trees(self, commits: Sequence[str]) -> list[str]:
        """Return the id of `derived/` in each commit; empty if it has none, or cannot be read."""
        answers = self._objects.read([f"{commit}^{{tree}}" for commit in commits])
        entries = (_entries(answer, self._repository.id_bytes) or () for answer in answers)
        return [next((oid for _, name, oid in tree if name == _ROOT), "") for tree in entries]

    def _of(self, commits: Sequence[str]) -> Iterator[EngineCommit | None]:
        raw = [_commit_text(answer) for answer in self._objects.read(commits)]
        parsed = [_parsed(content) for content in raw]
        parents = [text.parents[0] for text in parsed if text is not None]
        before = iter([_commit_text(answer) for answer in self._objects.read(parents)])
        for commit, content, text in zip(commits, raw, parsed, strict=True):
            tree = commit_tree(next(before)) if text is not None else ""
            is_own = text is not None and bool(tree) and self._is_own(text, tree, content)
            yield _engine_commit(commit, text) if is_own and text is not None else None

    def _is_own(self, text: _Text, tree: str, content: bytes) -> bool:
        """Does a commit change derived/ and nothing else, name its parent, which has this tree, and have a valid
        signature?"""
        id_bytes = self._repository.id_bytes
        here, before = (_entries(answer, id_bytes) for answer in self._objects.read((text.tree, tree)))
        if here is None or before is None or here == before:
            return False
        others = [entry for entry in here if entry[1] != _ROOT]
        confined = others == [entry for entry in before if entry[1] != _ROOT]
        follows = text.trailers[SOURCE] == list(text.parents) or not others
        return confined and follows and (self.signers is None or _signed_with(content, self.signers))

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

        return frozenset(key for signer in named if (key := ssh_key(str(signer))) is not None)


def require_own(repository: Repository, commit: str, base: str) -> None:
    """Raise RepositoryError if a commit that the engine has just made would not count as its own."""
    engine = EngineCommits(repository, base)
    if engine.signers is None or next(engine.of((commit,))) is not None:
        return
    raise RepositoryError(
        "the commit is not signed with a key that Fleet.spec.commit.signers names, so nothing was committed",
        "set gpg.format=ssh, user.signingKey and commit.gpgSign=true where muster runs, and name that key in the Fleet",
    )


def _lasting(commits: Sequence[tuple[str, str]]) -> list[str]:
    """Leave out the commits, of these newest first, between two that left the same derived files, and the later of
    those two: together they changed nothing."""
    oldest = {tree: at for at, (_, tree) in enumerate(commits)}
    lasting, at = list[str](), 0
    while at < len(commits):
        at = oldest[commits[at][1]]
        lasting.append(commits[at][0])
        at += 1
    return lasting


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


def _engine_commit(commit: str, text: _Text) -> EngineCommit:
    now = try_time(text.trailers[NOW][0])
    assert now is not None
    whole, heard = (
        next((value for value in text.trailers.get(name, ()) if is_object_id(value)), "") for name in (WHOLE, HEARD)
    )
    return EngineCommit(commit, now.replace(microsecond=0), text.trailers[SOURCE][0], whole, heard, text.parents[0])


def _entries(answer: GitObject | UnreadableError, id_bytes: int) -> list[tuple[bytes, bytes, str]] | None:
    """The entries of a root tree; None if it cannot be read."""
    if isinstance(answer, UnreadableError) or answer.kind != "tree":
        return None
    try:
        return list(raw_entries(answer.content, id_bytes))
    except ValueError:
        return None


def _signed_with(content: bytes, keys: Collection[bytes]) -> bool:
    from muster.git.signatures.signature import signing_key

    return signing_key(content) in keys
