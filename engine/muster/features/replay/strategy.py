"""A replay of Rollouts with another strategy: what it would have done with the revisions of the past.

The revision, the Placement and `paused` are those of the past, all else is that of the given Rollout. It would have
given many clusters a revision at another time, when their reports spoke of the one that they had. So no report decides
here, and no gate: with a revision a cluster goes through what it went through in fact, as long after it gets it. With
one that it never got, it succeeds after the median of what the others took; this is supposed, and marked so.

An approval is given when it was in fact, and at once if it is asked for later, or was never needed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from statistics import median_low
from typing import Final

from muster.cli.documents import object_document
from muster.cli.table import table_text
from muster.data.ids import ObjectId
from muster.data.kinds import APPROVAL, MANAGED_CLUSTER, ROLLOUT, id_of_body, of_kinds
from muster.data.times import earliest, format_duration, format_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.features.whatif.rehearsal import Rehearsal
from muster.features.whatif.supposing import Edits, NotSupposable, Supposition, asks_for_rollout
from muster.rules.progress.step import FAILED, PROGRESSING, SUCCEEDED
from muster.rules.rollouts.policy import ClusterRollout
from muster.rules.stages import ROLLOUTS
from muster.run.run import Settled

_SECOND: Final = timedelta(seconds=1)
#: The fields of a Rollout that stay those of the past.
_PAST: Final = ("revision", "placementRef", "paused")
_ANNOTATION: Final = "replay.muster.dev/rollout-"


@dataclass
class Stint:
    """What happened to a cluster with a revision: when it got it, its later states with how long after, and the last
    state. `aftermath`: its states after the Rollout went on to another revision, about which its reports then are.
    `supposed`: it never had the revision in fact."""

    got: datetime
    later: list[tuple[timedelta, str]] = field(default_factory=list)
    aftermath: list[tuple[timedelta, str]] = field(default_factory=list)
    state: str = PROGRESSING
    supposed: bool = False

    def __str__(self) -> str:
        after = next((span for span, state in self.later if state == self.state), None)
        text = self.state if after is None else f"{self.state} {format_duration(after)} later"
        return f"{text} (supposed)" if self.supposed else text


@dataclass
class Stints:
    """The stints of clusters in Rollouts, by cluster, Rollout and revision; the first of each counts. `revisions`:
    those of the Rollouts now."""

    found: dict[tuple[str, str, str], Stint] = field(default_factory=dict)
    revisions: dict[str, str] = field(default_factory=dict)
    _now: dict[tuple[str, str], tuple[str, Stint | None]] = field(default_factory=dict)

    def see(self, cluster: str, entries: Mapping[str, Tree]) -> None:
        """See a cluster's entries after a run."""
        for key, value in entries.items():
            entry = ClusterRollout.read(value)
            if entry is None:
                continue
            revision, stint = self._now.get((cluster, key), ("", None))
            if entry.revision != revision:
                name = (cluster, key, entry.revision)
                new = Stint(entry.since) if entry.state == PROGRESSING and name not in self.found else None
                if new is not None:
                    self.found[name] = new
                self._now[cluster, key] = (entry.revision, new)
            elif stint is not None and self.revisions.get(key) != revision:
                _add(stint.aftermath, entry, stint)
            elif stint is not None and entry.state != stint.state:
                stint.state = entry.state
                _add(stint.later, entry, stint)

    def median(self, key: str) -> timedelta:
        """How long clusters took to succeed."""
        taken = [
            span for (_, of, _), stint in self.found.items() if of == key
            for span, state in stint.later[:1] if state == SUCCEEDED
        ]  # fmt: skip
        return median_low(taken) if taken else _SECOND


def _add(states: list[tuple[timedelta, str]], entry: ClusterRollout, stint: Stint) -> None:
    state = (entry.since - stint.got, entry.state)
    if entry.state in (SUCCEEDED, FAILED) and state not in (*stint.later, *states):
        states.append(state)


@dataclass(frozen=True, slots=True)
class RolloutReplay:
    """What another strategy would have done: a row for each cluster and revision that differs: both as they were in
    fact, and as they would have been; None: it did not get it."""

    object: ObjectId
    rows: tuple[tuple[str, str, Stint | None, Stint | None], ...]


