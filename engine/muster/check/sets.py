"""What files may say of sets and bindings. Source: upstream's webhook of ManagedClusterSetBinding."""

from collections.abc import Iterator

from muster.fleet.fleet import Fleet
from muster.fleet.places import finding_at
from muster.fleet.sets import AUTO_UPDATE, BUILT_IN, is_managed
from muster.model.finding import Finding
from muster.model.kinds import MANAGED_CLUSTER_SET, MANAGED_CLUSTER_SET_BINDING
from muster.model.tree import dig


def set_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield what is wrong with the sets and bindings of a fleet; only a binding is broken by it."""
    for obj in fleet.of(MANAGED_CLUSTER_SET):
        written = dig(obj.spec, "clusterSelector")
        if is_managed(obj) and written is not None and written != BUILT_IN[obj.id.name]:
            message = f"spec.clusterSelector of {obj.id} is muster's; what is written here has no effect"
            hint = f'Remove it, or set the annotation {AUTO_UPDATE}: "false".'
            yield finding_at(obj, ("spec", "clusterSelector"), "MUS231", message, hint)
    for obj in fleet.of(MANAGED_CLUSTER_SET_BINDING):
        if obj.spec["clusterSet"] != obj.id.name:
            message = f"{obj.id} binds {obj.spec['clusterSet']!r}, which is not its name"
            yield finding_at(obj, ("spec", "clusterSet"), "MUS232", message, "Give the binding the name of the set.")
