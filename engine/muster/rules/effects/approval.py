"""Approval: effects that wait until a person has merged a proposal of them (`Fleet.spec.approval`).

What waits is remembered with the instant since which it does, under `status.muster.held` of its object. An Approval
names object, effect and that instant, so it covers what was proposed and nothing else: when the effect has happened, or
is not asked for any more, the wait is over, and one that begins later is another.

Like a budget it holds what is new: what stands already is not asked for again, and nobody approves a recovery.
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
from muster.rules.effects.population import fleet_id

#: How the deletion of a pool's cluster is called among effects; the others' names are those of their stages.
DELETION: Final = "deletion"
#: How a held removal of a cluster is called among effects.
REMOVAL: Final = "removal"
#: A taint that moves work off its cluster, where that is told from other taints.
EVICTION: Final = "eviction"
#: What `heldBy` of a wait begins with, before the topic.
HELD_BY: Final = "approval"
_NOBODY: Final = FLEET.id("")


@dataclass(frozen=True, slots=True)
class Approvals:
    """Which effects wait for approval, and what was approved.

    `topics` says under which topic an effect of a sort is proposed; `given` names what was approved by object, effect
    and since when that waited; `fleet` is the object that asks for all this.
    """

    topics: Mapping[str, str] = field(default_factory=dict)
    given: frozenset[tuple[str, str, str]] = frozenset()
    fleet: ObjectId = _NOBODY

    @classmethod
    def of(cls, fleet: Fleet) -> "Approvals":
        """Return what a fleet asks for, and what its Approvals say. The first topic that names an effect has it."""
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
        """The topic under which an effect is proposed; empty for one that waits for nobody."""
        sort = effect.partition(" ")[0]
        if sort == "taint" and effect.endswith(":NoExecute") and EVICTION in self.topics:
            sort = EVICTION
        return self.topics.get(sort, "")

    def wait(self, view: View, id_: ObjectId, effect: str, now: datetime) -> ApprovalWait | None:
        """Return since when an effect that is asked for waits, and whether it was approved meanwhile; None where it
        needs nobody's approval."""
        topic = self.topic(effect)
        if not topic:
            return None
        entries = mappings_at(view.previous.get(id_), "status", "muster", "held")
        known = next((try_time(entry.get("since")) for entry in entries if entry.get("effect") == effect), None)
        if known is None:
            return ApprovalWait(topic, now, approved=False)
        return ApprovalWait(topic, known, approved=(str(id_), effect, format_time(known)) in self.given)

    def held(self, id_: ObjectId, effect: str, wait: ApprovalWait) -> Held:
        """An effect that waits."""
        because = Because(f"{HELD_BY} {wait.topic}", (Input(("spec", "approval"), self.fleet),), awaits(wait.topic))
        return Held(id_, effect, because.text, because, wait=wait)


def awaits(topic: str) -> str:
    """Say what lets a held effect happen, in a sentence without its full stop."""
    return f"awaits approval: merge {proposal_branch(topic)}"
