"""Hearing: which clusters speak through refs of their own, written down so that the next run knows what it misses.

See `muster.fleet.hearing`: without that record a checkout that has no agents' refs would look like a fleet gone silent.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.fleet.fleet import Fleet
from muster.fleet.hearing import AGENT_REF
from muster.model.decision import Because, Decision

_BECAUSE = Because("hearing", text="the cluster's agents speak through this ref")


def stage(fleet: Fleet, _now: datetime) -> Iterator[Decision]:
    """Decide `status.muster.agentRef` of every cluster that speaks through a ref."""
    for obj in fleet.clusters():
        if obj.id.name in fleet.speaking:
            yield Decision(obj.id, AGENT_REF, f"agents/{obj.id.name}", _BECAUSE)
