"""The scope of one evaluation: the whole fleet, or a part of it with what is known of the rest.

`muster.run.evaluate.evaluate_snapshot` is the one way from files to decisions. A full run gives it `WHOLE`; an
incremental run (`muster.run.parts.part`) and a shard (`muster.run.shards.evaluation`) give it a scope of their own.
"""

from typing import Final, Protocol

from muster.data.snapshot import Snapshot
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.checking import check_snapshot
from muster.run.run import Run


class Scope(Protocol):
    """A strategy of an evaluation."""

    def checked(self, snapshot: Snapshot) -> FleetWithPolicies:
        """Assemble and check a snapshot, or the part to be decided."""

    def with_rest_of_fleet(self, fleet: FleetWithPolicies) -> FleetWithPolicies:
        """Add what is known of the rest of the fleet, after the agents' reports."""

    def with_earlier_findings(self, run: Run) -> Run:
        """Add the last run's findings about the rest of the fleet."""


class _Whole:
    """The whole fleet: there is no rest. Satisfies `Scope`."""

    def checked(self, snapshot: Snapshot) -> FleetWithPolicies:
        return check_snapshot(snapshot)

    def with_rest_of_fleet(self, fleet: FleetWithPolicies) -> FleetWithPolicies:
        return fleet

    def with_earlier_findings(self, run: Run) -> Run:
        return run


WHOLE: Final[Scope] = _Whole()
