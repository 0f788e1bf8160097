"""The reports stage: decides which AdapterReports count, and records them and when specs changed.

Of all reports of one adapter on one object, in any order of arrival, the same one counts: the newest accepted one by
generation, then by time.

Whether a report is in time is decided when it is first read. One that was in time and does not count is recorded by a
digest, `status.muster.judged`, so that it does not become too old later.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from muster.data.decision import OF_ITSELF, OF_SPEC, Because, Decision, Input, Path, Wake
from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, CLUSTERS, NODE_POOL, TARGETS
from muster.data.source import Part
from muster.data.times import format_time, try_duration
from muster.data.tree import Tree, mapping_at
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.neighbourhoods import cluster_of
from muster.fleet.objects import Object
from muster.fleet.reports import (
    RULE,
    Accepted,
    accept,
    accepted_in,
    required_adapters,
    same_report,
    stored_reports,
    target_of,
)
from muster.fleet.settings import Settings
from muster.fleet.view import View
from muster.rules.creation import creation_time, record_creations
from muster.rules.generations import spec_digest
from muster.rules.policies.in_force import InForce
from muster.rules.policies.variables import generation_of
from muster.rules.reports.acceptance import ACCEPTED, Limits, ParsedReport, Situation, Verdict, judge
from muster.rules.stages import STATUS, Local, Traits
from muster.rules.transitions import condition_decision

_BECAUSE = Because(RULE, OF_SPEC, "what counts of the adapter on the object, for the reports to come")
_COUNTS = "it is still reported, and nothing newer of the adapter on the object counts"
_OUTLASTS = Because(RULE, OF_SPEC, "the report has changed and does not count now; its earlier content does")
_GONE = Because(RULE, OF_ITSELF, "no file has the report any more; it counts as long as the object exists")
_BROKEN = Because(RULE, OF_ITSELF, "the report has an error now; its earlier content counts")
_IN_TIME = Because("reports", OF_SPEC, "the report came in time, and grows too old no more")
_CHANGED = Because("reports", OF_SPEC, "when the spec last changed; adapters have to answer from then on")
_JUDGED_FIELDS = tuple(Input(("spec", name)) for name in ("observed_generation", "observed_time", "conditions"))
#: The record of what counts.
MUSTER: Path = ("status", "muster")
_AGE, _AHEAD = timedelta(minutes=30), timedelta(minutes=5)


def stage(view: View, now: datetime, rules: InForce, traits: Traits) -> Iterator[Decision | Wake | Finding]:
    """Decide about every report, and since when adapters' objects have their specs."""
    stored = stored_reports(view)
    incoming, limits = _by_adapter(view), _limits(rules.settings)

    def decide(reports: Reports) -> Iterator[Decision]:
        situation = _situation(view, traits, limits, reports.key[0], stored.get(reports.key), now)
        yield from _of_adapter(view, incoming.get(reports.key, []), situation)

    keys = sorted({*stored, *incoming})
    yield from each((Reports(key, stored.get(key), tuple(incoming.get(key, ()))) for key in keys), decide)
    yield from _spec_changes(view, rules, now)
    yield from record_creations(view, traits, now)


@dataclass(frozen=True, slots=True)
class Reports:
    """One adapter's present and stored reports on one object; a fault affects the latest one's verdict."""

    key: tuple[ObjectId, str]
    stored: Accepted | None
    incoming: tuple[Object, ...]

    @property
    def id(self) -> ObjectId:
        """The AdapterReport to which a fault is attributed."""
        return self.incoming[0].id if self.incoming else self.stored.holder if self.stored else self.key[0]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of that report."""
        return self.incoming[0].parts if self.incoming else ()


def _by_adapter(view: View) -> Mapping[tuple[ObjectId, str], list[Object]]:
    """The sound reports by object and adapter, newest first, then by name."""
    by_adapter = grouped(
        ((target_of(obj.spec, obj.id.namespace), str(obj.spec["adapter"])), obj) for obj in view.of(ADAPTER_REPORT)
    )
    for objects in by_adapter.values():
        if len(objects) > 1:
            objects.sort(key=_newness, reverse=True)
    return by_adapter


def _newness(obj: Object) -> tuple[int, datetime]:
    report = ParsedReport(obj.spec, obj.id.namespace)
    return report.generation, report.time


def _of_adapter(view: View, reports: list[Object], situation: Situation) -> Iterator[Decision]:
    """Decide about one adapter's reports on one object; one of them holds what counts."""
    counts = situation.stored
    verdicts: list[tuple[Object, Verdict]] = []
    for obj in reports:
        at = situation if counts is situation.stored else replace(situation, stored=counts)
        verdict = judge(ParsedReport(obj.spec, obj.id.namespace, _was_read(view, obj)), at)
        verdicts.append((obj, verdict))
        if verdict.accepted and not verdict.repeated:
            counts = accept(obj.id, obj.spec, counts)
    for obj, verdict in verdicts:
        yield _verdict_condition(view, obj, verdict, situation.now)
    if situation.generation is None:
        counts = None
    digests = {
        obj.id: spec_digest(obj.spec)
        for obj, verdict in verdicts
        if verdict.in_time and not (counts and counts.holder == obj.id and same_report(counts.spec, obj.spec))
    }
    by_id = {obj.id: verdict for obj, verdict in verdicts}
    yield from _records(view, counts, situation.stored, by_id, digests)


