"""Metrics for Prometheus: the list of them, and their values.

`METRICS` lists them as data: a new one is an entry there, and a line in `muster.features.metrics.metering` that counts.
No label has a value per cluster: kinds, statuses, rules, budgets and sinks are few, however large the fleet. The client
library formats and escapes.
"""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from math import inf
from pathlib import Path
from threading import Lock
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest, write_to_textfile
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families

from muster.dataclass import dataclass

#: The type of `Values.text`.
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Sort(Enum):
    """The type of a metric. AGES is a histogram of the present ages, computed whenever it is read."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    AGES = "gauge histogram"


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric. `start`: label values that exist before anything is counted."""

    name: str
    sort: Sort
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    start: tuple[tuple[str, ...], ...] = ()


_SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_LATE: Final = (1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 21600, 86400)
_AGES: Final = (10, 30, 60, 120, 300, 600, 1800, 3600, 21600, 86400, 604800)
#: For metrics without labels.
_ALONE: Final = ((),)
#: The types that a sink of notifications may have.
SINK_TYPES: Final = ("email", "opsgenie", "pagerduty", "slack", "teams", "webhook")
OUTCOMES: Final = ("committed", "unchanged", "waiting", "failed", "fault")

BUILD = Measure("muster_build_info", Sort.GAUGE, "Always 1; the version of muster.", ("version",))
RUNS = Measure(
    "muster_runs_total",
    Sort.COUNTER,
    "Runs by outcome: committed, unchanged, waiting for the fleet's limit of commits per hour, failed (git, a remote,"
    " unreachable agents), or a fault in muster.",
    ("outcome",),
    start=tuple((outcome,) for outcome in OUTCOMES),
)
FAILURES = Measure(
    "muster_run_failures_total",
    Sort.COUNTER,
    "Runs that failed, by stage, for example pushing.",
    ("stage",),
)
RUN_SECONDS = Measure(
    "muster_run_duration_seconds", Sort.HISTOGRAM, "How long runs took.", buckets=_SECONDS, start=_ALONE
)
STAGE_SECONDS = Measure(
    "muster_run_stage_duration_seconds", Sort.HISTOGRAM, "How long each stage of a run took.", ("stage",), _SECONDS
)
LAST_LOOK = Measure(
    "muster_last_look_timestamp_seconds",
    Sort.GAUGE,
    "When muster last checked whether anything is to be done (Unix time).",
)
LAST_RUN = Measure(
    "muster_last_run_timestamp_seconds", Sort.GAUGE, "When the last run ended, whatever its outcome (Unix time)."
)
LAST_SUCCESS = Measure(
    "muster_last_success_timestamp_seconds", Sort.GAUGE, "When the last successful run ended (Unix time)."
)
COMMITS = Measure("muster_commits_total", Sort.COUNTER, "Commits of derived files.", start=_ALONE)
DECISIONS = Measure(
    "muster_decisions_total",
    Sort.COUNTER,
    "Committed transitions, by the kind of the object and what changed: a condition, a taint, an action.",
    ("kind", "what"),
)
CLUSTERS = Measure(
    "muster_clusters",
    Sort.GAUGE,
    "Clusters by kind and state: the status of their headline condition (True, False, Unknown), Denied, NotJoined if an"
    " accepted cluster's agent has not joined yet, and none if nothing is decided.",
    ("kind", "status"),
)
ROLLOUTS = Measure(
    "muster_rollout_clusters",
    Sort.GAUGE,
    "Clusters that have a revision from a Rollout, by its namespace and name, and their state: Progressing, Succeeded,"
    " Failed or TimeOut.",
    ("rollout", "state"),
)
HELD = Measure(
    "muster_held_effects",
    Sort.GAUGE,
    "Disruptive effects that are held back, by rule and effect.",
    ("rule", "effect"),
)
FROZEN = Measure(
    "muster_freeze_in_force",
    Sort.GAUGE,
    "1 while a freeze of the Fleet is in force, else 0. muster_held_effects counts what it holds, by the rule"
    " `freeze NAME`.",
    ("freeze",),
)
FROZEN_UNTIL = Measure(
    "muster_freeze_end_timestamp_seconds",
    Sort.GAUGE,
    "When a freeze that is in force ends (Unix time); absent if it does not end.",
    ("freeze",),
)
DISRUPTED = Measure(
    "muster_budget_disrupted_clusters",
    Sort.GAUGE,
    "Clusters that a DisruptionBudget counts as disrupted, in the domain with the least room left.",
    ("budget",),
)
ALLOWED = Measure(
    "muster_budget_allowed_clusters",
    Sort.GAUGE,
    "Clusters that the budget allows to be disrupted in that domain.",
    ("budget",),
)
WORDS = Measure(
    "muster_agent_word_age_seconds",
    Sort.AGES,
    "Age of each cluster's last Lease renewal or adapter report, at this moment: a distribution of present values, so"
    " it has no rate.",
    ("source",),
    _AGES,
)
LATE = Measure(
    "muster_horizon_lag_seconds",
    Sort.HISTOGRAM,
    "How late runs made decisions that were due at an instant.",
    buckets=_LATE,
    start=_ALONE,
)
NEXT = Measure("muster_next_horizon_timestamp_seconds", Sort.GAUGE, "The next change without new input (Unix time).")
PULSES_QUEUED = Measure(
    "muster_pulses_queued", Sort.GAUGE, "Pulses that are due and not yet accepted by all of their sinks."
)
PULSES = Measure(
    "muster_pulses_published_total", Sort.COUNTER, "Pulses that all of their sinks accepted.", start=_ALONE
)
PULSE_FAILURES = Measure(
    "muster_pulse_failures_total", Sort.COUNTER, "Failed deliveries of pulses to a sink.", ("sink",)
)
NOTICES = Measure(
    "muster_notifications_sent_total",
    Sort.COUNTER,
    "Notifications that a sink of a type accepted.",
    ("type",),
    start=tuple((sink,) for sink in SINK_TYPES),
)
NOTICE_FAILURES = Measure(
    "muster_notification_failures_total",
    Sort.COUNTER,
    "Failed deliveries of notifications to a sink of a type.",
    ("type",),
    start=tuple((sink,) for sink in SINK_TYPES),
)
NOTICES_WAITING = Measure(
    "muster_notifications_waiting",
    Sort.GAUGE,
    "Notifications that wait for a sink of a type, including those that are not due yet.",
    ("type",),
)
NOTICES_OLDEST = Measure(
    "muster_notification_oldest_due_timestamp_seconds",
    Sort.GAUGE,
    "When the oldest undelivered notification was due (Unix time); absent if there is none.",
)
ATTEMPTS = Measure(
    "muster_git_attempts_total",
    Sort.COUNTER,
    "How often runs tried to move the branch, locally or on the remote.",
    start=_ALONE,
)
RETRIES = Measure(
    "muster_git_retries_total",
    Sort.COUNTER,
    "How often runs tried again because the branch had moved.",
    start=_ALONE,
)
FALLBACKS = Measure(
    "muster_fallbacks_total",
    Sort.COUNTER,
    "Faults in muster that only cost time: a fast path failed, and the slow path was taken.",
    ("doing",),
)
FINDINGS = Measure("muster_findings", Sort.GAUGE, "Findings of the fleet, by severity.", ("severity",))

