"""Metrics as Prometheus reads them: which there are, and what they say.

`METRICS` is all of them, as data: a new one is one entry there and whatever counts it
(`muster.features.metrics.metering`). No label has a value for each cluster: kinds, statuses, rules, budgets and sinks
are few, however large the fleet. Formats, and escaping in them, are the client library's.
"""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from pathlib import Path
from threading import Lock
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest, write_to_textfile
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families

#: What `Values.text` gives.
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Sort(Enum):
    """What becomes of its numbers: they grow, stand for what is, or are counted by their size. Ages are counted by
    their size, too, anew whenever somebody reads them."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    AGES = "histogram of what is"


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric. `start`: label values that are there before anything has been counted."""

    name: str
    sort: Sort
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    start: tuple[tuple[str, ...], ...] = ()


_SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_LATE: Final = (1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 21600, 86400)
_AGES: Final = (10, 30, 60, 120, 300, 600, 1800, 3600, 21600, 86400, 604800)
#: Of what has no labels.
_ALONE: Final = ((),)
#: The types that a sink of notifications may have.
SINK_TYPES: Final = ("email", "slack", "webhook")
OUTCOMES: Final = ("committed", "unchanged", "waiting", "failed", "fault")

BUILD = Measure("muster_build_info", Sort.GAUGE, "Always 1; which muster this is.", ("version",))
RUNS = Measure(
    "muster_runs_total", Sort.COUNTER,
    "Runs by how they ended: with a commit, with nothing to do, waiting because the fleet wants no more commits in this"
    " hour, failed (git, a remote, agents that could not be heard), or by a fault in muster.",
    ("outcome",), start=tuple((outcome,) for outcome in OUTCOMES),
)  # fmt: skip
FAILURES = Measure(
    "muster_run_failures_total", Sort.COUNTER, "Runs that failed, by what they were at, for example pushing.",
    ("stage",),
)  # fmt: skip
RUN_SECONDS = Measure(
    "muster_run_duration_seconds", Sort.HISTOGRAM, "How long runs took.", buckets=_SECONDS, start=_ALONE
)
STAGE_SECONDS = Measure(
    "muster_run_stage_duration_seconds", Sort.HISTOGRAM, "How long each stage of a run took.", ("stage",), _SECONDS
)
LAST_LOOK = Measure(
    "muster_last_look_timestamp_seconds", Sort.GAUGE,
    "When it was last looked whether anything is to be done, whatever came of it (Unix time).",
)  # fmt: skip
LAST_RUN = Measure(
    "muster_last_run_timestamp_seconds", Sort.GAUGE, "When the last run ended, whatever came of it (Unix time)."
)
LAST_SUCCESS = Measure(
    "muster_last_success_timestamp_seconds", Sort.GAUGE, "When the last run ended that did not fail (Unix time)."
)
COMMITS = Measure("muster_commits_total", Sort.COUNTER, "Commits of what was derived.", start=_ALONE)
DECISIONS = Measure(
    "muster_decisions_total", Sort.COUNTER,
    "Transitions that were committed, by the kind of their object and what changed: a condition, a taint, an action.",
    ("kind", "what"),
)  # fmt: skip
CLUSTERS = Measure(
    "muster_clusters", Sort.GAUGE,
    "Clusters by kind and state: the status of their headline condition (True, False, Unknown), Denied, NotJoined where"
    " an accepted cluster's agent has not joined yet, and none where nothing is decided.",
    ("kind", "status"),
)  # fmt: skip
HELD = Measure(
    "muster_held_effects", Sort.GAUGE, "Disruptive effects that are held back, by what holds them and what they are.",
    ("rule", "effect"),
)  # fmt: skip
DISRUPTED = Measure(
    "muster_budget_disrupted_clusters", Sort.GAUGE,
    "Clusters that a DisruptionBudget counts as disrupted, in that of its domains where the fewest more may be.",
    ("budget",),
)  # fmt: skip
ALLOWED = Measure(
    "muster_budget_allowed_clusters", Sort.GAUGE, "Clusters that may be disrupted there by the DisruptionBudget.",
    ("budget",),
)  # fmt: skip
WORDS = Measure(
    "muster_agent_word_age_seconds", Sort.AGES,
    "How long ago each cluster was last heard of, by its Lease or by an adapter's report, as of now: a distribution"
    " that stands, of which there is no rate.",
    ("source",), _AGES,
)  # fmt: skip
LATE = Measure(
    "muster_horizon_lag_seconds", Sort.HISTOGRAM, "How late runs decided what was due at an instant.",
    buckets=_LATE, start=_ALONE,
)  # fmt: skip
NEXT = Measure(
    "muster_next_horizon_timestamp_seconds", Sort.GAUGE, "When time alone next changes anything (Unix time)."
)
PULSES_QUEUED = Measure(
    "muster_pulses_queued", Sort.GAUGE, "Pulses that are due and that not all of their sinks have taken."
)
PULSES = Measure("muster_pulses_published_total", Sort.COUNTER, "Pulses that all of their sinks took.", start=_ALONE)
PULSE_FAILURES = Measure(
    "muster_pulse_failures_total", Sort.COUNTER, "Pulses that a sink did not take, each time.", ("sink",)
)
NOTICES = Measure(
    "muster_notifications_sent_total", Sort.COUNTER, "Messages to people that a sink of a type took.", ("type",),
    start=tuple((one,) for one in SINK_TYPES),
)  # fmt: skip
NOTICE_FAILURES = Measure(
    "muster_notification_failures_total", Sort.COUNTER,
    "Messages to people that a sink of a type did not take, each time.", ("type",),
    start=tuple((one,) for one in SINK_TYPES),
)  # fmt: skip
NOTICES_WAITING = Measure(
    "muster_notifications_waiting", Sort.GAUGE,
    "Messages to people that wait for a sink of a type, those among them that are not due yet.", ("type",),
)  # fmt: skip
NOTICES_OLDEST = Measure(
    "muster_notification_oldest_due_timestamp_seconds", Sort.GAUGE,
    "When the oldest message was due that not all of its sinks have taken (Unix time); nothing where all have.",
)  # fmt: skip
ATTEMPTS = Measure(
    "muster_git_attempts_total", Sort.COUNTER, "How often runs tried to move the branch, here or on the remote.",
    start=_ALONE,
)  # fmt: skip
RETRIES = Measure(
    "muster_git_retries_total", Sort.COUNTER, "How often runs tried once more, because the branch had moved.",
    start=_ALONE,
)  # fmt: skip
FALLBACKS = Measure(
    "muster_fallbacks_total", Sort.COUNTER,
    "Faults in muster that cost time and nothing else: a shorter way failed, so a longer one was taken.", ("doing",),
)  # fmt: skip
FINDINGS = Measure("muster_findings", Sort.GAUGE, "What is wrong with the fleet, by severity.", ("severity",))

