"""`--set`: the runs of a range once more for each value of a setting, and what each comes to."""

from collections.abc import Callable, Sequence
from datetime import timedelta

from muster.data.snapshot import Agents
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.replay.past import PastRun, past_between
from muster.features.replay.repeat import repeated_runs
from muster.features.replay.rerun import UNKNOWN_REFS, Rerun
from muster.features.replay.setting import FieldSetting, Sweep, objection, parse_sweep
from muster.features.replay.tally import Counts, Tally
from muster.features.whatif.fields import ADDED
from muster.features.whatif.rehearsal import Rehearsal, rehearsal, scratch_of
from muster.features.whatif.supposing import Edits, NotSupposable, Supposition
from muster.fleet.assemble import assemble
from muster.git.fastimport import build_commit
from muster.git.repository import Repository
from muster.git.snapshot import CommitSnapshot
from muster.run.checking import check_snapshot


@dataclass(frozen=True, slots=True)
class SweepRow:
    """A value, and what the runs come to with it; None for a row of what was decided in fact."""

    value: Tree
    counts: Counts


@dataclass(frozen=True, slots=True)
class Swept:
    """The rows of a setting: first what was decided in fact, then a row for each value. `runs` of the range, of which
    `unrecorded` have no record here, and before `unwatched` ones no process watched. `alarm`: outages that ended by
    news within this time count as false alarms. `complete`: it was not stopped before the end."""

    setting: FieldSetting
    rows: Sequence[SweepRow]
    runs: int
    unrecorded: int
    unwatched: int
    alarm: timedelta
    complete: bool


class SettingInForce:
    """Gives a field of an object a value, in every commit of a rehearsal."""

    def __init__(self, setting: FieldSetting, value: Tree) -> None:
        self._setting, self._value = setting, value
        self._paths = frozenset[str]()

    def begin(self, trial: Rehearsal) -> None:
        """Put the value into the rehearsal as it is now."""
        if ADDED in self._paths:
            trial.suppose({("", ADDED): None})
        fleet = assemble(CommitSnapshot(trial.repository, trial.commit, (), Agents()))
        id_, declared = self._setting.object, self._paths - {ADDED}
        if id_ in fleet.broken or (declared and fleet.is_unread(id_)):
            return  # people's file cannot be read: what the last run knew of the object stands until it is mended
        supposition = Supposition(fleet)
        self._setting.put(supposition, self._value)
        trial.suppose(supposition.edits)
        self._paths = frozenset(path for _, path in supposition.edits)

    def suppose(self, trial: Rehearsal, edits: Edits) -> None:
        """Commit people's edits, and the value in them."""
        trial.suppose(edits)
        name = self._setting.object.name.encode()
        if any(path in self._paths or (data is not None and name in data) for (_, path), data in edits.items()):
            self.begin(trial)


def sweep(
    repository: Repository,
    start: str,
    end: str,
    given: str,
    alarm: timedelta,
    stopped: Callable[[], bool] = lambda: False,
) -> Swept:
    """Make the runs after the commit `start` up to `end` again with each value of a setting, `given` as
    `TARGET=VALUES`. NotSupposable for a mistyped target or value; UnknownKind."""
    wanted = checked_sweep(repository, end, given)
    past = past_between(repository, start, end).runs
    tally, unrecorded, done = Tally(), 0, 0
    for repeated in repeated_runs(repository, past, stopped=stopped):
        done += 1
        unrecorded += repeated.settled is None
        if repeated.settled is not None:
            tally.see(repeated.past.engine.now, repeated.settled)
    rows, unwatched = [SweepRow(None, tally.counts(alarm))], 0
    for value in wanted.values:
        if done == len(past) and not stopped():
            counts, unwatched = _counted(repository, start, past, SettingInForce(wanted.setting, value), alarm, stopped)
            rows += [] if counts is None else [SweepRow(value, counts)]
    complete = len(rows) == len(wanted.values) + 1
    return Swept(wanted.setting, rows, len(past), unrecorded, unwatched, alarm, complete)


def _counted(
    repository: Repository,
    start: str,
    past: Sequence[PastRun],
    value: SettingInForce,
    alarm: timedelta,
    stopped: Callable[[], bool],
) -> tuple[Counts | None, int]:
    """What the runs come to with a value, None if they were stopped; and how many came after an unwatched time."""
    tally, done = Tally(), 0
    with rehearsal(repository, start, UNKNOWN_REFS) as trial:
        value.begin(trial)
        rerun = Rerun(repository, trial, value.suppose, stopped)
        for run in rerun.runs(start, past):
            if run.recorded:  # the row of the past does not count the others, either
                tally.see(run.now, run.settled)
            done += run.past is not None
    return tally.counts(alarm) if done == len(past) else None, rerun.unwatched


def checked_sweep(repository: Repository, commit: str, given: str) -> Sweep:
    """Parse `TARGET=VALUES` by the fleet of a commit, and check it with each value. NotSupposable with what is wrong;
    UnknownKind."""
    snapshot = CommitSnapshot(repository, commit, (), Agents())
    before = check_snapshot(snapshot)
    wanted = parse_sweep(given, before)
    with scratch_of(repository, commit) as scratch:
        for value in wanted.values:
            supposition = Supposition(before)
            wanted.setting.put(supposition, value)
            files = {path: data for (_, path), data in supposition.edits.items()}
            edited = build_commit(scratch, files, "Set\n", commit)
            after = check_snapshot(CommitSnapshot(scratch, edited, (), Agents()))
            if (problem := objection(before.findings, after.findings)) is not None:
                raise NotSupposable(
                    f"{wanted.setting.text}={value}: {problem.message}{f'; {problem.hint}' if problem.hint else ''}"
                )
    return wanted
