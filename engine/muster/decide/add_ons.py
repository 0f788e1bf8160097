"""Add-ons of a cluster of which nothing is known: nothing is known of them either.

Source: upstream's add-on health check (`pkg/registration/hub/addon/healthcheck_controller.go`). While the cluster is
Unknown, each of its add-ons is Unknown for the same reason; what its own agent reports counts again afterwards.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from muster.decide.context import Context
from muster.decide.transitions import saying
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.model.decision import Because, Decision, Input, Path
from muster.model.finding import Finding
from muster.model.kinds import MANAGED_CLUSTER, MANAGED_CLUSTER_ADD_ON

_OF_CLUSTER: Final[Path] = ("status", "conditions", (MANAGED_CLUSTER.headline,))
_AVAILABLE: Final = "Available"
_UNKNOWN = "its cluster is Unknown, and so is the add-on"


def stage(view: View, _context: Context, now: datetime) -> Iterator[Decision | Finding]:
    """Decide the availability of the add-ons of clusters that are Unknown."""

    def unknown(add_on: Object) -> Iterator[Decision]:
        of = MANAGED_CLUSTER.id(add_on.id.namespace)
        cluster = view.now(of, *_OF_CLUSTER)
        if isinstance(cluster, dict) and cluster.get("status") == "Unknown":
            said = ("Unknown", cluster["reason"], cluster["message"])
            yield saying(
                view, add_on.id, _AVAILABLE, said, Because("add-ons", (Input(_OF_CLUSTER, of),), _UNKNOWN), now
            )

    yield from each(view.of(MANAGED_CLUSTER_ADD_ON), unknown)
