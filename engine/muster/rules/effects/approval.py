"""Approvals: effects that wait until a person merges their proposal (`Fleet.spec.approval`).

A waiting effect is recorded with its start under `status.muster.held` of its object. An Approval names object, effect
and start, so it covers only what was proposed: once the effect has happened or is no longer requested, the wait is
over, and a later one is another.

As with budgets, only new effects wait: existing ones are not requested again, and recovery needs no approval.

While a freeze is in force, the effects that it holds wait under its own topic instead: only an Approval with the
topic's name breaks it. That one counts as approval under the Fleet's topics, too.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from datetime import datetime
from typing import Final

from muster.data.agentref import proposal_branch
from muster.data.decision import ApprovalWait, Because, Held, Input
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import APPROVAL, FLEET, MANAGED_CLUSTER
from muster.data.times import LAST, format_time, try_time
from muster.data.tree import mappings_at
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.view import View
from muster.rules.effects.budget import fleet_id
from muster.rules.effects.freeze import FREEZES, FROZEN_BY, PREFIX, SORTS, Freeze, freezes_of

#: The effect of deleting a pool's cluster; other names are those of their stages.
DELETION: Final = "deletion"
#: The effect of removing a cluster.
REMOVAL: Final = "removal"
#: A taint that moves work off its cluster, if it has a topic of its own.
EVICTION: Final = "eviction"
#: The start of a stage of a Rollout, and the topic of one that asks for approval itself.
ROLLOUT_EFFECT, ROLLOUT_TOPIC = "rollout", "rollouts"
#: The start of an effect of a Placement: a cluster that comes or leaves.
MOVE: Final = "move"
#: The start of `heldBy` of a waiting effect, before the topic.
HELD_BY: Final = "approval"
_THE_FLEET: Final = FLEET.id("")


@dataclass(frozen=True, slots=True)
class Approvals:
    """Which effects need approval, and which were approved.

    `topics`: the topic for each sort of effect; `approved`: effects by object, effect and start; `fleet`: the
    object that requires approval; `now`: the instant of the run. `freezes`: those in force; `breaking`: as `approved`,
    with the Approval's name first, for topics of freezes.
    """

    topics: Mapping[str, str] = field(default_factory=dict)
    approved: frozenset[tuple[str, str, str]] = frozenset()
    fleet: ObjectId = _THE_FLEET
    now: datetime = LAST
    freezes: tuple[Freeze, ...] = ()
    breaking: frozenset[tuple[str, str, str, str]] = frozenset()

    @classmethod
    def of(cls, fleet: Fleet, now: datetime) -> "Approvals":
        """Return a fleet's topics, Approvals and freezes. An effect belongs to the first topic that names it."""
        topics: dict[str, str] = {}
        for topic in mappings_at(fleet.settings.spec, "approval", "topics"):
            for sort in topic.get("effects") or ():
                topics.setdefault(sort, topic["name"])
        named = frozenset(
            (obj.id.name, str(entry["object"]), str(entry["effect"]), str(entry["since"]))
            for obj in fleet.of(APPROVAL)
            for entry in mappings_at(obj.body, "spec", "effects")
        )
        freezes = tuple(freeze for freeze in freezes_of(fleet.settings, fleet) if freeze.in_force(now))
        breaking = frozenset(entry for entry in named if entry[0].startswith(PREFIX)) if freezes else frozenset()
        return cls(topics, frozenset(entry[1:] for entry in named), fleet_id(fleet), now, freezes, breaking)

    @property
    def by_object(self) -> Mapping[str, list[tuple[str, ...]]]:
        """What was approved, and what breaks a freeze, by object."""
        return grouped(
            sorted([*((entry[0], entry) for entry in self.approved), *((entry[1], entry) for entry in self.breaking)])
        )

    def topic(self, effect: str) -> str:
        """The topic of an effect; empty if it needs no approval."""
        sort = effect.partition(" ")[0]
        if sort == "taint" and effect.endswith(":NoExecute") and EVICTION in self.topics:
            sort = EVICTION
        return self.topics.get(sort, "")

    def freezes_on(self, effect: str) -> tuple[Freeze, ...]:
        """The freezes in force that hold this sort of effect, on whichever cluster."""
        if not self.freezes:
            return ()
        sort = SORTS.get(effect.partition(" ")[0])
        return tuple(freeze for freeze in self.freezes if sort in freeze.holds)

    def wait(
        self, view: View, id_: ObjectId, effect: str, topic: str = "", freezes: Iterable[Freeze] | None = None
    ) -> ApprovalWait | None:
        """Return since when a requested effect waits, and whether it is approved; None if it needs no approval.

        `topic`: that of an effect which needs approval whatever the Fleet says. `freezes`: those that hold it; None:
        the ones that select its object, or the cluster that moves; for a Rollout all.
        """
        topic = self.topic(effect) or topic
        if freezes is None:
            sort, _, name = effect.partition(" ")
            cluster = MANAGED_CLUSTER.id(name) if sort == MOVE else id_
            freezes = [
                freeze for freeze in self.freezes_on(effect) if sort == ROLLOUT_EFFECT or freeze.selects(view, cluster)
            ]
        entries = mappings_at(view.previous.get(id_), "status", "muster", "held")
        recorded_since = next(
            (try_time(entry.get("since")) for entry in entries if entry.get("effect") == effect), None
        )
        since = recorded_since or self.now
        named, approved = (str(id_), effect, format_time(since)), False
        for freeze in freezes:
            approved = recorded_since is not None and (freeze.topic, *named) in self.breaking
            topic = freeze.topic
            if not approved:
                break
        else:
            approved = approved or (recorded_since is not None and named in self.approved)
        return ApprovalWait(topic, since, approved) if topic else None

    def frozen_starts(
        self, view: View, id_: ObjectId, effect: str, clusters: Collection[str], broken: set[str]
    ) -> Mapping[str, Held]:
        """The clusters that a freeze keeps from starting in a rollout, with the effect as held.

        `broken`: the topics of freezes that are broken for this effect. Those that an Approval breaks now are added,
        and those of freezes that are over removed.
        """
        broken &= {freeze.topic for freeze in self.freezes}
        held_by_cluster: dict[str, Held] = {}
        for freeze in self.freezes_on(effect):
            frozen = [name for name in clusters if freeze.selects(view, MANAGED_CLUSTER.id(name))]
            if not frozen or freeze.topic in broken:
                continue
            wait = self.wait(view, id_, effect, freezes=(freeze,))
            if wait is None or wait.approved:
                broken.add(freeze.topic)
            else:
                held_by_cluster = {**dict.fromkeys(frozen, self.held(id_, effect, wait)), **held_by_cluster}
        return held_by_cluster

    def freeze_of(self, wait: ApprovalWait) -> Freeze | None:
        """The freeze under whose topic an effect waits; None for another topic."""
        return next((freeze for freeze in self.freezes if freeze.topic == wait.topic), None)

    def held(self, id_: ObjectId, effect: str, wait: ApprovalWait) -> Held:
        """The effect as held."""
        if (freeze := self.freeze_of(wait)) is not None:
            text = freeze.held_text(self.now)
            because = Because(f"{FROZEN_BY} {freeze.name}", (Input(("spec", FREEZES), self.fleet),), text)
            return Held(id_, effect, because.text, because, freeze.next_change(self.now), wait)
        because = Because(f"{HELD_BY} {wait.topic}", (Input(("spec", "approval"), self.fleet),), awaits(wait.topic))
        return Held(id_, effect, because.text, because, wait=wait)


def awaits(topic: str) -> str:
    """What releases a held effect, as a sentence without a full stop."""
    return f"awaits approval: merge {proposal_branch(topic)}"
