"""Who reports: rules as a table, and a simulation of instances that sleep, die and race for one ref."""

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.agents.detect.election import (
    LeaseAction,
    LeaseHold,
    ObservedLease,
    next_action,
    observe_lease,
    renewed_hold,
)

LEASE = 45


def hold(holder: str, renewed: str = "t0") -> LeaseHold:
    return LeaseHold(holder, renewed, LEASE)


@pytest.mark.parametrize(
    ("standing", "seen_for", "expected"),
    [
        (None, 0, LeaseAction.TAKE),
        (hold(""), 0, LeaseAction.TAKE),  # given up
        (hold("me"), 0, LeaseAction.RENEW),
        (hold("me"), 1000, LeaseAction.RENEW),  # however long it slept: nobody else wrote
        (hold("other"), 0, LeaseAction.WAIT),
        (hold("other"), 44.9, LeaseAction.WAIT),
        (hold("other"), 45, LeaseAction.TAKE),
    ],
)
def test_turn(standing: LeaseHold | None, seen_for: float, expected: LeaseAction) -> None:
    assert next_action(ObservedLease(standing, 100), "me", 100 + seen_for) is expected


def test_a_lease_that_was_renewed_is_seen_anew() -> None:
    first = observe_lease(None, hold("other", "t0"), 10)
    assert observe_lease(first, hold("other", "t0"), 50) == first
    assert observe_lease(first, hold("other", "t1"), 50).since == 50


def test_transitions_count_changes_of_hands() -> None:
    first = renewed_hold(None, "a", "t0", LEASE)
    again = renewed_hold(first, "a", "t1", LEASE)
    other = renewed_hold(again, "b", "t2", LEASE)
    assert [one.transitions for one in (first, again, other)] == [0, 0, 1]


@dataclass
class Ref:
    """The ref that they race for: a version and the lease on it."""

    version: int = 0
    standing: LeaseHold | None = None
    writes: list[tuple[float, str]] = field(default_factory=list)


@dataclass
class Instance:
    """One instance: it looks, and a step later acts on what it saw; a race may lie between."""

    name: str
    sighting: ObservedLease | None = None
    version: int = -1

    def look(self, ref: Ref, now: float) -> None:
        self.version, self.sighting = ref.version, observe_lease(self.sighting, ref.standing, now)

    def act(self, ref: Ref, now: float) -> None:
        if (
            self.sighting is None
            or next_action(self.sighting, self.name, now) is LeaseAction.WAIT
            or self.version != ref.version
        ):
            return
        ref.version += 1
        ref.standing = renewed_hold(ref.standing, self.name, f"t{ref.version}", LEASE)
        ref.writes.append((now, self.name))


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.floats(0, 30)), max_size=80))
def test_hands_change_only_after_a_whole_lease_of_silence(steps: list[tuple[int, bool, float]]) -> None:
    ref, instances, now = Ref(), [Instance(name) for name in "abc"], 0.0
    for which, looks, pause in steps:
        now += pause
        if looks:
            instances[which].look(ref, now)
        else:
            instances[which].act(ref, now)
    for (before, holder), (after, successor) in pairwise(ref.writes):
        assert holder == successor or after >= before + LEASE


@given(st.integers(0, 2), st.floats(0, 15))
def test_when_the_holder_dies_another_takes_over_within_a_lease_and_a_look(dead: int, phase: float) -> None:
    ref, instances = Ref(), [Instance(name) for name in "abc"]
    instances[dead].look(ref, 0)
    instances[dead].act(ref, 0)
    survivors = [instance for index, instance in enumerate(instances) if index != dead]
    every = LEASE / 3
    for step in range(5):
        for instance in survivors:
            instance.look(ref, phase + step * every)
            instance.act(ref, phase + step * every)
    assert ref.standing is not None
    assert ref.standing.holder != instances[dead].name
    assert next(when for when, who in ref.writes if who != instances[dead].name) <= LEASE + every
