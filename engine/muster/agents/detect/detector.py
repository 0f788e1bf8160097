"""A detector: it probes every period, judges the results, and reports, until it is stopped.

A result must last before it changes the judgement. Source: seed 003, "Domain name resolution function detection".
Failures must last for the failure threshold, successes for the success threshold (the seed's text swaps the two names;
Karmada's code does not). Thresholds are durations, not counts, and the window restarts whenever the result changes:
while results flap, the judgement stays.

`observe` and `resumed` are pure: `now` is in seconds on any monotonic clock.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from threading import Event

from muster.agents.detect.probes import Probe, ProbeResult
from muster.agents.detect.reporters import Judgement, Reporter
from muster.data.times import format_time
from muster.dataclass import dataclass
from muster.git.clock import wall_clock
from muster.git.errors import RepositoryError


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How many seconds a result must last before it counts; zero or less counts at once."""

    failure_seconds: float
    success_seconds: float


@dataclass(frozen=True, slots=True)
class Detection:
    """The state of a detector: its judgement `healthy`, and the last result `seen`, which is the same since `since`.

    `seen` is None if the last probe could not be made, or before the first.
    """

    healthy: bool
    seen: bool | None
    since: float


def resumed(healthy: bool, now: float) -> Detection:  # noqa: FBT001 - the judgement is the whole argument
    """Return the state of a detector that continues an earlier one: a restart skips no threshold."""
    return Detection(healthy, None, now)


def observe(before: Detection | None, seen: bool | None, now: float, thresholds: Thresholds) -> Detection | None:  # noqa: FBT001
    """Return the state after one probe; None until the first result.

    The first result counts at once. A probe that could not be made changes no judgement, and interrupts the window. The
    window includes its end: a result counts at `now == since + threshold`.
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
    """A probe, its period and thresholds, and the reporter. `say` prints a line."""

    probe: Probe
    period_seconds: float
    thresholds: Thresholds
    reporter: Reporter
    say: Callable[[str], None]

    def run(self, stop: Event) -> None:
        """Detect until `stop` is set. Continues while the remote does not answer."""
        before = self.reporter.last_status()
        state = None if before is None else resumed(before, time.monotonic())
        trouble = ""
        while not stop.is_set():
            began = time.monotonic()
            state, complaint = self.step(state)
            if complaint and complaint != trouble:
                self.tell(complaint)
            trouble = complaint
            stop.wait(max(0.0, began + self.period_seconds - time.monotonic()))
        self.reporter.close(_present())

    def step(self, state: Detection | None) -> tuple[Detection | None, str]:
        """Probe once; return the new state, and what prevents probing or reporting, if anything does."""
        result = self.probe.run()
        now = time.monotonic()
        state = observe(state, result.healthy, now, self.thresholds)
        if state is None or state.seen is None:
            # Without a result nothing is renewed, so the report ages, and an instance that can probe takes over.
            return state, result.detail
        try:
            news = self.reporter.report(_judgement(state, result, now))
        except RepositoryError as error:
            return state, error.message + (f" ({error.hint})" if error.hint else "")
        if news:
            self.tell(news)
        return state, ""

    def tell(self, what: str) -> None:
        """Print a line with the time."""
        self.say(f"{format_time(_present().replace(microsecond=0))} {what}")


def _judgement(state: Detection, result: ProbeResult, now: float) -> Judgement:
    """The judgement, with the probe's message if that agrees with it."""
    detail = result.detail if result.healthy == state.healthy else ""
    return Judgement(state.healthy, detail, _present(), now)


def _present() -> datetime:
    return wall_clock()
