"""Wishes: on which clusters a disruptive effect is asked for, whether budgets let it happen or not.

Decided before `budgets`, which counts these clusters; the stages after it cause the effects within what is allowed.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.decide import remedies, taint_policies, taints
from muster.decide.context import Context, Disruption
from muster.fleet.view import View
from muster.model.finding import Finding


def stage(view: View, context: Context, now: datetime) -> Iterator[Disruption | Finding]:
    """Tell which clusters the policies and Remedies would disrupt."""
    for wishes in (taints.wishes, taint_policies.wishes, remedies.wishes):
        yield from wishes(view, context, now)
