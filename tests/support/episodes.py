"""Episodes: something breaks in a fleet, a silent cluster speaks meanwhile, and it is repaired.

Each is a line of commits beside the others in one repository, without a work tree. What a run makes of it is compared
with what it makes of the same line without the breakage.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Self

import re2

from muster.data.codes import Severity
from muster.data.finding import Finding
from muster.data.kinds import FLEET
from muster.data.tree import Tree, dig
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import Repository, open_repository
from muster.run.incremental import answer
from muster.run.memo.state import RunState, open_state
from muster.run.question import Question, WholeNeeded
from muster.run.run import Settled
from muster.run.settle import settle
from muster.run.shards.sharded import decide_in_shards
from muster.run.transitions.transitions import commit_message
from tests.run.shuffled import Shuffled
from tests.support import subjects
from tests.support.breakages import edit_of
from tests.support.git import new_repository
from tests.support.living import told
from tests.support.loose import Edit, Entry, Revision, puts
from tests.support.policy_happenings import deployed
from tests.support.truth import untruths

_RANK = re2.compile(r" \(it is number \d+\)")
_INSTANT = re2.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True)
class Line:
    """A line of commits of people and muster, and one on an agent's ref: the tips of both."""

    repository: Repository
    people: Revision
    agent: Revision

    def commit(self, edit: Edit) -> Self:
        """The line with a commit of a person's, and one of the agent's."""
        prefix = f"{subjects.REF}:".encode()
        reports = {path.removeprefix(prefix): entry for path, entry in edit.items() if path.startswith(prefix)}
        files = {path: entry for path, entry in edit.items() if not path.startswith(prefix)}
        return replace(
            self,
            people=self.people.commit(files) if files else self.people,
            agent=self.agent.commit(reports) if reports else self.agent,
        )

    def question(self, now: datetime) -> Question:
        """What a run is asked."""
        self.agent.name(f"refs/heads/{subjects.REF}")
        return Question(self.repository, self.people.id, local_agent_refs(self.repository), now, most=2)

    def land(self, settled: Settled) -> Self:
        """The line with what follows."""
        if not settled.files:
            return self
        message = commit_message(settled.last, settled.changes)
        return replace(self, people=self.people.commit(puts(settled.files), message))

    def settle(self, now: datetime) -> Self:
        """The line with what follows at an instant."""
        return self.land(cold(self.question(now)))

    def derived(self) -> dict[bytes, str]:
        """The ids of the derived files."""
        return {path: id_ for path, (_, id_) in self.people.files.items() if path.startswith(b"derived/")}


def cold(question: Question) -> Settled:
    """What a run comes to that looks at the whole fleet."""
    return settle(question.snapshot(), question.now)


@dataclass(frozen=True)
class Moment:
    """What a run at some instant decides, changes and finds, and the line with it."""

    question: Question
    settled: Settled
    line: Line

    @classmethod
    def of(cls, line: Line, now: datetime, state: RunState | None = None) -> "Moment":
        question = line.question(now)
        settled = cold(question)
        assert settled.rested
        if state is not None:
            incremental = answer(question, state)
            assert told(incremental.settled) == told(settled), incremental.looked_at
            incremental.remember(state)
        return cls(question, settled, line.land(settled))

    @cached_property
    def changes(self) -> frozenset[str]:
        """What changes, without the rank of a cluster that a Placement did not choose."""
        return frozenset(str(_RANK.sub("", str(change))) for change in self.settled.changes)

    @property
    def effects(self) -> object:
        """What changes, is sent, and is found: all that losing an object could alter."""
        return self.changes, self.settled.last.pulses, self.findings

    @property
    def findings(self) -> frozenset[Finding]:
        return frozenset(self.settled.findings)

    @property
    def errors(self) -> frozenset[Finding]:
        return frozenset(found for found in self.findings if found.severity is Severity.ERROR)

    def budgets(self) -> Tree:
        """What the Fleet says of budgets that hold."""
        fleet = self.settled.last.fleet
        return dig(fleet.whole(fleet.of(FLEET)[0].id), "status", "muster", "budgets")

    def decided_in_shards(self) -> bool:
        """Do shards decide the same? False if they cannot decide it."""
        try:
            sharded = decide_in_shards(self.question, "asked", Shuffled(1), 24)
        except WholeNeeded:
            return False
        assert told(sharded.settled) == told(self.settled)
        return True


