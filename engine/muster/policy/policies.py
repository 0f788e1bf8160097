"""Policies, compiled: from objects of the policy kinds to rules that can be asked.

Compiling finds what is wrong with a policy once, at its place in the file; deciding only evaluates. The
expressions of one policy share one environment, so that the checker knows every name and field.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import TypeAlias

from muster import cel
from muster.cel.types import DYN, STRING, Type
from muster.fleet.messages import finding
from muster.fleet.objects import Object
from muster.fleet.places import place_of
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.kinds import BY_NAME, TAINT_EFFECTS, Kind
from muster.model.names import did_you_mean
from muster.model.times import parse_duration, try_duration
from muster.model.tree import At, Tree, dig, mapping_at, mappings_at
from muster.policy.environments import UNBOUNDED, Bounds, policy_environment
from muster.policy.expressions import Compiler, Text
from muster.policy.placements import CompiledPlacement
from muster.policy.remedies import Remedy
from muster.policy.selectors import LabelSelector
from muster.policy.variables import PULSE_VARIABLES

_PARAMS = "params."
#: A policy's own variables, compiled.
Variables: TypeAlias = Mapping[str, cel.Program]
#: The field of a rule that says which generation a condition speaks of.
OBSERVED = "observedGenerationExpression"
#: The field that says whether an outcome has to last.
HOLD_WHEN = "holdWhen"


@dataclass(frozen=True, slots=True)
class Target:
    """Which objects a policy speaks of."""

    kinds: tuple[Kind, ...]
    selector: LabelSelector
    namespaces: frozenset[str]

    def selects(self, obj: Object) -> bool:
        """Whether the policy applies to an object of one of its kinds."""
        return (not self.namespaces or obj.id.namespace in self.namespaces) and self.selector.matches(obj.labels)


@dataclass(frozen=True, slots=True)
class Guard:
    """A `matchConditions` entry: where one does not hold, the policy says nothing."""

    name: str
    when: cel.Program
    at: At


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a ConditionPolicy; the first whose `when` holds decides. No `when` always holds."""

    name: str
    when: cel.Program | None
    status: Text
    reason: Text
    message: Text
    at: At
    observed_generation: cel.Program | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """What all compiled policies share. `params` is the policy's own map, `variables` are evaluated lazily."""

    id: ObjectId
    source: Object
    target: Target
    guards: tuple[Guard, ...]
    variables: Mapping[str, cel.Program]
    params: Tree

    @property
    def label(self) -> str:
        """How reasons and messages name the policy."""
        return str(self.id)


@dataclass(frozen=True, slots=True)
class ConditionPolicy(Policy):
    """Decides one condition.

    `hold_for`: how long an outcome must last before it is adopted, by status; `hold_unhealthy`: whether that goes for
    changes between False and Unknown too; `hold_when`: whether at all (None: always).
    """

    type: str
    rules: tuple[Rule, ...]
    hold_for: Mapping[str, timedelta]
    hold_unhealthy: bool
    reads: frozenset[str]
    hold_when: cel.Program | None = None


@dataclass(frozen=True, slots=True)
class TaintRule:
    """One taint of a TaintPolicy and when it is there."""

    key: str
    value: str | None
    effect: str
    when: cel.Program
    at: At


@dataclass(frozen=True, slots=True)
class TaintPolicy(Policy):
    """Decides taints. `of_silence`: it says itself what silence means, as one does that has a taint for Unknown."""

    taints: tuple[TaintRule, ...]
    of_silence: bool = False


@dataclass(frozen=True, slots=True)
class Payload:
    """A mapping of an event's data: an expression, or a further mapping, per field."""

    fields: Mapping[str, "cel.Program | Payload"]


@dataclass(frozen=True, slots=True)
class EventTemplate:
    """How a PulsePolicy's events look; empty texts and None stand for the defaults."""

    type: str
    source: str
    topic: str
    data: Payload | None


@dataclass(frozen=True, slots=True)
class PulseRule:
    """One rule of a PulsePolicy, and the reason that it gives."""

    name: str
    when: cel.Program
    reason: str
    at: At


@dataclass(frozen=True, slots=True)
class Backoff:
    """By what the interval grows with each pulse that nobody answers, and how long it may become."""

    factor: float
    longest: timedelta


@dataclass(frozen=True, slots=True)
class PulsePolicy(Policy):
    """Asks for pulses. `sinks` are the names of those that get them; none means all."""

    rules: tuple[PulseRule, ...]
    interval: timedelta
    backoff: Backoff | None
    event: EventTemplate
    sinks: frozenset[str]


@dataclass(frozen=True, slots=True)
class Compiled:
    """The sound policies of a fleet; the unsound ones are in `findings` and decide nothing.

    `placements` has every sound Placement, the misconfigured ones among them.
    """

    conditions: tuple[ConditionPolicy, ...]
    taints: tuple[TaintPolicy, ...]
    findings: tuple[Finding, ...]
    remedies: tuple[Remedy, ...] = ()
    placements: Mapping[ObjectId, CompiledPlacement] = field(default_factory=dict)
    pulses: tuple[PulsePolicy, ...] = ()


