"""`history`: the transitions of an object, read from the versions of its derived file and of the files in which people
declare it; nothing is evaluated."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from enum import Enum
from itertools import count, groupby
from typing import NamedTuple

from muster.cli.documents import object_document
from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT, PLACEMENT_DECISION, Kind, kind_of
from muster.data.locations import SHARDS, derived_path
from muster.data.names import few
from muster.data.printable import printable
from muster.data.times import brief, format_time, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.loader import first_body, load_documents
from muster.dataclass import dataclass
from muster.fleet.clusters import DENIED, NOT_JOINED, since_of, state_of
from muster.fleet.objects import by_type
from muster.git.enginecommits import EngineCommits
from muster.git.filelog import Version, file_log, files_containing
from muster.git.record.heartbeats import DecidingHeartbeat, heartbeats_of
from muster.git.repository import Repository
from muster.rules.placements.shards import decision_name
from muster.run.facts import UNTOLD
from muster.run.question import default_neighbourhood
from muster.run.transition import Transition
from muster.run.transitions.placement_moves import chosen, departed, joined
from muster.run.transitions.transitions import MOST_NAMED, declared_changes, is_edited, object_changes


@dataclass(frozen=True, slots=True)
class PastTransition:
    """A change with its instant and commit; `source`: the evaluated commit, empty for a person's edit. `heartbeats`:
    what the cluster's agent had last said, by the record of the run."""

    change: Transition
    at: datetime
    commit: str
    author: str
    source: str
    heartbeats: tuple[DecidingHeartbeat, ...] = ()

    @property
    def text(self) -> str:
        """The change, without the name of its object."""
        return str(self.change).removeprefix(f"{self.change.object}: ").strip()


@dataclass(frozen=True, slots=True)
class Stay:
    """A period in which the kind's headline condition had one status; None: nothing was decided."""

    status: str | None
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class ObjectHistory:
    """The transitions of an object in a window of time, and its stays, both oldest first. `condition`: the type of the
    stays, empty for kinds without a headline condition. `begins`: this clone has no history before that instant; None:
    it has all. `known`: something was derived for it. `unrecorded`: the records of so many runs are not here."""

    object: ObjectId
    since: datetime
    until: datetime
    transitions: tuple[PastTransition, ...]
    condition: str
    stays: tuple[Stay, ...]
    begins: datetime | None = None
    known: bool = True
    unrecorded: int = 0

    @property
    def spans(self) -> dict[str, timedelta]:
        """How long it was in each status, longest first, without the time before the first decision."""
        spans: dict[str, timedelta] = {}
        for stay in self.stays:
            if stay.status is not None:
                spans[stay.status] = spans.get(stay.status, timedelta(0)) + (stay.until - stay.since)
        return dict(sorted(spans.items(), key=lambda item: (-item[1], item[0])))

    @property
    def availability(self) -> float | None:
        """The share of time in which the condition was True, without the time before joining or while denied."""
        spans = {state: span for state, span in self.spans.items() if state not in (DENIED, NOT_JOINED)}
        total = sum(spans.values(), timedelta(0))
        return spans.get("True", timedelta(0)) / total if total else None


class CommittedTransition(NamedTuple):
    """A commit that changed an object, and its instant."""

    commit: str
    at: datetime
    subject: str


class StatusChange(NamedTuple):
    """A cluster whose state a commit changed: `<plural>/<file>` of its derived file, and the state before and after;
    empty for none."""

    cluster: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class StatusStep:
    """A commit that changed the headline condition of at least one cluster."""

    commit: CommittedTransition
    changes: tuple[StatusChange, ...]


class Begins(Enum):
    """Why there is no history before an instant."""

    NONE = "none"  # there are no commits
    CLONE = "clone"  # the clone is shallow
    FIRST = "first"  # it is the first commit
    LENGTH = "length"  # the number of commits to read is limited


@dataclass(frozen=True, slots=True)
class FleetHistory:
    """The history of a fleet's clusters: the steps in a window of time, oldest first; where it begins, if after the
    window does, and why; and the latest commits for each cluster's derived file (`<plural>/<file>`), newest first, also
    from before the window."""

    steps: tuple[StatusStep, ...] = ()
    begins: datetime | None = None
    reason: Begins | None = None
    latest: Mapping[str, Sequence[CommittedTransition]] = field(default_factory=dict)


