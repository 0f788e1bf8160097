"""What muster tells a cluster's agent of its lease: how long it lasts, and that it became shorter a moment ago.

The agent renews as the hub says (seed 000: "managed agent can adjust the lease update time accordingly"). It reads one
derived file, so a duration that is not the default stands there: as an annotation where the cluster's own spec says it,
as `status.muster.leaseDurationSeconds` where the load valve stretches it.

When a duration gets shorter, the agent learns that with its next renewal, which is still due by the old one: a cluster
that goes from 300 to 10 seconds may be silent for 300 more, and is no less alive. So a Lease from before the change is
good until that renewal is due, and the new grace after it.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from muster.decide.context import Context
from muster.decide.generations import DIGEST
from muster.fleet.acceptance import is_accepted
from muster.fleet.faults import each
from muster.fleet.leases import (
    DEFAULT_SECONDS,
    DURATION,
    LEASE_SECONDS,
    SHORTENED,
    Shortened,
    lease_seconds,
    leases_by_cluster,
    standing_seconds,
)
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.model.decision import Because, Decision, Input
from muster.model.finding import Finding
from muster.model.kinds import ACCEPTED, MANAGED_CLUSTER
from muster.model.tree import Tree, dig, mapping_at

_SECONDS: Final = (Input(("spec", "leaseDurationSeconds")),)
_BECAUSE: Final = Because("durations", _SECONDS, "its agent renews the lease as often as this says")
_LEARNING: Final = Because("durations", _SECONDS, "its agent cannot know yet that the lease has become shorter")
_LONGEST: Final = 10_000_000  # seconds of an old duration; what is longer was never waited for


def stage(view: View, context: Context, now: datetime) -> Iterator[Decision | Finding]:
    """Decide what the agents of accepted clusters have to know of their leases."""
    leases, factor = leases_by_cluster(view), context.rules.grace
    accepted = (obj for obj in view.of(MANAGED_CLUSTER) if is_accepted(obj))
    yield from each(accepted, lambda obj: _told(view, obj, leases.get(obj.id.name), factor, now))


def _told(view: View, obj: Object, lease: Tree, factor: int, now: datetime) -> Iterator[Decision]:
    seconds = lease_seconds(view, obj)
    told: dict[str, str] = {}
    if seconds != DEFAULT_SECONDS and view.now(obj.id, *LEASE_SECONDS) is None:
        told[DURATION] = str(seconds)
    shortened = _shortened(view, obj, lease, seconds, factor, now)
    if shortened is not None:
        told[SHORTENED] = str(shortened)
    if told:
        annotations = {**mapping_at(view.now(obj.id, "metadata", "annotations")), **told}
        because, horizon = (_LEARNING, shortened.end(seconds)) if shortened else (_BECAUSE, None)
        yield Decision(obj.id, ("metadata", "annotations"), dict(sorted(annotations.items())), because, horizon)


def _shortened(view: View, obj: Object, lease: Tree, seconds: int, factor: int, now: datetime) -> Shortened | None:
    """The shortening that the cluster's agent may not know of yet."""
    known = Shortened.parse(view.before(obj.id, "metadata", "annotations", SHORTENED), factor)
    before = _before(view, obj, seconds)
    if 0 < seconds < before:
        known = Shortened(min(max(before, known.seconds if known else 0), _LONGEST), now, factor)
    if known is None or not known.matters(seconds) or known.known_to(lease) or now >= known.end(seconds):
        return None
    return known


def _before(view: View, obj: Object, seconds: int) -> int:
    """How long the lease lasted at the last run; as now, where that cannot be told."""
    previous = view.previous.get(obj.id)
    if view.conditions_before(obj.id).get(ACCEPTED, {}).get("status") != "True":
        return seconds
    digest = dig(previous, "metadata", "annotations", DIGEST)
    known = standing_seconds(previous)
    if known == DEFAULT_SECONDS and digest in (
        None,
        mapping_at(view.now(obj.id, "metadata", "annotations")).get(DIGEST),
    ):
        return seconds  # nobody changed anything: it was derived before durations were
    return known