NOTHING = Compiled((), (), ())

#: Policies by what they were compiled from: content by blob id, so that a change is never missed.
_compiled: dict[tuple[object, ...], tuple[Tree, list[Finding]]] = {}
_MOST_COMPILED = 5_000


def compile_condition_policy(obj: Object, bounds: Bounds = UNBOUNDED) -> tuple[ConditionPolicy | None, list[Finding]]:
    """Compile one ConditionPolicy; None where it has an error."""
    return _compile(obj, _condition_policy, bounds)


def compile_taint_policy(obj: Object, bounds: Bounds = UNBOUNDED) -> tuple[TaintPolicy | None, list[Finding]]:
    """Compile one TaintPolicy; None where it has an error."""
    return _compile(obj, _taint_policy, bounds)


def compile_pulse_policy(obj: Object, bounds: Bounds = UNBOUNDED) -> tuple[PulsePolicy | None, list[Finding]]:
    """Compile one PulsePolicy; None where it has an error."""
    return _compile(obj, _pulse_policy, bounds, PULSE_VARIABLES)


def _compile(
    obj: Object,
    build: Callable[[Object, Compiler, Variables], Tree],
    bounds: Bounds,
    further: Mapping[str, Type] = MappingProxyType({}),
) -> tuple[Tree, list[Finding]]:
    """Compile a policy, or remember how the same files compiled on the same bounds: passes and watches ask again."""
    files = tuple((part.source.label, part.source.oid, part.index, part.item) for part in obj.parts)
    # A fleet may set parameters of a policy from elsewhere, so they are not told by the policy's files.
    key = (build, obj.id, bounds, files, repr(mapping_at(obj.spec, "params")))
    known = _compiled.get(key) if all(part.source.oid for part in obj.parts) else None
    if known is None:
        known = _compile_anew(obj, build, bounds, further)
        _compiled[key] = known
        if len(_compiled) > _MOST_COMPILED:
            _compiled.pop(next(iter(_compiled)))
    return known


def _compile_anew(
    obj: Object,
    build: Callable[[Object, Compiler, Variables], Tree],
    bounds: Bounds,
    further: Mapping[str, Type],
) -> tuple[Tree, list[Finding]]:
    target = _target(obj)
    compiler = Compiler(obj, policy_environment(target.kinds, {}, further, bounds))
    compiler.findings.extend(_target_findings(obj))
    variables = _variables(obj, target.kinds, compiler, further, bounds)
    policy = build(obj, compiler, variables)
    return (None if compiler.failed else policy), compiler.findings


def _condition_policy(obj: Object, compiler: Compiler, variables: Variables) -> ConditionPolicy:
    rules = []
    for index, rule in enumerate(mappings_at(obj.spec, "rules")):
        at = ("spec", "rules", index)
        rules.append(
            Rule(
                name=str(rule.get("name", index)),
                when=compiler.condition((*at, "when")) if "when" in rule else None,
                status=compiler.text(at, "status"),
                reason=compiler.text(at, "reason"),
                message=compiler.text(at, "message"),
                at=at,
                observed_generation=compiler.number((*at, OBSERVED)) if OBSERVED in rule else None,
            )
        )
    return ConditionPolicy(
        **_common(obj, compiler, variables), type=obj.spec["type"], rules=tuple(rules),
        hold_for=_hold_for(obj, compiler), hold_unhealthy=obj.spec.get("holdUnhealthy") is not False,
        hold_when=compiler.condition(("spec", HOLD_WHEN)) if HOLD_WHEN in obj.spec else None, reads=compiler.reads,
    )  # fmt: skip


def _hold_for(obj: Object, compiler: Compiler) -> dict[str, timedelta]:
    """How long each status must last: a duration, or `params.<name>` for one that a fleet may set."""
    found = {}
    for status, text in sorted(mapping_at(obj.spec, "holdFor").items()):
        name = text.removeprefix(_PARAMS)
        span = try_duration(dig(obj.spec, "params", name) if name != text else text)
        if span is None:
            compiler.refuse(
                ("spec", "holdFor", status), "MUS205", f"{text} is not a duration such as 30s",
                f"set spec.params.{name} to a duration" if name != text else "write 30s, 5m or 1h30m",
            )  # fmt: skip
        found[status] = span or timedelta(0)
    return found


def _taint_policy(obj: Object, compiler: Compiler, variables: Variables) -> TaintPolicy:
    taints, kinds = [], [kind.name for kind in _target(obj).kinds]
    taken = sorted({effect for kind in kinds for effect in TAINT_EFFECTS.get(kind, ())})
    for index, taint in enumerate(mappings_at(obj.spec, "taints")):
        at = ("spec", "taints", index, "when")
        if kinds and taint["effect"] not in taken:
            compiler.refuse(
                ("spec", "taints", index, "effect"), "MUS203",
                f"no {' or '.join(kinds)} takes the effect {taint['effect']!r}",
                f"it takes {', '.join(taken) or 'no taints'}",
            )  # fmt: skip
        taints.append(TaintRule(taint["key"], taint.get("value"), taint["effect"], compiler.condition(at), at))
    return TaintPolicy(**_common(obj, compiler, variables), taints=tuple(taints), of_silence=compiler.of_silence)


