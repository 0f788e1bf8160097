"""Since when the agent of a Karmada cluster says what it says, where it renews no Lease.

Source: Karmada's cluster monitor (`pkg/controllers/cluster/cluster_controller.go`): a cluster that it sees for the
first time has the whole grace period, and any change of its condition Ready is a sign of life. Upstream remembers that
in the memory of a process, muster in the derived part.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final

from muster.data.decision import Because, Decision, Input, Path
from muster.data.finding import Finding
from muster.data.kinds import KARMADA_CLUSTER
from muster.data.times import format_time
from muster.data.tree import Tree, dig, digest_of
from muster.fleet.faults import each
from muster.fleet.leases import SIGHT, leases_by_cluster, renew_time
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.context import Context
from muster.rules.stages import Local

_READY: Final = KARMADA_CLUSTER.headline
_PATH: Final[Path] = SIGHT
_BECAUSE: Final = Because(
    "sighting", (Input(("status", "conditions", (_READY,))),), "it renews no Lease: a change of what it reports counts"
)
_LONG_AGO: Final = "1970-01-01T00:00:00Z"


def stage(view: View, _context: Context, now: datetime) -> Iterator[Decision | Finding]:
    """Remember what each agent without a Lease says of its cluster, and since when."""
    return each(view.of(KARMADA_CLUSTER), partial(_sight, view, now))


def _sight(view: View, now: datetime, cluster: Object) -> Iterator[Decision]:
    lease = leases_by_cluster(view).get(cluster.id.name)
    if cluster.spec.get("syncMode") == "Pull" and renew_time(lease) is None:
        said = digest_of([view.reported(cluster.id).get(_READY), dig(cluster.body, "status", "probe")])[:16]
        yield Decision(cluster.id, _PATH, {"said": said, "at": _since(view, cluster, said, now)}, _BECAUSE)


def _since(view: View, cluster: Object, said: str, now: datetime) -> Tree:
    """When it was first said. An agent that was silent when this began to be remembered is silent still."""
    known = view.before(cluster.id, *SIGHT)
    if known is not None:
        return known.get("at") if known.get("said") == said and known.get("at") else format_time(now)
    silent = dig(view.conditions_before(cluster.id).get(_READY), "status") == "Unknown"
    return _LONG_AGO if silent else format_time(now)


STAGE = Local("sighting", stage, derives=(((KARMADA_CLUSTER,), (SIGHT,)),))
