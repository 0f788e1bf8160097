"""The clusters that a Placement selects, whatever taints and numbers say."""

from collections.abc import Collection

from muster.data.ids import ObjectId
from muster.fleet.view import View
from muster.rules.placements.candidates import Candidates
from muster.rules.placements.filters import eligible, matching
from muster.rules.placements.scheduling import placements_of
from muster.rules.policies.in_force import InForce


def selected_clusters(view: View, rules: InForce, placement: ObjectId, names: Collection[str]) -> frozenset[str]:
    """Those of some clusters that the sets and predicates of a Placement select.

    A Placement that cannot be scheduled keeps its clusters, so it selects all of them.
    """
    all_names = frozenset(names)
    compiled = placements_of(rules).get(placement)
    if not all_names or placement in view.broken or compiled is None or compiled.spec is None:
        return all_names
    candidates = Candidates.of(view, rules.settings)
    members = eligible(candidates, placement.namespace, compiled.spec.cluster_sets, ())
    return matching(candidates, members.available & all_names, compiled.predicates)
