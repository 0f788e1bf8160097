"""Silent clusters: a cluster that fell silent stays silent until it gives a new sign of life.

A deadline may change without one: a policy waits longer, a label selects another policy, the Lease has another
duration, its file is gone. Work must not move back because of that. So a cluster's derived part records the renewal
after which it fell silent (`muster.rules.heartbeats.lapses`), and only a later one ends the silence. Renewals are
compared with each other, so no clock needs to be right.
"""

from collections.abc import Mapping
from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, KARMADA_CLUSTER, Kind, kind_of
from muster.data.times import try_time
from muster.data.tree import Tree, dig, mapping_at
from muster.fleet.leases import is_later, renew_time
from muster.fleet.view import View

#: The last change in the reports of an agent without a Lease.
SIGHT = ("status", "muster", "sight")
#: The last sign of life before a cluster fell silent.
SILENT_AFTER = ("status", "muster", "silentAfter")


def last_sign(view: View, id_: ObjectId, lease: Tree) -> str | None:
    """The time of a cluster's last sign of life, as written: its Lease's renewal. Without a Lease, a change in a
    Karmada cluster's reports counts too (upstream's monitor, `muster.rules.heartbeats.sighting`)."""
    renewed = renew_time(lease)
    if renewed is None and kind_of(id_) is KARMADA_CLUSTER:
        changed = mapping_at(view.now(id_, *SIGHT) or view.before(id_, *SIGHT)).get("at")
        return changed if try_time(changed) is not None else None
    return renewed


def silent_after(view: View, id_: ObjectId) -> str | None:
    """The last sign of life before a cluster fell silent, by this run, else by the last one."""
    decided = view.decisions(id_).get(SILENT_AFTER)
    value = view.before(id_, *SILENT_AFTER) if decided is None else decided.value
    return value if isinstance(value, str) else None


def is_silent(view: View, id_: ObjectId, leases: Mapping[str, Tree], now: datetime) -> bool:
    """Did the cluster fall silent by `now`, without a sign of life since? `leases`: the agents' own, by cluster,
    without derived ones."""
    known = silent_after(view, id_)
    if known is None or is_later(last_sign(view, id_, leases.get(id_.name)), known):
        return False
    began = try_time(dig(view.conditions_before(id_).get(kind_of(id_).headline), "lastTransitionTime"))
    # A run at an earlier time must not know of a later silence.
    return began is None or began <= now


def cluster_named(view: View, name: str, kind: Kind) -> ObjectId | None:
    """The id of the cluster of this name, of `kind` if there are several; None if there is none."""
    ids = [one.id(name) for one in sorted(CLUSTERS, key=lambda one: one is not kind)]
    return next((id_ for id_ in ids if id_ in view.objects or id_ in view.previous), None)
