"""A local stage decides of each neighbourhood what it decides of all of them together."""

from collections import Counter
from datetime import datetime, timedelta

import pytest

from muster.data.decision import Failed, Path
from muster.data.kinds import ALL, Kind
from muster.fleet.agent_refs import with_agent_refs
from muster.fleet.neighbourhoods import neighbourhoods
from muster.fleet.schemas import load_schema
from muster.rules.pipeline import STAGES, terms_of
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.registration.removals import withheld
from muster.rules.stages import Local, StageTerm
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
    terms = terms_of(fleet, now)
    for stage in STAGES:
        whole = list(stage.ask(fleet, terms))
        if isinstance(stage, Local):
            parts = [one for view in neighbourhoods(fleet).values() for one in stage.ask_of(view, terms)]
            assert Counter(map(repr, parts)) == Counter(map(repr, whole)), stage.name
        terms = terms.after(whole)
        fleet = fleet.with_outcomes(one for one in whole if not isinstance(one, StageTerm | Failed))
    return fleet


@pytest.mark.parametrize("later", [timedelta(0), timedelta(minutes=4), timedelta(days=1)], ids=str)
def test_of_the_example_fleet(later: timedelta) -> None:
    fleet = fleet_of(corpus(), NOON + later)
    decided_in_parts(fleet, NOON + later)
    assert len(neighbourhoods(fleet)) > len(fleet.clusters()), "every cluster has its own, and so has what is nobody's"


@pytest.mark.sampled(2)
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


def fields_of(kind: Kind) -> set[Path]:
    """The fields that the table of derived parts gives a kind alone."""
    own = load_schema("derived/parts.json")["kinds"].get(kind.label, {})
    where: dict[str, Path] = {"muster": ("status", "muster"), "beside": ()}
    return {
        (*where.get(section, (section,)), *name)
        for section, names in own.items()
        for name in ([()] if names is None else [(name,) for name in names])
    }


def derived_by_stages(kind: Kind) -> set[Path]:
    """The fields that stages say they derive of a kind, but for the one that keeps whatever others derived before."""
    stages = (stage for stage in STAGES if stage.name != "kept")
    return {path for stage in stages for kinds, paths in stage.derives if kind in kinds for path in paths}


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
def test_the_table_of_derived_parts_has_what_stages_derive(kind: Kind) -> None:
    """Neither a field that no stage derives, nor a field of a stage that the table refuses."""
    table, derived = fields_of(kind), derived_by_stages(kind)
    assert not {field for field in table if not any(one[: len(field)] == field[: len(one)] for one in derived)}
    common = load_schema("derived/parts.json")["common"]
    known = table | {(section, name) for section in ("metadata", "spec", "status") for name in common[section]}
    known |= {("status", "muster", name) for name in common["muster"]}
    if kind.label in load_schema("derived/parts.json")["kinds"]:
        named = {path for path in derived if len(path) > 1}  # a whole section names no field
        assert not {path for path in named if not any(one[: len(path)] == path[: len(one)] for one in known)}