def _was_read(view: View, obj: Object) -> bool:
    """Did an earlier run read the report in time?"""
    record = mapping_at(view.previous.get(obj.id), "status", "muster")
    if "judged" in record and record["judged"] == spec_digest(obj.spec):
        return True
    stored = accepted_in(view, obj.id)
    return stored is not None and same_report(stored.spec, obj.spec)


def _records(
    view: View,
    counts: Accepted | None,
    before: Accepted | None,
    verdicts: Mapping[ObjectId, Verdict],
    digests: Mapping[ObjectId, str],
) -> Iterator[Decision]:
    remaining = dict(digests)
    if counts is not None:
        judged = remaining.pop(counts.holder, None)
        if counts.holder not in verdicts:  # not decided in this run, so its record stays
            judged = mapping_at(view.previous.get(counts.holder), "status", "muster").get("judged")
        value = {**counts.bookkeeping, "judged": judged} if judged else counts.bookkeeping
        yield Decision(counts.holder, MUSTER, value, _because(view, counts, before, verdicts))
        if before is not None and before.holder != counts.holder and before.holder not in remaining:
            yield Decision(before.holder, MUSTER, None, _BECAUSE)
    for id_, digest in remaining.items():
        yield Decision(id_, (*MUSTER, "judged"), digest, _IN_TIME)


def _because(view: View, counts: Accepted, before: Accepted | None, verdicts: Mapping[ObjectId, Verdict]) -> Because:
    """Why a report counts: it was just accepted, is repeated, or nothing newer counts."""
    if counts is not before:
        return _BECAUSE
    if (repeated := next((id_ for id_, verdict in verdicts.items() if verdict.repeated), None)) is not None:
        return Because(RULE, (Input(("spec",), repeated),), _COUNTS)
    if counts.holder in verdicts:
        return _OUTLASTS
    return _BROKEN if counts.holder in view.broken or view.unidentified else _GONE


def _verdict_condition(view: View, obj: Object, verdict: Verdict, now: datetime) -> Decision:
    """The condition with the verdict: no report is discarded silently."""
    statement = ("True" if verdict.accepted else "False", verdict.reason, verdict.message)
    because, generation = Because(f"reports#{verdict.reason}", _JUDGED_FIELDS), obj.spec["observed_generation"]
    return condition_decision(view, obj.id, ACCEPTED, statement, because, now, verdict.horizon, generation)


def _situation(
    view: View, traits: Traits, limits: Limits, target: ObjectId, stored: Accepted | None, now: datetime
) -> Situation:
    """What reports on an object are compared with. A broken object has its last generation."""
    obj = view.objects.get(target)
    unseen = obj is None and view.is_unread(target) and target in view.previous
    generation = generation_of(view, target) if obj is not None or unseen else None
    cluster = cluster_of(obj) if obj is not None else target.namespace or target.name
    since = None if generation is None else creation_time(view, traits, target, now)
    if stored is not None and since is not None and stored.time < since:
        stored = None  # it was about an earlier object
    unrecorded = since == now and target in view.broken
    return Situation(str(target), cluster, generation, stored, now, limits, since, unrecorded)


def _spec_changes(view: View, rules: InForce, now: datetime) -> Iterator[Decision]:
    """When each object of adapters got its present generation, from which silence counts."""
    for kind in TARGETS.values():
        if not required_adapters(rules.settings, kind):
            continue
        for obj in view.of(kind):
            yield Decision(obj.id, ("status", "muster", "specChanged"), _spec_changed(view, obj.id, now), _CHANGED)


def _spec_changed(view: View, id_: ObjectId, now: datetime) -> str:
    before = view.before(id_, "status", "muster", "specChanged")
    same = view.before(id_, "metadata", "generation") == view.now(id_, "metadata", "generation")
    return before if same and isinstance(before, str) else format_time(now)


def _limits(settings: Settings) -> Limits:
    return Limits(_setting(settings, "maxAge", _AGE), _setting(settings, "maxAhead", _AHEAD))


def _setting(settings: Settings, name: str, default: timedelta) -> timedelta:
    value: Tree = settings.get("reports", name)
    span = try_duration(value)
    return default if span is None else span


STAGE = Local(
    "reports",
    stage,
    derives=(
        ((ADAPTER_REPORT,), (STATUS,)),
        ((*CLUSTERS, NODE_POOL), (("status", "muster", "specChanged"), ("status", "muster", "created"))),
    ),
    foundation=True,
)
