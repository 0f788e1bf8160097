"""`explain`: why a field of an object has its value.

Nothing is evaluated a second time: a witness (`muster.rules.policies.lazy`) records the evaluations about the object
while the run decides.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from muster.cel.access import FieldAccess, accesses
from muster.cel.runtime.describe import shown
from muster.data.decision import Because, Decision, Held, Pulse, Wake
from muster.data.ids import ObjectId
from muster.data.kinds import ADD_ON_PLACEMENT_SCORE, MANAGED_CLUSTER, PLACEMENT, PLACEMENT_DECISION, kind_of
from muster.data.names import did_you_mean, few
from muster.data.times import format_time, try_time
from muster.data.tree import At, Tree, dig
from muster.features.explain.reads import Reader, field_label, title_of
from muster.rules.placements.reasons import why
from muster.rules.placements.shards import PLACEMENT_LABEL
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.lazy import VARIABLES_AT, Evaluation, Witness
from muster.rules.rollouts.policy import Rollout
from muster.rules.rollouts.reasons import clusters_of_rollout, why_revision
from muster.run.explained import EvaluatedRule, Explained, Explanation, Read
from muster.run.run import Run

#: The fields of a rule whose expressions say whether it holds; and those plus the one that gives its outcome.
_CONDITION_FIELDS: Final = frozenset(("when", "expression"))
_DECISIVE_FIELDS: Final = _CONDITION_FIELDS | {"statusExpression"}
#: The fields below `status.muster` that are shown.
_SHOWN: Final = frozenset(("held", "pending", "removed", "agentRef", "rollouts", "projections"))

_SATISFIED: Final = "status.conditions[PlacementSatisfied]"


class NothingDecided(ValueError):  # noqa: N818 - no error of muster's
    """The object, or its field, has no decision."""


def explain(run: Run, witness: Witness, id_: ObjectId, field: str = "") -> Explanation:
    """Explain the fields of an object: all but bookkeeping, or those that `field` names.

    `witness`: the one given to the run. `field` is a path (`status.conditions[Available]`), or its beginning or last
    part (`conditions`, `Available`); for a Placement also the name of a cluster. Raises NothingDecided, with the
    possible names, if nothing matches.
    """
    fleet = run.fleet
    # The expression of a derived score reads its cluster.
    reader = Reader(fleet, MANAGED_CLUSTER.id(id_.namespace) if ADD_ON_PLACEMENT_SCORE.has(id_) else id_)
    seen = _latest(witness, id_)
    decisions = sorted(fleet.decisions(id_).values(), key=lambda decision: field_label(decision.path))
    everything = [
        *(_of_decision(reader, seen, decision) for decision in decisions),
        *(_of_event(reader, seen, "held", held.effect, held) for held in fleet.held if held.object == id_),
        *(_of_event(reader, seen, "pulse", pulse.policy, pulse) for pulse in fleet.pulses if pulse.object == id_),
        *(
            _of_wake(reader, seen, wake)
            for wake in fleet.wakes
            if wake.deadline and wake.object == id_ and wake.horizon > run.now
        ),
    ]
    placement = _placement(fleet, id_)
    choices = why(fleet, run.now, placement) if placement is not None else ()
    if not field:
        fields = tuple(make() for label, make in everything if not _is_bookkeeping(label))
        if not fields and not choices:
            raise NothingDecided(f"nothing is decided about {id_}")
        return Explanation(id_, run.now, fields, choices)
    if named := tuple(choice for choice in choices if choice.cluster == field):
        return Explanation(id_, run.now, (), named)
    if (revision := _revision(run, id_, field)) is not None:
        return Explanation(id_, run.now, (revision,))
    matching = tuple(make() for label, make in everything if _is_named(label, field))
    if not matching:
        matching = tuple(
            _of_decision(reader, seen, decision)[1]() for decision in decisions if _has_key(decision, field)
        )
    if not matching:
        labels = [label for label, _ in everything if not _is_bookkeeping(label)]
        hint = did_you_mean(field, [label.rpartition("[")[2].rstrip("]") for label in labels])
        raise NothingDecided(
            f"{id_} has no decided field {field!r}; {hint or f'there are {few(labels)}' if labels else ''}".rstrip("; ")
        )
    # The condition has upstream's text, which blames predicates; the clusters' own reasons are exact.
    exact = choices if any(explained.label == _SATISFIED for explained in matching) else ()
    return Explanation(id_, run.now, matching, exact)


def decided_values(run: Run, id_: ObjectId, field: str) -> dict[str, Tree]:
    """Return the decided fields of an object that `field` names, and effects that are held, by label, without what
    tells only when: for a Placement and the name of a cluster, whether it is chosen; without a field, also each cluster
    that it chooses. Empty if nothing is decided."""
    fleet = run.fleet
    placement = _placement(fleet, id_)
    choices = why(fleet, run.now, placement) if placement is not None and id_ in fleet.objects else ()
    if named := {choice.cluster: choice.selected for choice in choices if choice.cluster == field}:
        return dict(named)
    chosen = {f"cluster {choice.cluster}": True for choice in choices if choice.selected and not field}
    values: dict[str, Tree] = chosen | {
        field_label(path): _timeless(decision.value)
        for path, decision in fleet.decisions(id_).items()
        if decision.value is not None
    }
    values |= {f"held {held.effect}": held.reason for held in fleet.held if held.object == id_}
    return {
        label: value
        for label, value in sorted(values.items())
        if (_is_named(label, field) if field else not _is_bookkeeping(label))
    }


#: Fields that say since when, or about which version of an object.
_TIMES: Final = frozenset(("lastTransitionTime", "timeAdded", "observedGeneration", "since"))


def _timeless(value: Tree) -> Tree:
    if isinstance(value, dict):
        return {name: _timeless(inner) for name, inner in value.items() if name not in _TIMES}
    return [_timeless(inner) for inner in value] if isinstance(value, list) else value


def _revision(run: Run, id_: ObjectId, cluster: str) -> Explained | None:
    """Why a cluster of a Rollout has its revision; None for another object, or no cluster of it."""
    rollout = next((candidate for candidate in run.fleet.compiled.of(Rollout) if candidate.id == id_), None)
    if rollout is None or cluster not in clusters_of_rollout(run.fleet, rollout):
        return None
    until = next((made.horizon for made in run.fleet.decisions(id_).values() if made.horizon is not None), None)
    text = why_revision(run.fleet, rollout, cluster)
    place = Reader(run.fleet, id_).place(id_, ("spec",))
    return Explained("field", f"cluster {cluster}", text, None, str(id_), place, "", (), (), until)


#: A field's label, and its explanation, made on demand.
_Entry: TypeAlias = tuple[str, Callable[[], Explained]]
#: The evaluations about an object, by policy and place.
_Seen: TypeAlias = Mapping[tuple[ObjectId, At], Evaluation]


def _is_bookkeeping(label: str) -> bool:
    first, _, rest = label.partition("status.muster.")
    return (not first and bool(rest) and rest.partition(".")[0] not in _SHOWN) or label == "metadata.annotations"


def _is_named(label: str, field: str) -> bool:
    """Does `field` match a label: the whole path, its beginning, a step, or the key in its brackets?"""
    wanted, name = field.casefold(), label.casefold()
    if name == wanted or name.startswith((f"{wanted}.", f"{wanted}[")):
        return True
    path, _, key = name.removesuffix("]").partition("[")
    return wanted in (key, key.rpartition("/")[2], f"{path.rpartition('.')[2]}[{key}]") or wanted in path.split(".")


def _has_key(decision: Decision, field: str) -> bool:
    """Is `field` a key of a decided mapping, such as one of the labels: alone, or after the mapping's path?"""
    keys = decision.value.keys() if isinstance(decision.value, dict) else ()
    return any(
        field in (key, f"{field_label(decision.path)}.{key}", f"{field_label(decision.path)}[{key}]") for key in keys
    )


