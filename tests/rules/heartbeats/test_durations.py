"""How long leases last, so that heartbeats stay bearable."""

import itertools
import random
from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.data.times import format_time
from muster.data.tree import Tree, dig, mappings_at
from muster.fleet.objects import by_type
from muster.rules.heartbeats.durations import STEPS, least_duration
from tests.support.edits import START, Repository

HEAD = "apiVersion: cluster.open-cluster-management.io/v1\n"


@pytest.mark.parametrize(
    ("durations", "limit", "step"),
    [
        ({60: 1200}, 20.0, 0),
        ({60: 1201}, 20.0, 90),
        ({60: 10_000}, 20.0, 720),
        ({60: 10_000, 3600: 1000}, 20.0, 720),
        ({3600: 10_000}, 3.0, 0),
        ({}, 1.0, 0),
        ({60: 10_000}, 1e-9, STEPS[-1]),
    ],
)
def test_least_duration(durations: dict[int, int], limit: float, step: int) -> None:
    assert least_duration(Counter(durations), limit) == step


def test_steps_grow_by_half_at_most_and_end_after_about_a_day() -> None:
    assert list(STEPS) == sorted(set(STEPS))
    assert all(after <= before * 1.5 for before, after in itertools.pairwise(STEPS))
    assert STEPS[0] == 30
    assert 12 * 3600 <= STEPS[-1] <= 24 * 3600


@given(
    st.dictionaries(st.integers(min_value=1, max_value=7200), st.integers(min_value=1, max_value=5000), max_size=5),
    st.floats(min_value=0.01, max_value=1000),
)
def test_the_step_suffices_and_the_one_before_it_does_not(durations: dict[int, int], limit: float) -> None:
    def rate(step: int) -> float:
        return sum(count / max(seconds, step) for seconds, count in durations.items())

    step = least_duration(Counter(durations), limit)
    assert rate(step) <= limit or step == STEPS[-1]
    if step:
        position = STEPS.index(step)
        assert rate(STEPS[position - 1] if position else 0) > limit


MINUTE = 60
#: A second number of the story and the lease duration that people, or the valve, set then.
Change = tuple[int, int]


def _statuses(changes: list[Change], looks: list[int], *, seconds: int, stated: bool, valve: bool) -> list[Tree]:
    """Availability and clock of a cluster whose agent renewed its Lease once, at second 0, at these seconds."""
    spec = f"leaseDurationSeconds: {seconds}, " if stated else ""
    repository, duration = Repository(), seconds
    story = sorted({**dict.fromkeys(looks, 0), **dict(changes)}.items())
    statuses = []
    for second, changed in story:
        duration = changed or duration
        own = seconds if valve else duration
        rate = 1 / duration if valve and duration != seconds else 0
        repository.write(
            {
                "a.yaml": f"{HEAD}kind: ManagedCluster\nmetadata: {{name: a}}\n"
                f"spec: {{hubAcceptsClient: true, leaseDurationSeconds: {own}}}\n"
                "status: {conditions: [{type: ManagedClusterConditionAvailable, status: 'True', reason: R}]}\n",
                "lease.yaml": "apiVersion: coordination.k8s.io/v1\nkind: Lease\n"
                "metadata: {name: managed-cluster-lease, namespace: a}\n"
                f"spec: {{{spec}renewTime: '{format_time(START)}'}}\n",
                "fleet.yaml": "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n"
                f"spec: {{heartbeats: {{maxPerSecond: {rate or 1000}}}}}\n",
            }
        )
        body = repository.run(START + timedelta(seconds=second))["a"]
        if second in looks:
            conditions = by_type(mappings_at(body, "status", "conditions"))
            types = ("ManagedClusterConditionAvailable", "ManagedClusterConditionClockSynced")
            statuses.append([(type_, dig(conditions.get(type_), "status")) for type_ in types])
    return statuses


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize(
    ("seconds", "changes", "valve"),
    [
        (60, [(10, 3600), (20, 60)], False),
        (60, [(10, 3600), (15, 60)], True),
        (2, [(60, 60), (80, 2)], False),
        (60, [(10, 3600)], False),
        (60, [(310, 3600)], False),
        (3600, [(10, 60), (20, 3600)], False),
    ],
)
def test_a_duration_that_the_agent_never_learned_does_not_count(
    seconds: int, changes: list[Change], valve: bool, stated: bool
) -> None:
    looks = [1, 5 * seconds - 1, 5 * seconds, 5 * seconds + 90]
    unchanged = _statuses([], looks, seconds=seconds, stated=stated, valve=valve)
    assert unchanged[1] != unchanged[2]
    assert _statuses([(0, 0), *changes], looks, seconds=seconds, stated=stated, valve=valve) == unchanged


@pytest.mark.parametrize("seed", range(10))
def test_longer_durations_that_come_and_go_between_two_renewals_change_nothing(seed: int) -> None:
    chance = random.Random(seed)
    seconds = chance.choice([10, 60, 300])
    looks = [0, 5 * seconds - 1, 5 * seconds, 5 * seconds + 90]
    instants = sorted(chance.sample(range(1, 8 * seconds), 4))
    changes = [(second, seconds * chance.choice([1, 2, 7, 60])) for second in instants[:-1]]
    changes.append((instants[-1], seconds))
    late = [look for look in looks if look >= instants[-1] or look < instants[0]]
    arguments = {"seconds": seconds, "stated": bool(seed % 2), "valve": seed % 3 == 0}
    assert _statuses(changes, late, **arguments) == _statuses([], late, **arguments)  # type: ignore[arg-type]
