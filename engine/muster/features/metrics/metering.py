"""Count what runs do, into the metrics of `muster.features.metrics.metrics`.

A scheduled job is a new process each time: `metered` continues from the file of the last one, so that its counters grow
as those of a lasting process do.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from muster.data.codes import Severity
from muster.data.tree import dig, mappings_at
from muster.features.metrics import metrics
from muster.features.metrics.metrics import Values
from muster.features.pulses.publish import Publication
from muster.fleet.faults import listening_to_fallbacks
from muster.git.errors import RepositoryError
from muster.rules.checks import waivers
from muster.rules.effects.freeze import FREEZES
from muster.run.progress import RunStep, told_to
from muster.version import __version__

if TYPE_CHECKING:
    from muster.cli.reconcile_result import ReconcileResult

#: The stage of a run before it names one.
_BEGINNING: Final = "beginning"
#: A larger file was not written by us.
_MAX_BYTES: Final = 1 << 20


class Meter:
    """Counts the runs of a fleet. `clock` returns Unix time."""

    def __init__(self, clock: Callable[[], float], fleet: str) -> None:
        self.values, self._clock = Values(clock, fleet), clock
        self._stage, self._since, self._began, self._open = _BEGINNING, 0.0, 0.0, False
        self._taken: defaultdict[str, float] = defaultdict(float)
        self.values.put(metrics.BUILD, [((__version__,), 1)])

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure the stages of a run during the block."""
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
        """Count a failed run, unless the run itself has completed."""
        if not self._open:
            return
        self.values.add(metrics.RUNS, "failed" if isinstance(error, RepositoryError) else "fault")
        self.values.add(metrics.FAILURES, self._stage)
        self._ended()

    def completed(self, done: "ReconcileResult", publication: Publication) -> None:
        """Count a completed run, and what it published."""
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
        self._put_fleet(done)
        values.put(metrics.PULSES_QUEUED, [((), publication.due - publication.published)])
        values.add(metrics.PULSES, amount=publication.published)
        for sink, reasons in publication.failures.items():
            values.add(metrics.PULSE_FAILURES, sink, amount=len(reasons))
        deliveries = publication.told
        for type_ in metrics.SINK_TYPES:
            values.add(metrics.NOTICES, type_, amount=deliveries.sent[type_])
            values.add(metrics.NOTICE_FAILURES, type_, amount=deliveries.refused[type_])
        values.put(metrics.NOTICES_WAITING, [((type_,), deliveries.waiting[type_]) for type_ in metrics.SINK_TYPES])
        values.put(metrics.NOTICES_OLDEST, [((), deliveries.oldest.timestamp())] if deliveries.oldest else [])

    def fell_back(self, doing: str, _error: Exception) -> None:
        """Count a fault of muster that only cost time."""
        self.values.add(metrics.FALLBACKS, doing)

    def sleeps(self, seconds: float) -> None:  # noqa: ARG002 - of the protocol
        """Note the time of a check, even if there was nothing to do."""
        self.values.put(metrics.LAST_LOOK, [((), self._clock())])

    def _put_fleet(self, done: "ReconcileResult") -> None:
        """Set the gauges of the fleet's state."""
        values, last = self.values, done.settled.last
        held = Counter((effect.because.rule, effect.effect.partition(" ")[0]) for effect in last.fleet.held)
        values.put(metrics.HELD, held.items())
        by_severity = Counter(finding.severity.value for finding in waivers.shown(done.settled.findings, last.now))
        values.put(metrics.FINDINGS, [((severity.value,), by_severity[severity.value]) for severity in Severity])
        figures = done.figures
        values.put(metrics.CLUSTERS, figures.clusters.items())
        values.put(metrics.ROLLOUTS, figures.rollouts.items())
        values.put(metrics.DISRUPTED, [((usage.budget,), usage.disrupted) for usage in figures.usage])
        values.put(metrics.ALLOWED, [((usage.budget,), usage.allowed) for usage in figures.usage])
        ends = {str(dig(freeze, "name")): dig(freeze, "until") for freeze in figures.frozen}
        freezes = [str(freeze.get("name")) for freeze in mappings_at(last.fleet.settings.spec, FREEZES)]
        values.put(metrics.FROZEN, [((name,), name in ends) for name in freezes])
        values.put(metrics.FROZEN_UNTIL, [((name,), end) for name, end in ends.items() if end is not None])
        values.heard(figures.last_reports)


@contextmanager
def metered(path: Path, clock: Callable[[], float], fleet: str, say: Callable[[str], None]) -> Iterator[Meter]:
    """Measure the run in the block, and write the metrics to a file, continuing from its content.

    Trouble with the file is reported and does not fail the run.
    """
    meter = Meter(clock, fleet)
    try:
        with path.open("rb") as file:
            meter.values.continue_from(file.read(_MAX_BYTES).decode())
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError) as error:
        say(f"metrics start again, {path} cannot be continued: {error}")
    try:
        with meter.running(), listening_to_fallbacks(meter.fell_back):
            yield meter
    except Exception as error:
        meter.failed(error)
        raise
    finally:
        try:
            meter.values.write(path)
        except OSError as error:
            say(f"metrics cannot be written: {error}")
