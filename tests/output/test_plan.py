"""A plan for people."""

from datetime import UTC, datetime

import pytest

from muster.output.plan import print_held, print_summary, print_transitions

LATER = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)


def test_a_plan_is_its_transitions_what_is_held_and_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    print_transitions(
        [("ManagedCluster/a", "Available", "True", "Unknown", "lease-expired"), ("Lease/b", "", "", "", "")]
    )
    print_held([("ManagedCluster/b", "taint x:NoSelect", "half of the fleet is dark")])
    print_summary("1 cluster Unknown", 2, LATER)
    assert capsys.readouterr().out == (
        "OBJECT             WHAT        FROM   TO        WHY\n"
        "ManagedCluster/a   Available   True   Unknown   lease-expired\n"
        "Lease/b            -           -      -         -\n"
        "HELD               EFFECT             WHY\n"
        "ManagedCluster/b   taint x:NoSelect   half of the fleet is dark\n"
        "1 cluster Unknown: 2 derived files to write or remove.\n"
        "Time alone changes something next at 2026-01-01T00:05:00Z.\n"
    )


@pytest.mark.parametrize(
    ("files", "horizon", "told"),
    [
        (0, None, "Nothing to do.\n"),
        (1, None, "x: 1 derived file to write or remove.\n"),
        (0, LATER, "Nothing to do.\nTime alone changes something next at 2026-01-01T00:05:00Z.\n"),
    ],
)
def test_the_line_below(files: int, horizon: datetime | None, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_held([])
    print_summary("x", files, horizon)
    assert capsys.readouterr().out == told