@dataclass
class ReplayedStrategies:
    """The given Rollouts by id, and what clusters and people did in fact.

    `facts` and `approved` (by object and effect) are those of the whole past; `would` is filled by the replay.
    """

    given: Mapping[ObjectId, Tree]
    supposition: Supposition
    facts: Stints = field(default_factory=Stints)
    approved: dict[tuple[str, str], datetime] = field(default_factory=dict)
    would: Stints = field(default_factory=Stints)
    now: datetime | None = None
    _turn: datetime | None = None
    _due: dict[tuple[datetime, str, str], tuple[str, str, bool]] = field(default_factory=dict)
    _began: set[tuple[str, str, str, datetime]] = field(default_factory=set)
    _asked: dict[tuple[str, str, datetime], datetime] = field(default_factory=dict)
    _approved: set[tuple[str, str, datetime]] = field(default_factory=set)

    @property
    def keys(self) -> dict[str, int]:
        """The Rollouts by their names in clusters' entries, each with a number."""
        return {f"{id_.namespace}/{id_.name}": number for number, id_ in enumerate(sorted(self.given))}

    # -- the past

    def see_fact(self, id_: ObjectId, derived: Tree) -> None:
        """See the derived part of a Rollout, or then of a cluster, after a run of the past."""
        if ROLLOUT.has(id_):
            self.facts.revisions[_key(id_)] = str(dig(derived, "status", "revision"))
        else:
            self.facts.see(id_.name, mapping_at(derived, *ROLLOUTS))

    def begin(self, cluster: str, derived: Tree) -> None:
        """See the derived part of a cluster at the start: it stays as it is until it gets another revision."""
        entries = mapping_at(derived, *ROLLOUTS)
        self.would.see(cluster, entries)
        for key in sorted(entries.keys() & self.keys.keys()):
            entry = ClusterRollout.read(entries[key])
            if entry is not None and entry.state in (SUCCEEDED, FAILED):
                self._annotate(cluster, key, f"{entry.revision} {entry.state}")
            elif entry is not None and entry.state == PROGRESSING:
                self._expect(cluster, key, entry, entry.since)

    def _annotate(self, cluster: str, key: str, value: str) -> None:
        self.supposition.annotate(MANAGED_CLUSTER.id(cluster), f"{_ANNOTATION}{self.keys[key]}", value)

    def see_input(self, data: bytes, at: datetime) -> None:
        """See a file of people at the instant of the run that found it."""
        if APPROVAL.name.encode() not in data:
            return
        for document in load_documents(data, "replay").documents:
            body = document.body
            if (id_ := id_of_body(body)) is not None and APPROVAL.has(id_):
                for one in mappings_at(body, "spec", "effects"):
                    self.approved.setdefault((str(one.get("object")), str(one.get("effect"))), at)

    def changed(self, data: bytes) -> bytes:
        """A file of the past, with the given strategies."""
        if ROLLOUT.name.encode() not in data:
            return data
        bodies = [document.body for document in load_documents(data, "replay").documents]
        if not any(id_of_body(body) in self.given for body in bodies):
            return data
        return "---\n".join(emit(self._changed_body(body)) for body in bodies).encode()

    def _changed_body(self, body: Tree) -> Tree:
        id_ = id_of_body(body)
        if id_ is None or id_ not in self.given:
            return body
        name = f"self.metadata.?annotations['{_ANNOTATION}{self.keys[_key(id_)]}'].orValue('')"
        spec = {k: v for k, v in mapping_at(self.given[id_], "spec").items() if k not in _PAST}
        spec["gate"] = [
            {"name": "failed", "expression": f"{name} != rollout.revision + ' {FAILED}'", "onFalse": "Fail"},
            {"name": "succeeded", "expression": f"{name} == rollout.revision + ' {SUCCEEDED}'"},
        ]
        if "stages" in spec:
            spec["stages"] = [{k: v for k, v in stage.items() if k != "gate"} for stage in mappings_at(spec, "stages")]
        past = {k: v for k, v in mapping_at(body, "spec").items() if k in _PAST}
        return {**body, "spec": {**past, **spec}}

    # -- what would have happened

    def changed_edits(self, edits: Edits) -> Edits:
        """Edits of people, with the given strategies."""
        return {where: None if data is None else self.changed(data) for where, data in edits.items()}

    @property
    def due(self) -> datetime | None:
        """When the next run is due: time alone changes something, a cluster succeeds or fails, or a person approves."""
        waiting = (at for asked, at in self._asked.items() if asked not in self._approved)
        due = earliest(self._turn, *(at for at, _, _ in self._due), *waiting)
        return due if due is None or self.now is None else max(due, self.now + _SECOND)

    def step(self, trial: Rehearsal, now: datetime) -> Settled:
        """Make a run at an instant, with what has happened by then."""
        for when in sorted(when for when in self._due if when[0] <= now):
            revision, state, is_aftermath = self._due.pop(when)
            if not is_aftermath or self.would.revisions.get(when[2]) != revision:
                self._annotate(*when[1:], f"{revision} {state}")
        approved = {asked for asked, at in self._asked.items() if at <= now}
        if approved != self._approved:
            self._approved = approved
            self.supposition.approve(sorted(approved))
        trial.suppose(self.supposition.take())
        settled = trial.step(now)
        self.now, self._turn = now, settled.last.turn
        self._see(settled, now)
        return settled

    def _see(self, settled: Settled, now: datetime) -> None:
        """See what a run decided, and expect what follows."""
        fleet = settled.last.fleet
        for id_ in of_kinds(fleet.decided, ROLLOUT):
            self.would.revisions[_key(id_)] = str(fleet.now(id_, "status", "revision"))
        for id_ in of_kinds(fleet.decided, MANAGED_CLUSTER):
            entries = {
                str(path[-1]): made.value for path, made in fleet.decisions(id_).items() if path[:-1] == ROLLOUTS
            }
            self.would.see(id_.name, entries)
            for key in sorted(entries.keys() & self.keys.keys()):
                entry = ClusterRollout.read(entries[key])
                if entry is not None and entry.state == PROGRESSING:
                    self._expect(id_.name, key, entry, now)
        for held in fleet.held:
            if held.wait is not None and asks_for_rollout(held):
                asked = (str(held.object), held.effect, held.wait.since)
                self._asked.setdefault(asked, max(now + _SECOND, self.approved.get(asked[:2], now)))

    def _expect(self, cluster: str, key: str, entry: ClusterRollout, now: datetime) -> None:
        began = (cluster, key, entry.revision, entry.since)
        if began in self._began:
            return
        self._began.add(began)
        self._annotate(cluster, key, "")  # what it went through with the same revision before is over
        fact = self.facts.found.get((cluster, key, entry.revision))
        if fact is None and (stint := self.would.found.get((cluster, key, entry.revision))) is not None:
            stint.supposed = True
        later = fact.later if fact is not None else [(self.facts.median(key), SUCCEEDED)]
        aftermath = fact.aftermath if fact is not None else []
        for states, is_aftermath in ((aftermath, True), (later, False)):
            for span, state in states:
                at = max(now + _SECOND, entry.since + span)
                self._due[at, cluster, key] = (entry.revision, state, is_aftermath)

    def results(self) -> tuple[RolloutReplay, ...]:
        """What differs, by Rollout."""
        return tuple(RolloutReplay(id_, tuple(self._rows(_key(id_)))) for id_ in sorted(self.given))

    def _rows(self, key: str) -> Iterator[tuple[str, str, Stint | None, Stint | None]]:
        names = {name for name in (*self.facts.found, *self.would.found) if name[1] == key}
        firsts = {
            revision: min(s.got for s in (self.facts.found.get(n), self.would.found.get(n)) if s is not None)
            for n in sorted(names, reverse=True) for revision in [n[2]]
        }  # fmt: skip
        for name in sorted(names, key=lambda name: (firsts[name[2]], name[2], name[0])):
            fact, would = self.facts.found.get(name), self.would.found.get(name)
            if fact is None or would is None or (fact.got, str(fact)) != (would.got, str(would)):
                yield name[0], name[2], fact, would


