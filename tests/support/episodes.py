"""Episodes: something breaks in a fleet, a silent cluster speaks meanwhile, and it is repaired.

Each is a line of commits beside the others in one repository, without a work tree. What a run makes of it is compared
with what it makes of the same line without the breakage.
"""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Self

import re2

from muster.data.codes import Severity
from muster.data.finding import Finding
from muster.git.agentrefs import local_agent_refs
from muster.git.fastimport import build_commit
from muster.git.repository import Repository, open_repository
from muster.run.changes import commit_message
from muster.run.incremental import answer
from muster.run.question import Question, WholeNeeded
from muster.run.run import Settled
from muster.run.settle import settle
from muster.run.sharded import decide_in_shards
from muster.run.state import RunState
from tests.run.shards import Shuffled
from tests.support import subjects
from tests.support.breakages import Edit, Entry, edit_of
from tests.support.git import Repo, new_repository
from tests.support.living import told
from tests.support.policy_happenings import deployed

NO_EDIT: Final[Edit] = {}
_INSTANT = re2.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True)
class Line:
    """A line of commits in a repository and one on its agent's ref: the tips of both."""

    repo: Repo
    repository: Repository
    tip: str
    report: str = ""

    def commit(self, edit: Edit) -> Self:
        """The line with a commit of a person's, and one of the agent's."""
        prefix = f"{subjects.REF}:".encode()
        reports = {path.removeprefix(prefix): entry for path, entry in edit.items() if path.startswith(prefix)}
        edit = {path: entry for path, entry in edit.items() if not path.startswith(prefix)}
        line = replace(self, report=self._committed(self.report, reports)) if reports else self
        return replace(line, tip=self._committed(self.tip, edit)) if edit else line

    def _committed(self, parent: str, edit: Edit) -> str:
        out = [
            b"blob\nmark :1\ndata 0\n\ncommit refs/heads/scratch\nmark :2\n"
            b"committer Ada <ada@example.com> 1767225600 +0000\ndata 4\nEdit\n"
            + (b"from " + parent.encode() + b"\n" if parent else b"")
        ]
        for path, entry in edit.items():
            quoted = b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"'
            if entry.content is None:
                out.append(b"D " + quoted + b"\n")
            elif entry.mode == b"160000":
                out.append(b"M 160000 " + parent.encode() + b" " + quoted + b"\n")
            else:
                out.append(b"M %b inline %b\ndata %d\n%b\n" % (entry.mode, quoted, len(entry.content), entry.content))
        done = subprocess.run(
            ["git", "fast-import", "--quiet", "--force"], cwd=self.repo.path, env=self.repo.environ,
            input=b"".join(out) + b"\nget-mark :2\n", capture_output=True, check=True,
        )  # fmt: skip
        return done.stdout.decode().strip()

    def question(self, now: datetime) -> Question:
        self.repo.git("update-ref", f"refs/heads/{subjects.REF}", self.report)
        return Question(self.repository, self.tip, local_agent_refs(self.repository), now, most=2)

    def cold(self, now: datetime) -> Settled:
        """What a run comes to that looks at the whole fleet."""
        return settle(self.question(now).snapshot(), now)

    def land(self, settled: Settled) -> Self:
        """The line with what follows."""
        if not settled.files:
            return self
        files = {path: None if text is None else text.encode() for path, text in settled.files.items()}
        message = commit_message(settled.last, settled.changes)
        return replace(self, tip=build_commit(self.repository, files, message, self.tip))

    def derived(self) -> dict[str, str]:
        """The derived files, without their times."""
        names = self.repo.git("ls-tree", "-r", "--format=%(objectname) %(path)", self.tip, "derived").splitlines()
        return dict(line.split(" ", 1)[::-1] for line in names)

    def text(self, oid: str) -> str:
        """A derived file without times."""
        return str(_INSTANT.sub("(a time)", self.repo.git("cat-file", "blob", oid)))


@dataclass(frozen=True)
class Moment:
    """What a run at some instant changes and finds, and the line with it."""

    changes: frozenset[str]
    findings: frozenset[Finding]
    line: Line

    @classmethod
    def of(cls, line: Line, now: datetime, state: RunState | None = None) -> "Moment":
        settled = line.cold(now)
        assert settled.rested
        if state is not None:
            incremental = answer(line.question(now), state)
            assert told(incremental.settled) == told(settled), incremental.looked_at
            incremental.remember(state)
        return cls(frozenset(map(str, settled.changes)), frozenset(settled.findings), line.land(settled))

    @property
    def errors(self) -> frozenset[Finding]:
        return frozenset(found for found in self.findings if found.severity is Severity.ERROR)


@dataclass(frozen=True)
class Course:
    """The same instants with or without an edit: it is decided, silent clusters speak, it is undone.

    With a `state`, incremental runs are compared with full ones.
    """

    edited: Moment
    healed: Moment
    repaired: Moment

    @classmethod
    def of(cls, line: Line, edit: Edit = NO_EDIT, undo: Edit = NO_EDIT, state: RunState | None = None) -> "Course":
        edited = Moment.of(line.commit(edit) if edit else line, subjects.EDITED, state)
        speaking = edited.line.commit(puts(subjects.renewals(subjects.HEALED, subjects.RECOVERS, subjects.RETURNS)))
        healed = Moment.of(speaking, subjects.HEALED, state)
        repaired = healed.line.commit(undo) if undo else healed.line
        return cls(edited, healed, Moment.of(repaired, subjects.REPAIRED, state))


