"""Which reports count: HyperFleet's acceptance rules, in their order.

Source: seed 004, "Some other rules for the API", 1 and 2; where the seed is silent, HyperFleet's API. Refusing and
discarding are the same here: the stored report stays, and the report's condition `Accepted` says why. What the API
checks of one payload alone (a name, a positive generation, statuses True, False or Unknown) is checked by the schema.

The seed's rule 2 has no exception: an `Available` of Unknown is discarded even if nothing is stored yet, so it can
never make a later report of an older generation stale.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeAlias

from muster.data.times import earliest, format_duration, later, second_after, second_at
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet.reports import Accepted, ReportPayload, same_report

ACCEPTED = "Accepted"
_OUT_OF_TIME = frozenset(("ObservedTimeAhead", "ObservedTimeTooOld"))
_MANDATORY = ("Available", "Applied", "Health")


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a report's `observed_time` may be before and after the instant at which it is first read."""

    age: timedelta
    ahead: timedelta


@dataclass(frozen=True, slots=True)
class Verdict:
    """Does a report count, and why? `reason` in CamelCase, `message` without times, so that it does not change while an
    adapter repeats itself. `horizon`: when time alone changes the verdict. `repeated`: it is the stored report."""

    reason: str
    message: str
    horizon: datetime | None = None
    repeated: bool = False

    @property
    def accepted(self) -> bool:
        """Is the report the one that counts?"""
        return self.reason == ACCEPTED

    @property
    def in_time(self) -> bool:
        """Was the report neither too early nor too late?"""
        return self.reason not in _OUT_OF_TIME


@dataclass(frozen=True, slots=True)
class ParsedReport(ReportPayload):
    """One report: its payload, valid by the schema of AdapterReport, and its namespace. `judged`: an earlier run has
    read it, in time."""

    spec: Tree
    namespace: str
    judged: bool = False

    def status(self, type_: str) -> str | None:
        """The status of a condition, or None."""
        return next((c["status"] for c in self.spec["conditions"] if c["type"] == type_), None)


@dataclass(frozen=True, slots=True)
class Situation:
    """What a report is compared with: the object's name, its cluster and its generation (None if it does not exist),
    the adapter's stored report, the instant, the limits, and the object's creation (None: unknown). `unrecorded`: that
    is the present instant, until the object's file can be read."""

    target: str
    cluster: str
    generation: int | None
    stored: Accepted | None
    now: datetime
    limits: Limits
    since: datetime | None = None
    unrecorded: bool = False


Rule: TypeAlias = Callable[[ParsedReport, Situation], Verdict | None]


def judge(report: ParsedReport, situation: Situation) -> Verdict:
    """Return the verdict on a report: the first rule that objects decides.

    A report equal to the stored one stays accepted in its cluster's namespace: that verdict is `repeated`. One that was
    in time does not become too old.
    """
    stored = situation.stored
    in_its_namespace = situation.generation is not None and report.namespace == situation.cluster
    if in_its_namespace and stored is not None and same_report(stored.spec, report.spec):
        return replace(_ACCEPTED, repeated=True)
    verdict = next((verdict for rule in RULES if (verdict := rule(report, situation)) is not None), _ACCEPTED)
    if situation.unrecorded and report.time >= situation.now:
        return replace(verdict, horizon=earliest(verdict.horizon, second_after(report.time)))
    return verdict


_ACCEPTED = Verdict(ACCEPTED, "The report counts.")


def _repeated_condition(report: ParsedReport, _: Situation) -> Verdict | None:
    types = [condition["type"] for condition in report.spec["conditions"]]
    repeated = next((name for index, name in enumerate(types) if name in types[:index]), None)
    return Verdict("DuplicateCondition", f"The condition {repeated} is given twice.") if repeated else None


def _out_of_time(report: ParsedReport, at: Situation) -> Verdict | None:
    if report.time - at.now > at.limits.ahead:
        text = f"observed_time must not be more than {format_duration(at.limits.ahead)} in the future."
        return Verdict("ObservedTimeAhead", text, second_at(later(report.time, -at.limits.ahead)))
    if at.now - report.time > at.limits.age and not report.judged:
        text = f"observed_time must not be more than {format_duration(at.limits.age)} in the past."
        return Verdict("ObservedTimeTooOld", text)
    return None


def _no_such_object(_: ParsedReport, at: Situation) -> Verdict | None:
    return Verdict("ResourceNotFound", f"There is no {at.target}.") if at.generation is None else None


def _other_cluster(report: ParsedReport, at: Situation) -> Verdict | None:
    """Agents write to their cluster's namespace, so nothing there may report on another cluster."""
    if report.namespace == at.cluster:
        return None
    text = f"{at.target} belongs to cluster {at.cluster}, so reports on it live in namespace {at.cluster}."
    return Verdict("OtherCluster", text)


def _earlier_object(report: ParsedReport, at: Situation) -> Verdict | None:
    """A report about an earlier object of that name does not count for its successor."""
    if at.since is None or report.time >= at.since:
        return None
    return Verdict("BeforeObject", f"It was made before {at.target} came to be.")


def _future_generation(report: ParsedReport, at: Situation) -> Verdict | None:
    if at.generation is None or report.generation <= at.generation:
        return None
    return Verdict(
        "FutureGeneration", f"Generation {report.generation} is not reached yet: {at.target} is at {at.generation}."
    )


def _stale_generation(report: ParsedReport, at: Situation) -> Verdict | None:
    if at.stored is None or report.generation >= at.stored.generation:
        return None
    text = f"Generation {report.generation} is older than {at.stored.generation}, on which the adapter has reported."
    return Verdict("StaleGeneration", text)


def _stale_time(report: ParsedReport, at: Situation) -> Verdict | None:
    if at.stored is None or report.generation != at.stored.generation or report.time >= at.stored.time:
        return None
    return Verdict("StaleTime", f"The adapter has reported on generation {report.generation} at a later time.")


def _missing_condition(report: ParsedReport, _: Situation) -> Verdict | None:
    missing = next((name for name in _MANDATORY if report.status(name) is None), None)
    return Verdict("MissingCondition", f"missing mandatory condition: {missing}.") if missing else None


def _unknown(report: ParsedReport, _: Situation) -> Verdict | None:
    if report.status("Available") != "Unknown":
        return None
    return Verdict("AvailableUnknown", "Available is Unknown: the work is under way, so the earlier report counts.")


def _same_time(report: ParsedReport, at: Situation) -> Verdict | None:
    if at.stored is None or (report.generation, report.time) != (at.stored.generation, at.stored.time):
        return None
    return Verdict("SameTime", f"Another report of generation {report.generation} at the same instant came first.")


#: The rules in HyperFleet's order: a stale report is discarded as stale even if it is incomplete.
RULES: Sequence[Rule] = (
    _repeated_condition,
    _out_of_time,
    _no_such_object,
    _other_cluster,
    _earlier_object,
    _future_generation,
    _stale_generation,
    _stale_time,
    _missing_condition,
    _unknown,
    _same_time,
)