@dataclass(frozen=True)
class Course:
    """The same instants with or without an episode: an edit is decided, silent clusters speak, it is undone.

    With a `state`, incremental runs are compared with full ones.
    """

    edited: Moment
    healed: Moment
    repaired: Moment

    @classmethod
    def of(cls, line: Line, episode: "Episode | None" = None, state: RunState | None = None) -> "Course":
        edit = {**puts(subjects.NEWS), **(episode.edit if episode else {})}
        edited = Moment.of(line.commit(edit), subjects.EDITED, state)
        speaking = edited.line.commit(
            puts(subjects.renewals(subjects.HEALED, subjects.RECOVERS, subjects.RETURNS, "k2"))
        )
        healed = Moment.of(speaking, subjects.HEALED, state)
        repaired = healed.line.commit(episode.undo) if episode else healed.line
        return cls(edited, healed, Moment.of(repaired, subjects.REPAIRED, state))


#: What an unreadable report leaves behind: it counts as not sent. Nobody is disrupted by it.
_OF_REPORTS: Mapping[str, tuple[str, ...]] = {
    "lease": (
        "Lease/subject/managed-cluster-lease: ",
        "ManagedCluster/subject: condition ManagedClusterConditionClockSynced ",
    ),
    "adapterreport": (
        "AdapterReport/m1/validation: condition Accepted ",
        f"AdapterReport/{subjects.SPEAKER}/validation: condition Accepted ",
    ),
}
#: An agent whose report of its cluster cannot be read is heard no more: its lease begins to run out.
_OF_AGENT = (f"Lease/{subjects.SPEAKER}/managed-cluster-lease: new",)
#: These are sound without the section, and nothing reads it.
_SOUND = frozenset(
    (kind, way)
    for kind in ("placementdecision", "managedclusteraddon")
    for way in ("an empty section", "a lost section")
)
#: An API server takes an expression that does not compile, and upstream finds it when it schedules. So the Placement is
#: sound: it keeps its choice, says why, and counts both edits of its spec.
_MISCONFIGURED = ("Placement/shop/web: condition PlacementMisconfigured ", "Placement/shop/web: generation ")


@dataclass(frozen=True)
class Episode:
    """Something breaks by `edit` and is repaired by `undo`.

    `allowed`: how transitions begin that it may cause. `sent`: an agent breaks it, who turns nobody's checks red.
    `found`: the moments at which a finding is due.
    """

    edit: Edit
    undo: Edit
    allowed: tuple[str, ...] = ()
    sent: bool = False
    found: tuple[str, ...] = ("edited", "healed")

    @classmethod
    def of(cls, path: str, way: str) -> "Episode | None":
        """The episode in which a subject's file breaks in a way; None if it cannot break so."""
        text, kind = {**subjects.SUBJECTS, **subjects.REPORTS}[path], Path(path).stem
        edit, sent = edit_of(way, path, text), path.startswith(subjects.REF)
        if not edit:
            return None
        misconfigured = (kind, way) == ("placement", "an error in an expression")
        allowed = _MISCONFIGURED if misconfigured else _OF_REPORTS.get(kind, ())
        allowed += _OF_AGENT if sent and kind == "managedcluster" else ()
        # A report that is not there any more was not sent, and that is said once.
        found = () if (kind, way) in _SOUND else ("edited",) if kind in _OF_REPORTS else ("edited", "healed")
        return cls(edit, undo_of(edit, path, text), allowed, sent, found)


