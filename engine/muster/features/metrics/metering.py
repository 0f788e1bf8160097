"""What runs did, counted: from what a run knows anyway to the metrics of `muster.features.metrics.metrics`.

A scheduled job is a new process each time; `metered` goes on from the file that the last one left, so that counters of
cron jobs grow as those of a process that stays.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from muster.data.codes import Severity
from muster.features.metrics import metrics
from muster.features.metrics.metrics import Values
from muster.features.pulses.publish import Publication
from muster.fleet.faults import listening_to_fallbacks
from muster.git.errors import RepositoryError
from muster.rules.checks import waivers
from muster.run.progress import RunStep, told_to
from muster.version import __version__

if TYPE_CHECKING:
    from muster.cli.reconcile_result import ReconcileResult

#: What a run is at before it says so, and once it has ended well.
_BEGINNING: Final = "beginning"
#: A file that is larger is none of ours.
_MOST_BYTES: Final = 1 << 20


class Meter:
    """Counts runs of a fleet, by its name. `clock` gives Unix time."""

    def __init__(self, clock: Callable[[], float], fleet: str) -> None:
        self.values, self._clock = Values(clock, fleet), clock
        self._stage, self._since, self._began, self._open = _BEGINNING, 0.0, 0.0, False
        self._taken: defaultdict[str, float] = defaultdict(float)
        self.values.put(metrics.BUILD, [((__version__,), 1)])

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Measure what a run is at, while the block runs."""
        self._taken.clear()
        self._stage, self._since = _BEGINNING, monotonic()
        self._began, self._open = self._since, True
        with told_to(self._at):
            yield

    def _at(self, step: RunStep, _done: int, _total: int) -> None:
        now = monotonic()
        self._taken[self._stage] += now - self._since
        self._stage, self._since = step.name.lower(), now

    def _ended(self) -> None:
        now, self._open = monotonic(), False
        self._taken[self._stage] += now - self._since
        for stage, seconds in self._taken.items():
            self.values.observe(metrics.STAGE_SECONDS, seconds, stage)
        self.values.observe(metrics.RUN_SECONDS, now - self._began)
        self.values.put(metrics.LAST_LOOK, [((), self._clock())])
        self.values.put(metrics.LAST_RUN, [((), self._clock())])

    def failed(self, error: Exception) -> None:
        """A run came to nothing; not where it was done before, and only telling of it failed."""
        if not self._open:
            return
        self.values.add(metrics.RUNS, "failed" if isinstance(error, RepositoryError) else "fault")
        self.values.add(metrics.FAILURES, self._stage)
        self._ended()

    def looked(self, done: "ReconcileResult", publication: Publication) -> None:
        """A run is done, and what it made due is published."""
        values, settled = self.values, done.settled
        self._ended()
        values.put(metrics.LAST_SUCCESS, [((), self._clock())])
        values.add(metrics.RUNS, "committed" if done.commit else "waiting" if done.waits else "unchanged")
        values.add(metrics.ATTEMPTS, amount=done.attempts)
        values.add(metrics.RETRIES, amount=done.attempts - 1)
        values.add(metrics.COMMITS, amount=bool(done.commit))
        for change in settled.changes if done.commit else ():
            values.add(metrics.DECISIONS, change.object.kind, change.fact.sort)
        if done.late is not None:
            values.observe(metrics.LATE, done.late.total_seconds())
        horizon = settled.last.horizon
        values.put(metrics.NEXT, [((), horizon.timestamp())] if horizon else [])
        self._stands(done)
        values.put(metrics.PULSES_QUEUED, [((), publication.due - publication.published)])
        values.add(metrics.PULSES, amount=publication.published)
        for sink, reasons in publication.failures.items():
            values.add(metrics.PULSE_FAILURES, sink, amount=len(reasons))
        told = publication.told
        for type_ in metrics.SINK_TYPES:
            values.add(metrics.NOTICES, type_, amount=told.sent[type_])
            values.add(metrics.NOTICE_FAILURES, type_, amount=told.refused[type_])
        values.put(metrics.NOTICES_WAITING, [((type_,), told.waiting[type_]) for type_ in metrics.SINK_TYPES])
        values.put(metrics.NOTICES_OLDEST, [((), told.oldest.timestamp())] if told.oldest else [])

    def fell_back(self, doing: str, _error: Exception) -> None:
        """Muster failed in what it was doing, and took a longer way."""
        self.values.add(metrics.FALLBACKS, doing)

    def rests(self, seconds: float) -> None:  # noqa: ARG002 - others want to know
        """A look has ended, at which there may have been nothing to look at; there is another later."""
        self.values.put(metrics.LAST_LOOK, [((), self._clock())])

    def _stands(self, done: "ReconcileResult") -> None:
        """What is so now, of the whole fleet."""
        values, last = self.values, done.settled.last
        held = Counter((one.because.rule, one.effect.partition(" ")[0]) for one in last.fleet.held)
        values.put(metrics.HELD, held.items())
        known = Counter(found.severity.value for found in waivers.shown(done.settled.findings, last.now))
        values.put(metrics.FINDINGS, [((severity.value,), known[severity.value]) for severity in Severity])
        found = done.figures
        values.put(metrics.CLUSTERS, found.clusters.items())
        values.put(metrics.DISRUPTED, [((one.budget,), one.disrupted) for one in found.usage])
        values.put(metrics.ALLOWED, [((one.budget,), one.allowed) for one in found.usage])
        values.heard(found.words)


@contextmanager
def metered(path: Path, clock: Callable[[], float], fleet: str, say: Callable[[str], None]) -> Iterator[Meter]:
    """Measure the run in the block, and write what is counted into a file, going on from what is there.

    What is wrong with the file is said, and costs the run nothing.
    """
    meter = Meter(clock, fleet)
    try:
        with path.open("rb") as file:
            meter.values.go_on_from(file.read(_MOST_BYTES).decode())
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError) as error:
        say(f"metrics begin anew, {path} cannot be gone on from: {error}")
    try:
        with meter.looking(), listening_to_fallbacks(meter.fell_back):
            yield meter
    except Exception as error:
        meter.failed(error)
        raise
    finally:
        try:
            meter.values.write(path)
        except OSError as error:
            say(f"metrics are not written: {error}")
