"""What a fleet shares: everything that wide stages and other neighbourhoods may read.

Objects outside of neighbourhoods are included as they are. Of a cluster's objects only what a summary holds is
included, with this run's decisions: the cluster, the scores that placements use, and the Lease of a silent cluster. Of
derived works and scores, only some decisions are (`READ_OF_WORKS`, `READ_OF_SCORES`). Of the last run's derived parts
only the cluster's existence, but all of a broken cluster's, which holds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from muster.data.decision import Decision, Path
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADD_ON_PLACEMENT_SCORE,
    BESIDE_CLUSTERS,
    CLUSTERS,
    CSR,
    LEASE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_SET,
    MANIFEST_WORK,
    Kind,
    is_cluster,
    kind_of,
    of_kinds,
)
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.leases import leased_cluster
from muster.fleet.objects import Object
from muster.fleet.view import ObjectIndex, View

#: Kinds of a cluster's objects: their neighbourhood has a summary.
OF_CLUSTERS: Final = frozenset((*CLUSTERS, *BESIDE_CLUSTERS, LEASE, CSR))
#: Kinds of those that others may read.
_READ_KINDS: Final = (*CLUSTERS, ADD_ON_PLACEMENT_SCORE)
_HIDDEN: Final = frozenset((kind.group, kind.name) for kind in OF_CLUSTERS.difference(_READ_KINDS))
#: The hidden kinds whose decisions are hidden, too.
_UNDECIDED: Final = _HIDDEN - {(MANIFEST_WORK.group, MANIFEST_WORK.name)}
#: The decisions about a derived work that others may read.
READ_OF_WORKS: Final[tuple[Path, ...]] = (("metadata", "labels"), ("metadata", "annotations"), ("status", "muster"))
#: The same of a derived score.
READ_OF_SCORES: Final[tuple[Path, ...]] = (("status", "scores"), ("status", "validUntil"))
_SCORE: Final = (ADD_ON_PLACEMENT_SCORE.group, ADD_ON_PLACEMENT_SCORE.name)
_LEASE: Final = (LEASE.group, LEASE.name)
#: How names in use of claims and sets begin.
CLAIM: Final = "claim "
SET: Final = "set "


@dataclass(frozen=True)
class Shared(View):
    """What many clusters share.

    `departed`: removed clusters whose agents still report. `undeclared`: objects with nothing but reports. `steps`: in
    a run without wide stages, the objects whose steps are decided all the same, with their records; else None.
    """

    departed: frozenset[str] = frozenset()
    undeclared: frozenset[ObjectId] = frozenset()
    steps: Mapping[ObjectId, bytes] | None = None

    @classmethod
    def by(cls, fleet: Fleet) -> "Shared":
        """Return what a fleet shares, by its decisions so far."""
        objects, previous = fleet.once(_visible)
        leases = {obj.id: obj for obj in _leases_of_silent(fleet)}
        broken = {id_: fleet.previous[id_] for id_ in fleet.broken if is_cluster(id_) and id_ in fleet.previous}
        shared = cls(
            objects={**objects, **leases} if leases else objects,
            previous={**previous, **broken} if broken else previous,
            broken=fleet.broken,
            unidentified=fleet.unidentified,
            decided={id_: made for id_, made in fleet.decided.items() if (id_.group, id_.kind) not in _UNDECIDED},
            held=fleet.held,
            departed=frozenset(fleet.departed),
            undeclared=fleet.undeclared,
            steps=None if fleet.beyond.asked else fleet.beyond.steps,
        )
        by_kind = {kind: objects_of_kind for kind, objects_of_kind in fleet.by_kind.items() if kind not in _HIDDEN}
        return replace(shared, index=ObjectIndex(shared, {**by_kind, _LEASE: tuple(leases.values())}))


def read_by_others(view: View, sound: Iterable[Object]) -> Iterator[Object]:
    """Yield the clusters' objects that wide stages may read."""
    clusters, leases = list[ObjectId](), list[Object]()
    for obj in sound:
        if obj.kind in _READ_KINDS:
            yield obj
        if obj.kind in CLUSTERS:
            clusters.append(obj.id)
        elif obj.kind is LEASE:
            leases.append(obj)
    # The Lease of a cluster that reports would change with every heartbeat.
    silent = _silent(view, clusters)
    yield from (obj for obj in leases if leased_cluster(obj) in silent)


def names_in_use(objects: Iterable[Object]) -> Iterator[str]:
    """Yield what references elsewhere may name of some objects: `label <group>/<kind> <key>`, `claim <name>` and
    `set <name>`."""
    for obj in objects:
        yield from (label_name(obj.kind, key) for key in obj.labels)
        if obj.kind is MANAGED_CLUSTER:
            yield from (f"{CLAIM}{claim.get('name')}" for claim in mappings_at(obj.body, "status", "clusterClaims"))
        elif obj.kind is MANAGED_CLUSTER_SET:
            yield f"{SET}{obj.id.name}"


def label_name(kind: Kind, key: str) -> str:
    """Return the name in use for a key that an object of a kind has as a label; for no key, how all of them begin."""
    return f"label {kind.group}/{kind.name} {key}"


def derived_works(view: View, ids: Iterable[ObjectId]) -> Iterator[tuple[ObjectId, Mapping[Path, Decision]]]:
    """Yield the derived works and scores among some objects, with what others may read of each."""
    for id_ in sorted(of_kinds(ids, MANIFEST_WORK, ADD_ON_PLACEMENT_SCORE)):
        decided, paths = view.decisions(id_), READ_OF_WORKS if MANIFEST_WORK.has(id_) else READ_OF_SCORES
        if (read := {path: decided[path] for path in paths if path in decided}) and not (
            ADD_ON_PLACEMENT_SCORE.has(id_) and id_ in view.objects
        ):
            yield id_, read


def _leases_of_silent(fleet: Fleet) -> Iterator[Object]:
    """The Leases of silent clusters. A Lease that this run only reads is of a silent cluster."""
    undecided = fleet.beyond.standing
    clusters = (*(obj.id for obj in fleet.clusters()), *filter(is_cluster, fleet.broken))
    silent = _silent(fleet, (id_ for id_ in clusters if id_ not in undecided))
    return (obj for obj in fleet.of(LEASE) if obj.id in undecided or leased_cluster(obj) in silent)


def _silent(view: View, clusters: Iterable[ObjectId]) -> frozenset[str]:
    return frozenset(id_.name for id_ in clusters if _headline(view, id_) == "Unknown")


def _headline(view: View, id_: ObjectId) -> Tree:
    return dig(view.now(id_, "status", "conditions", (kind_of(id_).headline,)), "status")


def _visible(view: View) -> tuple[Mapping[ObjectId, Object], Mapping[ObjectId, Tree]]:
    """The objects that are not hidden, and the shared content of sound objects' previous derived parts."""
    objects = {id_: obj for id_, obj in view.objects.items() if (id_.group, id_.kind) not in _HIDDEN}
    previous: dict[ObjectId, Tree] = {}
    for id_, body in view.previous.items():
        kind = (id_.group, id_.kind)
        if kind not in _HIDDEN and kind != _SCORE:
            previous[id_] = {} if is_cluster(id_) else body
    return objects, previous
