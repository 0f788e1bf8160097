"""Allowances: what the budgets that hold let happen.

Which budgets hold at present is decided once, by the stage `budgets` (`muster.rules.budgets.stage`), and stands in the
Fleet's status; every stage that would cause a new effect asks here:

    context.told(Allowance).holds(view, cluster_id, "remedy TrafficControl")  # Held, or None: go ahead

Conditions are never held: they tell the truth. What stands already is not asked for again, and recovery is free.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple, TypeAlias

from muster.data.decision import Because, Held, Input
from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster
from muster.data.times import LAST, format_time, later, try_time
from muster.data.tree import Tree, mappings_at
from muster.fleet.view import View
from muster.rules.context import Broadcast
from muster.rules.effects.approval import Approvals
from muster.rules.effects.budget import Budget, labels_of
from muster.rules.effects.population import headline, in_service, sound_override


@dataclass(frozen=True, slots=True)
class Holding:
    """A budget that holds, in one of its domains: over since `since`, met again since `met` (None while it is over)."""

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
        """When it lets go if nothing else happens; None while it is over."""
        return None if self.met is None else later(self.met, self.budget.cooldown) or LAST

    @property
    def text(self) -> str:
        """What holds and why, in one sentence without its full stop."""
        where = f" in {self.domain}" if self.domain else ""
        name = f"budget {self.budget.id.name!r}"
        since = f"since {format_time(self.since)}"
        if self.met is not None and self.until is not None:
            exceeded = f"was exceeded from {format_time(self.since)} to {format_time(self.met)}"
            return f"{name}{where} {exceeded} and cools down until {format_time(self.until)}"
        count = f"{self.disrupted} of {self.population} clusters are disrupted{where}, {name} allows {self.allowed}"
        return f"{count}, {since}"

    @property
    def because(self) -> Because:
        """Why what it holds is held."""
        return Because(str(self.budget.id), (Input(("spec", "maxDisrupted"), self.budget.id),), self.text)

    def terms(self, now: datetime) -> Tree:
        """What clusters are answered by: everything about it but how many of them are disrupted."""
        override = self.budget.override
        until = None if self.until is None else format_time(self.until)
        return [str(self.budget.id), self.domain, until, override is not None and override.covers(now)]

    def entry(self) -> Tree:
        """The holding as it stands in the Fleet's derived part."""
        entry: Tree = {"budget": self.budget.id.name}
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
    """Read back what `Holding.entry` wrote; entries of budgets that are gone are left out."""
    by_name = {budget.id.name: budget for budget in budgets}
    found = []
    for entry in mappings_at({"entries": state}, "entries"):
        budget, since = by_name.get(str(entry.get("budget"))), try_time(entry.get("since"))
        if budget is None or since is None:
            continue
        counts = [entry.get(name) for name in ("disrupted", "population", "allowed")]
        disrupted, total, allowed = (count if isinstance(count, int) else 0 for count in counts)
        domain = entry.get("domain")
        found.append(
            Holding(
                budget, domain if isinstance(domain, str) else "", disrupted, total, allowed,
                entry.get("observerSuspect") is True, since, try_time(entry.get("met")),
            )
        )  # fmt: skip
    return tuple(found)


#: A budget, and the domain of it in which it counts; empty for all of its clusters together.
Place: TypeAlias = tuple[str, str]


class Usage(NamedTuple):
    """How much of a budget is used: so many clusters are disrupted, and so many may be, in that of its domains in which
    the fewest more may be."""

    budget: str
    disrupted: int
    allowed: int


@dataclass(frozen=True, slots=True)
class Allowance(Broadcast):
    """Tells the stages after `budgets` whether a new disruptive effect may happen. Asking changes no answer.

    `holding`: what holds; nothing while the Fleet's annotation lets all through. `approvals`: what waits for a person.
    `usage` is for people to see. `asked`: who has asked so far, whatever the answer was. Only they are decided by what
    budgets hold, so they are looked at again when that changes.
    """

    budgets: tuple[Budget, ...]
    holding: tuple[Holding, ...]
    now: datetime
    approvals: Approvals = field(default_factory=Approvals)
    usage: tuple[Usage, ...] = ()
    asked: set[ObjectId] = field(default_factory=set, compare=False)

    def holds(self, view: View, cluster: ObjectId, effect: str, *, by_person: bool = False) -> Held | None:
        """Return why a *new* effect on a cluster (or a pool's ClusterDeployment) is held, or None where it may happen.

        `effect` names it for people: `taint key:NoSelect`, `remedy TrafficControl`, `replacement`. Callers ask for
        effects that do not stand yet; a cluster that no earlier run has seen was never in service, so what keeps work
        away from it disrupts nothing. One that has never been available is not counted, but held like any other.
        `by_person`: no budget holds what a person asks for; it may wait for approval.
        """
        if is_cluster(cluster) and cluster not in view.previous:
            return None
        self.asked.add(cluster)
        wait = self.approvals.wait(view, cluster, effect, self.now)
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

    @property
    def terms(self) -> list[Tree]:
        """What every cluster is answered by. While these are the same, so is each answer, in other words at the most
        (`in_words_of_now`): a cluster more or less that is disrupted is not everybody's concern."""
        return [holding.terms(self.now) for holding in self.holding]

    def changed(self, before: Iterable[Tree]) -> frozenset[Place]:
        """Where other terms hold than at an earlier run."""
        terms, known = self.terms, list(before)
        differing = (*(one for one in terms if one not in known), *(one for one in known if one not in terms))
        return frozenset((one[0], one[1]) for one in differing)

    def concerned(self, view: View, cluster: ObjectId, changed: Collection[Place]) -> bool:
        """Whether a cluster, which is there, counts where terms have changed."""
        obj = view.objects[cluster]
        return any((str(budget.id), budget.domain(obj)) in changed for budget in self.budgets)

    def in_words_of_now(self, view: View, held: Held) -> Held:
        """What an earlier run held by terms that are the same, with what is to be said of it now."""
        holding = self._holding(view, held.object)
        if holding is None or held.because.rule != str(holding.budget.id):
            return held  # it waits for a person
        return replace(held, reason=holding.text, because=holding.because)

    def freezes(self, view: View, cluster: ObjectId) -> bool:
        """Whether the effects on a cluster stay exactly as they are: its budget holds, and nothing is heard of it.

        Silence is no recovery: while the observer is under suspicion it must not take effects off either. Callers ask
        where there is an effect to take off.
        """
        obj = view.objects.get(cluster)
        if obj is None or headline(view, obj) != "Unknown":
            return False
        self.asked.add(cluster)
        return self._holding(view, cluster) is not None

    def min_backends(self, view: View, cluster: ObjectId) -> tuple[int, ObjectId | None]:
        """How many clusters must go on serving a backend that this cluster serves, and which budget says so."""
        obj = view.objects.get(cluster)
        if obj is None:
            return 0, None
        wanted = [(budget.min_backends, budget.id) for budget in self.budgets if budget.counts(obj)]
        most = max((number for number, _ in wanted), default=0)
        return (most, min(id_ for number, id_ in wanted if number == most)) if most else (0, None)

    def _holding(self, view: View, cluster: ObjectId) -> Holding | None:
        """The first budget that holds and counts this object."""
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
                return holding  # a pool's cluster is no place of work yet: it waits while the fleet as a whole does
        return None


#: What is allowed while no budget holds, and before any was asked.
EVERYTHING = Allowance((), (), LAST)
