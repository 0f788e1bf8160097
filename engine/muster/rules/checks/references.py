"""References to objects that do not exist: a set, a binding, a pool, a Projection's source, a label that no
cluster has.

Such a reference is valid, because a later commit may add the object. Until then it selects nothing, so it is a warning.
References of a cluster's own objects are checked with its neighbourhood (`of_clusters`); all others read what clusters
share (`muster.fleet.shared`). `muster lint` and `muster validate` show both.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import (
    CALENDAR,
    CLUSTER_CLAIM,
    CLUSTER_DEPLOYMENT_CUSTOMIZATION,
    CLUSTER_IMAGE_SET,
    CLUSTER_POOL,
    FLEET,
    MANAGED_CLUSTER_SET_BINDING,
    NOTIFICATION_POLICY,
    PLACEMENT,
    PROJECTION,
    PULSE_POLICY,
    Kind,
    of_kinds,
)
from muster.data.names import did_you_mean
from muster.data.tree import At, Tree, dig, mappings_at
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.checks.labelkeys import label_findings
from muster.rules.checks.of_clusters import known_sets, named, references_of_clusters
from muster.rules.placements.spec import NO_SELECT, Toleration, TolerationLimits
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.pools.inventory import secrets_of
from muster.rules.projections.policy import for_each
from muster.rules.projections.sources import SOURCES
from muster.rules.rollouts.lint import rollout_findings

#: Types of sinks that have a URL of their own, and need a key.
_PAGERS: Final = ("pagerduty", "opsgenie")
_UNREACHABLE: Final = "cluster.open-cluster-management.io/unreachable"
_UNAVAILABLE: Final = "cluster.open-cluster-management.io/unavailable"
#: How to get the policy that keeps one taint from a failure through the silence.
_ONE_TAINT: Final = "muster init --policies unhealthy-taint"


def reference_findings(fleet: FleetWithPolicies, *, heard: bool = True) -> Iterator[Finding]:
    """Yield a warning for each missing object and each label that no cluster has. `fleet` has all that clusters share;
    agents' refs were read, or not `heard`."""
    yield from references_of_clusters(fleet)
    sets = known_sets(fleet)
    for obj in _written(fleet, MANAGED_CLUSTER_SET_BINDING):
        yield from named(obj, ("spec", "clusterSet"), "ManagedClusterSet", sets)
    pools: dict[str, set[str]] = {}
    for obj in fleet.of(CLUSTER_POOL):
        pools.setdefault(obj.id.namespace, set()).add(obj.id.name)
    for obj in _written(fleet, CLUSTER_CLAIM):
        yield from named(obj, ("spec", "clusterPoolName"), "ClusterPool", pools.get(obj.id.namespace, ()))
    yield from _needed_by_pools(fleet)
    for obj in _written(fleet, PROJECTION):
        yield from _source(fleet, obj)
    bound: dict[str, set[str]] = {}
    for obj in fleet.of(MANAGED_CLUSTER_SET_BINDING):
        bound.setdefault(obj.id.namespace, set()).add(obj.id.name)
    for obj in _written(fleet, PLACEMENT):
        yield from _placement(obj, sets, bound)
    yield from label_findings(fleet, heard=heard)
    yield from rollout_findings(fleet)
    yield from _quiet_hours(fleet)
    yield from _sinks(fleet)
    yield from _incomplete_sinks(fleet)


def _needed_by_pools(fleet: Fleet) -> Iterator[Finding]:
    """Yield a warning for each object that a pool needs, and that neither a file nor the Fleet declares. While the
    Fleet is invalid, nobody knows what exists elsewhere."""
    if not fleet.settings.obeyed:
        return
    here = of_kinds({*fleet.objects, *fleet.broken}, CLUSTER_IMAGE_SET, CLUSTER_DEPLOYMENT_CUSTOMIZATION)
    elsewhere = fleet.settings.get("pools", "externalDependencies")
    declared = {*map(str, here), *map(str, elsewhere if isinstance(elsewhere, list) else ())}
    for obj in _written(fleet, CLUSTER_POOL):
        for path, kind in _needs(obj.spec):
            prefix = f"{kind}/" if kind == CLUSTER_IMAGE_SET.name else f"{kind}/{obj.id.namespace}/"
            name = str(dig(obj.spec, *path))
            if f"{prefix}{name}" not in declared:
                message = f"{obj.id} makes no clusters: nothing declares '{prefix}{name}'"
                near = did_you_mean(name, (key.removeprefix(prefix) for key in declared if key.startswith(prefix)))
                hint = near or "if it exists elsewhere, name it in Fleet.spec.pools.externalDependencies"
                yield finding_at(obj, ("spec", *path), Code.UNKNOWN_REFERENCE, message, hint)


def _needs(spec: Tree) -> Iterator[tuple[tuple[str, ...], str]]:
    """The path below a pool's spec of each name of an object that the pool needs, and the object's kind."""
    for path, kind in (
        (("imageSetRef", "name"), CLUSTER_IMAGE_SET.name),
        (("customizationRef", "name"), CLUSTER_DEPLOYMENT_CUSTOMIZATION.name),
    ):
        if dig(spec, *path):
            yield path, kind
    yield from ((path, "Secret") for _, path in secrets_of(spec))


def _quiet_hours(fleet: FleetWithPolicies) -> Iterator[Finding]:
    """Yield a warning for each NotificationPolicy whose quiet hours name a missing Calendar."""
    calendars = {obj.id.name for obj in fleet.of(CALENDAR)}
    for obj in _written(fleet, NOTIFICATION_POLICY):
        name = dig(obj.spec, "quietHours", "outside")
        if isinstance(name, str) and name not in calendars:
            message = f"there is no Calendar {name!r}, so no message waits for it"
            at: At = ("spec", "quietHours", "outside")
            yield finding_at(obj, at, Code.UNKNOWN_REFERENCE, message, did_you_mean(name, calendars))


