"""Acceptance of clusters: by a person (`hubAcceptsClient` in a file), or automatically by the fleet's settings.

With `Fleet.spec.registration.autoAccept`, a cluster is accepted if no person set the field (upstream's
ManagedClusterAutoApproval). What its agent proposes does not count as an answer. Automatic acceptance happens once: it
is derived as an annotation and holds until a person decides otherwise, even if the setting is turned off. A cluster
that a person has denied since stays denied when the person's line goes.

A cluster whose file was deleted is out of the fleet, even if its agent still reports. The Fleet's derived part lists
such clusters (`REMOVED`) while the agent's ref exists; otherwise the next run would take the cluster for a new one and
accept it again.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from muster.data.ids import ObjectId
from muster.data.kinds import ACCEPTED, FLEET, MANAGED_CLUSTER
from muster.data.source import Part
from muster.data.tree import Tree, dig, mappings_at
from muster.fleet.objects import Object, by_type
from muster.fleet.settings import Settings

ACCEPTED_ON = "open-cluster-management.io/automatically-accepted-on"
#: Names of removed clusters whose agents still report.
REMOVED = ("status", "muster", "removed")
_FIELD = "hubAcceptsClient"


def is_declared(id_: ObjectId, obj: Object | None, before: Tree) -> bool:
    """Does a file of the fleet declare the cluster, whose derived part of the last run is `before`?"""
    return obj is not None and not is_only_reported(id_, obj.parts, before)


def with_automatic_acceptance(
    objects: Mapping[ObjectId, Object], previous: Mapping[ObjectId, Tree], settings: Settings
) -> dict[ObjectId, Object]:
    """Return the objects with `hubAcceptsClient` set on clusters that the settings accept now or accepted before, but
    not on those that a person has denied since."""
    accepted = dict(objects)
    for id_, obj in objects.items():
        if MANAGED_CLUSTER.has(id_) and not has_human_answer(obj):
            if not (settings.auto_accept or dig(previous.get(id_), "metadata", "annotations", ACCEPTED_ON)):
                continue
            if _accepted_before(previous.get(id_)) == "False":
                continue
            if not obj.deleting and isinstance(obj.body.get("spec", {}), dict):
                accepted[id_] = replace(obj, body={**obj.body, "spec": {**obj.spec, _FIELD: True}})
    return accepted


def is_accepted_automatically(obj: Object) -> bool:
    """Is the cluster accepted by the fleet's settings, without a person's decision?"""
    return obj.spec.get(_FIELD) is True and not has_human_answer(obj)


def removed_clusters(previous: Mapping[ObjectId, Tree]) -> frozenset[str]:
    """The removed clusters whose agents still reported at the last run."""
    fleets = (body for id_, body in previous.items() if FLEET.has(id_))
    return frozenset(name for body in fleets for name in dig(body, *REMOVED) or () if isinstance(name, str))


def is_only_reported(id_: ObjectId, parts: Iterable[Part], before: Tree, removed: Collection[str] = ()) -> bool:
    """Did people accept, deny or remove (`removed`) the cluster before, and does only its agent report it now?

    An agent's registration does not declare a cluster that people removed. A denied cluster counts too, even with
    automatic acceptance: otherwise it would be accepted again.
    """
    if not MANAGED_CLUSTER.has(id_):
        return False
    if any(not part.source.ref and "spec" in part.body for part in parts):
        return False
    if id_.name in removed:
        return True
    accepted = _accepted_before(before)
    if accepted == "True":
        return dig(before, "metadata", "annotations", ACCEPTED_ON) is None
    return accepted is not None


def _accepted_before(before: Tree) -> Tree:
    """The status of the last run's condition: True, False (accepted once, and denied since) or None."""
    return dig(by_type(mappings_at(before, "status", "conditions")).get(ACCEPTED), "status")


def has_human_answer(obj: Object) -> bool:
    """Did a person set `hubAcceptsClient`?"""
    return any(not part.source.ref and dig(part.body, "spec", _FIELD) is not None for part in obj.parts)


def is_accepted(obj: Object) -> bool:
    """Is this ManagedCluster accepted?"""
    return obj.spec.get(_FIELD) is True
