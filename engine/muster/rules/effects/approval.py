"""Approvals: effects that wait until a person merges their proposal (`Fleet.spec.approval`).

A waiting effect is recorded with its start under `status.muster.held` of its object. An Approval names object, effect
and start, so it covers only what was proposed: once the effect has happened or is no longer requested, the wait is
over, and a later one is another.

As with budgets, only new effects wait: existing ones are not requested again, and recovery needs no approval.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from muster.data.agentref import proposal_branch
from muster.data.decision import ApprovalWait, Because, Held, Input
from muster.data.ids import ObjectId
from muster.data.kinds import APPROVAL, FLEET
from muster.data.times import format_time, try_time
from muster.data.tree import mappings_at
from muster.fleet.fleet import Fleet
from muster.fleet.view import View
from muster.rules.effects.budget import fleet_id

#: The effect of deleting a pool's cluster; other names are those of their stages.
DELETION: Final = "deletion"
#: The effect of removing a cluster.
REMOVAL: Final = "removal"
#: A taint that moves work off its cluster, if it has a topic of its own.
EVICTION: Final = "eviction"
#: The start of a stage of a Rollout, and the topic of one that asks for approval itself.
ROLLOUT_EFFECT, ROLLOUT_TOPIC = "rollout", "rollouts"
#: The start of `heldBy` of a waiting effect, before the topic.
HELD_BY: Final = "approval"
_NOBODY: Final = FLEET.id("")


@dataclass(frozen=True, slots=True)
class Approvals:
    """Which effects need approval, and which were approved.

    `topics`: the topic for each sort of effect; `given`: approved effects by object, effect and start; `fleet`: the
    object that requires approval.
    """

    topics: Mapping[str, str] = field(default_factory=dict)
    given: frozenset[tuple[str, str, str]] = frozenset()
    fleet: ObjectId = _NOBODY

    @classmethod
    def of(cls, fleet: Fleet) -> "Approvals":
        """Return a fleet's topics and Approvals. An effect belongs to the first topic that names it."""
        topics: dict[str, str] = {}
        for topic in mappings_at(fleet.settings.spec, "approval", "topics"):
            for sort in topic.get("effects") or ():
                topics.setdefault(sort, topic["name"])
        given = frozenset(
            (str(entry["object"]), str(entry["effect"]), str(entry["since"]))
            for obj in fleet.of(APPROVAL)
            for entry in mappings_at(obj.body, "spec", "effects")
        )
        return cls(topics, given, fleet_id(fleet))

    def topic(self, effect: str) -> str:
        """The topic of an effect; empty if it needs no approval."""
        sort = effect.partition(" ")[0]
        if sort == "taint" and effect.endswith(":NoExecute") and EVICTION in self.topics:
            sort = EVICTION
        return self.topics.get(sort, "")

    def wait(self, view: View, id_: ObjectId, effect: str, now: datetime, topic: str = "") -> ApprovalWait | None:
        """Return since when a requested effect waits, and whether it is approved; None if it needs no approval. A
        `topic` is that of an effect which needs approval whatever the Fleet says."""
        topic = self.topic(effect) or topic
        if not topic:
            return None
        entries = mappings_at(view.previous.get(id_), "status", "muster", "held")
        known = next((try_time(entry.get("since")) for entry in entries if entry.get("effect") == effect), None)
        if known is None:
            return ApprovalWait(topic, now, approved=False)
        return ApprovalWait(topic, known, approved=(str(id_), effect, format_time(known)) in self.given)

    def held(self, id_: ObjectId, effect: str, wait: ApprovalWait) -> Held:
        """The effect as held."""
        because = Because(f"{HELD_BY} {wait.topic}", (Input(("spec", "approval"), self.fleet),), awaits(wait.topic))
        return Held(id_, effect, because.text, because, wait=wait)


def awaits(topic: str) -> str:
    """What releases a held effect, as a sentence without a full stop."""
    return f"awaits approval: merge {proposal_branch(topic)}"