def history(repository: Repository, commit: str, id_: ObjectId, since: datetime, until: datetime) -> ObjectHistory:
    """Return the history of an object up to a commit, in the window from `since` to `until`."""
    paths = [derived_path(id_, shards) for shards in SHARDS]
    versions = [version for version in _in_order(list(file_log(repository, commit, paths))) if version.time <= until]
    edits = [transition for transition in _edits(repository, commit, id_) if transition.at <= until]
    # An edit says more about a set than the derived file.
    shown = {transition.change.field for transition in edits} & {"set"}
    choices = (
        [transition for transition in _choices(repository, commit, id_) if transition.at <= until]
        if PLACEMENT.has(id_)
        else []
    )
    placed = {transition.commit for transition in choices}  # they say more than the numbers of clusters in fields
    decided = (
        transition
        for transition in _transitions(id_, versions)
        if transition.change.field not in shown
        and not (transition.commit in placed and transition.change.fact.sort in UNTOLD)
    )
    merged = sorted([*edits, *decided, *choices], key=lambda transition: transition.at)
    transitions = [transition for transition in merged if transition.at >= since]
    condition, begins = kind_of(id_).headline, next((version.time for version in versions if version.first), None)
    stays = tuple(_within(_stays(kind_of(id_), versions, until), since)) if condition else ()
    return ObjectHistory(id_, since, until, tuple(transitions), condition, stays, begins, bool(versions))


def history_of(
    repository: Repository, commit: str, ids: Iterable[ObjectId], since: datetime, until: datetime
) -> ObjectHistory | None:
    """Return the history of the first of some objects of which there is one in these times, or else of the first at
    all, with the heartbeats that decided; None if no commit derives any."""
    histories = [history(repository, commit, id_, since, until) for id_ in ids]
    if not any(past.known for past in histories):
        return None
    chosen = next((past for past in histories if past.transitions or past.stays), histories[0])
    return _with_heartbeats(repository, commit, chosen)


def _with_heartbeats(repository: Repository, commit: str, history: ObjectHistory) -> ObjectHistory:
    """Return a history up to a commit with the heartbeats that decided, as far as the records of runs have them."""
    runs = EngineCommits(repository, commit).among([step.commit for step in history.transitions if step.source])
    cluster = default_neighbourhood(history.object)
    heard = {run.commit: heartbeats_of(repository, run, cluster) for run in runs.values()}
    transitions = tuple(replace(step, heartbeats=heard.get(step.commit) or ()) for step in history.transitions)
    return replace(history, transitions=transitions, unrecorded=list(heard.values()).count(None))


def _edits(repository: Repository, commit: str, id_: ObjectId) -> Iterator[PastTransition]:
    """Changes that people made in the files that declare the object now."""
    for path in files_containing(repository, commit, id_.name) if is_edited(id_) else ():
        before: Tree = None
        versions = list(file_log(repository, commit, [path])) if _declares(repository, commit, path, id_) else []
        for version in versions:
            after = _declared(version.data, id_) if version.data is not None else None
            if before is not None and after is not None:
                for change in declared_changes(id_, before, after):
                    yield PastTransition(change, version.time, version.commit, version.author, "")
            before = after


def _declares(repository: Repository, commit: str, path: str, id_: ObjectId) -> bool:
    """Does a file declare the object? An agent's part of it has neither spec nor labels."""
    body = _declared(repository.objects.blob(f"{commit}:{path}"), id_)
    return bool(mapping_at(body, "spec") or mapping_at(body, "metadata", "labels"))


def _declared(data: bytes, id_: ObjectId) -> Tree:
    """The object's document in a file; None if there is none."""
    for document in load_documents(data, "history").documents:
        body = document.body
        named = dig(body, "metadata", "name"), dig(body, "metadata", "namespace") or ""
        if dig(body, "kind") == id_.kind and named == (id_.name, id_.namespace):
            return body
    return None


def _in_order(versions: list[Version]) -> list[Version]:
    """The versions, each dated no later than the next: people's clocks differ."""
    ordered, latest = list[Version](), None
    for version in reversed(versions):
        latest = version.time if latest is None else min(latest, version.time)
        ordered.append(replace(version, time=latest))
    return ordered[::-1]


def _body(version: Version) -> Tree:
    """The derived document in a version; None if missing or unreadable."""
    return None if version.data is None else first_body(version.data, version.commit)


def _transitions(id_: ObjectId, versions: Iterable[Version]) -> Iterator[PastTransition]:
    before: Tree = None
    for version in versions:
        after = _body(version)
        before = after if version.first else before
        for change in object_changes(id_, before, after, lambda _: "") if before != after else ():
            yield PastTransition(change, version.time, version.commit, version.author, version.source)
        before = after