METRICS: Final = (
    BUILD, RUNS, FAILURES, RUN_SECONDS, STAGE_SECONDS, LAST_LOOK, LAST_RUN, LAST_SUCCESS, COMMITS, DECISIONS,
    CLUSTERS, HELD, DISRUPTED, ALLOWED, WORDS, LATE, NEXT, PULSES_QUEUED, PULSES, PULSE_FAILURES, NOTICES,
    NOTICE_FAILURES, NOTICES_WAITING, NOTICES_OLDEST, ATTEMPTS, RETRIES, FALLBACKS, FINDINGS,
)  # fmt: skip


@dataclass(slots=True)
class _Counted:
    """Values by their size: how many there are up to each bound and above the last one, and their sum."""

    buckets: list[float]
    sum: float = 0.0


@dataclass(eq=False)
class Values:
    """What the metrics say of a fleet; each has its name as the label `fleet`, for one collector may read of several.
    Several threads may ask while one counts. `clock`: by which ages are told."""

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
        """Count."""
        with self._lock:
            known = self._numbers[measure.name]
            known[labels] = known.get(labels, 0.0) + amount

    def put(self, measure: Measure, values: Iterable[tuple[tuple[str, ...], float]]) -> None:
        """Say what is: these values by their labels, and no others."""
        with self._lock:
            self._numbers[measure.name] = dict(values)

    def observe(self, measure: Measure, value: float, *labels: str) -> None:
        """Count a value by its size."""
        with self._lock:
            found = self._series(measure, labels)
            found.buckets[bisect_left(measure.buckets, value)] += 1
            found.sum += value

    def heard(self, instants: Mapping[str, "array[int]"]) -> None:
        """Say when each cluster was last heard of, by how: seconds since the epoch, sorted."""
        with self._lock:
            self._instants = instants

    def _series(self, measure: Measure, labels: tuple[str, ...]) -> _Counted:
        return self._counted[measure.name].setdefault(labels, _Counted([0.0] * (len(measure.buckets) + 1)))

    # -- for Prometheus

    def collect(self) -> Iterator[Metric]:
        """What the client library asks for."""
        with self._lock:
            yield from [_FAMILIES[measure.sort](self, measure) for measure in METRICS]

    def text(self) -> bytes:
        """Return them in Prometheus' text format."""
        return generate_latest(self._registry())

    def write(self, path: Path) -> None:
        """Write them for the textfile collector: whoever reads the file sees the earlier one, or this one. OSError."""
        write_to_textfile(str(path), self._registry())

    def go_on_from(self, text: str) -> None:
        """Begin with what an earlier process has written, so that what is counted goes on. ValueError for what is no
        such text."""
        by_name = {
            measure.name: measure for measure in METRICS if measure.sort is not Sort.AGES and measure is not BUILD
        }
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                name = sample.name
                if (measure := by_name.get(name)) and sample.labels.get("fleet") == self.fleet:
                    self._numbers[name][tuple(sample.labels.get(label, "") for label in measure.labels)] = sample.value
            if (measure := by_name.get(family.name)) and measure.sort is Sort.HISTOGRAM:
                self._go_on_counting(measure, family)

    def _go_on_counting(self, measure: Measure, family: Metric) -> None:
        bounds = [*measure.buckets, inf]
        sums: dict[tuple[str, ...], float] = {}
        upto: dict[tuple[str, ...], dict[float, float]] = defaultdict(dict)
        for sample in (one for one in family.samples if one.labels.get("fleet") == self.fleet):
            labels = tuple(sample.labels.get(label, "") for label in measure.labels)
            if sample.name.endswith("_bucket"):
                upto[labels][float(sample.labels["le"])] = sample.value
            elif sample.name.endswith("_sum"):
                sums[labels] = sample.value
        for labels, found in upto.items():
            if sorted(found) == bounds:  # else of another version, with other bounds
                counts = [found[bound] for bound in bounds]
                each = [one - before for before, one in zip([0.0, *counts], counts, strict=False)]
                self._counted[measure.name][labels] = _Counted(each, sums.get(labels, 0.0))

    def _registry(self) -> CollectorRegistry:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return registry

    def _labels(self, measure: Measure) -> tuple[str, ...]:
        return ("fleet", *measure.labels)

    def _counter(self, measure: Measure) -> Metric:
        found = CounterMetricFamily(measure.name, measure.help, labels=self._labels(measure))
        for labels, value in sorted(self._numbers[measure.name].items()):
            found.add_metric((self.fleet, *labels), value)
        return found

    def _gauge(self, measure: Measure) -> Metric:
        found = GaugeMetricFamily(measure.name, measure.help, labels=self._labels(measure))
        for labels, value in sorted(self._numbers[measure.name].items()):
            found.add_metric((self.fleet, *labels), value)
        return found

    def _histogram(self, measure: Measure) -> Metric:
        found = HistogramMetricFamily(measure.name, measure.help, labels=self._labels(measure))
        for labels, counted in sorted(self._counted[measure.name].items()):
            found.add_metric((self.fleet, *labels), _cumulative(measure.buckets, counted.buckets), counted.sum)
        return found

    def _ages(self, measure: Measure) -> Metric:
        found, now = HistogramMetricFamily(measure.name, measure.help, labels=self._labels(measure)), self.clock()
        for how, instants in sorted(self._instants.items()):
            bounds = [len(instants) - bisect_left(instants, now - age) for age in (*measure.buckets, inf)]
            each = [one - before for before, one in zip([0, *bounds], bounds, strict=False)]
            of_all = now * len(instants) - sum(instants)
            found.add_metric((self.fleet, how), _cumulative(measure.buckets, each), of_all)
        return found


_FAMILIES: Final[Mapping[Sort, Callable[[Values, Measure], Metric]]] = {
    Sort.COUNTER: Values._counter,
    Sort.GAUGE: Values._gauge,
    Sort.HISTOGRAM: Values._histogram,
    Sort.AGES: Values._ages,
}


def _cumulative(bounds: Sequence[float], counts: Sequence[float]) -> list[tuple[str, float]]:
    found, upto = list[tuple[str, float]](), 0.0
    for bound, count in zip([*bounds, inf], counts, strict=True):
        upto += count
        found.append(("+Inf" if bound == inf else f"{float(bound)}", upto))
    return found
