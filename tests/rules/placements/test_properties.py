"""What holds for all fleets: rest after one run, no order of files, no needless moves, and horizons to the second."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.data.snapshot import Snapshot
from muster.data.source import SourceFile
from muster.fleet.derived import content_id
from muster.rules.placements.shards import clusters_of, previous_shards
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run
from tests.support.examples import often

Json = Any
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OCM = "cluster.open-cluster-management.io"
PROFILE = settings(max_examples=often(20), suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True)
class Memory(Snapshot):
    """A snapshot that is nowhere but here."""

    texts: Mapping[str, str]

    def files(self) -> Iterator[SourceFile]:
        for path, text in sorted(self.texts.items()):
            data = text.encode()
            yield SourceFile(path, content_id(data), lambda data=data: data)  # type: ignore[misc]

    def with_files(self, files: Mapping[str, str | None]) -> "Memory":
        """The snapshot after these have been written."""
        return Memory({path: text for path, text in {**self.texts, **files}.items() if text is not None})


def cluster(name: str, zone: str | None, accepted: bool, taints: Sequence[Json], cpu: int) -> list[Json]:
    available = {
        "type": "ManagedClusterConditionAvailable",
        "status": "True",
        "reason": "R",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    amounts = {"cpu": str(cpu)}
    return [
        {
            "apiVersion": f"{OCM}/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": {"zone": zone} if zone else {}},
            "spec": {"hubAcceptsClient": accepted, "taints": list(taints)},
            "status": {"conditions": [available], "allocatable": amounts, "capacity": amounts},
        },
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "managed-cluster-lease", "namespace": name},
            "spec": {"renewTime": "2036-01-01T00:00:00Z"},
        },
    ]


BINDING = {
    "apiVersion": f"{OCM}/v1beta2",
    "kind": "ManagedClusterSetBinding",
    "metadata": {"name": "global", "namespace": "apps"},
    "spec": {"clusterSet": "global"},
}

_TAINTS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["k1", "k2"]),
            "effect": st.sampled_from(["NoSelect", "PreferNoSelect", "NoSelectIfNew"]),
        }
    ),
    max_size=2,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)
_ZONES = st.sampled_from(["x", "y", None])
_TOLERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["k1", "k2"]),
            "operator": st.just("Exists"),
            "tolerationSeconds": st.sampled_from([None, 0, 30, 60]),
        }
    ),
    max_size=2,
)
_SCORES = st.lists(
    st.fixed_dictionaries(
        {
            "scoreCoordinate": st.fixed_dictionaries(
                {"builtIn": st.sampled_from(["Balance", "Steady", "ResourceAllocatableCPU"])}
            ),
            "weight": st.integers(-10, 10),
        }
    ),
    max_size=3,
)
_SPREAD = st.fixed_dictionaries(
    {
        "topologyKey": st.just("zone"),
        "topologyKeyType": st.just("Label"),
        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    }
)


@st.composite
def fleets(draw: st.DrawFn, *, limited: bool = True) -> list[Json]:
    """The objects of a small fleet."""
    bodies: list[Json] = [BINDING]
    for number in range(draw(st.integers(1, 6))):
        bodies += cluster(
            f"c{number}",
            draw(_ZONES),
            draw(st.sampled_from([True, True, True, False])),
            draw(_TAINTS),
            draw(st.integers(1, 9)),
        )
    for number in range(draw(st.integers(1, 4))):
        spec: Json = {"tolerations": draw(_TOLERATIONS)}
        if limited:
            mode = draw(st.sampled_from(["Additive", "Exact"]))
            spec["prioritizerPolicy"] = {"mode": mode, "configurations": draw(_SCORES)}
            spec["spreadPolicy"] = {"spreadConstraints": draw(st.lists(_SPREAD, max_size=1))}
            if draw(st.booleans()):
                spec["numberOfClusters"] = draw(st.integers(0, 4))
        bodies.append(
            {
                "apiVersion": f"{OCM}/v1beta1",
                "kind": "Placement",
                "metadata": {"name": f"p{number}", "namespace": "apps"},
                "spec": spec,
            }
        )
    return bodies


def snapshot(bodies: Sequence[Json]) -> Memory:
    return Memory({f"{number:03d}.json": json.dumps(body) for number, body in enumerate(bodies)})


def chosen(memory: Memory) -> dict[str, frozenset[str]]:
    fleet = evaluate_snapshot(memory, NOW).fleet
    return {id_.name: clusters_of(shards) for id_, shards in previous_shards(fleet).items()}


def settled(memory: Memory, now: datetime = NOW) -> tuple[Run, Memory]:
    """Evaluate once and write what it gave."""
    run = evaluate_snapshot(memory, now)
    assert {finding.code for finding in run.findings} <= {"MUS265"}
    return run, memory.with_files(run.files)


@PROFILE
@given(fleets())
def test_one_run_is_enough(bodies: list[Json]) -> None:
    _, after = settled(snapshot(bodies))
    again = evaluate_snapshot(after, NOW)
    assert again.files == {}


@pytest.mark.parametrize("names", (("near", "far"), ("far", "near")))
@pytest.mark.parametrize("weights", ((-2, 2), (2, -2), (-10, 10), (-1, -1), (3, 3)))
def test_placements_that_answer_each_other_keep_their_clusters(
    names: tuple[str, str], weights: tuple[int, int]
) -> None:
    """One wants to be where the other is not, the other where the first is: upstream would move them for ever."""
    bodies = [BINDING, *cluster("a", "x", True, [], 4), *cluster("b", "x", True, [], 4)]
    for name, weight in zip(names, weights, strict=True):
        balance = {"scoreCoordinate": {"builtIn": "Balance"}, "weight": weight}
        spec = {"numberOfClusters": 1, "prioritizerPolicy": {"mode": "Exact", "configurations": [balance]}}
        bodies.append(
            {
                "apiVersion": f"{OCM}/v1beta1",
                "kind": "Placement",
                "metadata": {"name": name, "namespace": "apps"},
                "spec": spec,
            }
        )
    run, after = settled(snapshot(bodies))
    assert evaluate_snapshot(after, NOW).files == {}
    restless = sorted(str(found.object) for found in run.findings)
    assert restless == (["Placement/apps/far", "Placement/apps/near"] if weights[0] * weights[1] < 0 else [])
    assert [found.message for found in evaluate_snapshot(after, NOW).findings] == [
        found.message for found in run.findings
    ]


@PROFILE
@given(fleets(), st.randoms(use_true_random=False))
def test_the_order_of_files_does_not_matter(bodies: list[Json], random: Any) -> None:
    mixed = list(bodies)
    random.shuffle(mixed)
    assert evaluate_snapshot(snapshot(bodies), NOW).files == evaluate_snapshot(snapshot(mixed), NOW).files


@PROFILE
@given(fleets(limited=False), _ZONES)
def test_another_cluster_moves_none(bodies: list[Json], zone: str | None) -> None:
    _, before = settled(snapshot(bodies))
    _, after = settled(
        before.with_files({f"x{n}.json": json.dumps(b) for n, b in enumerate(cluster("new", zone, True, [], 5))})
    )
    old, new = chosen(before), chosen(after)
    assert {name: clusters - {"new"} for name, clusters in new.items()} == old


@PROFILE
@given(fleets())
def test_no_cluster_moves_as_long_as_nothing_happens(bodies: list[Json]) -> None:
    run, after = settled(snapshot(bodies))
    horizon = run.horizon or NOW + timedelta(days=1)
    later, _ = settled(after, horizon - timedelta(seconds=1))
    assert later.files == {}


@PROFILE
@given(fleets())
def test_at_its_horizon_a_placement_changes(bodies: list[Json]) -> None:
    run, after = settled(snapshot(bodies))
    horizons = [
        decision.horizon
        for id_, made in run.fleet.decided.items()
        if id_.kind == "Placement"
        for decision in made.values()
        if decision.horizon is not None
    ]
    if horizons:
        later, _ = settled(after, min(horizons))
        assert any("placementdecisions" in path for path in later.files)
