"""The coverage of policies by PolicyTests: the branches (`muster.features.test.branches`) that cases have taken.

A case covers only the policies that its test names: the results of others are not checked. So a policy that no test
names is not covered at all.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from itertools import chain

from muster.data.decision import Decision, Held, Pulse
from muster.data.ids import ObjectId
from muster.dataclass import dataclass
from muster.features.test.branches import (
    AWAITED,
    EXCEEDED,
    KEPT,
    MIN_BACKENDS,
    NO_NODE,
    REACHED,
    USED,
    Key,
    PolicyBranch,
    budget_key,
)
from muster.rules.effects.allowance import Allowance
from muster.rules.effects.approval import REMOVAL
from muster.rules.policies.lazy import Evaluation
from muster.run.run import Run


@dataclass(frozen=True, slots=True)
class PolicyCoverage:
    """The coverage of one policy: the branches that no case has taken, by place, the number of all branches, and
    whether a test names the policy."""

    policy: ObjectId
    total: int
    missing: tuple[PolicyBranch, ...]
    named: bool

    @property
    def covered(self) -> int:
        """How many branches are covered."""
        return self.total - len(self.missing)

    @property
    def percent(self) -> float:
        """The share of branches that are covered."""
        return 100 * self.covered / self.total


@dataclass
class Coverage:
    """The branches of policies, and those that cases have taken."""

    _branches: Mapping[ObjectId, Mapping[Key, PolicyBranch]] = field(default_factory=dict)
    _named: set[str] = field(default_factory=set)
    _seen: set[tuple[ObjectId | None, Key]] = field(default_factory=set)

    def declare(self, branches: Mapping[ObjectId, Mapping[Key, PolicyBranch]], named: Iterable[str]) -> None:
        """Add the branches of policies, and the policies that tests name (`Kind/name`)."""
        self._branches = branches
        self._named.update(named)

    def take(self, run: Run, seen: Iterable[Evaluation], named: Collection[str]) -> None:
        """Add the branches that a step has taken, of the policies that its test names."""
        self._evaluated(evaluation for evaluation in seen if str(evaluation.policy) in named)
        self._decided(rules_of(run), named)
        self._budgets(run, named)

    def _evaluated(self, seen: Iterable[Evaluation]) -> None:
        for evaluation in seen:
            if (trace := evaluation.result.trace) is not None:
                self._seen.update((evaluation.policy, (evaluation.at, node, "taken")) for node in trace.values)
                ways = ((node, "true" if value else "false") for node, value in trace.outcomes)
                self._seen.update((evaluation.policy, (evaluation.at, node, way)) for node, way in ways)

    def _decided(self, rules: Collection[str], named: Collection[str]) -> None:
        """Add branches without an expression whose rule (`ConditionPolicy/ready#otherwise`) or policy decided."""
        for policy, branches in self._branches.items():
            for key, branch in branches.items():
                of = f"{policy}#{branch.expression.removeprefix('rule ')}"
                if key[1:] == (NO_NODE, USED) and str(policy) in named and (of in rules or str(policy) in rules):
                    self._seen.add((policy, key))

    def _budgets(self, run: Run, named: Collection[str]) -> None:
        allowance = run.terms.of(Allowance) if run.terms is not None else None
        if allowance is None:
            return
        over = {holding.budget.id for holding in allowance.holding}
        for budget in allowance.budgets:
            if str(budget.id) in named and budget.id not in over:
                self._seen.add((budget.id, budget_key("maxDisrupted", KEPT)))
        for holding in allowance.holding:
            if str(holding.budget.id) not in named:
                continue
            if holding.disrupted > holding.allowed:
                self._seen.add((holding.budget.id, budget_key("maxDisrupted", EXCEEDED)))
            if holding.suspicious:
                self._seen.add((holding.budget.id, budget_key("suspectObserverAt", REACHED)))
            if holding.met is not None:
                self._seen.add((holding.budget.id, budget_key("cooldown", AWAITED)))
        for held in run.fleet.held:
            for read in held.because.inputs if held.because.rule in named else ():
                if held.effect == REMOVAL:
                    self._seen.add((read.object, budget_key("maxRemoved", EXCEEDED)))
                elif read.path == ("spec", MIN_BACKENDS):
                    self._seen.add((read.object, budget_key(MIN_BACKENDS, REACHED)))

    @property
    def policies(self) -> list[PolicyCoverage]:
        """The coverage of each policy, by id."""
        return [
            PolicyCoverage(id_, len(branches), self._missing(id_, branches), str(id_) in self._named)
            for id_, branches in sorted(self._branches.items())
        ]

    def _missing(self, id_: ObjectId, branches: Mapping[Key, PolicyBranch]) -> tuple[PolicyBranch, ...]:
        left = (branch for key, branch in branches.items() if (id_, key) not in self._seen)
        return tuple(sorted(left, key=lambda branch: (branch.place, branch.part, branch.way)))

    @property
    def total(self) -> int:
        """The number of all branches."""
        return sum(map(len, self._branches.values()))

    @property
    def percent(self) -> float:
        """The share of covered branches; 100 if there are none."""
        return 100 * sum(policy.covered for policy in self.policies) / self.total if self.total else 100.0


def rules_of(run: Run) -> frozenset[str]:
    """The rules behind decisions, pulses and held effects: `Kind/name#rule`, or `Kind/name` for a whole policy."""
    decisions = (decision for by_path in run.fleet.decided.values() for decision in by_path.values())
    reasons = (
        outcome.because for outcome in chain[Decision | Pulse | Held](decisions, run.fleet.pulses, run.fleet.held)
    )
    return frozenset(rule for because in reasons for rule in because.rule.split(", "))