def undo_of(edit: Edit, path: str, text: str) -> Edit:
    """The edit that repairs: the subject's file is back, and nothing else is left."""
    gone = {other: Entry(None) for other, entry in edit.items() if entry.content is not None}
    return {**gone, path.encode(): Entry(text.encode())}


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
#: As upstream, such a Placement keeps its choice and says why.
_MISCONFIGURED = ("Placement/shop/web: condition PlacementMisconfigured ", "Placement/shop/web: generation ")


def problems(control: Course, line: Line, path: str, way: str, state: RunState | None = None) -> Iterator[str]:
    """What is wrong with an episode, in words; nothing for one that changes nothing."""
    text, kind = {**subjects.SUBJECTS, **subjects.REPORTS}[path], Path(path).stem
    edit = edit_of(way, path, text)
    if not edit:
        return
    course = Course.of(line, edit, undo_of(edit, path, text), state)
    allowed = _MISCONFIGURED if (kind, way) == ("placement", "an error in an expression") else _OF_REPORTS.get(kind, ())
    sent = path.startswith(subjects.REF)
    allowed += _OF_AGENT if sent and kind == "managedcluster" else ()
    for name in ("edited", "healed"):
        moment, undisturbed = getattr(course, name), getattr(control, name)
        more = {change for change in moment.changes - undisturbed.changes if not change.startswith(allowed or ("-",))}
        if more:
            yield f"{name}: {sorted(more)}"
        # No agent turns anybody's checks red.
        new = (moment.findings if sent else moment.errors) - undisturbed.findings
        # A report that is not there any more was not sent, and that is said once.
        expected = (kind, way) not in _SOUND and not (name == "healed" and kind in _OF_REPORTS)
        if expected and not any(found.file and found.hint for found in new):
            yield f"{name}: no finding with a place and a hint among {sorted(map(str, new))}"
    if not any(change.startswith(SILENCE) for change in course.edited.changes):
        yield "silence does not count"
    for recovery in RECOVERIES:
        if not any(change.startswith(recovery) for change in course.healed.changes):
            yield f"a recovery is not seen: {recovery}"
    after, undisturbed_files = course.repaired.line.derived(), control.repaired.line.derived()
    for file in sorted({*after, *undisturbed_files}):
        one, other = after.get(file, ""), undisturbed_files.get(file, "")
        if one != other and (not (one and other) or _text(line, one, allowed) != _text(line, other, allowed)):
            yield f"repaired: {file} differs"


def _text(line: Line, oid: str, allowed: tuple[str, ...]) -> str:
    """A derived file without times, and without generations where an edit may make a new one."""
    counts = any(change.endswith("generation ") for change in allowed)
    return "\n".join(part for part in line.text(oid).splitlines() if not (counts and "eneration: " in part))


SILENCE = f"ManagedCluster/{subjects.FALLS_SILENT}: condition ManagedClusterConditionAvailable True -> Unknown"
RECOVERIES = (
    f"ManagedCluster/{subjects.RECOVERS}: condition ManagedClusterConditionAvailable Unknown -> True",
    f"ManagedCluster/{subjects.RETURNS}: condition ManagedClusterConditionAvailable Unknown -> True",
    f"ManagedCluster/{subjects.RETURNS}: taint cluster.open-cluster-management.io/unreachable:NoSelect removed",
)


def decided_in_shards(line: Line, path: str, way: str) -> bool:
    """Was the broken fleet decided in shards, and as a whole in the same way? False if shards cannot decide it."""
    edit = edit_of(way, path, {**subjects.SUBJECTS, **subjects.REPORTS}[path])
    broken = line.commit(edit or NO_EDIT)
    try:
        sharded = decide_in_shards(broken.question(subjects.EDITED), "asked", Shuffled(1), 6)
    except WholeNeeded:
        return False
    assert told(sharded.settled) == told(broken.cold(subjects.EDITED)), (path, way)
    return True


def puts(files: Mapping[str, str]) -> Edit:
    """The edit that writes some files."""
    return {path.encode(): Entry(text.encode()) for path, text in files.items()}


def begun(folder: Path) -> Line:
    """The fleet as it has settled."""
    repo = new_repository(folder)
    repo.commit({".gitattributes": ""})
    line = Line(repo, open_repository(repo.path, repo.environ), repo.tip())
    line = line.commit(puts({**subjects.SURROUNDINGS, **subjects.SUBJECTS, **subjects.REPORTS}))
    line = line.land(line.cold(subjects.BORN))
    pool = [path for path in line.derived() if path.startswith("derived/clusterdeployments/ci-")]
    names = [path.split("/")[2] for path in pool]
    line = line.commit(puts({f"pools/{name}/observed.yaml": deployed(name) for name in names}))
    line = line.land(line.cold(subjects.BORN + timedelta(minutes=1)))
    late, early = subjects.SETTLED - timedelta(seconds=70), subjects.EDITED - timedelta(seconds=310)
    heard = subjects.renewals(late, "m1", "m2", "m3", "m4", "m5")
    line = line.commit(puts({**heard, **subjects.renewals(early, subjects.FALLS_SILENT)}))
    return line.land(line.cold(subjects.SETTLED))
