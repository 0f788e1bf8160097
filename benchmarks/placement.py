"""How long the sets and Placements of a large fleet take: `python -m benchmarks.placement`.

10,000 clusters under 100 Placements of every sort, from nothing (each must choose) and at rest (each must find that
nothing moves), and the same with twice the clusters. Fails where a run takes 5 s, or twice the clusters more than 2.3
times as long. Figures are CPU time, the best of some rounds in which both sizes take turns: other work on the machine
only ever adds, not least by taking the caches away.
"""

import gc
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from muster.data.decision import OF_ITSELF, Because, Decision, Failed
from muster.data.ids import ObjectId
from muster.data.kinds import ADD_ON_PLACEMENT_SCORE, MANAGED_CLUSTER, MANAGED_CLUSTER_SET_BINDING, PLACEMENT
from muster.data.tree import Tree
from muster.fleet.derived import derived_body
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.settings import DEFAULTS
from muster.rules.compiling import compile_placements
from muster.rules.pipeline import terms_of
from muster.rules.placements import stage as placements
from muster.rules.placements.policy import CompiledPlacement
from muster.rules.policies.in_force import Compiled, FleetWithPolicies
from muster.rules.sets import stage as sets
from muster.rules.stages import StageTerm
from muster.run.collector import without_collection

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTERS, PLACEMENTS = 10_000, 100
MOST_SECONDS, MOST_RATIO = 5.0, 2.3
ROUNDS = 5
REGIONS, TIERS = ("ap", "eu", "us"), ("edge", "prod", "stage", "test")
_TAINT = Because("benchmark", OF_ITSELF)


def bodies(clusters: int) -> Iterator[tuple[ObjectId, Tree]]:
    """The objects of a fleet: mixed regions, tiers and sizes; every seventh cluster has a score."""
    for number in range(clusters):
        name = f"cluster-{number:06d}"
        labels = {"region": REGIONS[number % 3], "tier": TIERS[number % 4], "zone": f"zone-{number % 9}"}
        capacity = {"cpu": f"{8 + number % 64}", "memory": f"{32 + number % 256}Gi"}
        yield (
            MANAGED_CLUSTER.id(name),
            {
                "metadata": {"name": name, "labels": labels},
                "spec": {"hubAcceptsClient": True},
                "status": {
                    "capacity": capacity,
                    "allocatable": capacity,
                    "clusterClaims": [
                        {"name": "kubeversion.open-cluster-management.io", "value": f"1.{30 + number % 3}"}
                    ],
                },
            },
        )
        if number % 7 == 0:
            yield (
                ADD_ON_PLACEMENT_SCORE.id("cost", name),
                {"status": {"scores": [{"name": "low", "value": number % 201 - 100}]}},
            )
    yield MANAGED_CLUSTER_SET_BINDING.id("global", "apps"), {"spec": {"clusterSet": "global"}}
    for number in range(PLACEMENTS):
        yield PLACEMENT.id(f"placement-{number:03d}", "apps"), {"spec": placement_spec(number, clusters)}


def placement_spec(number: int, clusters: int) -> Tree:
    """Ten sorts of Placements, which grow with the fleet."""
    region = {"labelSelector": {"matchLabels": {"region": REGIONS[number % 3]}}}
    some = clusters // 100
    sorts: tuple[Tree, ...] = (
        {},
        {"predicates": [{"requiredClusterSelector": region}]},
        {"numberOfClusters": some},
        {"numberOfClusters": some, "predicates": [{"requiredClusterSelector": region}]},
        {"tolerations": [{"operator": "Exists", "tolerationSeconds": 600}]},
        {"numberOfClusters": some, "prioritizerPolicy": _weights("BuiltIn", "ResourceAllocatableCPU")},
        {"numberOfClusters": some, "prioritizerPolicy": _weights("AddOn", "")},
        {"numberOfClusters": some, "spreadPolicy": {"spreadConstraints": [_constraint("region"), _constraint("zone")]}},
        {"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "10%"}}},
        {"predicates": [{"requiredClusterSelector": {**region, "celSelector": {"celExpressions": [_EXPRESSION]}}}]},
    )
    return sorts[number % len(sorts)]


_EXPRESSION = "managedCluster.metadata.labels['tier'] in ['prod', 'edge']"


def _weights(type_: str, name: str) -> Tree:
    which = {"builtIn": name} if name else {"addOn": {"resourceName": "cost", "scoreName": "low"}}
    return {"configurations": [{"scoreCoordinate": {"type": type_, **which}, "weight": 2}]}


def _constraint(key: str) -> Tree:
    return {"topologyKey": key, "topologyKeyType": "Label", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}


def fleet_of(clusters: int) -> FleetWithPolicies:
    """A validated fleet in which every fiftieth cluster has gone dark."""
    objects = {id_: Object(id_, body, ()) for id_, body in bodies(clusters)}
    fleet = Fleet(objects, {}, settings=DEFAULTS)
    compiled, _ = compile_placements(fleet)
    dark = [id_ for id_ in objects if id_.kind == MANAGED_CLUSTER.name][::50]
    path = ("spec", "taints", ("cluster.open-cluster-management.io/unreachable", "NoSelect", ""))
    taints = [Decision(id_, path, {"timeAdded": "2025-12-31T23:55:00Z"}, _TAINT) for id_ in dark]
    return FleetWithPolicies.by(Compiled({CompiledPlacement: compiled}), fleet).with_outcomes(taints)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for sets and placements, from nothing and at rest."""

    clusters: int
    cold: float
    rest: float


def measure(clusters: int) -> Timing:
    """Time both stages twice: on a new fleet, and on one that has been decided."""
    fleet = fleet_of(clusters)
    cold, decided = timed(fleet)
    previous = {id_: body for id_, made in decided.decided.items() if (body := derived_body(id_, made)) is not None}
    rest, again = timed(replace(fleet, previous=previous))
    for id_, made in again.decided.items():
        if derived_body(id_, made) != previous.get(id_):
            raise SystemExit(f"{id_} is not at rest")
    return Timing(clusters, cold, rest)


def timed(fleet: FleetWithPolicies) -> tuple[float, FleetWithPolicies]:
    """Run both stages; return the seconds and what they decided."""
    gc.collect()
    start = time.process_time()
    with without_collection():  # as every run does
        for stage in (sets.STAGE, placements.STAGE):
            outcomes = stage.ask(fleet, terms_of(fleet, NOW))
            fleet = fleet.with_outcomes(one for one in outcomes if not isinstance(one, StageTerm | Failed))
    return time.process_time() - start, fleet


def best(timings: Iterable[Timing]) -> Timing:
    """The least seconds of measurements of one size."""
    known = list(timings)
    return Timing(known[0].clusters, min(t.cold for t in known), min(t.rest for t in known))


def main() -> int:
    """Print the timings and ratios; 1 where a bound is missed."""
    rounds = [(measure(CLUSTERS), measure(2 * CLUSTERS)) for _ in range(ROUNDS)]
    timings = [best(column) for column in zip(*rounds, strict=True)]
    for timing in timings:
        sys.stdout.write(
            f"{timing.clusters:>6} clusters, {PLACEMENTS} placements: "
            f"{timing.cold:.2f} s from nothing, {timing.rest:.2f} s at rest\n"
        )
    one, two = timings
    ratios = two.cold / one.cold, two.rest / one.rest
    sys.stdout.write(f"twice the clusters: {ratios[0]:.2f} times as long from nothing, {ratios[1]:.2f} at rest\n")
    return 0 if max(one.cold, one.rest) < MOST_SECONDS and max(ratios) <= MOST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
