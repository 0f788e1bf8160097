"""What PolicyTests cover of policies: which of their branches (`muster.features.test.branches`) some case took.

What no case took is not covered, and nobody knows whether the policy says there what it should. A case covers the
policies that its test names and no others: that another one happened to be asked says nothing of it. So a policy that
no test names is not covered at all.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from muster.data.decision import Decision, Held, Pulse
from muster.data.ids import ObjectId
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
    """How much of one policy is covered: the branches that no case took, by place, of how many; and whether any test
    names it."""

    policy: ObjectId
    total: int
    missing: tuple[PolicyBranch, ...]
    named: bool

    @property
    def covered(self) -> int:
        """How many of its branches some case took."""
        return self.total - len(self.missing)

    @property
    def percent(self) -> float:
        """The same as a share."""
        return 100 * self.covered / self.total


@dataclass
class Coverage:
    """The branches of the policies that are to be covered, and those that cases took."""

    _branches: Mapping[ObjectId, Mapping[Key, PolicyBranch]] = field(default_factory=dict)
    _named: set[str] = field(default_factory=set)
    _seen: set[tuple[ObjectId | None, Key]] = field(default_factory=set)

    def declare(self, branches: Mapping[ObjectId, Mapping[Key, PolicyBranch]], named: Iterable[str]) -> None:
        """Count the branches of these policies, of which tests name some (`Kind/name`)."""
        self._branches = branches
        self._named.update(named)

    def take(self, run: Run, seen: Iterable[Evaluation], named: Collection[str]) -> None:
        """Take note of a step of a test that names these policies: what was decided, and how expressions turned out."""
        self._evaluated(one for one in seen if str(one.policy) in named)
        self._decided(rules_of(run), named)
        self._budgets(run, named)

    def _evaluated(self, seen: Iterable[Evaluation]) -> None:
        for one in seen:
            if (trace := one.result.trace) is not None:
                self._seen.update((one.policy, (one.at, node, "taken")) for node in trace.values)
                ways = ((node, "true" if value else "false") for node, value in trace.outcomes)
                self._seen.update((one.policy, (one.at, node, way)) for node, way in ways)

    def _decided(self, rules: Collection[str], named: Collection[str]) -> None:
        """What has no expression: it decided (`ConditionPolicy/ready#otherwise`, or a policy as a whole)."""
        for policy, branches in self._branches.items():
            for key, branch in branches.items():
                of = f"{policy}#{branch.expression.removeprefix('rule ')}"
                if key[1:] == (NO_NODE, USED) and str(policy) in named and (of in rules or str(policy) in rules):
                    self._seen.add((policy, key))

    def _budgets(self, run: Run, named: Collection[str]) -> None:
        allowance = run.context.broadcast(Allowance) if run.context is not None else None
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
        """How much of each policy is covered, by id."""
        return [
            PolicyCoverage(id_, len(branches), self._missing(id_, branches), str(id_) in self._named)
            for id_, branches in sorted(self._branches.items())
        ]

    def _missing(self, id_: ObjectId, branches: Mapping[Key, PolicyBranch]) -> tuple[PolicyBranch, ...]:
        left = (branch for key, branch in branches.items() if (id_, key) not in self._seen)
        return tuple(sorted(left, key=lambda branch: (branch.place, branch.part, branch.way)))

    @property
    def total(self) -> int:
        """How many branches there are."""
        return sum(map(len, self._branches.values()))

    @property
    def percent(self) -> float:
        """How much is covered; all of nothing."""
        return 100 * sum(one.covered for one in self.policies) / self.total if self.total else 100.0


def rules_of(run: Run) -> frozenset[str]:
    """The rules by which anything was decided, is due or was held: `Kind/name#rule`, or `Kind/name` for all of it."""
    decisions = (decision for by_path in run.fleet.decided.values() for decision in by_path.values())
    reasons = (one.because for one in chain[Decision | Pulse | Held](decisions, run.fleet.pulses, run.fleet.held))
    return frozenset(rule for because in reasons for rule in because.rule.split(", "))
