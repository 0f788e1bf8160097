"""A plan for people."""

from datetime import UTC, datetime

import pytest

from muster.data.decision import Because, Held
from muster.data.kinds import MANAGED_CLUSTER, PLACEMENT
from muster.features.plan.text import print_held, print_summary, print_transitions
from muster.run.facts import Fact
from muster.run.transition import Transition

LATER = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)


def test_a_plan_is_its_transitions_what_is_held_and_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = MANAGED_CLUSTER.id("a"), PLACEMENT.id("web", "shop")
    print_transitions(
        [
            Transition(
                one,
                Fact("condition", "Available", "True"),
                Fact("condition", "Available", "Unknown", note="Stopped"),
                "p#1",
            ),
            Transition(one, None, Fact("taint", "x.io/y:NoSelect", "present"), "Policy/taints#0"),
            Transition(one, None, Fact("held", "taint x:NoSelect", "held"), "DisruptionBudget/default"),
            Transition(other, Fact("cluster", "a", "chosen"), None, "placements"),
        ]
    )
    because = Because("DisruptionBudget/default", ())
    print_held(
        [
            Held(MANAGED_CLUSTER.id("c"), "taint a.io/x:NoSelect", "half of the fleet is dark", because),
            Held(MANAGED_CLUSTER.id("b"), "taint a.io/x:NoSelect", "half of the fleet is dark", because),
            Held(MANAGED_CLUSTER.id("b"), "remedy TrafficControl", "half of the fleet is dark", because),
        ]
    )
    print_summary("1 cluster Unknown", 2, LATER)
    assert capsys.readouterr().out == (
        "ManagedCluster/a\n"
        "  ~ condition Available: True -> Unknown (Stopped)\n"
        "  + taint y:NoSelect: present (Policy/taints)\n"
        "Placement/shop/web\n"
        "  - cluster a: chosen (placements)\n"
        "3 effects are held: half of the fleet is dark\n"
        "  remedy TrafficControl: b\n"
        "  taint x:NoSelect: b, c\n"
        "1 cluster Unknown: 2 derived files to write or remove.\n"
        "Next change without new input: 2026-01-01T00:05:00Z.\n"
    )


def test_many_objects_with_the_same_transitions_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    dark = Fact("condition", "Available", "Unknown", note="Stopped")
    ids = [MANAGED_CLUSTER.id(f"c{number}") for number in range(8)]
    because = Because("DisruptionBudget/default", ())

    print_transitions([Transition(id_, Fact("condition", "Available", "True"), dark) for id_ in ids])
    print_held([Held(id_, "taint a.io/x:NoSelect", "half of the fleet is dark", because) for id_ in ids])

    assert capsys.readouterr().out == (
        "8 ManagedClusters: c0, c1, c2, c3, c4 and 3 more\n"
        "  ~ condition Available: True -> Unknown (Stopped)\n"
        "8 effects are held: half of the fleet is dark\n"
        "  taint x:NoSelect: c0, c1, c2, c3, c4 and 3 more\n"
    )


@pytest.mark.parametrize(
    ("files", "horizon", "told"),
    [
        (0, None, "Nothing to do.\n"),
        (1, None, "x: 1 derived file to write or remove.\n"),
        (0, LATER, "Nothing to do.\nNext change without new input: 2026-01-01T00:05:00Z.\n"),
    ],
)
def test_the_line_below(files: int, horizon: datetime | None, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_held([])
    print_summary("x", files, horizon)
    assert capsys.readouterr().out == told
