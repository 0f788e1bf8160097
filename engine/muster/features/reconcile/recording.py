"""Records what a run heard, with its commit: see `muster.git.record`.

A record is never needed for a run to go on. Where it cannot be made or kept, a finding says so.
"""

from collections.abc import Sequence
from typing import NamedTuple

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.fleet.faults import stage_fault
from muster.git.commit import swap_ref
from muster.git.enginecommits import HEARD
from muster.git.errors import Moved, RepositoryError
from muster.git.fastimport import CommitDraft
from muster.git.record.draft import HeardNow, RecordTooLargeError, draft_record
from muster.git.record.storing import heard_ref, record_commit
from muster.git.repository import Repository
from muster.run.question import Question, default_home
from muster.run.run import Settled


class Recording(NamedTuple):
    """The record to make with a run's commit. `trailer` is the line of the commit's message that names it; `commits` is
    empty if there is none, and `findings` say why. `tip` is what its branch `ref` points at here."""

    ref: str = ""
    tip: str | None = None
    trailer: str = ""
    commits: tuple[CommitDraft, ...] = ()
    findings: frozenset[Finding] = frozenset()

    def kept(self, repository: Repository, recorded: Sequence[str]) -> frozenset[Finding]:
        """Point the branch at the record's commit, if there is one, after the run's commit has landed. Return why that
        failed."""
        try:
            moved = [swap_ref(repository, self.ref, one, self.tip, reason="muster: record") for one in recorded]
        except RepositoryError as error:
            return frozenset((_not_kept(error.message),))
        return frozenset(_not_kept(f"another run moved {self.ref}") for one in moved if isinstance(one, Moved))


def recording_of(question: Question, settled: Settled, source: str, notes: tuple[str, ...]) -> Recording:
    """Draft the record of a run whose commit names `source` as what it evaluated, and has the `notes` in its message.
    None is made if the Fleet asks for none."""
    if not settled.first.fleet.settings.record_kept:
        return Recording()
    repository, remembered = question.repository, question.remembered
    decided = frozenset(default_home(change.object) for change in settled.changes)
    try:
        heard = HeardNow(question.heard, remembered.memory, remembered.at, question.instant, source, notes, decided)
        draft = draft_record(repository, heard)
    except RecordTooLargeError as error:
        return Recording(findings=frozenset((_not_kept(str(error)),)))
    except RepositoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a boundary, as `each` is for decisions: a run needs no record
        fault = stage_fault("recording what the run heard", error, "the run has no record")
        return Recording(findings=frozenset((fault,)))
    ref = heard_ref(question.instant)
    tip = repository.objects.id_of(ref)
    commits = (record_commit(repository, draft, (tip,) if tip else ()),)
    return Recording(ref, tip, f"{HEARD}: {draft.tree}\n", commits)


def _not_kept(why: str) -> Finding:
    return finding(
        Code.RECORD_NOT_KEPT, f"what this run heard is not recorded: {why}",
        hint="the run counts; it cannot be repeated later, which matters only if somebody asks why it decided so",
    )  # fmt: skip
