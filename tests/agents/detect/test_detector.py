"""When an observation is confirmed: Karmada's table, and what must hold of every sequence of probes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.agents.detect.detector import Detection, Thresholds, observe, resumed

THRESHOLDS = Thresholds(failure_seconds=30, success_seconds=20)
MARKS = {"+": True, "-": False, "?": None}


def judgements(probes: str, period: float = 10, state: Detection | None = None) -> str:
    """The judgement after each probe; a blank where there is none."""
    made = []
    for number, mark in enumerate(probes):
        state = observe(state, MARKS[mark], number * period, THRESHOLDS)
        made.append(" " if state is None else "+" if state.healthy else "-")
    return "".join(made)


@pytest.mark.parametrize(
    ("probes", "expected"),
    [
        ("+++", "+++"),
        ("---", "---"),  # the first is confirmed at once
        ("+----", "+++" + "+-"),  # the 4th failure in a row, 30 s after the first of them
        ("-+++", "---" + "+"),  # the 3rd success in a row, 20 s after the first of them
        ("+---+---", "++++" + "++++"),  # an interruption begins the window anew
        ("+-+-+-+-", "++++" + "++++"),  # while it flaps, it stays
        ("-+--+++", "------" + "+"),
        ("+--?----", "+++++++-"),  # a probe that could not look is no failure, and interrupts the window
        ("?+", " +"),
        ("+???", "++++"),
    ],
)
def test_a_sequence_of_probes(probes: str, expected: str) -> None:
    assert judgements(probes) == expected


def test_a_restart_skips_no_threshold() -> None:
    assert judgements("----", state=resumed(True, 0)) == "+++-"
    assert judgements("+++", state=resumed(False, 0)) == "--+"


def test_without_thresholds_every_probe_is_believed() -> None:
    state = observe(resumed(True, 0), False, 0, Thresholds(0, 0))
    assert state is not None
    assert not state.healthy


PROBES = st.lists(st.tuples(st.sampled_from([True, False, None]), st.floats(0, 60)), max_size=40)


@given(PROBES, st.floats(0, 60), st.floats(0, 60))
def test_a_judgement_changes_only_after_its_contrary_was_seen_for_the_whole_threshold(
    probes: list[tuple[bool | None, float]], failure: float, success: float
) -> None:
    thresholds = Thresholds(failure, success)
    history: list[tuple[float, bool | None]] = []
    state: Detection | None = None
    now = 0.0
    for seen, pause in probes:
        now += pause
        before, state = state, observe(state, seen, now, thresholds)
        history.append((now, seen))
        if before is None or state is None or before.healthy == state.healthy:
            continue
        began = now
        for instant, earlier in reversed(history):
            if earlier is not state.healthy:
                break
            began = instant
        assert now >= began + (success if state.healthy else failure)


@given(PROBES, st.booleans())
def test_a_constant_observation_is_believed_in_the_end(probes: list[tuple[bool | None, float]], last: bool) -> None:
    state: Detection | None = None
    now = 0.0
    for seen, pause in probes:
        now += pause
        state = observe(state, seen, now, THRESHOLDS)
    for step in range(2):
        state = observe(state, last, now + step * 30, THRESHOLDS)
    assert state is not None
    assert state.healthy is last
