"""What is counted over runs: outages with their ends, false alarms, moves, and how much earlier."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, PLACEMENT
from muster.features.replay.tally import Counts, Outage, Tally, middle
from muster.run.facts import Fact
from muster.run.run import Settled
from muster.run.transition import Transition
from tests.support.example import NOON

A, B, WEB = MANAGED_CLUSTER.id("a"), MANAGED_CLUSTER.id("b"), PLACEMENT.id("web", "apps")
HEADLINE = "ManagedClusterConditionAvailable"


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


@dataclass
class Fleet:
    held: list[Any] = field(default_factory=list)


@dataclass
class Last:
    fleet: Fleet


@dataclass
class Decided:
    """The parts of a settled run that are counted."""

    changes: list[Transition]
    last: Last


@dataclass
class Holding:
    object: ObjectId
    effect: str


def became(cluster: ObjectId, *texts: str | None) -> Transition:
    was, now = (None if text is None else Fact("condition", HEADLINE, text) for text in texts)
    return Transition(cluster, was, now)


def run(*changes: Transition, held: tuple[tuple[ObjectId, str], ...] = ()) -> Settled:
    return cast(Settled, Decided([*changes], Last(Fleet([Holding(*one) for one in held]))))


def test_outages_moves_and_held_effects() -> None:
    tally = Tally()
    begins = Transition(B, None, Fact("held", "taint y", "a budget"))
    tally.see(
        at(0),
        run(
            became(A, None, "True"),
            became(B, None, "Unknown"),
            Transition(WEB, None, Fact("cluster", "a")),
            begins,
            held=((A, "taint y"), (B, "taint y")),
        ),
    )
    tally.see(at(5), run(became(A, "True", "Unknown"), held=((A, "taint x"),)))
    tally.see(at(7), run(became(A, "Unknown", "False"), held=((A, "taint x"), (B, "taint x"))))
    tally.see(at(9), run(became(A, "False", "True"), became(B, "Unknown", "True"), held=((B, "taint x"),)))
    tally.see(
        at(20), run(became(A, "True", "Unknown"), Transition(WEB, Fact("cluster", "a"), None), held=((A, "taint x"),))
    )
    tally.see(at(40), run(became(A, "Unknown", "True")))
    tally.see(at(50), run(became(B, "True", "Unknown")))
    counts = tally.counts(timedelta(minutes=4))
    assert list(counts.outages) == [Outage(A, at(5), at(9)), Outage(A, at(20), at(40)), Outage(B, at(50))]
    assert (counts.false_alarms, counts.moves, counts.held) == (1, 2, 4), "that of A was held before"
    assert tally.counts(timedelta(minutes=3)).false_alarms == 0


def test_how_much_earlier() -> None:
    fact = Counts((Outage(A, at(10), at(30)), Outage(A, at(60), at(70)), Outage(B, at(10))), 0, 0, 0)
    tried = Counts(
        (Outage(A, at(4), at(30)), Outage(A, at(40), at(45)), Outage(A, at(61), at(69)), Outage(B, at(8))), 0, 0, 0
    )
    leads = tried.earlier(fact)
    assert leads == [timedelta(minutes=6), timedelta(minutes=-1), timedelta(minutes=2)]
    assert middle(leads) == timedelta(minutes=2)
    assert middle([]) is None
