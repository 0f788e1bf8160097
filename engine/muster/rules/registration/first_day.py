"""A cluster's first day: until it has been available once, budgets do not count it.

A cluster that is being set up is silent, or says that it is not ready, and nothing runs there yet. It is neither
disrupted nor news about the observer: ten clusters that join an established fleet of ten must hold nobody's remedy.

What is remembered is the exception: an annotation on the derived part of a cluster that has never been available,
written when the cluster is first decided and taken off when it first is available. A derived part without it, of
whatever age, is that of a cluster that was: a fleet that was derived before this was remembered loses none of its
protection in the middle of an outage.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.data.decision import OF_CONDITIONS, Because, Decision, Path
from muster.data.finding import Finding
from muster.data.kinds import ACCEPTED, MANAGED_CLUSTER
from muster.data.tree import dig, mapping_at
from muster.fleet.clusters import JOINED
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.context import Context
from muster.rules.effects.population import NEVER_AVAILABLE, headline, in_service
from muster.rules.stages import Local

_PATH: Path = ("metadata", "annotations")
_BECAUSE = Because("first day", OF_CONDITIONS, "it has never been available, so budgets do not count it yet")
#: True of every cluster that was let in: no word about its health.
_FORMALITIES = frozenset((ACCEPTED, JOINED))


def stage(view: View, context: Context, _now: datetime) -> Iterator[Decision | Finding]:
    """Remember which clusters have never been available."""
    judged = {kind for policy in context.rules.compiled.of(ConditionPolicy) for kind in policy.target.kinds
              if policy.type == kind.headline}  # fmt: skip

    def remembered(obj: Object) -> Iterator[Decision]:
        recorded = NEVER_AVAILABLE in mapping_at(view.previous.get(obj.id), *map(str, _PATH))
        # Where no policy of the fleet says whether clusters of a kind are available, all of them count.
        waiting = (
            obj.kind in judged and (in_service(obj) or recorded) and not _was_available(view, obj, recorded=recorded)
        )
        if waiting:
            annotations = {**mapping_at(view.now(obj.id, *_PATH)), NEVER_AVAILABLE: "true"}
            yield Decision(obj.id, _PATH, dict(sorted(annotations.items())), _BECAUSE)

    yield from each(view.clusters(), remembered)


def _was_available(view: View, obj: Object, *, recorded: bool) -> bool:
    """Whether the cluster is available, or was in an earlier run, or says that it was."""
    return _is_healthy(view, obj) or (_served(view, obj) and not recorded)


def _served(view: View, obj: Object) -> bool:
    """Whether the last run found the cluster in service, and so would have recorded it."""
    if obj.kind is MANAGED_CLUSTER:
        return ACCEPTED in view.conditions_before(obj.id)
    return obj.id in view.previous


def _is_healthy(view: View, obj: Object) -> bool:
    """Whether anybody says that the cluster is healthy: its agent's last word counts, however old it is.

    Where nobody judges the cluster as a whole (no probe, no agent), any condition that holds is a sign of life.
    """
    status = headline(view, obj)
    reported = view.reported(obj.id)
    if status == "True" or dig(reported.get(obj.kind.headline), "status") == "True":
        return True
    said = {**reported, **view.conditions(obj.id)}
    return not status and any(
        condition.get("status") == "True" for type_, condition in said.items() if type_ not in _FORMALITIES
    )


STAGE = Local("first day", stage, foundation=True)
