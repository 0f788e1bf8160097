"""A local stage decides of each neighbourhood what it decides of all of them together."""

from collections import Counter
from datetime import datetime, timedelta

import pytest

from muster.data.decision import Failed
from muster.fleet.agent_refs import with_agent_refs
from muster.fleet.neighbourhoods import neighbourhoods
from muster.rules.pipeline import STAGES, context_of
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.registration.removals import withheld
from muster.rules.stages import Broadcast, Local
from muster.run.checking import check_snapshot
from muster.run.settle import settle
from tests.support.example import NOON
from tests.support.fuzzing import corpus, lay_over
from tests.support.mutations import Broken, Files, Mutator


def fleet_of(files: Files, now: datetime) -> FleetWithPolicies:
    """The fleet as stages are given it."""
    snapshot = Broken(files)
    return withheld(with_agent_refs(check_snapshot(snapshot), snapshot.agents), now)


def decided_in_parts(fleet: FleetWithPolicies, now: datetime) -> FleetWithPolicies:
    """Decide a fleet, each local stage twice: all at once, and one neighbourhood after the other."""
    context = context_of(fleet, now)
    for stage in STAGES:
        whole = list(stage.ask(fleet, context, now))
        if isinstance(stage, Local):
            parts = [one for view in neighbourhoods(fleet).values() for one in stage.decide(view, context, now)]
            assert Counter(map(repr, parts)) == Counter(map(repr, whole)), stage.name
        context = context.after(whole)
        fleet = fleet.with_outcomes(one for one in whole if not isinstance(one, Broadcast | Failed))
    return fleet


@pytest.mark.parametrize("later", [timedelta(0), timedelta(minutes=4), timedelta(days=1)], ids=str)
def test_of_the_example_fleet(later: timedelta) -> None:
    fleet = fleet_of(corpus(), NOON + later)
    decided_in_parts(fleet, NOON + later)
    assert len(neighbourhoods(fleet)) > len(fleet.clusters()), "every cluster has its own, and so has what is nobody's"


@pytest.mark.parametrize("seed", range(6))
def test_of_fleets_that_are_broken_at_random(seed: int) -> None:
    """A second run goes on from what the first has derived."""
    files = Mutator(corpus(), seed).broken()
    for now in (NOON, NOON + timedelta(hours=1)):
        decided_in_parts(fleet_of(files, now), now)
        lay_over(files, settle(Broken(files), now))


def test_neighbours_are_those_that_one_report_speaks_of() -> None:
    """It lies with the one and speaks of the other: both are decided together, for it concerns both."""
    text = corpus()["agents/new-ap-1", "agent.yaml"].replace(
        b"name: new-ap-1}\n  adapter", b"name: prod-ap-1}\n  adapter"
    )
    fleet = fleet_of({**corpus(), ("agents/new-ap-1", "agent.yaml"): text}, NOON)
    found = {name for name, view in neighbourhoods(fleet).items() if len(view.clusters()) > 1}
    assert found == {"new-ap-1"}
    decided_in_parts(fleet, NOON)
