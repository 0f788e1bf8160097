"""Can any cluster be in a stage of a Rollout, whatever its labels and claims are?

A stage has the clusters of the Placement that it selects and no stage before it does. Only selectors count: a predicate
with expressions, a cluster set, a taint or a number of clusters never makes a stage impossible here.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from muster.cel.types import STRING
from muster.data.kinds import PLACEMENT
from muster.features.lint.proving.logic import Formula, both, every, negation, same, some
from muster.features.lint.proving.solver import MAX_STEPS, Nothing, Solver
from muster.features.lint.proving.values import SymbolicText
from muster.features.lint.proving.world import Fields, SymbolicWorld
from muster.fleet.fleet import Fleet
from muster.rules.placements.policy import Predicate, compile_placement
from muster.rules.placements.spec import Group
from muster.rules.policies.selectors import LabelSelector, Requirement
from muster.rules.rollouts.policy import Rollout, RolloutStage

_CONTRADICTION: Final = "its selector contradicts itself"


def unreachable_stages(fleet: Fleet, rollout: Rollout, most_steps: int = MAX_STEPS) -> Mapping[str, str]:
    """Return why, for each stage that no cluster can be in, by name. Not those behind a stage that selects everything,
    which `muster.rules.rollouts.lint` reports."""
    obj = fleet.objects.get(rollout.placement)
    spec = compile_placement(obj)[0] if obj is not None else None
    if rollout.strategy is not None or spec is None or spec.spec is None:
        return {}
    facts = _Facts()
    before: dict[str, Formula] = {}
    unreachable: dict[str, str] = {}
    solver = Solver(facts.world, most_steps)
    placed = some(map(facts.predicate, spec.predicates)) if spec.predicates else True
    groups = facts.groups(spec.spec.groups)
    for stage in rollout.stages:
        selected = both(facts.selected(facts.labels, stage.selector), _in_groups(stage, groups))
        if selected is True:
            break
        names_groups = not stage.groups or any(
            name in groups for name in stage.groups
        )  # a finding of its own otherwise
        others = [placed, *map(negation, before.values())]
        if names_groups and solver.find(both(selected, *others)) is Nothing.NEVER:
            kept = solver.needed(selected, others)
            unreachable[stage.name] = _why(list(before), kept)
        before[stage.name] = selected
    return unreachable


def _in_groups(stage: RolloutStage, groups: Mapping[str, Formula]) -> Formula:
    return some(groups.get(name, False) for name in stage.groups) if stage.groups else True


def _why(names: Sequence[str], kept: Sequence[int] | None) -> str:
    """Why no cluster reaches a stage: `kept` are the indexes of what prevents it, the Placement first."""
    if kept == []:
        return _CONTRADICTION
    shadows = [repr(names[index - 1]) for index in kept or () if index]
    by_placement = f"{PLACEMENT.name} does not choose" if kept is None or 0 in kept else ""
    if not shadows:
        return f"its {by_placement} what it selects"
    taken = f"{' or '.join(shadows)} before it takes each cluster that it selects"
    return f"{taken}, or its {by_placement} it" if by_placement else taken


class _Facts:
    """The labels and claims of any cluster."""

    def __init__(self) -> None:
        self.world = SymbolicWorld()
        self.labels = Fields(lambda key: self.world.optional(STRING, f"label {key}"))
        self.claims = Fields(lambda key: self.world.optional(STRING, f"claim {key}"))

    def selected(self, facts: Fields, selector: LabelSelector) -> Formula:
        """The facts meet a selector."""
        return every(_meets(facts, requirement) for requirement in selector.requirements)

    def predicate(self, predicate: Predicate) -> Formula:
        """The Placement may choose the cluster by this predicate."""
        return both(self.selected(self.labels, predicate.labels), self.selected(self.claims, predicate.claims))

    def groups(self, groups: Sequence[Group]) -> Mapping[str, Formula]:
        """The cluster is in a decision group, by name: the first that selects it."""
        formulas: dict[str, Formula] = {}
        earlier: list[Formula] = []
        for group in groups:
            selected = both(self.selected(self.labels, group.labels), self.selected(self.claims, group.claims))
            in_group = both(selected, *map(negation, earlier))
            formulas[group.name] = some((formulas.get(group.name, False), in_group))
            earlier.append(selected)
        return formulas


def _meets(facts: Fields, requirement: Requirement) -> Formula:
    present, cases = facts.entry(requirement.key)
    if requirement.operator in ("Exists", "DoesNotExist"):
        return present if requirement.operator == "Exists" else negation(present)
    among = some(
        same(atom.term, value)
        for _, atom in cases
        if isinstance(atom, SymbolicText)
        for value in sorted(requirement.values)
    )
    is_in = both(present, among)
    return is_in if requirement.operator == "In" else negation(is_in)