def _latest(witness: Witness, id_: ObjectId) -> dict[tuple[ObjectId, At], Evaluation]:
    """The last evaluation of each expression about an object, which decided, in their order."""
    latest: dict[tuple[ObjectId, At], Evaluation] = {}
    for evaluation in witness.seen:
        if evaluation.object == id_:
            latest.pop((evaluation.policy, evaluation.at), None)
            latest[evaluation.policy, evaluation.at] = evaluation
    return latest


def _of_decision(reader: Reader, seen: _Seen, decision: Decision) -> _Entry:
    label = field_label(decision.path)
    value = decision.value
    since = try_time(dig(value, "lastTransitionTime") or dig(value, "timeAdded"))
    return label, lambda: _explained(
        reader, seen, decision.because, sort="field", label=label, value=value, since=since, until=decision.horizon
    )


def _of_event(reader: Reader, seen: _Seen, sort: str, name: str, event: Held | Pulse) -> _Entry:
    label = f"{sort} {name}"
    return label, lambda: _explained(
        reader, seen, event.because, sort=sort, label=label, value=event.reason, since=None, until=event.horizon
    )


def _of_wake(reader: Reader, seen: _Seen, wake: Wake) -> _Entry:
    label = "next change by time"
    return label, lambda: _explained(
        reader,
        seen,
        wake.because,
        sort="wake",
        label=label,
        value=format_time(wake.horizon),
        since=None,
        until=wake.horizon,
    )