METRICS: Final = (
    BUILD,
    RUNS,
    FAILURES,
    RUN_SECONDS,
    STAGE_SECONDS,
    LAST_LOOK,
    LAST_RUN,
    LAST_SUCCESS,
    COMMITS,
    DECISIONS,
    CLUSTERS,
    ROLLOUTS,
    HELD,
    FROZEN,
    FROZEN_UNTIL,
    DISRUPTED,
    ALLOWED,
    WORDS,
    LATE,
    NEXT,
    PULSES_QUEUED,
    PULSES,
    PULSE_FAILURES,
    NOTICES,
    NOTICE_FAILURES,
    NOTICES_WAITING,
    NOTICES_OLDEST,
    ATTEMPTS,
    RETRIES,
    FALLBACKS,
    FINDINGS,
)


@dataclass(slots=True)
class _Counted:
    """A histogram: how many values are in each bucket and above the last bound, and their sum."""

    buckets: list[float]
    sum: float = 0.0


@dataclass(eq=False)
class Values:
    """The metrics of a fleet, labelled with its name, so that one collector can read several. Threads may read while
    one counts. `clock`: Unix time, for ages."""

    clock: Callable[[], float]
    fleet: str
    _numbers: dict[str, dict[tuple[str, ...], float]] = field(default_factory=lambda: defaultdict(dict))
    _counted: dict[str, dict[tuple[str, ...], _Counted]] = field(default_factory=lambda: defaultdict(dict))
    _instants: Mapping[str, "array[int]"] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        for measure in METRICS:
            for labels in measure.start:
                if measure.sort is Sort.HISTOGRAM:
                    self._series(measure, labels)
                else:
                    self._numbers[measure.name][labels] = 0.0

    def add(self, measure: Measure, *labels: str, amount: float = 1.0) -> None:
        """Increase a counter."""
        with self._lock:
            numbers = self._numbers[measure.name]
            numbers[labels] = numbers.get(labels, 0.0) + amount

    def put(self, measure: Measure, values: Iterable[tuple[tuple[str, ...], float]]) -> None:
        """Set a gauge to these values by labels, and no others."""
        with self._lock:
            self._numbers[measure.name] = dict(values)

    def observe(self, measure: Measure, value: float, *labels: str) -> None:
        """Add a value to a histogram."""
        with self._lock:
            series = self._series(measure, labels)
            series.buckets[bisect_left(measure.buckets, value)] += 1
            series.sum += value

    def heard(self, instants: Mapping[str, "array[int]"]) -> None:
        """Set when each cluster was last heard from, by source: sorted seconds since the epoch."""
        with self._lock:
            self._instants = instants

    def _series(self, measure: Measure, labels: tuple[str, ...]) -> _Counted:
        return self._counted[measure.name].setdefault(labels, _Counted([0.0] * (len(measure.buckets) + 1)))

    # -- output

    def collect(self) -> Iterator[Metric]:
        """Return all metrics, for the client library."""
        with self._lock:
            yield from [self._family(measure) for measure in METRICS]

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry())

    def write(self, path: Path) -> None:
        """Write the metrics for the textfile collector, atomically. OSError."""
        write_to_textfile(str(path), self._registry())

    def continue_from(self, text: str) -> None:
        """Load the values that an earlier process has written. ValueError for another text."""
        by_name = {
            measure.name: measure for measure in METRICS if measure.sort is not Sort.AGES and measure is not BUILD
        }
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                name = sample.name
                if (measure := by_name.get(name)) and sample.labels.get("fleet") == self.fleet:
                    self._numbers[name][tuple(sample.labels.get(label, "") for label in measure.labels)] = sample.value
            if (measure := by_name.get(family.name)) and measure.sort is Sort.HISTOGRAM:
                self._load_histogram(measure, family)

    def _load_histogram(self, measure: Measure, family: Metric) -> None:
        bounds = [*measure.buckets, inf]
        sums: dict[tuple[str, ...], float] = {}
        upto: dict[tuple[str, ...], dict[float, float]] = defaultdict(dict)
        for sample in (point for point in family.samples if point.labels.get("fleet") == self.fleet):
            labels = tuple(sample.labels.get(label, "") for label in measure.labels)
            if sample.name.endswith("_bucket"):
                upto[labels][float(sample.labels["le"])] = sample.value
            elif sample.name.endswith("_sum"):
                sums[labels] = sample.value
        for labels, cumulative in upto.items():
            if sorted(cumulative) == bounds:  # else another version with other bounds wrote it
                counts = [cumulative[bound] for bound in bounds]
                each = [count - before for before, count in zip([0.0, *counts], counts, strict=False)]
                self._counted[measure.name][labels] = _Counted(each, sums.get(labels, 0.0))

    def _registry(self) -> CollectorRegistry:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return registry

    def _family(self, measure: Measure) -> Metric:
        labels = ("fleet", *measure.labels)
        if measure.sort in (Sort.COUNTER, Sort.GAUGE):
            make = CounterMetricFamily if measure.sort is Sort.COUNTER else GaugeMetricFamily
            numbers = make(measure.name, measure.help, labels=labels)
            for values, value in sorted(self._numbers[measure.name].items()):
                numbers.add_metric((self.fleet, *values), value)
            return numbers
        histogram = HistogramMetricFamily(measure.name, measure.help, labels=labels)
        if measure.sort is Sort.AGES:
            self._add_ages(histogram, measure)
        for values, counted in sorted(self._counted[measure.name].items()):
            histogram.add_metric((self.fleet, *values), _cumulative(measure.buckets, counted.buckets), counted.sum)
        return histogram

    def _add_ages(self, histogram: HistogramMetricFamily, measure: Measure) -> None:
        now = self.clock()
        for source, instants in sorted(self._instants.items()):
            bounds = [len(instants) - bisect_left(instants, now - age) for age in (*measure.buckets, inf)]
            each = [bound - before for before, bound in zip([0, *bounds], bounds, strict=False)]
            total = now * len(instants) - sum(instants)
            histogram.add_metric((self.fleet, source), _cumulative(measure.buckets, each), total)


def _cumulative(bounds: Sequence[float], counts: Sequence[float]) -> list[tuple[str, float]]:
    buckets, upto = list[tuple[str, float]](), 0.0
    for bound, count in zip([*bounds, inf], counts, strict=True):
        upto += count
        buckets.append(("+Inf" if bound == inf else f"{float(bound)}", upto))
    return buckets