def undo_of(edit: Edit, path: str, text: str) -> Edit:
    """The edit that repairs: the subject's file is back, and nothing else is left."""
    gone = {other: Entry(None) for other, entry in edit.items() if entry.content is not None}
    return {**gone, path.encode(): Entry(text.encode())}


def problems(control: Course, course: Course, episode: Episode) -> Iterator[str]:
    """What is wrong with the course of an episode, in words; nothing for one that changes nothing."""
    allowed = episode.allowed or ("-",)
    for name in ("edited", "healed"):
        moment, undisturbed = getattr(course, name), getattr(control, name)
        more = {change for change in moment.changes - undisturbed.changes if not change.startswith(allowed)}
        if more:
            yield f"{name}: {sorted(more)}"
        new = (moment.findings if episode.sent else moment.errors) - undisturbed.findings
        if name in episode.found and not any(found.file and found.hint for found in new):
            yield f"{name}: no finding with a place and a hint among {sorted(map(str, new))}"
    yield from untruths(course.edited.settled.last)
    if not any(change.startswith(SILENCE) for change in course.edited.changes):
        yield "silence does not count"
    for recovery in RECOVERIES:
        if not any(change.startswith(recovery) for change in course.healed.changes):
            yield f"a recovery is not seen: {recovery}"
    after, undisturbed_files = course.repaired.line, control.repaired.line
    for file in sorted({*after.derived(), *undisturbed_files.derived()}):
        if _text(after, file, allowed) != _text(undisturbed_files, file, allowed):
            yield f"repaired: {file!r} differs"


def _text(line: Line, path: bytes, allowed: tuple[str, ...]) -> str:
    """A derived file without times, and without generations where an edit may make a new one; empty if it is not
    there."""
    if path not in line.people.files:
        return ""
    counts = any(change.endswith("generation ") for change in allowed)
    lines = str(_INSTANT.sub("(a time)", line.people.text(path))).splitlines()
    return "\n".join(part for part in lines if not (counts and "eneration: " in part))


SILENCE = f"ManagedCluster/{subjects.FALLS_SILENT}: condition ManagedClusterConditionAvailable True -> Unknown"
RECOVERIES = (
    f"ManagedCluster/{subjects.RECOVERS}: condition ManagedClusterConditionAvailable Unknown -> True",
    f"ManagedCluster/{subjects.RETURNS}: condition ManagedClusterConditionAvailable Unknown -> True",
    f"ManagedCluster/{subjects.RETURNS}: taint cluster.open-cluster-management.io/unreachable:NoSelect removed",
)


def begun(folder: Path, more: Mapping[str, str] | None = None) -> Line:
    """The fleet as it has settled, with `more` files from the beginning."""
    repo = new_repository(folder)
    line = Line(open_repository(repo.path, repo.environ), Revision(repo), Revision(repo))
    line = line.commit(puts({**subjects.SURROUNDINGS, **subjects.SUBJECTS, **subjects.REPORTS, **(more or {})}))
    line = line.settle(subjects.BORN)
    pool = [path.decode() for path in line.derived() if path.startswith(b"derived/clusterdeployments/ci-")]
    names = [path.split("/")[2] for path in pool]
    line = line.commit(puts({f"pools/{name}/observed.yaml": deployed(name) for name in names}))
    line = line.settle(subjects.BORN + timedelta(minutes=1))
    late, early = subjects.SETTLED - timedelta(seconds=70), subjects.EDITED - timedelta(seconds=310)
    heard = subjects.renewals(late, "m1", "m2", "m3", "m4", "m5")
    line = line.commit(puts({**heard, **subjects.renewals(early, subjects.FALLS_SILENT)}))
    return line.settle(subjects.SETTLED)


def remembered(line: Line, path: Path) -> Path:
    """Keep the state of the run that the fleet has settled by, in a file, and return its path."""
    state = open_state(path)
    assert state is not None
    answer(line.question(subjects.SETTLED), state).remember(state)
    state.close()
    return path
