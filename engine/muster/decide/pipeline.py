"""The pipeline: the ordered list of stages, and nothing else.

Each stage is a pure function `stage(fleet, now) -> outcomes`; what it decides is visible to the next one through
the fleet. A new stage is one new module and one line here.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeAlias

from muster.decide import (
    conditions,
    disruption,
    finalizing,
    generations,
    held,
    kept,
    placements,
    pools,
    registration,
    remedies,
    sets,
    taint_policies,
    taints,
    traffic,
)
from muster.decide.pulses import stage as pulses
from muster.decide.reports import stage as reports
from muster.fleet.fleet import Fleet
from muster.model.decision import Outcome

Stage: TypeAlias = Callable[[Fleet, datetime], Iterable[Outcome]]

STAGES: tuple[tuple[str, Stage], ...] = (
    ("kept", kept.stage),
    ("finalizing", finalizing.stage),
    ("generations", generations.stage),
    ("registration", registration.stage),
    ("reports", reports.stage),
    ("conditions", conditions.stage),
    ("budgets", disruption.stage),
    ("taints", taints.stage),
    ("taint policies", taint_policies.stage),
    ("remedies", remedies.stage),
    ("traffic", traffic.stage),
    ("sets", sets.stage),
    ("placements", placements.stage),
    ("pools", pools.stage),
    ("pulses", pulses.stage),
    ("held", held.stage),
)


def run(fleet: Fleet, now: datetime) -> Fleet:
    """Run every stage once at the instant `now` and return the fleet with all that was decided."""
    for _, stage in STAGES:
        fleet = fleet.with_outcomes(stage(fleet, now))
    return fleet
