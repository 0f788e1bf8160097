"""Checking a snapshot: its fleet is assembled and checked, and nothing is decided."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial

from muster.data.finding import Finding
from muster.data.kinds import FLEET
from muster.data.snapshot import Snapshot
from muster.fleet.assemble import assemble
from muster.fleet.faults import guarded
from muster.fleet.fleet import Fleet
from muster.rules.checks.validate import validate
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.lazy import Witness
from muster.run.question import WholeNeeded


def check_snapshot(
    snapshot: Snapshot, base: Snapshot | None = None, witness: Witness | None = None
) -> FleetWithPolicies:
    """Return a snapshot's fleet with the findings that decisions depend on, and nothing decided.

    With a base, admission policies also judge what changed since then. A `witness` records how their expressions were
    evaluated.
    """
    return check_against(snapshot, None if base is None else assemble(base), witness)


def check_against(
    snapshot: Snapshot, before: Fleet | None, witness: Witness | None = None, *, read: Fleet | None = None
) -> FleetWithPolicies:
    """Return the same against an assembled base. The settings of a Fleet with an error do not count.

    `read`: the snapshot's fleet, if it is assembled already.
    """
    fleet = validate(read or assemble(snapshot), before, witness=witness)
    if fleet.settings.obeyed and is_fleet_broken(fleet):  # only checking finds its error
        return validate(assemble(snapshot, obeying=False), before, witness=witness)
    return fleet


def with_references(fleet: FleetWithPolicies, *, heard: bool) -> FleetWithPolicies:
    """Add the findings about references, which need all that clusters share. `heard`: were agents' refs read?"""
    from muster.rules.checks.references import reference_findings  # a part of a fleet seldom needs it

    findings = guarded("checking references", partial(reference_findings, fleet, heard=heard), "one check is left out")
    return with_findings(fleet, findings)


def with_removals(fleet: FleetWithPolicies, now: datetime) -> FleetWithPolicies:
    """Add a run's findings about clusters whose files are gone. `fleet` is the whole fleet."""
    from muster.rules.registration.removals import removal_findings  # a part of a fleet loses no cluster

    return with_findings(fleet, removal_findings(fleet, now))


def with_findings(fleet: FleetWithPolicies, more: Iterable[Finding]) -> FleetWithPolicies:
    """Return the fleet with more findings."""
    return replace(fleet, findings=(*fleet.findings, *more))


def is_fleet_broken(fleet: Fleet) -> bool:
    """Has the Fleet an error, so that its settings do not count?"""
    return any(FLEET.has(id_) for id_ in fleet.broken)


def require_fleet_sound(fleet: FleetWithPolicies) -> FleetWithPolicies:
    """Return the fleet. WholeNeeded if its settings count and the Fleet has an error that only checking finds."""
    if fleet.settings.obeyed and is_fleet_broken(fleet):
        raise WholeNeeded("the Fleet is broken")
    return fleet
