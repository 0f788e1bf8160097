"""Compiled PulsePolicies: when pulses are published, how often, to whom, and what their events contain."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from muster import cel
from muster.cel.types import STRING
from muster.data.decision import Because, Input
from muster.data.kinds import PULSE_POLICY
from muster.data.times import parse_duration
from muster.data.tree import At, Tree, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.rules.policies.expressions import Compiler
from muster.rules.policies.grounds import Grounds
from muster.rules.policies.policies import Policy, PolicyFields, PolicyKind
from muster.rules.policies.variables import PULSE_VARIABLES


@dataclass(frozen=True, slots=True)
class PulsePayload:
    """A mapping of an event's data: an expression, or a further mapping, per field."""

    fields: Mapping[str, "cel.Program | PulsePayload"]


@dataclass(frozen=True, slots=True)
class EventTemplate:
    """The form of a PulsePolicy's events; empty texts and None are the defaults."""

    type: str
    source: str
    topic: str
    data: PulsePayload | None


@dataclass(frozen=True, slots=True)
class PulseRule:
    """One rule of a PulsePolicy, and its reason. `ground`: the digest of its condition and guards."""

    name: str
    when: cel.Program
    reason: str
    at: At
    because: Because
    ground: str


@dataclass(frozen=True, slots=True)
class Backoff:
    """The factor by which the interval grows with each unanswered pulse, and its maximum."""

    factor: float
    longest: timedelta


@dataclass(frozen=True, slots=True)
class PulsePolicy(Policy):
    """Requests pulses. `sinks`: names of receivers; empty means all."""

    rules: tuple[PulseRule, ...]
    interval: timedelta
    backoff: Backoff | None
    event: EventTemplate
    sinks: frozenset[str]


def _pulse_policy(obj: Object, compiler: Compiler, common: PolicyFields) -> PulsePolicy:
    grounds, guards = Grounds.of(common["variables"], common["params"]), [guard.when for guard in common["guards"]]
    rules = []
    for index, rule in enumerate(mappings_at(obj.spec, "rules")):
        at = ("spec", "rules", index, "when")
        name = str(rule.get("name", index))
        reason = str(rule.get("reason") or name)
        because = Because(f"{obj.id}#{name}", (Input(at, obj.id),), reason)
        when = compiler.condition(at)
        rules.append(PulseRule(name, when, reason, at, because, grounds.digest(when, guards)))
    event, backoff = mapping_at(obj.spec, "event"), mapping_at(obj.spec, "backoff")
    with_reason = compiler.with_variables({"reason": STRING})
    data = _payload(with_reason, ("spec", "event", "data"), event["data"]) if "data" in event else None
    return PulsePolicy(
        **common,
        rules=tuple(rules),
        interval=parse_duration(obj.spec.get("interval", "5s")),
        backoff=Backoff(float(backoff["factor"]), parse_duration(backoff.get("max", "30m"))) if backoff else None,
        event=EventTemplate(event.get("type", ""), event.get("source", ""), event.get("topic", ""), data),
        sinks=frozenset(obj.spec.get("sinks") or ()),
    )


def _payload(compiler: Compiler, at: At, fields: Mapping[str, Tree]) -> PulsePayload:
    return PulsePayload(
        {
            name: _payload(compiler, (*at, name), part) if isinstance(part, dict) else compiler.value((*at, name))
            for name, part in fields.items()
        }
    )


PULSE_POLICIES: Final = PolicyKind(PULSE_POLICY, _pulse_policy, PULSE_VARIABLES)