def _pulse_policy(obj: Object, compiler: Compiler, variables: Variables) -> PulsePolicy:
    rules = []
    for index, rule in enumerate(mappings_at(obj.spec, "rules")):
        at = ("spec", "rules", index, "when")
        name = str(rule.get("name", index))
        rules.append(PulseRule(name, compiler.condition(at), str(rule.get("reason") or name), at))
    event, backoff = mapping_at(obj.spec, "event"), mapping_at(obj.spec, "backoff")
    with_reason = compiler.with_variables({"reason": STRING})
    data = _payload(with_reason, ("spec", "event", "data"), event["data"]) if "data" in event else None
    return PulsePolicy(
        **_common(obj, compiler, variables),
        rules=tuple(rules),
        interval=parse_duration(obj.spec.get("interval", "5s")),
        backoff=Backoff(float(backoff["factor"]), parse_duration(backoff.get("max", "30m"))) if backoff else None,
        event=EventTemplate(event.get("type", ""), event.get("source", ""), event.get("topic", ""), data),
        sinks=frozenset(obj.spec.get("sinks") or ()),
    )


def _payload(compiler: Compiler, at: At, fields: Mapping[str, Tree]) -> Payload:
    return Payload(
        {
            name: _payload(compiler, (*at, name), part) if isinstance(part, dict) else compiler.value((*at, name))
            for name, part in fields.items()
        }
    )


def _common(obj: Object, compiler: Compiler, variables: Variables) -> dict[str, Tree]:
    guards = []
    for index, guard in enumerate(mappings_at(obj.spec, "matchConditions")):
        at = ("spec", "matchConditions", index, "expression")
        guards.append(Guard(str(guard.get("name", index)), compiler.condition(at), at))
    return {
        "id": obj.id, "source": obj, "target": _target(obj), "guards": tuple(guards), "variables": variables,
        "params": mapping_at(obj.spec, "params"),
    }  # fmt: skip


def _variables(
    obj: Object, kinds: tuple[Kind, ...], compiler: Compiler, further: Mapping[str, Type], bounds: Bounds
) -> Variables:
    """Compile the policy's variables; each sees those above it, with their types, and the rules see all."""
    programs: dict[str, cel.Program] = {}
    types: dict[str, Type] = {}
    for index, variable in enumerate(mappings_at(obj.spec, "variables")):
        program = compiler.value(("spec", "variables", index, "expression"))
        programs[variable["name"]] = program
        types[variable["name"]] = (program.type if program else None) or DYN
        compiler.environment = policy_environment(kinds, types, further, bounds)
    return programs


def _target_findings(obj: Object) -> list[Finding]:
    """A target that no kind is called is a slip, and the policy would silently decide nothing."""
    target = mapping_at(obj.spec, "target")
    named: dict[At, Tree] = {("kind",): target["kind"]} if "kind" in target else {}
    named |= {("kinds", index): name for index, name in enumerate(target.get("kinds") or ())}
    return [
        finding(
            "MUS203",
            f"no kind is called {name!r}",
            place_of(obj.parts, ("spec", "target", *path)),
            hint=did_you_mean(str(name), BY_NAME),
            object_=obj.id,
        )
        for path, name in named.items()
        if name not in BY_NAME
    ]


def _target(obj: Object) -> Target:
    target = mapping_at(obj.spec, "target")
    named = target.get("kinds") or [target.get("kind")]
    kinds = tuple(BY_NAME[name] for name in named if name in BY_NAME)
    return Target(kinds, LabelSelector.parse(target.get("selector")), frozenset(target.get("namespaces") or ()))


def in_reading_order(policies: Iterable[ConditionPolicy]) -> tuple[list[ConditionPolicy], list[ConditionPolicy]]:
    """Return the policies so that each comes after those whose conditions it reads, and those in a circle."""
    waiting = sorted(policies, key=lambda policy: policy.id)
    decided_by: dict[str, set[ObjectId]] = {}
    for policy in waiting:
        decided_by.setdefault(policy.type, set()).add(policy.id)
    needs = {
        policy.id: {id_ for type_ in policy.reads for id_ in decided_by.get(type_, ())} - {policy.id}
        for policy in waiting
    }
    ordered: list[ConditionPolicy] = []
    placed: set[ObjectId] = set()
    while ready := [policy for policy in waiting if needs[policy.id] <= placed]:
        ordered.extend(ready)
        placed.update(policy.id for policy in ready)
        waiting = [policy for policy in waiting if policy.id not in placed]
    return ordered, waiting
