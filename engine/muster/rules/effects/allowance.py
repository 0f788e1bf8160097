"""Allowance: which effects the holding budgets allow.

The stage `budgets` (`muster.rules.budgets.stage`) decides once which budgets hold and records it in the Fleet's status.
Every stage that would cause a new effect is given it, and asks:

    allowance.holds(view, cluster_id, "remedy TrafficControl")  # Held, or None: go ahead

Conditions are never held, existing effects are not asked for again, and recovery is always allowed.
"""

from collections.abc import Iterable
from dataclasses import field, replace
from datetime import datetime

from muster.data.decision import Because, Held, Input
from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster
from muster.data.times import LAST, format_time, later, try_time
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass
from muster.fleet.view import View
from muster.rules.effects.approval import Approvals
from muster.rules.effects.budget import Budget, Usage, headline, in_service, labels_of, sound_override
from muster.rules.stages import Concerned, Concerns, FleetTerm


@dataclass(frozen=True, slots=True)
class Holding:
    """A budget that holds in one of its domains: exceeded since `since`, met again since `met` (None while
    exceeded)."""

    budget: Budget
    domain: str
    disrupted: int
    population: int
    allowed: int
    suspicious: bool
    since: datetime
    met: datetime | None

    @property
    def until(self) -> datetime | None:
        """When it ends if nothing else happens; None while exceeded."""
        return None if self.met is None else later(self.met, self.budget.cooldown) or LAST

    @property
    def text(self) -> str:
        """What holds and why, as one sentence without a full stop."""
        if self.budget.unread:
            return f"budget {self.budget.id.name!r} has an error, so nothing new is allowed until it is repaired"
        in_domain = f" in {self.domain}" if self.domain else ""
        name = f"budget {self.budget.id.name!r}"
        since = f"since {format_time(self.since)}"
        if self.met is not None and self.until is not None:
            exceeded = f"was exceeded from {format_time(self.since)} to {format_time(self.met)}"
            return f"{name}{in_domain} {exceeded} and cools down until {format_time(self.until)}"
        count = f"{self.disrupted} of {self.population} clusters are disrupted{in_domain}, {name} allows {self.allowed}"
        return f"{count}, {since}"

    @property
    def because(self) -> Because:
        """Why its effects are held."""
        return Because(str(self.budget.id), (Input(("spec", "maxDisrupted"), self.budget.id),), self.text)

    def terms(self, now: datetime) -> Tree:
        """Everything that affects clusters: all but the number of disrupted ones."""
        override = self.budget.override
        until = None if self.until is None else format_time(self.until)
        return [str(self.budget.id), self.domain, until, override is not None and override.covers(now)]

    def entry(self) -> Tree:
        """The form stored in the Fleet's derived part."""
        entry: Tree = {"budget": self.budget.id.name, "ground": self.budget.ground}
        if self.domain:
            entry["domain"] = self.domain
        entry |= {"disrupted": self.disrupted, "population": self.population, "allowed": self.allowed}
        if self.suspicious:
            entry["observerSuspect"] = True
        entry["since"] = format_time(self.since)
        if self.met is not None:
            entry["met"] = format_time(self.met)
        return entry


def holdings(state: Tree, budgets: Iterable[Budget]) -> tuple[Holding, ...]:
    """Parse the results of `Holding.entry`, without those of removed budgets. A budget that says what a removed one
    said is that one, renamed."""
    by_name = {budget.id.name: budget for budget in budgets}
    by_ground = {budget.ground: budget for budget in by_name.values() if not budget.unread}
    parsed = []
    for entry in mappings_at({"entries": state}, "entries"):
        budget, ground = by_name.get(str(entry.get("budget"))), str(entry.get("ground"))
        if budget is None or budget.ground != ground:  # edited under its name, or the same under another one
            budget = by_ground.get(ground, budget)
        since = try_time(entry.get("since"))
        if budget is None or since is None:
            continue
        counts = [entry.get(name) for name in ("disrupted", "population", "allowed")]
        disrupted, total, allowed = (count if isinstance(count, int) else 0 for count in counts)
        domain = entry.get("domain")
        parsed.append(
            Holding(
                budget,
                domain if isinstance(domain, str) else "",
                disrupted,
                total,
                allowed,
                entry.get("observerSuspect") is True,
                since,
                try_time(entry.get("met")),
            )
        )
    return tuple(parsed)


