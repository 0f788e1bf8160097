"""The pulses stage: which CloudEvents are due at this instant.

Source: seed 004 ("Sentinel will publish messages whenever ..."), and HyperFleet's Sentinel. A failed policy requests
nothing. The result depends on the fleet, the instant and the pulses published before; publishing and recording happen
elsewhere. A pulse that was due and not published is due again in the next run.

A rule such as "the oldest report is older than 30 minutes" holds until a report arrives, so pulses need a minimum
interval. HyperFleet's Sentinel polls every 5 seconds and pulses at each poll; the policy's `interval` is the same, and
its `backoff` makes it longer while there is no answer. A generation not announced yet does not wait.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial

from muster.data.decision import Failed, Published, Pulse, PulseKey, Wake
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.times import LAST, earliest, later, parse_time
from muster.data.tree import Tree
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.conditions.stage import guards_hold, holds
from muster.rules.context import Context
from muster.rules.creation import CREATED, last_pulse
from muster.rules.failures import Failures, PolicyFailure
from muster.rules.policies.lazy import PolicyScope, Variables
from muster.rules.policies.scopes import Scopes
from muster.rules.policies.variables import generation_of, pulsed
from muster.rules.pulses.event import pulse_event
from muster.rules.pulses.policy import PulsePolicy, PulseRule
from muster.rules.stages import Local


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


def stage(view: View, context: Context, now: datetime) -> Iterator[Pulse | Wake | Failed | Finding]:
    """Decide the pulses of every object that a PulsePolicy targets."""
    scopes, failures = Scopes.of(view, context.rules, now), Failures()
    bases: dict[object, Variables] = {}

    def asked(policy: PulsePolicy, found: Object) -> Iterator[Pulse | Wake]:
        obj = view.declared(found)
        if not policy.target.selects(obj):
            return
        base = bases.get(obj.id)
        if base is None:
            base = bases[obj.id] = scopes.base(obj)
        try:
            yield from _of_object(scopes, context, policy, obj, base, now)
        except PolicyFailure as failure:
            failures.add(policy, failure, obj.id)

    for policy in context.rules.compiled.of(PulsePolicy):
        yield from each(view.of(*policy.target.kinds), partial(asked, policy))
    yield from failures.seen


def _of_object(
    scopes: Scopes, context: Context, policy: PulsePolicy, obj: Object, base: Mapping[str, object], now: datetime
) -> Iterator[Pulse | Wake]:
    """One object's pulse, or when there may be one. Raises PolicyFailure."""
    last = last_pulse(scopes.view, context, obj.id, context.published.get(PulseKey(obj.id, policy.id.name)))
    generation = generation_of(scopes.view, obj.id)
    reports = scopes.adapters.reports.get(obj.id, [])
    rule, scope = _asked(scopes, policy, base, obj.id, last)
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
    event = pulse_event(policy, obj.id, scope, last, now, since)
    sent = Published(generation, now, waiting + 1)
    horizon = _after(scopes, policy, base, obj.id, sent)
    yield Pulse(obj.id, event, rule.because, horizon, policy.id.name, rule.reason, sent)


def _asked(
    scopes: Scopes, policy: PulsePolicy, base: Mapping[str, object], about: ObjectId, last: Published | None
) -> tuple[PulseRule | None, PolicyScope]:
    """The first rule that requests a pulse, and its scope."""
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
        rule, _ = _asked(scopes, policy, base, about, sent)
    except PolicyFailure:
        return None
    if rule is None:
        return scopes.clock.horizon
    return later(sent.time, pause(policy, sent.count))


def _later(policy: PulsePolicy, obj: Object, horizon: datetime | None) -> Iterator[Wake]:
    if horizon is not None:
        yield Wake(obj.id, policy.because, horizon, pulse=True)


STAGE = Local("pulses", stage)
