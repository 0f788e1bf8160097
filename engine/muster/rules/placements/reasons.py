"""Why a cluster is chosen by a Placement, or is not: the first thing that decided it, in words.

The words complete the sentence "cluster X left placement Y because ..."; `rule` names the step: `removed`, `denied`,
`pending`, `deleting`, `set`, `predicate`, `taint`, `limit`, `spread`, `selected` or `kept`.
"""

from dataclasses import dataclass

from muster.data.kinds import MANAGED_CLUSTER
from muster.rules.placements.candidates import Candidates, is_candidate
from muster.rules.placements.contests import Chosen
from muster.rules.placements.tolerations import NO_SELECT_IF_NEW
from muster.rules.sets.stage import was_denied


@dataclass(frozen=True, slots=True)
class Reason:
    """The step that decided about a cluster, and what it says."""

    rule: str
    text: str


def reason_of(chosen: Chosen, name: str) -> Reason:
    """Return why a Placement that was scheduled chose a cluster, or did not."""
    contest, choice = chosen.contest, chosen.choice
    if name in choice.kept:
        return Reason("kept", "nobody can tell what it should be while its file has an error, so it stays")
    if name not in contest.candidates.objects:
        return removal_of(contest.candidates, name)
    if name not in contest.eligible.available:
        return Reason("set", _no_set(chosen))
    if name not in contest.eligible.matching:
        return Reason("predicate", "none of the placement's predicates matches it")
    if name in choice.tolerated.refused:
        return Reason("taint", _taint(chosen, name))
    if name in choice.selected:
        return Reason("selected", "it passes, and there is room for it")
    if contest.spec.spread:
        return Reason("spread", "others were taken before it to keep the topologies even")
    return Reason("limit", _limit(chosen, name))


def removal_of(candidates: Candidates, name: str) -> Reason:
    """Return why a cluster is no candidate of any Placement."""
    obj = candidates.fleet.objects.get(MANAGED_CLUSTER.id(name))
    if obj is None:
        return Reason("removed", "there is no such cluster any more")
    if obj.deleting:
        return Reason("deleting", "it is being deleted")
    if not is_candidate(obj):
        if was_denied(candidates.fleet, obj.id):
            return Reason("denied", "the hub no longer accepts it")
        return Reason("pending", "the hub has not accepted it")
    return Reason("kept", "the placement keeps its last decisions")


def _no_set(chosen: Chosen) -> str:
    found = chosen.contest.eligible
    if not found.bound:
        return f"namespace {chosen.contest.id.namespace} is bound to no set of clusters"
    if not found.sets:
        return "none of the sets that the placement names is bound to its namespace"
    return f"it is in none of the sets {', '.join(found.sets)}"


def _taint(chosen: Chosen, name: str) -> str:
    taint = chosen.choice.tolerated.refused[name]
    if any(t.matches(*taint[:3]) for t in chosen.contest.spec.tolerations):
        return f"the toleration of its taint {taint} has ended"
    new = " and it was not chosen before" if taint.effect == NO_SELECT_IF_NEW else ""
    return f"its taint {taint} is not tolerated{new}"


def _limit(chosen: Chosen, name: str) -> str:
    choice = chosen.choice
    wanted = f"only {chosen.contest.spec.wanted} wanted"
    if name in choice.tolerated.avoided:
        return f"{wanted}, and it has a PreferNoSelect taint that is not tolerated"
    return f"{wanted}, and others rank before it (it is number {choice.ranks[name]})"
