"""First day: budgets do not count a cluster until it has been available once.

A cluster that is being set up is silent, or not ready, and nothing runs there yet. It is neither disrupted nor a sign
about the observer: ten clusters that join a fleet of ten must hold no remedies.

Recorded is the exception: an annotation on the derived part of a cluster that has never been available, set when the
cluster is first decided and removed when it is first available. A derived part without it is that of a cluster that
was: so a fleet derived by an earlier version keeps its protection during an outage.
"""

from collections.abc import Iterator

from muster.data.decision import OF_CONDITIONS, Because, Decision, Path
from muster.data.finding import Finding
from muster.data.kinds import ACCEPTED, MANAGED_CLUSTER
from muster.data.tree import dig, mapping_at
from muster.fleet.clusters import JOINED
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.effects.budget import NEVER_AVAILABLE, headline, in_service
from muster.rules.policies.in_force import InForce
from muster.rules.stages import Local

_PATH: Path = ("metadata", "annotations")
_BECAUSE = Because("first day", OF_CONDITIONS, "it has never been available, so budgets do not count it yet")
#: True for every accepted cluster: not about its health.
_FORMALITIES = frozenset((ACCEPTED, JOINED))


def stage(view: View, rules: InForce) -> Iterator[Decision | Finding]:
    """Record which clusters have never been available."""
    judged = {
        kind
        for policy in rules.compiled.of(ConditionPolicy)
        for kind in policy.target.kinds
        if policy.type == kind.headline
    }

    def record(obj: Object) -> Iterator[Decision]:
        recorded = NEVER_AVAILABLE in mapping_at(view.previous.get(obj.id), *map(str, _PATH))
        # If no policy decides the availability of a kind, all its clusters count.
        waiting = (
            obj.kind in judged and (in_service(obj) or recorded) and not _was_available(view, obj, recorded=recorded)
        )
        if waiting:
            annotations = {**mapping_at(view.now(obj.id, *_PATH)), NEVER_AVAILABLE: "true"}
            yield Decision(obj.id, _PATH, dict(sorted(annotations.items())), _BECAUSE)

    yield from each(view.clusters(), record)


def _was_available(view: View, obj: Object, *, recorded: bool) -> bool:
    """Is the cluster available, or was it in an earlier run, or does it report so?"""
    return _is_healthy(view, obj) or (_served(view, obj) and not recorded)


def _served(view: View, obj: Object) -> bool:
    """Did the last run find the cluster in service, and so would have recorded it?"""
    if obj.kind is MANAGED_CLUSTER:
        return ACCEPTED in view.conditions_before(obj.id)
    return obj.id in view.previous


def _is_healthy(view: View, obj: Object) -> bool:
    """Does anything say that the cluster is healthy? Its agent's last report counts, however old.

    If nothing decides the cluster's headline condition (no probe, no agent), any true condition counts.
    """
    status = headline(view, obj)
    reported = view.reported(obj.id)
    if status == "True" or dig(reported.get(obj.kind.headline), "status") == "True":
        return True
    conditions = {**reported, **view.conditions(obj.id)}
    return not status and any(
        condition.get("status") == "True" for type_, condition in conditions.items() if type_ not in _FORMALITIES
    )


STAGE = Local("first day", stage, foundation=True)
