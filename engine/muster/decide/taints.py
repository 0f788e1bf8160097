"""Taints: what TaintPolicies add, and the time at which each taint of a person appeared.

`timeAdded` is set once, when the taint appears or its value or effect changes, and kept (upstream's mutating
webhook; seed 002: "set automatically, the user should not set it"). A condition that cannot be evaluated never
counts as true, so its taint is not added; one that stands already stays, because an error is no recovery.

Neither is silence: a policy that looked at a condition of which nothing new is known (`muster.decide.doubt`) takes no
taint of its own off, until there is news or the policy changes. A policy with a taint for Unknown, as the built-in ones
are, says itself what silence means. Of the others `status.muster.taints` says which taint each put there.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from muster import cel
from muster.decide.allowance import Allowance
from muster.decide.conditions import guards_hold, holds
from muster.decide.context import Context, Disruption
from muster.decide.doubt import Doubts, Watched, watch
from muster.decide.failures import Failed, Failures, PolicyFailure
from muster.decide.generations import spec_digest
from muster.decide.taint_keys import DISRUPTIVE, TaintKey, taint_fields, taint_key, taint_text, taints_by_key
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.model.decision import OF_CONDITIONS, OF_ITSELF, Because, Decision, Held, Input, Path
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.kinds import TAINT_EFFECTS, TAINT_POLICY
from muster.model.times import format_time
from muster.model.tree import Tree, mappings_at
from muster.policy.lazy import PolicyScope, Variables
from muster.policy.scopes import Scopes
from muster.policy.taints import TaintPolicy, TaintRule

_TAINTS = (Input(("spec", "taints")),)
_OWN = Because("taints", _TAINTS, "a person's taint; the time is when it appeared")
_KEPT = Because("kept", OF_ITSELF, "a policy has an error, so the taints that it may have added stay")
_GOING = Because(
    "taints",
    (Input(("metadata", "deletionTimestamp")),),
    "the cluster is being deleted, so the taints that policies gave it stay as they are",
)
_FROZEN = Because(
    "budgets",
    OF_CONDITIONS,
    "nothing is heard of the cluster, and a budget holds: its taints stay",
)
_REMEMBERED = Because("taints", _TAINTS, "which policy put which taint there")
_SILENT = "nothing new is known of what the policy looks at, so what stands stays until there is news"
#: Where it is remembered which policy put a taint there, and a digest of the policy.
STANDING: Path = ("status", "muster", "taints")


def stage(view: View, context: Context, now: datetime) -> Iterator[Decision | Held | Failed | Finding]:
    """Decide the taints of every cluster."""
    scopes, failures, allowed = Scopes.of(view, context.rules, now), Failures(), context.allowance
    uncertain, silence = context.shared.uncertain(TAINT_POLICY), _Silence(Doubts.of(view, context.rules, now))

    def tainted(obj: Object) -> Iterator[Decision | Held]:
        taints = _Taints.of(view, obj, now, failures, silence)
        decisions = list(taints.own())
        if not obj.deleting:
            decisions.extend(taints.of_policies(scopes))
        outcomes = list(taints.within(view, allowed, context.rules.compiled.taints, decisions))
        if uncertain:
            outcomes.extend(taints.kept({decision.path for decision in decisions if decision.value is not None}))
        yield from outcomes
        yield from taints.remembered(outcome for outcome in outcomes if isinstance(outcome, Decision))

    yield from each(view.clusters(), tainted)
    yield from failures.seen


def wishes(view: View, context: Context, now: datetime) -> Iterator[Disruption | Finding]:
    """Yield the clusters that some policy keeps work away from, whether the taint stands or not."""
    scopes, failures, silence = (
        Scopes.of(view, context.rules, now),
        Failures(),
        _Silence(Doubts.of(view, context.rules, now)),
    )

    def wished(obj: Object) -> Iterator[Disruption]:
        taints = _Taints.of(view, obj, now, failures, silence)
        if not obj.deleting and any(_disrupts(decision) for decision in taints.of_policies(scopes)):
            yield Disruption(obj.id)

    yield from each(view.clusters(), wished)


def _disrupts(decision: Decision) -> bool:
    """Whether a decision of a policy adds, or keeps, a taint that keeps work away."""
    return decision.value is not None and decision.path[2][1] in DISRUPTIVE


@dataclass(frozen=True, slots=True)
class _Silence:
    """Who is silent, and the digests of the policies that have no word for that."""

    doubts: Doubts
    _digests: dict[ObjectId, str] = field(default_factory=dict)

    def entry(self, policy: TaintPolicy, key: TaintKey) -> Tree:
        """What is remembered of a taint that a policy put there."""
        if policy.id not in self._digests:
            self._digests[policy.id] = spec_digest(policy.source.spec)
        return {**taint_fields(key), "policy": policy.id.name, "digest": self._digests[policy.id]}


@dataclass(frozen=True, slots=True)
class _Taints:
    """The taints of one cluster: `before` is what the last run derived, `standing` what it remembered of who put them
    there; `put` is what this run remembers."""

    obj: Object
    before: Mapping[TaintKey, Tree]
    standing: Mapping[TaintKey, Tree]
    now: datetime
    failures: Failures
    silence: _Silence
    put: dict[TaintKey, Tree] = field(default_factory=dict)

    @classmethod
    def of(cls, view: View, obj: Object, now: datetime, failures: Failures, silence: _Silence) -> "_Taints":
        """The cluster as the last run left it."""
        previous = view.previous.get(obj.id)
        entries = mappings_at(previous, *map(str, STANDING))
        standing = {taint_key(obj.kind, entry): entry for entry in entries}
        return cls(obj, taints_by_key(obj.kind, previous), standing, now, failures, silence)

    def own(self) -> Iterator[Decision]:
        """People's taints, with the time at which they appeared."""
        for key, taint in taints_by_key(self.obj.kind, self.obj.body).items():
            yield self._present(key, taint.get("value") or "", _OWN)

    def of_policies(self, scopes: Scopes) -> Iterator[Decision]:
        """What the policies add."""
        base: Variables | None = None
        for policy in scopes.rules.compiled.taints:
            if self.obj.kind not in policy.target.kinds or not policy.target.selects(self.obj):
                continue
            base = scopes.base(self.obj) if base is None else base
            seen, watched = base, tuple[Watched, ...]()
            # A policy may speak of clusters of both kinds; none takes the other's effects.
            rules = [rule for rule in policy.taints if rule.effect in TAINT_EFFECTS[self.obj.kind.name]]
            if any(self._put_by(policy, self._key(rule)) for rule in rules):
                seen = Variables(base.__getitem__)
                watched = watch(seen, self.silence.doubts.about(self.obj))
            scope = scopes.for_policy(policy, seen, self.obj.id)
            for rule in rules:
                yield from self._of_rule(policy, rule, scope, scopes.clock, watched)

    def _key(self, rule: TaintRule) -> TaintKey:
        return taint_key(self.obj.kind, {"key": rule.key, "effect": rule.effect, "value": rule.value})

    def _put_by(self, policy: TaintPolicy, key: TaintKey) -> bool:
        """Whether this policy put the taint there, as it is, and has no word for silence."""
        known = self.standing.get(key)
        return known is not None and not policy.of_silence and known == self.silence.entry(policy, key)

    def _of_rule(
        self, policy: TaintPolicy, rule: TaintRule, scope: PolicyScope, clock: cel.Clock,
        watched: tuple[Watched, ...],
    ) -> Iterator[Decision]:  # fmt: skip
        key = self._key(rule)
        clock.reset()
        applies = self._applies(policy, rule, scope)
        stays = not applies and self._put_by(policy, key) and any(one.doubtful for one in watched)
        if (applies or stays) and not policy.of_silence:
            self.put[key] = self.silence.entry(policy, key)
        horizon = clock.horizon
        if not applies and not stays and horizon is None:
            return
        because = rule.because._replace(text=_SILENT) if stays else rule.because
        if applies or stays:
            yield self._present(key, rule.value or "", because, horizon)
        else:
            yield Decision(self.obj.id, ("spec", "taints", key), None, because, horizon)

    def within(
        self, view: View, allowed: Allowance, policies: Iterable[TaintPolicy], decisions: Iterable[Decision]
    ) -> Iterator[Decision | Held]:
        """What of the decisions the budgets let through. A held taint is named; where all is silent, nothing goes.

        Nor does it where the cluster itself goes: upstream's controllers leave the taints of such a one alone.
        """
        wanted: set[object] = set()
        for decision in decisions:
            new = decision.path[2] not in self.before and decision.because is not _OWN and _disrupts(decision)
            key = cast("TaintKey", decision.path[2])
            held = allowed.holds(view, self.obj.id, f"taint {taint_text(key)}") if new else None
            yield held or decision
            if decision.value is not None:
                wanted.add(decision.path[2])
        frozen = _GOING if self.obj.deleting else _FROZEN if allowed.freezes(view, self.obj.id) else None
        if frozen is not None:
            of_policies = {self._key(rule) for policy in policies for rule in policy.taints}
            for key in sorted(self.before.keys() & of_policies - wanted):
                yield Decision(self.obj.id, ("spec", "taints", key), _without_key(self.before[key]), frozen)

    def kept(self, decided: set[Path]) -> Iterator[Decision]:
        """While a policy cannot be read, the taints that it may have added stay."""
        for key, taint in self.before.items():
            path = ("spec", "taints", key)
            if path not in decided:
                yield Decision(self.obj.id, path, _without_key(taint), _KEPT)

    def remembered(self, decided: Iterable[Decision]) -> Iterator[Decision]:
        """Who put the taints there that stand now."""
        entries = []
        for decision in decided:
            if decision.value is not None:
                key = cast("TaintKey", decision.path[2])
                known = self.standing if decision.because in (_FROZEN, _KEPT, _GOING) else self.put
                if key in known and known[key] not in entries:
                    entries.append(known[key])
        if entries:
            entries.sort(key=lambda entry: taint_key(self.obj.kind, entry))
            yield Decision(self.obj.id, STANDING, entries, _REMEMBERED)

    def _present(self, key: TaintKey, value: str, because: Because, horizon: datetime | None = None) -> Decision:
        known = self.before.get(key) or {}
        if known and (known.get("value") or "") == value:
            return Decision(self.obj.id, ("spec", "taints", key), _without_key(known), because, horizon)
        taint = {"timeAdded": format_time(self.now)}
        if value:
            taint["value"] = value
        return Decision(self.obj.id, ("spec", "taints", key), taint, because, horizon)

    def _applies(self, policy: TaintPolicy, rule: TaintRule, scope: PolicyScope) -> bool:
        try:
            return guards_hold(policy.guards, scope) and holds(rule.when, scope, rule.key, rule.at)
        except PolicyFailure as failure:
            self.failures.add(policy, failure, self.obj.id)
            return self._key(rule) in self.before


def _without_key(taint: Tree) -> Tree:
    return {name: value for name, value in taint.items() if name not in ("key", "effect")}