@dataclass(frozen=True, slots=True)
class Allowance(FleetTerm):
    """Tells the stages after `budgets` whether a new disruptive effect may happen. Asking does not change an answer.

    `holding`: the holding budgets, none if the Fleet's annotation allows everything. `approvals`: what waits for a
    person. `usage`: for display. `asked`: the objects asked about so far. Only they depend on budgets, so only they are
    decided again if the budgets' terms change.
    """

    budgets: tuple[Budget, ...]
    holding: tuple[Holding, ...]
    now: datetime
    approvals: Approvals = field(default_factory=Approvals)
    usage: tuple[Usage, ...] = ()
    asked: set[ObjectId] = field(default_factory=set, compare=False)

    def holds(self, view: View, cluster: ObjectId, effect: str, *, by_person: bool = False) -> Held | None:
        """Return why a *new* effect on a cluster (or a pool's ClusterDeployment) is held, or None if it may happen.

        `effect` is its name: `taint key:NoSelect`, `remedy TrafficControl`, `replacement`. A cluster that no earlier
        run has seen was never in service, so keeping work away disrupts nothing. One that was never available is not
        counted, but held like any other. `by_person`: no budget holds what a person requests; it may wait for approval.
        """
        if is_cluster(cluster) and cluster not in view.previous:
            return None
        self.asked.add(cluster)
        wait = self.approvals.wait(view, cluster, effect)
        if wait is not None and not wait.approved:
            return self.approvals.held(cluster, effect, wait)
        holding = None if by_person else self._holding(view, cluster)
        if holding is None:
            return None
        override = sound_override(view, cluster)
        if override is not None and override.covers(self.now):
            return None
        because = holding.because
        return Held(cluster, effect, holding.text, because, holding.until, wait)

    def holding_for(self, view: View, cluster: ObjectId) -> Holding | None:
        """The budget that holds new effects on a cluster, for a stage that decides again whenever budgets change."""
        override = sound_override(view, cluster)
        return None if override is not None and override.covers(self.now) else self._holding(view, cluster)

    @property
    def terms(self) -> list[Tree]:
        """The terms that apply to clusters. While they are equal, so is each answer, apart from its text
        (`with_present_text`): one more disrupted cluster does not affect the others."""
        return [holding.terms(self.now) for holding in self.holding]

    @property
    def frozen(self) -> list[Tree]:
        """The freezes in force: their names, and until when, in seconds since the epoch."""
        ends = ((freeze.name, freeze.next_change(self.now)) for freeze in self.approvals.freezes)
        return [{"name": name, "until": None if end is None else int(end.timestamp())} for name, end in ends]

    def concerns(self) -> Concerns:
        """Return the terms of the budgets that count a cluster, the freezes in force, and what was approved of it."""
        terms, frozen, approved = self.terms, self.frozen, self.approvals.by_object

        def concerning(concerned: Concerned) -> object:
            if not concerned.requests:
                return None
            places = {(str(budget.id), budget.domain(concerned.cluster)) for budget in self.budgets}
            return (
                [term for term in terms if (term[0], term[1]) in places],
                frozen,
                approved.get(str(concerned.cluster.id)),
            )

        return concerning

    def with_present_text(self, view: View, held: Held) -> Held:
        """An effect held by unchanged terms, with the present text."""
        holding = self._holding(view, held.object)
        if holding is None or held.because.rule != str(holding.budget.id):
            return held  # it waits for approval
        return replace(held, reason=holding.text, because=holding.because)

    def freezes(self, view: View, cluster: ObjectId) -> bool:
        """Must the cluster's effects stay exactly as they are: its budget holds, and it is silent?

        Silence is no recovery: while muster suspects itself it must not remove effects either. Ask only if there is an
        effect to remove.
        """
        obj = view.objects.get(cluster)
        if obj is None or headline(view, obj) != "Unknown":
            return False
        self.asked.add(cluster)
        return self._holding(view, cluster) is not None

    def min_backends(self, view: View, cluster: ObjectId) -> tuple[int, ObjectId | None]:
        """How many clusters must keep serving a backend of this cluster, and by which budget."""
        obj = view.objects.get(cluster)
        if obj is None:
            return 0, None
        wanted = [(budget.min_backends, budget.id) for budget in self.budgets if budget.counts(obj)]
        most = max((number for number, _ in wanted), default=0)
        return (most, min(id_ for number, id_ in wanted if number == most)) if most else (0, None)

    def unread(self) -> Holding | None:
        """The first budget that allows nothing new because it has an error."""
        return next((holding for holding in self.holding if holding.budget.unread), None)

    def _holding(self, view: View, cluster: ObjectId) -> Holding | None:
        """The first holding budget that counts this object."""
        obj = view.objects.get(cluster)
        labels = labels_of(obj) if obj else {}
        for holding in self.holding:
            budget = holding.budget
            override = budget.override
            if (override is not None and override.covers(self.now)) or not budget.selector.matches(labels):
                continue
            if is_cluster(cluster):
                if obj is not None and in_service(obj) and budget.domain(obj) == holding.domain:
                    return holding
            elif not holding.domain:
                return holding  # a pool's cluster has no work yet: it waits for budgets of the whole fleet only
        return None


#: Everything is allowed, as before any budget was evaluated.
EVERYTHING = Allowance((), (), LAST)
