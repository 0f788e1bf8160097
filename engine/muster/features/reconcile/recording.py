"""Records what a run heard, with its commit: see `muster.git.record`.

A record is never needed for a run to go on. Where it cannot be made or kept, a finding says so.
"""

from collections.abc import Sequence
from typing import NamedTuple

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.times import later
from muster.fleet.faults import stage_fault
from muster.git.clock import wall_clock
from muster.git.enginecommits import HEARD
from muster.git.errors import RepositoryError
from muster.git.fastimport import CommitDraft
from muster.git.landing.landing import Landed
from muster.git.push import MOVED, RefUpdate
from muster.git.record.draft import HeardNow, RecordTooLargeError, draft_record
from muster.git.record.late import LateRenewals
from muster.git.record.storing import RecordTips, end_records, keep_record, push_beside, record_commit, record_tips
from muster.git.repository import Repository
from muster.run.question import Question, default_neighbourhood
from muster.run.run import Settled


class Recording(NamedTuple):
    """The record to make with a run's commit. `trailer` is the line of the commit's message that names it; `commits` is
    empty if there is none, and `findings` say why."""

    tips: RecordTips | None = None
    trailer: str = ""
    commits: tuple[CommitDraft, ...] = ()
    findings: frozenset[Finding] = frozenset()

    def update(self, recorded: Sequence[str]) -> RefUpdate | None:
        """What to push with the run's commit: the record that was made."""
        return RefUpdate(self.tips.ref, recorded[0], self.tips.theirs) if self.tips and recorded else None

    def stored(self, repository: Repository, recorded: Sequence[str]) -> frozenset[Finding]:
        """Move the branch of records before a commit lands that is not pushed: of a run that is killed between the two
        there may be a record without a commit, never the reverse. Return what went wrong."""
        if self.tips is None or not recorded:
            return frozenset()
        failed = keep_record(repository, self.tips, recorded[0], pushed=False)
        return frozenset({_not_kept(failed)} if failed else ())

    def kept(
        self, question: Question, settled: Settled, recorded: Sequence[str], landed: Landed, remote: str | None
    ) -> frozenset[Finding]:
        """Move the branch of records, if one was made, after the run's commit has been pushed with it; with the first
        record of a day, end those that are too old. Return what went wrong."""
        if self.tips is None or not recorded:
            return self.findings
        repository, tips, commit, refused = question.repository, self.tips, recorded[0], landed.unrecorded
        if refused == MOVED and remote is not None:
            tips, commit, refused = push_beside(repository, remote, tips, commit)
        failed = ""
        if remote is not None:
            failed = keep_record(repository, tips, commit, pushed=landed.pushed and not refused)
        refused = refused and f"the remote does not take it: {refused}"
        if self.tips.local is None:
            now = min(question.instant, wall_clock())
            end_records(repository, later(now, -settled.first.fleet.settings.record_kept), remote)
        return self.findings.union(map(_not_kept, filter(None, (refused, failed))))


def recording_of(
    question: Question,
    settled: Settled,
    source: str,
    notes: tuple[str, ...],
    remote: str | None,
    late: LateRenewals | None = None,
) -> Recording:
    """Draft the record of a run whose commit names `source` as what it evaluated, and has the `notes` in its message;
    `late` are the late renewals since the last record. None is made if the Fleet asks for none."""
    if not settled.first.fleet.settings.record_kept:
        return Recording()
    repository, remembered = question.repository, question.remembered
    decided = frozenset(default_neighbourhood(change.object) for change in settled.changes)
    try:
        heard = HeardNow(
            question.heard,
            remembered.memory,
            remembered.at,
            question.instant,
            source,
            notes,
            decided,
            late.all if late is not None else (),
            late.since if late is not None else None,
        )
        draft = draft_record(repository, heard)
        tips = record_tips(repository, question.instant, remote)
        return Recording(tips, f"{HEARD}: {draft.tree}\n", (record_commit(repository, draft, tips),))
    except RecordTooLargeError as error:
        return Recording(findings=frozenset((_not_kept(str(error)),)))
    except RepositoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a boundary, as `each` is for decisions: a run needs no record
        fault = stage_fault("recording what the run heard", error, "the run has no record")
        return Recording(findings=frozenset((fault,)))


def _not_kept(why: str) -> Finding:
    return finding(
        Code.RECORD_NOT_KEPT,
        f"the record of what this run heard is not kept: {why}",
        hint="the run counts; it cannot be repeated later, which matters only if somebody asks why it decided so",
    )