def _explained(
    reader: Reader,
    seen: _Seen,
    because: Because,
    *,
    sort: str,
    label: str,
    value: Tree,
    since: datetime | None,
    until: datetime | None,
) -> Explained:
    rule_of, rule_at = _rule(because)
    policies = {read.object for read in because.inputs if read.object is not None}
    evaluated = list(
        _evaluated(reader, [candidate for key, candidate in seen.items() if key[0] in policies], rule_of, rule_at)
    )
    reads, other_reads = dict[Read, None](), dict[Read, None]()
    for rule, evaluation in evaluated:
        (reads if rule.decides else other_reads).update(dict.fromkeys(reader.of_evaluation(evaluation)))
    for read in because.inputs:
        if read.object is None or read.object != rule_of or not evaluated:
            reads.update(dict.fromkeys(reader.of_input(read)))
    place = reader.place(rule_of, rule_at) if rule_of is not None else None
    rules = tuple(rule for rule, _ in evaluated)
    return Explained(
        sort, label, value, since, because.rule, place, because.text, rules, tuple(reads), until, tuple(other_reads)
    )


def _rule(because: Because) -> tuple[ObjectId | None, At]:
    """The policy and the place in it that decided; None if the rule is not an object of the fleet."""
    first = because.inputs[0]
    if first.object is not None and because.rule.startswith(str(first.object)):
        return first.object, tuple(step for step in first.path if not isinstance(step, tuple))
    return None, ()


def _evaluated(
    reader: Reader, evaluations: Sequence[Evaluation], rule_of: ObjectId | None, rule_at: At
) -> Iterator[tuple[EvaluatedRule, Evaluation]]:
    decisive = _decisive(evaluations, rule_of, rule_at)
    for evaluation in evaluations:
        assert evaluation.result.trace is not None
        decides = (evaluation.policy, evaluation.at) in decisive
        gave = (
            f"error: {evaluation.result.error.message}" if evaluation.result.error else shown(evaluation.result.value)
        )
        source = reader.source(evaluation.policy)
        title = title_of(source.spec if source is not None else {}, evaluation.at)
        yield (
            EvaluatedRule(
                title, reader.place(evaluation.policy, evaluation.at), evaluation.result.trace, gave, decides
            ),
            evaluation,
        )


def _decisive(evaluations: Sequence[Evaluation], rule_of: ObjectId | None, rule_at: At) -> set[tuple[ObjectId, At]]:
    """The expressions that made the rule hold, and the variables that they read, without those of its message. For a
    rule without a condition: those of the rules before it, which did not hold."""
    of_policy = [
        evaluation
        for evaluation in evaluations
        if evaluation.policy == rule_of and evaluation.at[-1] in _DECISIVE_FIELDS
    ]
    chosen = [evaluation for evaluation in of_policy if evaluation.at[: len(rule_at)] == rule_at]
    if not any(evaluation.at[-1] in _CONDITION_FIELDS for evaluation in chosen):
        chosen += [
            evaluation
            for evaluation in of_policy
            if evaluation.at[-1] in _CONDITION_FIELDS and evaluation.at[1] == "rules"
        ]
    decisive = {(evaluation.policy, evaluation.at) for evaluation in chosen}
    wanted = set[str]()
    for evaluation in reversed(evaluations):  # a variable stands before what reads it
        if (evaluation.policy, evaluation.at) in decisive or (
            evaluation.at[:2] == VARIABLES_AT and evaluation.at[2] in wanted
        ):
            decisive.add((evaluation.policy, evaluation.at))
            wanted.update(str(read.steps[0]) for read in _variables(evaluation))
    return decisive


def _variables(evaluation: Evaluation) -> Iterator[FieldAccess]:
    """The variables of its policy that an expression reads."""
    for read in accesses(evaluation.program.node).values():
        if read.variable == "variables" and read.steps:
            yield read


def _placement(fleet: FleetWithPolicies, id_: ObjectId) -> ObjectId | None:
    """The Placement itself, or the one that a PlacementDecision belongs to."""
    if kind_of(id_) is PLACEMENT:
        return id_
    if kind_of(id_) is PLACEMENT_DECISION:
        labels = fleet.now(id_, "metadata", "labels")
        name = dig(labels, PLACEMENT_LABEL)
        return PLACEMENT.id(name, id_.namespace) if isinstance(name, str) else None
    return None
