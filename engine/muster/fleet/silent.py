"""Silent clusters: a cluster that fell silent is silent until it gives a new sign of life.

A deadline may move without a word from the cluster: a policy waits longer, a label selects another policy, the Lease
says another duration, its file is gone. None of that is news of the cluster, and work must not move back because of it.
So the derived part of a cluster remembers the renewal after which it fell silent (`muster.rules.heartbeats.lapses`),
and only a later one ends the silence. Renewals are compared with each other, so it does not matter whose clock is
right.
"""

from collections.abc import Mapping
from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, KARMADA_CLUSTER, Kind, kind_of
from muster.data.times import try_time
from muster.data.tree import Tree, dig, mapping_at
from muster.fleet.leases import is_later, renew_time
from muster.fleet.view import View

#: Where it is remembered what an agent without a Lease says, and since when.
SIGHT = ("status", "muster", "sight")
#: Where the sign of life is remembered after which a cluster fell silent.
SILENT_AFTER = ("status", "muster", "silentAfter")


def last_sign(view: View, id_: ObjectId, lease: Tree) -> str | None:
    """When a cluster gave its last sign of life, as written: the renewal of its Lease. Without a Lease, a change of
    what a Karmada cluster reports is one, too (upstream's monitor, `muster.rules.heartbeats.sighting`)."""
    renewed = renew_time(lease)
    if renewed is None and kind_of(id_) is KARMADA_CLUSTER:
        changed = mapping_at(view.now(id_, *SIGHT) or view.before(id_, *SIGHT)).get("at")
        return changed if try_time(changed) is not None else None
    return renewed


def silent_after(view: View, id_: ObjectId) -> str | None:
    """The sign of life after which a cluster fell silent: what this run has decided, else what the last one did."""
    decided = view.decisions(id_).get(SILENT_AFTER)
    value = view.before(id_, *SILENT_AFTER) if decided is None else decided.value
    return value if isinstance(value, str) else None


def is_silent(view: View, id_: ObjectId, leases: Mapping[str, Tree], now: datetime) -> bool:
    """Whether a cluster fell silent by an instant, and gave no sign of life since. `leases` are the agents' own, by
    cluster: the one that muster derives is none."""
    known = silent_after(view, id_)
    if known is None or is_later(last_sign(view, id_, leases.get(id_.name)), known):
        return False
    began = try_time(dig(view.conditions_before(id_).get(kind_of(id_).headline), "lastTransitionTime"))
    # A run that goes back in time must not know of a silence that began later.
    return began is None or began <= now


def cluster_named(view: View, name: str, kind: Kind) -> ObjectId | None:
    """The id of the cluster of this name, of `kind` if there are several; None if there is none."""
    ids = [one.id(name) for one in sorted(CLUSTERS, key=lambda one: one is not kind)]
    return next((id_ for id_ in ids if id_ in view.objects or id_ in view.previous), None)
