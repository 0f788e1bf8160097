"""The manifest of a cluster that a pool declares: created once, carried over from run to run, changed by field.

Derived files hold only what a run decides again, so each field of the last run's metadata and spec is decided again,
unless the pass changes it. An existing cluster never follows a change of its pool's template (it becomes stale
instead), except for the timeouts, which are waiting times and not part of the cluster.

Hive marks each cluster of a pool with a hash of the pool's spec (annotation `cluster-pool-spec-hash`) and replaces
those with another one. muster's hash of the same spec differs, so an imported pool would have all its clusters
replaced. Instead, the hash of those that the hub did not call stale is recorded with the pool's version at import, and
counts as equal to it until the pool's spec changes.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from muster.data.decision import Path
from muster.data.times import format_time
from muster.data.tree import Tree, dig, digest_of, mapping_at
from muster.fleet.view import View
from muster.rules.pools.model import HIVE, VERSION, Cluster, Pool, PoolKey

_CURRENT = "AllClustersCurrent"


def hub_version(view: View, pool: Pool, clusters: Iterable[Cluster], version: str) -> Tree:
    """Return the record: the hub's `hash`, and the equivalent `version`; None for nothing.

    `version`: the pool's now. A pool with bookkeeping of an earlier run is not imported again.
    """
    unclaimed = [cluster for cluster in clusters if cluster.version and not cluster.claim]
    book = view.before(pool.id, "status", "muster")
    if book is not None:
        recorded = dig(book, "hubVersion")
        return recorded if any(cluster.version == dig(recorded, "hash") for cluster in clusters) else None
    condition = view.conditions_before(pool.id).get(_CURRENT)
    if condition is None:
        return None  # no hub controlled the pool
    stale = _called_stale(condition)
    hashes = {cluster.version for cluster in unclaimed if cluster.name not in stale and not cluster.deleting}
    if len(hashes) != 1 or version in hashes:
        return None
    return {"hash": hashes.pop(), "version": version}


def matching(version: str, hub: Tree) -> frozenset[str]:
    """Return the versions of clusters that match a pool: its own, and the hub's hash for it."""
    return frozenset((version, hub["hash"])) if hub is not None and hub["version"] == version else frozenset((version,))


def _called_stale(condition: Tree) -> frozenset[str]:
    """The clusters that the hub calls stale: its condition's message ends with their names."""
    if dig(condition, "status") == "True":
        return frozenset()
    message = dig(condition, "message")
    names = message.rpartition(": ")[2] if isinstance(message, str) else ""
    return frozenset(name.strip() for name in names.split(","))


TO_RUNNING = "powerstateTransitionToRunningTimeout"
TO_HIBERNATING = "powerstateTransitionToHibernatingTimeout"

_VERSIONED = ("platform", "baseDomain", "imageSetRef", "installConfigSecretTemplateRef", "customizationRef")
_IDENTITY = frozenset(("name", "namespace"))

#: Fields of a derived part by path, not yet decisions.
Fields = dict[Path, Tree]


def version_of(spec: Tree) -> str:
    """Return the pool version: 16 hex digits that change if clusters of the old spec become stale.

    Size, counts, labels, timeouts and the inventory's content do not count; whether there is an inventory does.
    """
    parts = {name: spec.get(name) for name in _VERSIONED}
    parts["inventory"] = spec.get("inventory") is not None
    return digest_of(parts)[:16]


def new_manifest(pool: Pool, name: str, version: str, customization: str, now: datetime) -> Fields:
    """Return the manifest of a pool's new cluster, without its power state."""
    spec = pool.spec
    labels = dict(mapping_at(spec, "labels"))
    labels[f"{HIVE}/clusterpool-name"], labels[f"{HIVE}/clusterpool-namespace"] = pool.id.name, pool.id.namespace
    provisioning: Tree = {"imageSetRef": spec.get("imageSetRef")}
    for source, target in (
        ("installConfigSecretTemplateRef", "installConfigSecretRef"),
        ("installerEnv", "installerEnv"),
    ):
        if source in spec:
            provisioning[target] = spec[source]
    reference: Tree = {"namespace": pool.id.namespace, "poolName": pool.id.name}
    if customization:
        reference["clusterDeploymentCustomization"] = {"name": customization}
    fields: Fields = {
        ("metadata", "creationTimestamp"): format_time(now),
        ("metadata", "labels"): dict(sorted(labels.items())),
        ("metadata", "annotations"): dict(sorted({**mapping_at(spec, "annotations"), VERSION: version}.items())),
        ("spec", "clusterName"): name,
        ("spec", "baseDomain"): spec.get("baseDomain"),
        ("spec", "platform"): spec.get("platform"),
        ("spec", "provisioning"): provisioning,
        ("spec", "clusterPoolRef"): reference,
    }
    for field in ("pullSecretRef", "installAttemptsLimit", "hibernateAfter"):
        if field in spec:
            fields["spec", field] = spec[field]
    return fields | timeouts(pool)


def timeouts(pool: Pool) -> Fields:
    """Return the timeouts that a pool's clusters inherit; upstream's `hibernationConfig.resumeTimeout` is another name
    for the first."""
    running = pool.spec.get(TO_RUNNING) or mapping_at(pool.spec, "hibernationConfig").get("resumeTimeout")
    stopping = pool.spec.get(TO_HIBERNATING)
    return {("spec", name): value for name, value in ((TO_RUNNING, running), (TO_HIBERNATING, stopping)) if value}


def carried(previous: Tree) -> Fields:
    """Return the metadata and spec that the last run derived for a cluster or claim."""
    fields: Fields = {("metadata", k): v for k, v in mapping_at(previous, "metadata").items() if k not in _IDENTITY}
    fields.update({("spec", name): value for name, value in mapping_at(previous, "spec").items()})
    return fields


def reference_to(fields: Mapping[Path, Tree], body: Tree, key: PoolKey) -> Tree:
    """The clusterPoolRef of a cluster as a mapping that may be added to."""
    reference = fields.get(("spec", "clusterPoolRef")) or mapping_at(body, "spec", "clusterPoolRef")
    return {"namespace": key.namespace, "poolName": key.name, **reference}
