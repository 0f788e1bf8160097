"""Tolerations as upstream has them: what each speaks of, and for how long the most patient bears a taint."""

from datetime import UTC, datetime, timedelta

import pytest

from muster.data.tree import Tree
from muster.rules.placements.spec import Misconfigured, Taint, Toleration, TolerationLimits, read_spec
from tests.support.example import NOON

EVER = datetime.min.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("entry", "bears"),
    [
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "a100"}, True),
        ({"key": "gpu", "operator": "", "value": "a100", "effect": "NoSelect"}, True),
        ({"key": "gpu", "value": "h100"}, False),
        ({"key": "gpu"}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "PreferNoSelect"}, False),
        ({"key": "gpus", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "In", "value": "a100"}, False),
    ],
)
def test_what_a_toleration_speaks_of(entry: Tree, bears: bool) -> None:
    assert Toleration.read(entry).matches("gpu", "a100", "NoSelect") is bears


def limits(*seconds: int | None) -> TolerationLimits:
    entries = ({"operator": "Exists", **({} if one is None else {"tolerationSeconds": one})} for one in seconds)
    return TolerationLimits(map(Toleration.read, entries))


@pytest.mark.parametrize(
    ("seconds", "added", "until"),
    [
        pytest.param((60,), NOON, NOON + timedelta(seconds=60), id="so long after it was added"),
        pytest.param((60, 300, 5), NOON, NOON + timedelta(seconds=300), id="the most patient counts"),
        pytest.param((60, None), NOON, None, id="one without an end bears it for ever"),
        pytest.param((10**12,), NOON, None, id="and so does one past the end of the calendar"),
        pytest.param((0,), NOON, EVER, id="no time is not at all"),
        pytest.param((60,), None, EVER, id="nor is a taint without a time borne for some"),
        pytest.param((), NOON, EVER, id="nor what nothing tolerates"),
    ],
)
def test_until_when(seconds: tuple[int | None, ...], added: datetime | None, until: datetime | None) -> None:
    assert limits(*seconds).until(Taint("gpu", "a100", "NoSelect", added)) == until


def test_whether_time_can_end_any() -> None:
    assert limits(None, 60).limited
    assert not limits(None).limited


def test_a_taint_as_people_write_it() -> None:
    taint = Taint.read("gpu", "NoSelect", {"value": "a100", "timeAdded": "2026-01-01T12:00:00Z"})
    assert (str(taint), taint.added) == ("gpu=a100:NoSelect", NOON)
    assert str(Taint.read("gpu", "NoSelect", {})) == "gpu:NoSelect"


@pytest.mark.parametrize(
    ("size", "length"), [(None, 40), (3, 3), (0, 40), (99, 40), ("12.5%", 5), ("1%", 1), ("0%", 40)]
)
def test_the_length_of_a_decision_group(size: Tree, length: int) -> None:
    spec = read_spec({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": size}}})
    assert spec.group_length(40) == length


def test_a_number_as_text_is_no_length() -> None:
    with pytest.raises(Misconfigured, match="10 invalid type: string is not a percentage"):
        read_spec({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "10"}}})
