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
from muster.rules.policies.policies import Policy, PolicyFields, PolicyKind


@dataclass(frozen=True, slots=True)
class TaintRule:
    """One taint of a TaintPolicy and its condition."""

    key: str
    value: str | None
    effect: str
    when: cel.Program
    at: At
    because: Because


@dataclass(frozen=True, slots=True)
class TaintPolicy(Policy):
    """Decides taints. `handles_silence`: it handles silence itself, for example by a taint for Unknown."""

    taints: tuple[TaintRule, ...]
    handles_silence: bool = False


def _taint_policy(obj: Object, compiler: Compiler, common: PolicyFields) -> TaintPolicy:
    taints, kinds = [], [kind.name for kind in common["target"].kinds]
    taken = sorted({effect for kind in kinds for effect in TAINT_EFFECTS.get(kind, ())})
    for index, taint in enumerate(mappings_at(obj.spec, "taints")):
        at = ("spec", "taints", index, "when")
        if kinds and taint["effect"] not in taken:
            compiler.refuse(
                ("spec", "taints", index, "effect"), Code.VALUE_NOT_ALLOWED,
                f"no {' or '.join(kinds)} takes the effect {taint['effect']!r}",
                f"it takes {', '.join(taken) or 'no taints'}",
            )  # fmt: skip
        because = Because(f"{obj.id}#{taint['key']}:{taint['effect']}", (Input(at, obj.id),))
        when = compiler.condition(at)
        taints.append(TaintRule(taint["key"], taint.get("value"), taint["effect"], when, at, because))
    return TaintPolicy(**common, taints=tuple(taints), handles_silence=compiler.handles_silence)


TAINT_POLICIES: Final = PolicyKind(TAINT_POLICY, _taint_policy)