def _choices(repository: Repository, commit: str, id_: ObjectId) -> Iterator[PastTransition]:
    """The clusters that joined and left a Placement, from the versions of its PlacementDecisions."""
    versions = list[tuple[ObjectId, Version]]()
    for number in count(1):
        decision = PLACEMENT_DECISION.id(decision_name(id_.name, number), id_.namespace)
        paths = [derived_path(decision, shards) for shards in SHARDS]
        commits = _in_order(list(file_log(repository, commit, paths)))
        if not commits:
            break
        versions.extend((decision, version) for version in commits)
    versions.sort(key=lambda named_version: (named_version[1].time, named_version[1].commit))
    parts, before = dict[ObjectId, frozenset[str]](), frozenset[str]()
    for _, group in groupby(versions, key=lambda named_version: named_version[1].commit):
        for decision, version in group:
            parts[decision] = chosen([(decision, _body(version))]).get(id_, frozenset())
        after = frozenset[str]().union(*parts.values())
        before = after if version.first else before
        for change in (
            *(joined(id_, name) for name in sorted(after - before)),
            *(departed(id_, name) for name in sorted(before - after)),
        ):
            yield PastTransition(change, version.time, version.commit, version.author, version.source)
        before = after


def _stays(kind: Kind, versions: Iterable[Version], until: datetime) -> Iterator[Stay]:
    """The periods of one state. They begin at the condition's transition time: a run may have seen it late."""
    status: str | None = None
    since: datetime | None = None
    for version in versions:
        conditions = by_type(mappings_at(_body(version), "status", "conditions"))
        state = state_of(kind, conditions) or None
        if state == status and since is not None:
            continue
        at = try_time(dig(since_of(kind, conditions), "lastTransitionTime"))
        if at is None or at > version.time or (since is not None and at < since):
            at = version.time
        if since is not None:
            yield Stay(status, since, at)
        status, since = state, at
    if since is not None:
        yield Stay(status, since, max(until, since))


def _within(stays: Iterable[Stay], since: datetime) -> Iterator[Stay]:
    for stay in stays:
        if stay.until > since:
            yield Stay(stay.status, max(stay.since, since), stay.until)


#: Below the time and the commit of a transition.
_INDENT = " " * 31


def history_text(past: ObjectHistory) -> str:
    """Return the transitions, a line each, and how long the object was in each state."""
    return "\n".join(map(printable, _lines(past))) + "\n"


def _lines(past: ObjectHistory) -> Iterator[str]:
    if past.begins is not None:
        yield f"this clone has no history from before {format_time(past.begins)}: fetch more of it to see more"
    if not past.transitions:
        yield f"nothing changed since {format_time(past.since)}"
    last = ""
    for transition, text in _told(past.transitions):
        by = f"from {transition.source[:7]}" if transition.source else f"by {transition.author}"
        yield f"{format_time(transition.at)}  {transition.commit[:7]}  {text}, {by}"
        for heartbeat in transition.heartbeats if transition.commit != last else ():
            renewed = f", renewed at {heartbeat.renewed}" if heartbeat.renewed else ""
            yield f"{_INDENT}heard: {heartbeat.ref} at {heartbeat.commit[:7]}{renewed}"
        last = transition.commit
    if past.stays:
        total = sum(span.total_seconds() for span in past.spans.values())
        parts = [
            f"{status} {brief(span)} ({100 * span.total_seconds() / total:.2f} %)" if total else status
            for status, span in past.spans.items()
        ]
        yield f"{past.condition} since {format_time(past.stays[0].since)}: {', '.join(parts) or 'never decided'}"


def _told(transitions: Iterable[PastTransition]) -> Iterator[tuple[PastTransition, str]]:
    """Each transition with its text; many clusters that join or leave a Placement in one commit have one."""

    def key(transition: PastTransition) -> object:
        return (
            (transition.commit, transition.change.now is None)
            if transition.change.fact.sort == "cluster"
            else id(transition)
        )

    for _, group in groupby(transitions, key):
        same = list(group)
        if len(same) > MOST_NAMED:
            names = few([transition.change.fact.name for transition in same], MOST_NAMED)
            yield same[0], f"{len(same)} clusters {'left' if same[0].change.was else 'joined'}: {names}"
        else:
            yield from ((transition, transition.text) for transition in same)


def history_document(past: ObjectHistory) -> Tree:
    """Return the history as JSON data."""
    return {
        "object": object_document(past.object),
        "since": format_time(past.since),
        "until": format_time(past.until),
        "begins": None if past.begins is None else format_time(past.begins),
        "transitions": [
            {
                "at": format_time(transition.at),
                "commit": transition.commit,
                "author": transition.author,
                "source": transition.source or None,
                "field": transition.change.field,
                "before": transition.change.before,
                "after": transition.change.after,
                "note": transition.change.note,
                "heartbeats": [
                    {"ref": heartbeat.ref, "commit": heartbeat.commit, "renewed": heartbeat.renewed or None}
                    for heartbeat in transition.heartbeats
                ],
            }
            for transition in past.transitions
        ],
        "condition": past.condition or None,
        "stays": [
            {"status": stay.status, "since": format_time(stay.since), "until": format_time(stay.until)}
            for stay in past.stays
        ],
        "availability": past.availability,
    }
