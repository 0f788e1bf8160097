"""The stage of ScorePolicies: AddOnPlacementScores, derived cluster by cluster.

- Of several policies for one score of a cluster, the first by name counts. An AddOnPlacementScore that a person or an
  agent writes counts instead of a derived one with its name.
- A score with `validFor` is renewed when half of that time is over, so that a consumer that muster no longer reaches
  sees it expire, and no other does.
- If the expression fails, or the policy has an error, the last value stays until it expires. So it does if the policy
  has another name since.
- A value outside of what upstream's CRD allows, -100 to 100, counts as the nearest that it does; a finding says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from functools import cached_property
from typing import Final

from muster import cel
from muster.data.codes import Code
from muster.data.decision import OF_ITSELF, Because, Decision, Failed
from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import ADD_ON_PLACEMENT_SCORE, MANAGED_CLUSTER, SCORE_POLICY, of_kinds
from muster.data.times import earliest, format_time, later, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.fleet.view import View
from muster.rules.conditions.stage import guards_hold
from muster.rules.failures import Failures, PolicyFailure
from muster.rules.policies.in_force import InForce
from muster.rules.policies.scopes import Scopes
from muster.rules.retention import as_it_stands
from muster.rules.scores.policy import AT, HIGHEST, LOWEST, ScorePolicy, score_of
from muster.rules.stages import STATUS, GoverningObjects, Local

_BOOK: Final = ("status", "muster", "scores")
_KEPT: Final = Because("kept", OF_ITSELF, "its cluster has an error, so the scores stay as they are")


@dataclass(frozen=True, slots=True)
class DerivedScore:
    """One score: its value, the policy behind it, and when it was decided last. `until` None: it does not expire."""

    value: int
    policy: str
    since: datetime
    until: datetime | None

    def entry(self) -> Tree:
        """Return the score as the next run reads it."""
        return {"policy": self.policy, "since": format_time(self.since)} | (
            {} if self.until is None else {"until": format_time(self.until)}
        )


def stage(
    view: View, now: datetime, rules: InForce, governing: GoverningObjects
) -> Iterator[Decision | Failed | Finding]:
    """Decide the scores of every cluster."""
    scoring = _Scoring(view, governing, Scopes.of(view, rules, now), Failures(), now)
    if not scoring.policies and not scoring.derived:
        return
    for id_ in sorted(id_ for ids in scoring.derived.values() for id_ in ids):
        if MANAGED_CLUSTER.id(id_.namespace) in view.broken and id_ not in view.objects:
            yield from as_it_stands(view, id_, _KEPT)
    yield from each(view.of(MANAGED_CLUSTER), scoring.decide)
    yield from scoring.failures.failed


@dataclass(frozen=True)
class _Scoring:
    view: View
    governing: GoverningObjects
    scopes: Scopes
    failures: Failures
    now: datetime
    horizons: dict[ObjectId, list[datetime | None]] = field(default_factory=dict)

    @cached_property
    def policies(self) -> tuple[ScorePolicy, ...]:
        return self.scopes.rules.compiled.of(ScorePolicy)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the policies that can be read."""
        return frozenset(policy.id.name for policy in self.policies)

    @cached_property
    def derived(self) -> Mapping[str, list[ObjectId]]:
        """The AddOnPlacementScores that the last run derived, by cluster."""
        return grouped((id_.namespace, id_) for id_ in of_kinds(self.view.previous, ADD_ON_PLACEMENT_SCORE))

    def _is_unread(self, score: "DerivedScore") -> bool:
        """Can its policy not say what it decides now?"""
        return self.governing.is_unread(SCORE_POLICY.id(score.policy))

    def decide(self, obj: Object) -> Iterator[Decision | Finding]:
        """The scores of one cluster."""
        before = {id_: _scores_before(self.view.previous[id_]) for id_ in self.derived.get(obj.id.name, ())}
        by_object: dict[ObjectId, dict[str, DerivedScore]] = {}
        reasons: dict[ObjectId, list[Because]] = {}
        base, reported = None, set[ObjectId]()
        for policy in self.policies if not obj.deleting else ():
            id_ = policy.of(obj.id.name)
            if not policy.target.selects(obj) or policy.score in by_object.get(id_, ()):
                continue
            if id_ in self.view.objects or id_ in self.view.broken:
                if id_ in self.view.objects and id_ not in reported:
                    reported.add(id_)
                    yield _also_reported(self.view.objects[id_], policy)
                continue
            base = self.scopes.base(obj) if base is None else base
            score = self._scored(policy, obj, base, before.get(id_, {}).get(policy.score))
            if score is not None:
                by_object.setdefault(id_, {})[policy.score] = score
                reasons.setdefault(id_, []).append(policy.because)
        for id_, scores in before.items():
            if id_ in self.view.objects or id_ in self.view.broken:
                continue
            for name, score in scores.items():
                if self._is_unread(score) and not self._expired(score):
                    by_object.setdefault(id_, {}).setdefault(name, score)
                    reasons.setdefault(id_, []).append(_KEPT)
                    self.horizons.setdefault(id_, []).append(score.until)
        for id_, scores in sorted(by_object.items()):
            yield from self._decisions(id_, scores, reasons[id_][0])

    def _scored(
        self, policy: ScorePolicy, obj: Object, base: Mapping[str, object], before: DerivedScore | None
    ) -> DerivedScore | None:
        """The score by a policy; None if it does not apply, or fails and has no value that still counts."""
        horizons = self.horizons.setdefault(policy.of(obj.id.name), [])
        clock = self.scopes.clock
        clock.reset()
        scope = self.scopes.for_policy(policy, base, policy.of(obj.id.name))
        earlier = None
        renamed = before is not None and before.policy not in self.names and not self._is_unread(before)
        if before is not None and (before.policy == policy.id.name or renamed):
            earlier = replace(before, policy=policy.id.name)
        try:
            if not guards_hold(policy.guards, scope):
                horizons.append(clock.horizon)
                return None
            value = score_of(scope.evaluate(policy.value, AT))
        except cel.EvaluationError as error:
            failure = PolicyFailure("expression", AT, error)
        except PolicyFailure as guard:
            failure = guard
        else:
            horizons.append(clock.horizon)
            if not LOWEST <= value <= HIGHEST:
                text = f"{value} is no score; scores are from {LOWEST} to {HIGHEST}, so the nearest counts"
                self.failures.add(policy, PolicyFailure("expression", AT, cel.EvaluationError(text)), obj.id)
                value = max(LOWEST, min(HIGHEST, value))
            return self._renewed(policy, value, earlier, horizons)
        self.failures.add(policy, failure, obj.id)
        horizons.append(clock.horizon)
        if earlier is None or self._expired(earlier):
            return None
        horizons.append(earlier.until)
        return earlier

    def _renewed(
        self, policy: ScorePolicy, value: int, earlier: DerivedScore | None, horizons: list[datetime | None]
    ) -> DerivedScore:
        """The score from now on, or as before while it is the same and half of its time is not over."""
        half = None if policy.valid_for is None else policy.valid_for / 2
        if earlier is not None and earlier.value == value and (earlier.until is None) is (half is None):
            if half is None:
                return earlier
            renewal = later(earlier.since, half)
            if (
                renewal is not None
                and self.now < renewal
                and earlier.until == later(earlier.since, policy.valid_for or half)
            ):
                horizons.append(renewal)
                return earlier
        until = None if policy.valid_for is None else later(self.now, policy.valid_for)
        horizons.append(None if half is None else later(self.now, half))
        return DerivedScore(value, policy.id.name, self.now, until)

    def _expired(self, score: DerivedScore) -> bool:
        return score.until is not None and score.until <= self.now

    def _decisions(self, id_: ObjectId, scores: Mapping[str, DerivedScore], because: Because) -> Iterator[Decision]:
        until = earliest(*(score.until for score in scores.values()))
        ahead = [instant for instant in self.horizons.get(id_, ()) if instant is not None and instant > self.now]
        horizon = earliest(*ahead)
        entries = [{"name": name, "value": score.value} for name, score in sorted(scores.items())]
        because = because._replace(text="scores " + ", ".join(f"{entry['name']} {entry['value']}" for entry in entries))
        yield Decision(id_, ("status", "scores"), entries, because, horizon)
        if until is not None:
            yield Decision(id_, ("status", "validUntil"), format_time(until), because)
        book = {name: score.entry() for name, score in sorted(scores.items())}
        yield Decision(id_, _BOOK, book, because)


def _scores_before(body: Tree) -> Mapping[str, DerivedScore]:
    book, scores = mapping_at(body, *_BOOK), {}
    for listed_score in mappings_at(body, "status", "scores"):
        name = str(listed_score.get("name"))
        entry, value = mapping_at(book, name), listed_score.get("value")
        since = try_time(dig(entry, "since"))
        if since is not None and isinstance(value, int):
            scores[name] = DerivedScore(value, str(entry.get("policy")), since, try_time(dig(entry, "until")))
    return scores


def _also_reported(obj: Object, policy: ScorePolicy) -> Finding:
    message = f"{obj.id} is also derived by {policy.id}; the one in this file counts"
    hint = "give the policy another spec.resource, or remove this file"
    return finding_at(obj, ("metadata", "name"), Code.SCORE_ALSO_REPORTED, message, hint)


STAGE: Final = Local("scores", stage, derives=(((ADD_ON_PLACEMENT_SCORE,), (STATUS,)),))