def strategies_of(files: Mapping[str, bytes]) -> tuple[dict[ObjectId, Tree], dict[str, bytes]]:
    """Split files into Rollouts and files with policies. NotSupposable for a file with both."""
    given: dict[ObjectId, Tree] = {}
    rest = {}
    for name, data in files.items():
        bodies = [document.body for document in load_documents(data, name).documents]
        own = {id_: body for body in bodies if (id_ := id_of_body(body)) is not None and ROLLOUT.has(id_)}
        if own and len(own) < len(bodies):
            raise NotSupposable(f"{name}: give each Rollout once, in a file without other objects")
        given |= own
        if not own:
            rest[name] = data
    return given, rest


def _key(rollout: ObjectId) -> str:
    return f"{rollout.namespace}/{rollout.name}"


def is_of_strategy(object_: ObjectId, field_: str, given: Iterable[ObjectId]) -> bool:
    """Is a difference about one of the given Rollouts, or a cluster's part in it?"""
    known = list(given)
    return object_ in known or field_ in {f"rollout {_key(id_)}" for id_ in known}


#: What cannot be known, below the table.
_LIMITS: Final = """\
With a revision that a cluster really had, it goes through the same states after the same times. With one that it
never had, it succeeds after the median time (supposed). Approvals are given when they really were, and at once if
they are asked for later, or never were.
"""


def strategies_text(found: Iterable[RolloutReplay]) -> str:
    """Return a table for each Rollout."""
    parts = []
    for one in found:
        if not one.rows:
            parts.append(f"{one.object}: every cluster would have had the same at the same time.\n")
            continue
        rows = [[cluster, revision, *_cells(fact), *_cells(would)] for cluster, revision, fact, would in one.rows]
        head = ["CLUSTER", "REVISION", "GOT IT", "THEN", "WOULD HAVE GOT IT", "THEN"]
        parts.append(f"{one.object}\n{table_text(head, rows)}")
    return "\n".join((*parts, _LIMITS))


def _cells(stint: Stint | None) -> list[str]:
    return ["-", "-"] if stint is None else [format_time(stint.got), str(stint)]


def strategy_document(one: RolloutReplay) -> Tree:
    """Return it as JSON data."""
    return {
        "object": object_document(one.object),
        "clusters": [
            {"cluster": cluster, "revision": revision, "fact": _document(fact), "replayed": _document(would)}
            for cluster, revision, fact, would in one.rows
        ],
    }


def _document(stint: Stint | None) -> Tree:
    if stint is None:
        return None
    later = [{"state": state, "seconds": int(span.total_seconds())} for span, state in stint.later]
    return {"got": format_time(stint.got), "state": stint.state, "later": later, "supposed": stint.supposed}
