"""Overrides that let nothing through."""

from collections.abc import Iterator

from muster.fleet.fleet import Fleet
from muster.fleet.places import finding_at
from muster.model.finding import Finding
from muster.model.kinds import CLUSTERS, DISRUPTION_BUDGET, FLEET
from muster.policy.overrides import ALLOW_DISRUPTION, FORM, override_of


def override_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield a warning for each annotation that has another form, and so lets nothing through."""
    for obj in fleet.of(*CLUSTERS, FLEET, DISRUPTION_BUDGET):
        if ALLOW_DISRUPTION in obj.annotations and override_of(obj) is None:
            message = f"{ALLOW_DISRUPTION} lets nothing through: {obj.annotations[ALLOW_DISRUPTION]!r}"
            hint = f"write it as {FORM!r}"
            yield finding_at(obj, ("metadata", "annotations", ALLOW_DISRUPTION), "MUS222", message, hint)
