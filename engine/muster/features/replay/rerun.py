"""The runs of a range once more, with other policies or settings: as the whole fleet would have developed.

A rehearsal begins with the first commit. Each run of the past is made again at its instant, over what the rehearsal has
derived, with people's commits and agents' reports of then. If a process watched between two of them, all that it may
have seen is known: then runs are also made when time alone, a commit of people's or an agent that is heard again may
change something, as `muster watch` would have made them.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from muster.data.kinds import CSR
from muster.data.locations import FOLDER
from muster.data.snapshot import Agents
from muster.data.times import earliest
from muster.data.tree import dig
from muster.data.yaml.loader import first_body
from muster.dataclass import dataclass
from muster.features.replay.between import Between
from muster.features.replay.past import PastRun
from muster.features.whatif.rehearsal import Rehearsal
from muster.features.whatif.supposing import Edits
from muster.fleet.approvals import CERTIFICATE
from muster.git.agents.listing import AgentRefs
from muster.git.changes import changed_paths
from muster.git.enginecommits import EngineCommits
from muster.git.log import read_log
from muster.git.record.reading import Heard, read_record
from muster.git.repository import Repository, blob_at
from muster.git.store.entries import required_file
from muster.run.progress import RunStep, doing, unheard
from muster.run.run import Settled

#: Turns what people committed into what the rehearsal gets instead.
Supposed = Callable[[Rehearsal, Edits], None]
#: Nothing is known of agents' refs: clusters that report through them stay as they were.
UNKNOWN_REFS: Final = AgentRefs((), Agents())
_SECOND: Final = timedelta(seconds=1)
#: The derived files of requests, to which `muster sign` adds certificates.
_REQUESTS: Final = f"{FOLDER}{CSR.folder}/"


@dataclass(frozen=True, slots=True)
class RerunStep:
    """A run of the rehearsal. `past` is the run that it repeats; None for one in between. `recorded`: what agents said
    is known."""

    now: datetime
    settled: Settled
    past: PastRun | None
    recorded: bool


@dataclass
class Rerun:
    """A rehearsal that makes the runs of a range again, until `stopped`. `suppose` commits people's edits to it, in its
    own way. `unwatched`: so many runs so far came after a time in which no process watched."""

    repository: Repository
    trial: Rehearsal
    suppose: Supposed
    stopped: Callable[[], bool] = lambda: False
    unwatched: int = 0
    _at: str = ""
    _now: datetime | None = None
    _due: datetime | None = None
    _heard: Heard | None = None

    def runs(self, start: str, past: Sequence[PastRun]) -> Iterator[RerunStep]:
        """Make the runs after the commit `start`, in order; if the first was watched, also that of the start."""
        self._at = start
        last = EngineCommits(self.repository, start).last()
        self._heard = read_record(self.repository, last).heard if last is not None and last.heard else None
        for number, run in enumerate(past):
            doing(RunStep.REPEATING, number, len(past))
            if self.stopped():
                return
            heard = read_record(self.trial.repository, run.engine).heard if run.engine.heard else None
            with unheard():
                yield from self._before(run, heard)
                self._move(run.engine.source)
                self.trial.heard = UNKNOWN_REFS if heard is None else heard.refs
                step = self._step(run.engine.now, run, recorded=heard is not None)
            self._heard = heard
            yield step

    def _before(self, run: PastRun, heard: Heard | None) -> Iterator[RerunStep]:
        """Make the runs before one of the past that a process that watched would have made since the last one."""
        heard_before = self._heard
        if heard_before is None or heard is None:
            return
        if heard.watched is None or heard.watched > heard_before.run.now:
            self.unwatched += 1
            return
        if self._now is None:
            self.trial.heard = heard_before.refs
            yield self._step(heard_before.run.now, None, recorded=True)
        between = Between(heard_before, heard)
        log = read_log(self.repository, f"{self._at}..{run.engine.source}", first_parent=True, oldest_first=True)
        since, until = heard_before.run.now, run.engine.now
        pending = [(logged.committed, logged.commit) for logged in log if since < logged.committed < until]
        news = [*between.news, *(at for at, _ in pending)]
        while (now := self._next(news)) is not None and now < until:
            for _, commit in [logged for logged in pending if logged[0] <= now]:
                self._move(commit)
            pending = [logged for logged in pending if logged[0] > now]
            self.trial.heard = between.at(now)
            yield self._step(now, None, recorded=True)

    def _next(self, news: Sequence[datetime]) -> datetime | None:
        assert self._now is not None
        due = None if self._due is None else max(self._due, self._now + _SECOND)
        return earliest(due, *(at for at in news if at > self._now))

    def _move(self, commit: str) -> None:
        """Give the rehearsal what people committed up to a commit, and the certificates that were signed."""
        objects = self.trial.repository.objects
        changes = changed_paths(self.repository, self._at, commit)
        files = {
            change.path: None if change.new is None else required_file(objects, change.path, change.new.oid).read()
            for change in changes
            if not change.path.startswith(FOLDER)
        }
        for change in changes:
            if change.path.startswith(_REQUESTS) and change.new is not None:
                signed = required_file(objects, change.path, change.new.oid).read()
                derived = blob_at(self.trial.repository, self.trial.commit, change.path)
                if derived is not None and _has_certificate(signed) and not _has_certificate(derived):
                    files[change.path] = signed
        self.suppose(self.trial, {("", path): data for path, data in files.items()})
        self._at = commit

    def _step(self, now: datetime, past: PastRun | None, *, recorded: bool) -> RerunStep:
        settled = self.trial.step(now)
        self._now, self._due = now, settled.last.turn
        return RerunStep(now, settled, past, recorded)


def _has_certificate(data: bytes) -> bool:
    return bool(dig(first_body(data, FOLDER), *CERTIFICATE))
