"""Repeats runs from their records: the same commit, what it heard and remembered, the same instant, the same muster.

So the same derived files follow, byte for byte, and the same message. Whatever differs was changed afterwards, or was
decided by another version of muster, and is named. A run whose record is not here is not repeated: nothing is guessed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.dataclass import dataclass
from muster.features.replay.past import FileVersion, OtherCommit, PastRun, fields_between, version_of
from muster.features.whatif.rehearsal import scratch_of
from muster.git.changes import entries_of_commit, path_change
from muster.git.enginecommits import HEARD
from muster.git.errors import UnreadableError
from muster.git.record.reading import read_record
from muster.git.repository import Repository
from muster.run.collector import without_collection
from muster.run.incremental import answer
from muster.run.memo.state import RunState, open_state
from muster.run.progress import RunStep, doing, unheard
from muster.run.recorded import question_of
from muster.run.run import Settled
from muster.run.transitions.transitions import commit_message

#: The field of a difference in a line of a commit's message that is no trailer.
MESSAGE: Final = "message"
_TRAILER: Final = "Muster-"
#: Of every derived file.
_MODE: Final = "100644"


@dataclass(frozen=True, slots=True)
class Difference:
    """What the commit of a run says and the repeated run does not, or the other way round: a field of an object in a
    derived file, or a line of the message. An empty text: it says nothing."""

    commit: str
    field: str
    committed: str
    repeated: str
    file: str = ""
    object: ObjectId | None = None


@dataclass(frozen=True, slots=True)
class RepeatedRun:
    """A run of the past and what it decides again. `settled` is None if it could not be repeated; then `why` says so,
    if the run was recorded at all."""

    past: PastRun
    settled: Settled | None
    differences: Sequence[Difference] = ()
    why: Sequence[Finding] = ()


def repeated_runs(
    repository: Repository, runs: Sequence[PastRun], *, stopped: Callable[[], bool] = lambda: False
) -> Iterator[RepeatedRun]:
    """Repeat runs in their order, until `stopped`. Each is judged by itself: what differs in one does not reach the
    next, which begins with what was committed."""
    if not runs:
        return
    with scratch_of(repository, runs[-1].commit) as scratch:
        state = open_state(scratch.git_dir / "state" / "state.sqlite")
        for number, run in enumerate(runs):
            doing(RunStep.REPEATING, number, len(runs))
            if stopped():
                return
            with unheard(), without_collection():
                repeated = _repeat(scratch, run, state)
            yield repeated


def _repeat(scratch: Repository, run: PastRun, state: RunState | None) -> RepeatedRun:
    if not run.engine.heard:
        return RepeatedRun(run, None)
    heard, findings = read_record(scratch, run.engine)
    if heard is None:
        return RepeatedRun(run, None, why=findings)
    repeated = answer(question_of(scratch, heard), state)
    if state is not None:
        repeated.remember(state)
    settled = repeated.settled
    message = commit_message(replace(settled.last, commit=run.engine.source), settled.changes, heard.notes)
    message += f"{HEARD}: {heard.record}\n"
    return RepeatedRun(run, settled, (*_in_files(scratch, run, settled), *_in_message(scratch, run.commit, message)))


def _in_files(scratch: Repository, run: PastRun, settled: Settled) -> Iterator[Difference]:
    """The derived files that differ, field by field."""
    changes = {change.raw: change for change in run.changes}
    texts = {path.encode(): text for path, text in settled.files.items()}
    unchanged = entries_of_commit(scratch.git, run.commit, texts.keys() - changes.keys())
    for raw in sorted({*texts, *changes}):
        change = changes.get(raw) or path_change(raw, None, unchanged.get(raw))
        committed = version_of(scratch.objects, change.path, change.new)
        if raw in texts:
            text = texts[raw]
            repeated = None if text is None else FileVersion(_MODE, text.encode())
        else:
            repeated = version_of(scratch.objects, change.path, change.old)
        yield from _differences(run.commit, change.path, committed, repeated)


def _differences(
    commit: str, path: str, committed: FileVersion | None, repeated: FileVersion | None
) -> Iterator[Difference]:
    id_, fields = fields_between(path, committed, repeated)
    yield from (Difference(commit, *field, path, id_) for field in fields)


def _in_message(scratch: Repository, commit: str, repeated: str) -> Iterator[Difference]:
    """The lines of the message that differ; trailers by their names."""
    (answered,) = scratch.objects.read((commit,))
    raw = b"" if isinstance(answered, UnreadableError) else answered.content.partition(b"\n\n")[2]
    theirs, ours = (text.split("\n") for text in (raw.decode(errors="backslashreplace"), repeated))
    only_theirs = [line for line in theirs if line not in ours]
    only_ours = [line for line in ours if line not in theirs]
    trailers = {line.partition(":")[0] for line in (*only_theirs, *only_ours) if line.startswith(_TRAILER)}
    for name in sorted(trailers):
        yield Difference(commit, name, _values(theirs, name), _values(ours, name))
    rest = [[line for line in lines if not line.startswith(_TRAILER)] for lines in (only_theirs, only_ours)]
    yield from (Difference(commit, MESSAGE, one, other) for one, other in zip_longest(*rest, fillvalue=""))
    if not (only_theirs or only_ours) and theirs != ours:
        yield Difference(commit, MESSAGE, f"{len(theirs)} lines", f"{len(ours)} lines, in this order")


def _values(lines: Sequence[str], trailer: str) -> str:
    return "; ".join(line.partition(": ")[2] for line in lines if line.startswith(f"{trailer}:"))


def differences_of(repository: Repository, other: OtherCommit) -> Iterator[Difference]:
    """Yield what a commit that is no run's changed in derived files: no run gives it."""
    for change in other.changes:
        before, after = (version_of(repository.objects, change.path, blob) for blob in (change.old, change.new))
        yield from _differences(other.commit, change.path, after, before)
