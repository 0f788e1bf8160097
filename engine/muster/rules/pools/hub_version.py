"""The version that a pool's clusters had on the hub from which they moved in.

Hive marks each cluster of a pool with a hash of the pool's spec (annotation `cluster-pool-spec-hash`) and replaces
those that bear another one. muster's hash of the same spec is another text, so on the day on which a pool moves in all
its clusters would be replaced. What the hub said of them counts instead: the hash of those that it did not call stale
is remembered beside the version that the pool has on that day, and is as good as it, until the pool's spec changes.
"""

from collections.abc import Iterable

from muster.data.tree import Tree, dig
from muster.fleet.view import View
from muster.rules.pools.model import Cluster, Pool

_CURRENT = "AllClustersCurrent"


def hub_version(view: View, pool: Pool, clusters: Iterable[Cluster], version: str) -> Tree:
    """Return what is to be remembered: the hub's `hash`, and the `version` that it stands for. None for nothing.

    `version` is the pool's now. A pool of which a run of muster remembers anything does not move in any more.
    """
    unclaimed = [cluster for cluster in clusters if cluster.version and not cluster.claim]
    book = view.before(pool.id, "status", "muster")
    if book is not None:
        known = dig(book, "hubVersion")
        return known if any(cluster.version == dig(known, "hash") for cluster in clusters) else None
    said = view.conditions_before(pool.id).get(_CURRENT)
    if said is None:
        return None  # no hub has looked at the pool
    stale = _called_stale(said)
    hashes = {cluster.version for cluster in unclaimed if cluster.name not in stale and not cluster.deleting}
    if len(hashes) != 1 or version in hashes:
        return None
    return {"hash": hashes.pop(), "version": version}


def matching(version: str, hub: Tree) -> frozenset[str]:
    """Return the versions of clusters that match a pool: its own, and the hub's word for it."""
    return frozenset((version, hub["hash"])) if hub is not None and hub["version"] == version else frozenset((version,))


def _called_stale(said: Tree) -> frozenset[str]:
    """The clusters that the hub calls stale: its condition names them at the end of its message."""
    if dig(said, "status") == "True":
        return frozenset()
    message = dig(said, "message")
    names = message.rpartition(": ")[2] if isinstance(message, str) else ""
    return frozenset(name.strip() for name in names.split(","))
