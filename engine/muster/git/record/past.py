"""The past: what commands with `--rev` show is what was known then, by the record of the run before.

A revision is past if the branch that is checked out has gone on since, or another one has a later run. What agents say
today counts for no such revision. Where no record says what they said then, what depends on it is shown as it was
decided, and a note says so.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

from muster.data.agentref import relay_of, resembles
from muster.data.decision import NOTHING_PUBLISHED, Memory
from muster.data.finding import Finding
from muster.data.snapshot import Agents
from muster.data.times import ago, format_time
from muster.dataclass import dataclass
from muster.git.agents.listing import AgentRefs, recorded_clusters
from muster.git.config import remotes
from muster.git.derivedbranch import evaluated_commit, evaluated_then, has_ancestor
from muster.git.enginecommits import EngineCommit, EngineCommits
from muster.git.record.heartbeats import heartbeat_of
from muster.git.record.reading import Heard, read_record
from muster.git.record.storing import fetch_records, heard_ref
from muster.git.repository import (
    Repository,
    has_derived,
    is_ancestor,
    list_refs,
    open_repository,
    ref_tip,
    resolve,
    shallow_commits,
)
from muster.git.snapshot import CommitSnapshot
from muster.git.store.objects import format_of

#: Nothing is known of agents, and none is missing.
_UNRECORDED = AgentRefs((), Agents(unrecorded=True))


@dataclass(frozen=True, slots=True)
class KnownThen:
    """What was known at a past commit: the last `run` at or before it, None if there was none, and what it heard; else
    `findings` say why that is not known, and none if it recorded nothing. `reporting`: some agents had reported by
    then. `cut_off`: the history of this clone does not reach the run."""

    run: EngineCommit | None
    heard: Heard | None = None
    findings: tuple[Finding, ...] = ()
    reporting: bool = False
    cut_off: bool = False

    @property
    def refs(self) -> AgentRefs:
        """The agents' refs then."""
        return self.heard.refs if self.heard is not None else _UNRECORDED

    @property
    def memory(self) -> Memory:
        """The pulses that were published then."""
        return self.heard.remembered.memory if self.heard is not None else NOTHING_PUBLISHED

    def heartbeat(self, short: str) -> str:
        """Who wrote what an agent's ref held, given by its short name, and when: from its commit if the run decided
        something about the cluster, else that it was recorded."""
        heard = self.heard
        name = next((ref.name for ref in self.refs.refs if ref.short == short), "")
        if heard is None or self.run is None or not name:
            return ""
        text = heard.commits.get(name)
        if text is None:
            return f"recorded with {self.run.commit[:7]}"
        beat = heartbeat_of(name, text, "", format_of(heard.record))
        when = "" if beat.at is None else f", {ago(min(beat.at, self.run.now), self.run.now)}"
        return f"{beat.commit[:7]} by {beat.author}{when}, recorded with {self.run.commit[:7]}"

    @property
    def note(self) -> str:
        """What to tell once; empty if all is known."""
        if self.cut_off:
            return (
                "this clone's history does not reach the last run before: when it decided is not known"
                " (git fetch --unshallow)"
            )
        if self.heard is not None or not self.reporting:
            return ""
        shown = "what depends on agents is shown as it was decided"
        if self.findings:
            return f"{self.findings[0].message}; {shown} ({self.findings[0].hint})"
        run = self.run.commit[:12] if self.run is not None else "before it"
        return f"the run {run} did not record what agents reported: {shown}"

    def age(self, now: datetime) -> str:
        """A line about the age of what agents reported; empty if nothing is known of it."""
        newest = self.heard.newest_renewal if self.heard is not None else None
        if newest is None or self.run is None:
            return ""
        at = datetime.fromtimestamp(newest, UTC)
        when = ago(min(at, now), now)
        return f"agents heard until {format_time(at)} ({when}), by the record of {self.run.commit[:12]}"


def past_of(repository: Repository, commit: str, now: datetime | None, *, ask: bool) -> KnownThen | None:
    """Return what was known at a commit; None if it is not past, so that today's reports count. The newest commit is
    past as of an instant `now` that is not after its last run. `ask`: fetch a record that is not here."""
    head = ref_tip(repository, "HEAD^{commit}")
    evaluated = evaluated_then(repository, commit)
    gone_on = _is_before(repository, commit, evaluated, head) or _is_decided_again(repository, commit)
    if not gone_on and (now is None or commit != head):
        return None
    run = next(EngineCommits(repository, evaluated).commits(), None) if has_derived(repository, evaluated) else None
    if not gone_on and (run is None or now is None or now > run.now):
        return None
    if run is None or not run.heard:
        cut_off = run is None and has_derived(repository, evaluated) and bool(shallow_commits(repository))
        return KnownThen(run, reporting=bool(recorded_clusters(repository, evaluated)), cut_off=cut_off)
    record = read_record(repository, run)
    if record.heard is None and ask:
        for remote in remotes(repository):
            fetch_records(repository, remote, heard_ref(run.now))
        record = read_record(repository, run)
    return KnownThen(
        run, record.heard, record.findings, record.heard is None and bool(recorded_clusters(repository, evaluated))
    )


def snapshot_then(repository: Repository, commit: str, past: KnownThen) -> CommitSnapshot:
    """Return the snapshot of a past commit, with its derived files and what was known of agents then."""
    return CommitSnapshot(repository, evaluated_then(repository, commit), past.refs.refs, past.refs.agents)


def _is_before(repository: Repository, commit: str, evaluated: str, head: str | None) -> bool:
    """Has the branch that is checked out gone on since a commit, which is read as `evaluated`?"""
    return head not in (None, commit) and has_ancestor(repository, evaluated, evaluated_commit(repository, head or ""))


def _is_decided_again(repository: Repository, commit: str) -> bool:
    """Is there a later run on another branch? A commit that is not in the one that is checked out may be past, too."""
    tips = {oid for ref, oid in list_refs(repository, "refs/heads/").items() if not (resembles(ref) or relay_of(ref))}
    others = sorted(tips - {commit})
    tree, *trees = EngineCommits(repository, commit).derived_trees((commit, *others))
    for tip, other in zip(others, trees, strict=True):
        if other not in ("", tree) and is_ancestor(repository, commit, tip):
            last = next(EngineCommits(repository, tip).commits(), None)
            if last is not None and not is_ancestor(repository, last.commit, commit):
                return True
    return False


def evaluated_revision(repository: Repository, commit: str) -> str:
    """Return the commit to read a fleet from, with the derived files of then if the commit is past."""
    past = past_of(repository, commit, None, ask=False)
    return evaluated_commit(repository, commit) if past is None else evaluated_then(repository, commit)


def instant_at(repo: Path, revision: str) -> datetime | None:
    """Return the instant of the last run at or before a past revision; None if there is none, or it is not past."""
    repository = open_repository(repo, os.environ)
    past = past_of(repository, resolve(repository, revision), None, ask=False)
    return None if past is None or past.run is None else past.run.now
