"""Damping: windows, their ends, and that nothing ever toggles twice within one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.data.kinds import CONDITION_POLICY, MANAGED_CLUSTER
from muster.data.tree import Tree
from muster.fleet.objects import Object
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.conditions.stage import pending
from muster.rules.policies.policies import Target
from muster.rules.policies.selectors import LabelSelector

START = datetime(2026, 1, 1, tzinfo=UTC)
HOLD = timedelta(seconds=30)
_ID = CONDITION_POLICY.id("p")
POLICY = ConditionPolicy(
    id=_ID,
    source=Object(_ID, {}, ()),
    target=Target((MANAGED_CLUSTER,), LabelSelector(), frozenset()),
    guards=(),
    variables={},
    params={},
    type="Ready",
    rules=(),
    hold_for={"True": HOLD, "False": HOLD},
    hold_unhealthy=True,
    reads=frozenset(),
)
KARMADA = replace(POLICY, hold_unhealthy=False)


def seconds(number: float) -> datetime:
    return START + timedelta(seconds=number)


@pytest.mark.parametrize(
    ("current", "status", "known", "at", "until"),
    [
        pytest.param(None, "False", None, 0, None, id="what is said first is adopted"),
        pytest.param("False", "False", None, 0, None, id="the same status has nothing to wait for"),
        pytest.param("True", "False", None, 0, 30, id="a new one waits"),
        pytest.param("True", "False", ("False", 0), 29, 30, id="one second before the end"),
        pytest.param("True", "False", ("False", 0), 30, None, id="at the end exactly"),
        pytest.param("True", "False", ("Unknown", 0), 29, 59, id="another pending status begins anew"),
        pytest.param("True", "Unknown", ("False", 0), 5, None, id="a status without a window is adopted at once"),
        pytest.param("False", "True", ("True", 10), 20, 40, id="recovery waits too"),
        pytest.param("True", "False", ("False", 500), 20, 50, id="a since that lies ahead counts from now"),
    ],
)
def test_windows(current: str | None, status: str, known: tuple[str, int] | None, at: int, until: int | None) -> None:
    before: Tree = None if current is None else {"status": current}
    entry: Tree = None if known is None else {"status": known[0], "since": f"{seconds(known[1]):%Y-%m-%dT%H:%M:%SZ}"}
    found = pending(POLICY, status, "Reason", current=before, last=entry, now=seconds(at))
    assert (found and found.until) == (None if until is None else seconds(until))


def test_between_false_and_unknown_a_policy_may_damp_nothing() -> None:
    arguments: dict[str, Tree] = {"current": {"status": "Unknown"}, "last": None, "now": START}
    assert pending(POLICY, "False", "", **arguments) is not None
    assert pending(KARMADA, "False", "", **arguments) is None
    assert pending(KARMADA, "True", "", **arguments) is not None


@given(st.lists(st.tuples(st.sampled_from(["True", "False"]), st.integers(1, 40)), max_size=40), st.integers(0, 60))
def test_nothing_toggles_twice_within_its_window(seen: list[tuple[str, int]], hold: int) -> None:
    policy = replace(POLICY, hold_for=dict.fromkeys(("True", "False"), timedelta(seconds=hold)))
    now, current, known = START, None, None
    toggled: list[datetime] = []
    for status, later in seen:
        now += timedelta(seconds=later)
        waiting = pending(policy, status, "", current=current, last=known, now=now)
        known = waiting.entry() if waiting else None
        if waiting is None and (current is None or current["status"] != status):
            current = {"status": status}
            toggled.append(now)
    gaps = [after - before for before, after in pairwise(toggled)]
    assert all(gap >= timedelta(seconds=hold) for gap in gaps)
