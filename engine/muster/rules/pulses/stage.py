"""The pulses stage: which CloudEvents (CloudEvents 1.0) are due at this instant.

Source: seed 004 ("Sentinel will publish messages whenever ..."), and HyperFleet's Sentinel. A failed policy requests
nothing. The result depends on the fleet, the instant and the pulses published before; publishing and recording happen
elsewhere. A pulse that was due and not published is due again in the next run.

A rule such as "the oldest report is older than 30 minutes" holds until a report arrives, so pulses need a minimum
interval. HyperFleet's Sentinel polls every 5 seconds and pulses at each poll; the policy's `interval` is the same, and
its `backoff` makes it longer while there is no answer. A generation not announced yet does not wait.

An event is small, like HyperFleet's: it names an object and the reason to look at it; receivers read the object
themselves. Its id follows from the object, the policy and the pulse before, so a pulse that is published again after an
unclear failure is the same event for its receivers.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID, uuid5

from muster import cel
from muster.cel.runtime.size import size_of
from muster.data.decision import Failed, Memory, Published, Pulse, PulseKey, Wake
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.times import LAST, earliest, format_time, later, parse_time
from muster.data.tree import At, Tree
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.conditions.stage import guards_hold, holds
from muster.rules.creation import CREATED, last_pulse
from muster.rules.failures import Failures, PolicyFailure
from muster.rules.policies.in_force import InForce
from muster.rules.policies.lazy import PolicyScope, Variables
from muster.rules.policies.scopes import Scopes
from muster.rules.policies.trees import UnfitError, tree_of
from muster.rules.policies.variables import generation_of, pulsed
from muster.rules.pulses.policy import PulsePayload, PulsePolicy, PulseRule
from muster.rules.stages import Local, Traits


def unanswered(last: Published | None, reports: Iterable[Tree]) -> int:
    """How many pulses in a row have no accepted report after them."""
    if last is None or any(parse_time(report["observed_time"]) >= last.time for report in reports):
        return 0
    return last.count


def not_before(policy: PulsePolicy, last: Published | None, generation: int, waiting: int) -> datetime | None:
    """The earliest time of the next pulse; None: at once. `waiting`: the number of unanswered pulses."""
    if last is None or generation > last.generation:
        return None
    return later(last.time, pause(policy, waiting)) or LAST


def pause(policy: PulsePolicy, waiting: int) -> timedelta:
    """How long to wait after the `waiting`th unanswered pulse, in whole seconds, rounded up."""
    span, backoff = policy.interval, policy.backoff
    if backoff is not None and backoff.factor > 1 and span:
        for _ in range(1, waiting):
            if span >= backoff.longest:
                break
            span = span * backoff.factor if backoff.factor < backoff.longest / span else backoff.longest
        span = max(policy.interval, span)
    return timedelta(seconds=-(-span // timedelta(seconds=1)))


def stage(
    view: View, now: datetime, rules: InForce, traits: Traits, published: Memory
) -> Iterator[Pulse | Wake | Failed | Finding]:
    """Decide the pulses of every object that a PulsePolicy targets."""
    scopes, failures = Scopes.of(view, rules, now), Failures()
    bases: dict[object, Variables] = {}
    policies = rules.compiled.of(PulsePolicy)
    pulses = _PublishedPulses.of(published, policies)

    def evaluate(policy: PulsePolicy, target: Object) -> Iterator[Pulse | Wake]:
        obj = view.declared(target)
        if not policy.target.selects(obj):
            return
        base = bases.get(obj.id)
        if base is None:
            base = bases[obj.id] = scopes.base(obj)
        last = last_pulse(view, traits, obj.id, pulses.last(policy, obj.id))
        try:
            yield from _of_object(scopes, last, policy, obj, base, now, failures)
        except PolicyFailure as failure:
            failures.add(policy, failure, obj.id)

    for policy in policies:
        yield from each(view.of(*policy.target.kinds), partial(evaluate, policy))
    yield from failures.failed


@dataclass(frozen=True, slots=True)
class _PublishedPulses:
    """The memory of pulses; `renamed`: those of policies that are gone, by object and by what the rule said."""

    memory: Memory
    renamed: Mapping[tuple[ObjectId, str], Published]

    @classmethod
    def of(cls, memory: Memory, policies: Iterable[PulsePolicy]) -> "_PublishedPulses":
        names = {policy.id.name for policy in policies}
        of_removed = ((key, last) for key, last in memory.items() if names and key.policy not in names and last.ground)
        by_time = sorted(of_removed, key=lambda entry: entry[1].time)
        return cls(memory, {(key.object, last.ground): last for key, last in by_time})

    def last(self, policy: PulsePolicy, id_: ObjectId) -> Published | None:
        """The last pulse of a policy for an object, under this name or an earlier one."""
        if (last := self.memory.get(PulseKey(id_, policy.id.name))) is not None or not self.renamed:
            return last
        earlier = (self.renamed.get((id_, rule.ground)) for rule in policy.rules)
        return max((last for last in earlier if last is not None), key=lambda last: last.time, default=None)


def _of_object(
    scopes: Scopes,
    last: Published | None,
    policy: PulsePolicy,
    obj: Object,
    base: Mapping[str, object],
    now: datetime,
    failures: Failures,
) -> Iterator[Pulse | Wake]:
    """One object's pulse, or when there may be one. `failures` gets the parts of the event that are left out. Raises
    PolicyFailure."""
    generation = generation_of(scopes.view, obj.id)
    reports = scopes.adapters.reports.get(obj.id, [])
    rule, scope = _due_rule(scopes, policy, base, obj.id, last)
    flips = scopes.clock.horizon
    if rule is None:
        yield from _later(policy, obj, flips)
        return
    waiting = unanswered(last, reports)
    wait = not_before(policy, last, generation, waiting)
    if wait is not None and wait > now:
        yield from _later(policy, obj, earliest(wait, flips))
        return
    since = scopes.view.now(obj.id, *CREATED)
    scope["reason"] = rule.reason
    event, left_out = pulse_event(policy, obj.id, scope, last, now, since)
    for failure in left_out:
        failures.add(policy, failure, obj.id)
    sent = Published(generation, now, waiting + 1, rule.ground)
    horizon = _after(scopes, policy, base, obj.id, sent)
    yield Pulse(obj.id, event, rule.because, horizon, policy.id.name, rule.reason, sent)


def _due_rule(
    scopes: Scopes, policy: PulsePolicy, base: Mapping[str, object], about: ObjectId, last: Published | None
) -> tuple[PulseRule | None, PolicyScope]:
    scopes.clock.reset()
    scope = scopes.for_policy(policy, base, about)
    scope["pulsed"] = pulsed(last, base)
    if not guards_hold(policy.guards, scope):
        return None, scope
    return next((r for r in policy.rules if holds(r.when, scope, r.name, r.at)), None), scope


def _after(
    scopes: Scopes, policy: PulsePolicy, base: Mapping[str, object], about: ObjectId, sent: Published
) -> datetime | None:
    """When the next pulse is due if this one is published now and not answered."""
    try:
        rule, _ = _due_rule(scopes, policy, base, about, sent)
    except PolicyFailure:
        return None
    if rule is None:
        return scopes.clock.horizon
    return later(sent.time, pause(policy, sent.count))


def _later(policy: PulsePolicy, obj: Object, horizon: datetime | None) -> Iterator[Wake]:
    if horizon is not None:
        yield Wake(obj.id, policy.because, horizon, pulse=True)


STAGE = Local("pulses", stage)


TYPE = "com.redhat.hyperfleet.{kind}.reconcile"
SOURCE = "muster"
#: Values and characters of an event's data. Common brokers and queues take no message beyond 256 KiB.
MOST_DATA = 1 << 18
_AT_DATA: At = ("spec", "event", "data")
_NAMESPACE = UUID("6f0e6a2c-6a39-4f0b-9c55-3f2b8a2d9c10")


def pulse_event(
    policy: PulsePolicy,
    id_: ObjectId,
    scope: Mapping[str, object],
    last: Published | None,
    now: datetime,
    created: Tree = None,
) -> tuple[Tree, list[PolicyFailure]]:
    """Return a pulse's event as JSON, and the parts of its data that it cannot hold: they are left out. `scope` has
    `reason` and `generation`; `created`: when the object was created, as text, if known."""
    from cloudevents.core.formats.json import JSONFormat  # loaded for the first pulse: most runs have none
    from cloudevents.core.v1.event import CloudEvent

    attributes: dict[str, object] = {
        "specversion": "1.0",
        "id": event_id(policy, id_, scope, last, created),
        "source": policy.event.source or SOURCE,
        "type": policy.event.type or TYPE.format(kind=id_.kind.lower()),
        "subject": str(id_),
        "time": now,
        "datacontenttype": "application/json",
    }
    if policy.event.topic:
        attributes["topic"] = policy.event.topic
    payload = policy.event.data
    data, left_out = (_default_data(id_, scope), []) if payload is None else _computed(payload, scope)
    document: Tree = json.loads(JSONFormat().write(CloudEvent(attributes, data or {})))
    return document, left_out


def event_id(
    policy: PulsePolicy, id_: ObjectId, scope: Mapping[str, object], last: Published | None, created: Tree = None
) -> str:
    """Return a UUID that is the same for every attempt at one pulse, and differs between pulses.

    Without a record, the latest adapter report distinguishes pulses, and the creation time those of an earlier object.
    """
    reports = scope["reports"]
    assert isinstance(reports, list)
    last_report = max((report["observed_time"] for report in reports), default="never")
    since = str(created or "never") if last is None else format_time(last.time)
    return str(uuid5(_NAMESPACE, "\n".join((*id_, policy.id.name, str(scope["generation"]), since, last_report))))


def _computed(payload: PulsePayload, scope: Mapping[str, object]) -> tuple[Tree, list[PolicyFailure]]:
    """The payload's values, and the parts that are left out because they are too large, or no event can hold them.

    Failed and null values are left out without a word, and so are empty mappings. If all parts together are too large,
    the largest are left out.
    """
    budget = scope.budget if isinstance(scope, PolicyScope) else None
    failures, sized = list[PolicyFailure](), list[tuple[int, At, object]]()
    for at, program in _parts(payload, _AT_DATA):
        result = program.run(scope, budget=budget)
        if isinstance(result.error, cel.BudgetExceeded | cel.ValueTooLargeError):
            failures.append(PolicyFailure(str(at[-1]), at, result.error))
        elif result.error is None and result.value is not None:
            sized.append((size_of(result.value), at, result.value))
    room = MOST_DATA
    trees: dict[At, Tree] = {}
    for size, at, value in sorted(sized, key=lambda part: part[0]):
        try:
            trees[at] = tree_of(value, room)
        except UnfitError as error:
            reason = (
                f"all of the event's data is limited to {MOST_DATA:,} values and characters" if size > room else error
            )
            failures.append(PolicyFailure(str(at[-1]), at, cel.EvaluationError(str(reason)), error.hint))
        else:
            room -= size
    return _nested(payload, _AT_DATA, trees), failures


def _parts(payload: PulsePayload, at: At) -> Iterator[tuple[At, cel.Program]]:
    for name, part in payload.fields.items():
        if isinstance(part, PulsePayload):
            yield from _parts(part, (*at, name))
        else:
            yield (*at, name), part


def _nested(payload: PulsePayload, at: At, trees: Mapping[At, Tree]) -> Tree:
    """The values in the payload's form; None if there are none."""
    values: Tree = {}
    for name, part in payload.fields.items():
        place = (*at, name)
        value = _nested(part, place, trees) if isinstance(part, PulsePayload) else trees.get(place)
        if value is not None:
            values[name] = value
    return values or None


def _default_data(id_: ObjectId, scope: Mapping[str, object]) -> Tree:
    identity = {"kind": id_.kind, "namespace": id_.namespace, "name": id_.name}
    return {name: value for name, value in identity.items() if value} | {
        "generation": scope["generation"],
        "reason": scope["reason"],
    }