def _sinks(fleet: FleetWithPolicies) -> Iterator[Finding]:
    """Yield a warning for each sink that a policy names and the Fleet does not have. While the Fleet is invalid, nobody
    knows; and without any sinks, pulses are printed."""
    for kind, place in ((NOTIFICATION_POLICY, "notifications"), (PULSE_POLICY, "pulses")):
        sinks = [str(sink.get("name")) for sink in mappings_at(fleet.settings.spec, place, "sinks")]
        if not fleet.settings.obeyed or (kind is PULSE_POLICY and not sinks):
            continue
        for obj in _written(fleet, kind):
            names = dig(obj.spec, "sinks")
            for position, name in enumerate(names if isinstance(names, list) else ()):
                if name not in sinks:
                    message = f"there is no sink {name!r} in Fleet.spec.{place}.sinks, so what is for it waits"
                    at: At = ("spec", "sinks", position)
                    yield finding_at(obj, at, Code.UNKNOWN_REFERENCE, message, did_you_mean(str(name), sinks))


def _incomplete_sinks(fleet: FleetWithPolicies) -> Iterator[Finding]:
    """Yield a warning for each sink of notifications that cannot deliver, whatever its variables hold, and for each
    whose name another one has."""
    for obj in _written(fleet, FLEET) if fleet.settings.obeyed else ():
        names = list[str]()
        for position, sink in enumerate(mappings_at(obj.spec, "notifications", "sinks")):
            at: At = ("spec", "notifications", "sinks", position)
            sort, name = str(sink.get("type")), str(sink.get("name"))
            wanted: list[tuple[str, ...]] = [("credentialsFrom",)] if sort in _PAGERS else [("url", "urlFrom")]
            wanted += [("from",), ("to",)] if sort == "email" else []
            for missing in [" or ".join(fields) for fields in wanted if not any(map(sink.get, fields))]:
                message = f"the sink {name!r} has no {missing}, so what is for it waits"
                yield finding_at(obj, at, Code.UNKNOWN_REFERENCE, message, "add the field")
            if name in names:
                message = f"two sinks are called {name!r}, and the first one counts"
                yield finding_at(obj, (*at, "name"), Code.UNKNOWN_REFERENCE, message, "give each a name of its own")
            names.append(name)


def toleration_advice(fleet: Fleet) -> Iterator[Finding]:
    """Yield advice on Placements that move work back to a failed cluster: it leaves while the cluster is unavailable,
    and the next taint, `unreachable` or `unavailable` again, is new and tolerated from its own beginning."""
    for obj in _written(fleet, PLACEMENT):
        limits = TolerationLimits(Toleration.read(entry) for entry in mappings_at(obj.spec, "tolerations"))
        silent, failed = (limits.seconds(key, "", NO_SELECT) for key in (_UNREACHABLE, _UNAVAILABLE))
        if failed is None or silent == failed == 0:
            continue
        if failed == 0:
            message = f"{obj.id} tolerates unreachable clusters and not unavailable ones, so silence moves work back"
            hint = f"tolerate {_UNAVAILABLE} as well, or neither"
        else:
            cause = "failure after silence" if silent == 0 else "silence"
            message = f"{obj.id} tolerates unavailable clusters for {failed} s, so {cause} moves work back"
            hint = f"tolerate both without a limit, and one taint that stays for {failed} s: {_ONE_TAINT}"
        yield finding_at(obj, ("spec", "tolerations"), Code.TOLERATION_MOVES_WORK_BACK, message, hint)


def _written(fleet: Fleet, kind: Kind) -> Iterator[Object]:
    return (obj for obj in fleet.of(kind) if obj.written)


def _source(fleet: Fleet, obj: Object) -> Iterator[Finding]:
    """The object that a Projection names, if it does not exist."""
    source, _ = for_each(obj)
    kind = SOURCES[source].named
    if kind is not None:
        sources = {f"{source.id.namespace}/{source.id.name}" for source in fleet.of(kind)}
        yield from named(obj, ("spec", "forEach", source), kind.name, sources)


def _placement(obj: Object, sets: Iterable[str], bound: Mapping[str, Iterable[str]]) -> Iterator[Finding]:
    bound_here = bound.get(obj.id.namespace, ())
    names = [name for name in dig(obj.spec, "clusterSets") or () if isinstance(name, str)]
    for index, name in enumerate(names):
        at: At = ("spec", "clusterSets", index)
        if name not in sets:
            message = f"{obj.id} names ManagedClusterSet {name!r}, which does not exist"
            yield finding_at(obj, at, Code.UNKNOWN_SET_OR_POOL, message, did_you_mean(name, sets))
        elif name not in bound_here:
            message = f"{obj.id} names the set {name!r}, which is not bound to namespace {obj.id.namespace!r}"
            hint = did_you_mean(name, bound_here) or f"add a ManagedClusterSetBinding {name!r} to the namespace"
            yield finding_at(obj, at, Code.SET_NOT_BOUND, message, hint)
    if not names and not bound_here:
        message = f"{obj.id} selects no cluster: no set is bound to namespace {obj.id.namespace!r}"
        hint = did_you_mean(obj.id.namespace, bound) or "add a ManagedClusterSetBinding to the namespace"
        yield finding_at(obj, ("metadata", "namespace"), Code.SET_NOT_BOUND, message, hint)
