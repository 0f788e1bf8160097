"""A detector: probes every period, judges, and reports, until it is stopped.

Everything that it decides is decided elsewhere (`detection`, `election`); here are only the loop and the clocks.

When a detector believes what it sees: an observation must last before it changes the judgement.

Source: seed 003, "Domain name resolution function detection". Failures must last for the failure threshold, successes
for the success threshold (the seed's text swaps the two names; Karmada's code does not). Thresholds are durations, not
counts, and the window begins anew whenever the observation changes: while it flaps, the judgement stays.

Pure: `now` is in seconds on any clock that never goes back.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Event

from muster.agents.detect.probes import Probe, ProbeResult
from muster.agents.detect.reporters import Judgement, Reporter
from muster.data.times import format_time
from muster.git.clock import wall_clock
from muster.git.errors import RepositoryError


@dataclass(frozen=True, slots=True)
class Thresholds:
    """For how many seconds an observation must last before it is believed; zero or less believes at once."""

    failure_seconds: float
    success_seconds: float


@dataclass(frozen=True, slots=True)
class Detection:
    """What a detector holds to be so (`healthy`), and what it saw last: `seen`, uninterruptedly since `since`.

    `seen` is None where the last probe could not look at all, or none was made yet.
    """

    healthy: bool
    seen: bool | None
    since: float


def resumed(healthy: bool, now: float) -> Detection:  # noqa: FBT001 - the judgement is the whole argument
    """Return the state of a detector that starts where an earlier one stopped: a restart skips no threshold."""
    return Detection(healthy, None, now)


def observe(before: Detection | None, seen: bool | None, now: float, thresholds: Thresholds) -> Detection | None:  # noqa: FBT001
    """Return the state after one probe; None while nothing was ever seen.

    The very first observation is believed at once. A probe that could not look changes no judgement, and a window
    that it interrupts begins anew. A window is over at its end exactly: `now == since + threshold` believes.
    """
    if before is None:
        return None if seen is None else Detection(seen, seen, now)
    if seen != before.seen:
        before = replace(before, seen=seen, since=now)
    if seen is None or seen == before.healthy:
        return before
    threshold = thresholds.success_seconds if seen else thresholds.failure_seconds
    return replace(before, healthy=seen) if now >= before.since + threshold else before


@dataclass(frozen=True, slots=True)
class Detector:
    """What to look with, how often, when to believe it, and whom to tell. `say` gets one line at a time."""

    probe: Probe
    period_seconds: float
    thresholds: Thresholds
    reporter: Reporter
    say: Callable[[str], None]

    def run(self, stop: Event) -> None:
        """Detect until `stop` is set. A remote that does not answer never ends it."""
        before = self.reporter.standing()
        state = None if before is None else resumed(before, time.monotonic())
        trouble = ""
        while not stop.is_set():
            began = time.monotonic()
            state, complaint = self._step(state)
            if complaint and complaint != trouble:
                self._tell(complaint)
            trouble = complaint
            stop.wait(max(0.0, began + self.period_seconds - time.monotonic()))
        self.reporter.close(_present())

    def _step(self, state: Detection | None) -> tuple[Detection | None, str]:
        """Look once; return the new state, and what stands in the way of looking or telling, if anything does."""
        sight = self.probe.look()
        now = time.monotonic()
        state = observe(state, sight.healthy, now, self.thresholds)
        if state is None or state.seen is None:
            # Nobody looked: nothing is renewed, so the report ages, and an instance that can look takes over.
            return state, sight.detail
        try:
            news = self.reporter.report(_judgement(state, sight, now))
        except RepositoryError as error:
            return state, error.message + (f" ({error.hint})" if error.hint else "")
        if news:
            self._tell(news)
        return state, ""

    def _tell(self, what: str) -> None:
        self.say(f"{format_time(_present().replace(microsecond=0))} {what}")


def _judgement(state: Detection, sight: ProbeResult, now: float) -> Judgement:
    """The judgement in the probe's words, unless these are still about the contrary."""
    detail = sight.detail if sight.healthy == state.healthy else ""
    return Judgement(state.healthy, detail, _present(), now)


def _present() -> datetime:
    return wall_clock()
