"""Compiled TaintPolicies: which taints, and when."""

from typing import Final

from muster import cel
from muster.data.codes import Code
from muster.data.decision import Because, Input
from muster.data.kinds import TAINT_EFFECTS, TAINT_POLICY
from muster.data.tree import At, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.rules.policies.expressions import Compiler
from muster.rules.policies.grounds import ConditionTypes, Grounds
from muster.rules.policies.policies import Policy, PolicyFields, PolicyKind


@dataclass(frozen=True, slots=True)
class TaintRule:
    """One taint of a TaintPolicy and its condition. `ground`: the digest of its condition and guards. `recorded`: the
    policy does not handle the silence of all the conditions that it reads."""

    key: str
    value: str | None
    effect: str
    when: cel.Program
    at: At
    because: Because
    ground: str
    recorded: bool


@dataclass(frozen=True, slots=True)
class TaintPolicy(Policy):
    """Decides taints. `silence_handled`: the conditions whose silence it handles itself, for example by a taint for
    Unknown."""

    taints: tuple[TaintRule, ...]
    silence_handled: ConditionTypes = ConditionTypes()


def _taint_policy(obj: Object, compiler: Compiler, common: PolicyFields) -> TaintPolicy:
    kinds = [kind.name for kind in common["target"].kinds]
    taken = sorted({effect for kind in kinds for effect in TAINT_EFFECTS.get(kind, ())})
    entries = mappings_at(obj.spec, "taints")
    whens = [compiler.condition(("spec", "taints", index, "when")) for index in range(len(entries))]
    guards = [guard.when for guard in common["guards"]]
    grounds = Grounds.of(common["variables"], common["params"])
    handled = grounds.silence_handled((*common["variables"].values(), *guards, *whens))
    taints = []
    for index, (taint, when) in enumerate(zip(entries, whens, strict=True)):
        at = ("spec", "taints", index, "when")
        if kinds and taint["effect"] not in taken:
            compiler.refuse(
                ("spec", "taints", index, "effect"),
                Code.VALUE_NOT_ALLOWED,
                f"no {' or '.join(kinds)} takes the effect {taint['effect']!r}",
                f"it takes {', '.join(taken) or 'no taints'}",
            )
        because = Because(f"{obj.id}#{taint['key']}:{taint['effect']}", (Input(at, obj.id),))
        recorded = handled == ConditionTypes() or not handled.covers(grounds.types_read(when, *guards))
        ground = grounds.digest(when, guards)
        taints.append(TaintRule(taint["key"], taint.get("value"), taint["effect"], when, at, because, ground, recorded))
    return TaintPolicy(**common, taints=tuple(taints), silence_handled=handled)


TAINT_POLICIES: Final = PolicyKind(TAINT_POLICY, _taint_policy)
