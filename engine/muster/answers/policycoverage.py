"""What PolicyTests cover of the policies that they name: rules, and the branches of expressions.

A *branch* is something that can turn out in two ways: that a rule, a taint or a match condition holds and that it does
not; that an operand of `&&` or `||` is true and that it is false; that either arm of `? :` is taken. What never turned
out one way is not covered, and nobody knows whether the policy says there what it should. What stands inside a macro
(`exists`, `filter`) turns out many ways in one evaluation, and is not counted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from muster import cel
from muster.answers.reads import title_of
from muster.cel import ast
from muster.fleet.places import place_of
from muster.model.ids import ObjectId
from muster.model.source import Place
from muster.model.tree import At
from muster.policy.conditions import HOLD_WHEN, OBSERVED, ConditionPolicy
from muster.policy.in_force import Compiled
from muster.policy.lazy import VARIABLES_AT
from muster.policy.policies import Policy
from muster.policy.pulses import PulsePolicy
from muster.policy.remedies import Remedy
from muster.policy.taints import TaintPolicy
from muster.policy.witness import Evaluation

#: The fields whose expressions say whether something holds.
_ASKING: Final = frozenset(("when", "expression", HOLD_WHEN))
_LOGIC: Final = frozenset(("_&&_", "_||_"))
#: A branch: of which policy, where, which node of the expression (-1: a rule without any), and which way.
_Key = tuple[ObjectId, At, int, str]


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of a policy: of which expression (`rule lease-expired`), what of it (its text, empty for the whole),
    which way it can turn out, and where the expression stands."""

    policy: ObjectId
    expression: str
    part: str
    way: str
    place: Place

    def __str__(self) -> str:
        """`rule lease-expired: never false`."""
        of = f"{self.expression}: {self.part}" if self.part else self.expression
        return f"{of} is never {self.way}"


@dataclass
class Coverage:
    """The branches of the policies that are tested, and those that were seen."""

    _all: dict[_Key, Branch] = field(default_factory=dict)
    _seen: set[_Key] = field(default_factory=set)
    _variables: dict[tuple[ObjectId, At], At] = field(default_factory=dict)

    def declare(self, compiled: Compiled, names: Iterable[str]) -> None:
        """Count the branches of the policies that go by these names (`Kind/name`)."""
        wanted = frozenset(names)
        policies: tuple[Policy | Remedy, ...] = (
            *compiled.conditions, *compiled.taints, *compiled.pulses, *compiled.remedies,
        )  # fmt: skip
        for policy in policies:
            if str(policy.id) in wanted:
                self._all.update(_branches(policy))
                for index, name in enumerate(() if isinstance(policy, Remedy) else policy.variables):
                    self._variables[policy.id, (*VARIABLES_AT, name)] = (*VARIABLES_AT, index, "expression")

    def evaluated(self, seen: Iterable[Evaluation]) -> None:
        """Take note of evaluations."""
        for one in seen:
            at = self._at(one)
            values = one.result.trace.values if one.result.trace is not None else {}
            for node, value in values.items():
                self._seen.add((one.policy, at, node, "taken"))
                if isinstance(value, bool):
                    self._seen.add((one.policy, at, node, "true" if value else "false"))

    def _at(self, one: Evaluation) -> At:
        """Where the expression stands: of a variable its name is noted."""
        return self._variables.get((one.policy, one.at), one.at)

    def decided(self, rule: str) -> None:
        """Take note that a rule (`ConditionPolicy/ready#otherwise`) decided."""
        policy, _, name = rule.partition("#")
        kind, _, named = policy.partition("/")
        for key, branch in self._all.items():
            if (
                branch.way == "used"
                and key[0].kind == kind
                and key[0].name == named
                and branch.expression == f"rule {name}"
            ):
                self._seen.add(key)

    @property
    def total(self) -> int:
        """How many branches there are."""
        return len(self._all)

    @property
    def missing(self) -> list[Branch]:
        """Those that no test took, by policy and place."""
        left = (branch for key, branch in self._all.items() if key not in self._seen)
        return sorted(left, key=lambda branch: (branch.policy, branch.place, branch.part, branch.way))

    @property
    def percent(self) -> float:
        """How much is covered; all of nothing."""
        return 100.0 * (1 - len(self.missing) / self.total) if self.total else 100.0


def _branches(policy: Policy | Remedy) -> Iterator[tuple[_Key, Branch]]:
    for at, program in _expressions(policy):
        title, place = title_of(policy.source.spec, at), place_of(policy.source.parts, at)
        if program is None:
            yield (policy.id, at, -1, "used"), Branch(policy.id, title, "", "used", place)
            continue
        for node, ways in _branching(program.node, whole=at[-1] in _ASKING and at[:2] != VARIABLES_AT):
            part = "" if node is program.node else _text(program.text, node)
            for way in ways:
                yield (policy.id, at, node.id, way), Branch(policy.id, title, part, way, place)


def _expressions(policy: Policy | Remedy) -> Iterator[tuple[At, cel.Program | None]]:
    """The expressions of a policy by place; a rule that asks for nothing has none."""
    if isinstance(policy, Remedy):
        yield from ((one.at, one.when) for one in policy.expressions)
        return
    yield from ((guard.at, guard.when) for guard in policy.guards)
    for index, program in enumerate(policy.variables.values()):
        yield (*VARIABLES_AT, index, "expression"), program
    if isinstance(policy, TaintPolicy | PulsePolicy):
        yield from (
            (rule.at, rule.when) for rule in (policy.taints if isinstance(policy, TaintPolicy) else policy.rules)
        )
    elif isinstance(policy, ConditionPolicy):
        for each in policy.rules:
            yield (*each.at, "when"), each.when
            texts = (("status", each.status), ("reason", each.reason), ("message", each.message))
            yield from (((*each.at, f"{name}Expression"), text.program) for name, text in texts if text.program)
            if each.observed_generation is not None:
                yield (*each.at, OBSERVED), each.observed_generation
        if policy.hold_when is not None:
            yield ("spec", HOLD_WHEN), policy.hold_when


def _branching(root: ast.Node, *, whole: bool) -> Iterator[tuple[ast.Node, tuple[str, ...]]]:
    """The nodes that can turn out in several ways, and which."""
    if whole and not isinstance(root, ast.Literal):
        yield root, ("true", "false")
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Macro | ast.Bind):
            continue
        if isinstance(node, ast.Call) and node.function in _LOGIC:
            yield from ((arg, ("true", "false")) for arg in node.args if not isinstance(arg, ast.Literal))
        elif isinstance(node, ast.Call) and node.function == "_?_:_":
            yield from ((arg, ("taken",)) for arg in node.args[1:])
        pending.extend(ast.children(node))


def _text(text: str, node: ast.Node) -> str:
    """The text of a part of an expression, from its first name to its last."""
    offsets = [inner.offset for inner in ast.walk(node)]
    end = max(offsets)
    if text[end : end + 1] in "'\"":
        end = text.find(text[end], end + 1)
    while 0 <= end < len(text) - 1 and (text[end + 1].isalnum() or text[end + 1] in "_."):
        end += 1
    start = min(offsets)
    while text.count("(", start, end + 1) > text.count(")", start, end + 1) and (close := text.find(")", end + 1)) >= 0:
        end = close
    return " ".join(text[start : end + 1].split())
