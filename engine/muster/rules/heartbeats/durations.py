"""What muster tells a cluster's agent of its lease: how long it lasts, and that it became shorter a moment ago.

The agent renews as the hub says (seed 000: "managed agent can adjust the lease update time accordingly"). It reads one
derived file, so a duration that is not the default stands there: as an annotation where the cluster's own spec says it,
as `status.muster.leaseDurationSeconds` where the load valve stretches it.

When a duration gets shorter, the agent learns that with its next renewal, which is still due by the old one: a cluster
that goes from 300 to 10 seconds may be silent for 300 more, and is no less alive. So a Lease from before the change is
good until that renewal is due, and the new grace after it.

When a duration gets longer, a lease that has run out stays run out: silence ends by news only. What the load valve
stretches counts from the next renewal on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from muster.data.decision import Because, Decision, Input
from muster.data.finding import Finding
from muster.data.kinds import ACCEPTED, MANAGED_CLUSTER
from muster.data.tree import Tree, dig, mapping_at
from muster.fleet.acceptance import is_accepted
from muster.fleet.faults import each
from muster.fleet.leases import (
    DEFAULT_SECONDS,
    DURATION,
    LEASE_SECONDS,
    RENEWAL,
    SHORTENED,
    Renewal,
    Shortened,
    derived_lease_seconds,
    effective_leases,
    lease_seconds,
    leases_by_cluster,
    renew_time,
)
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.context import Context
from muster.rules.generations import DIGEST
from muster.rules.policies.staleness import expiry
from muster.rules.stages import Local

_SECONDS: Final = (Input(("spec", "leaseDurationSeconds")),)
_BECAUSE: Final = Because("durations", _SECONDS, "its agent renews the lease as often as this says")
_LEARNING: Final = Because("durations", _SECONDS, "its agent cannot know yet that the lease has become shorter")
_LONGER: Final = Because("durations", _SECONDS, "it was renewed before its lease became longer")


@dataclass(frozen=True, slots=True)
class _Term:
    """How long a cluster's lease lasts in this run, how long it lasted in the last one, and for how many of these
    durations the cluster may be silent."""

    seconds: int
    before: int
    factor: int
    now: datetime


def stage(view: View, context: Context, now: datetime) -> Iterator[Decision | Finding]:
    """Decide what the agents of accepted clusters have to know of their leases, and what is remembered of them."""
    own, leases, factor = leases_by_cluster(view), effective_leases(view), context.rules.grace

    def of_cluster(obj: Object) -> Iterator[Decision]:
        seconds = lease_seconds(view, obj)
        term = _Term(seconds, _before(view, obj, seconds), factor, now)
        yield from _told(view, obj, own.get(obj.id.name), term)
        yield from _renewed(view, obj, leases.get(obj.id.name), term)

    yield from each((obj for obj in view.of(MANAGED_CLUSTER) if is_accepted(obj)), of_cluster)


def _told(view: View, obj: Object, lease: Tree, term: _Term) -> Iterator[Decision]:
    told: dict[str, str] = {}
    if term.seconds != DEFAULT_SECONDS and view.now(obj.id, *LEASE_SECONDS) is None:
        told[DURATION] = str(term.seconds)
    shortened = _shortened(view, obj, lease, term)
    if shortened is not None:
        told[SHORTENED] = str(shortened)
    if told:
        annotations = {**mapping_at(view.now(obj.id, "metadata", "annotations")), **told}
        because, horizon = (_LEARNING, shortened.end(term.seconds)) if shortened else (_BECAUSE, None)
        yield Decision(obj.id, ("metadata", "annotations"), dict(sorted(annotations.items())), because, horizon)


def _shortened(view: View, obj: Object, lease: Tree, term: _Term) -> Shortened | None:
    """The shortening that the cluster's agent may not know of yet."""
    known = Shortened.parse(view.before(obj.id, "metadata", "annotations", SHORTENED), term.factor)
    if 0 < term.seconds < term.before:
        known = Shortened(max(term.before, known.seconds if known else 0), term.now, term.factor)
    if known is None or not known.matters(term.seconds) or known.known_to(lease) or term.now >= known.end(term.seconds):
        return None
    return known


def _renewed(view: View, obj: Object, lease: Tree, term: _Term) -> Iterator[Decision]:
    """Remember the renewal that came before the lease was made longer.

    What the load valve stretches counts from the next renewal on. What people write counts at once (upstream), except
    for a lease that had run out.
    """
    renewal = Renewal.parse(view.before(obj.id, *RENEWAL))
    covered = renewal is not None and renewal.covers(lease)
    stretched, renewed = view.now(obj.id, *LEASE_SECONDS) is not None, renew_time(lease)
    if term.before < term.seconds and renewed is not None:
        limit = min(term.before, renewal.seconds) if renewal is not None and covered else term.before
        if stretched or _has_run_out(view, obj, lease, limit, term):
            yield Decision(obj.id, RENEWAL, Renewal(renewed, limit).entry, _LONGER)
            return
    # One that a later renewal made void stays while leases are stretched: else every cluster would be written again.
    if renewal is not None and renewal.seconds < term.seconds and (covered or stretched):
        yield Decision(obj.id, RENEWAL, renewal.entry, _LONGER)


def _has_run_out(view: View, obj: Object, lease: Tree, seconds: int, term: _Term) -> bool:
    """Whether a Lease has run out that was renewed when leases were so long, or had become shorter a moment ago."""
    shortened = Shortened.parse(view.before(obj.id, "metadata", "annotations", SHORTENED), term.factor)
    lasted = shortened.allowed(seconds) if shortened and not shortened.known_to(lease) else seconds
    until = expiry(obj, lease, term.factor * lasted)
    return until is not None and term.now >= until


def _before(view: View, obj: Object, seconds: int) -> int:
    """How long the lease lasted at the last run; as now, where that cannot be told."""
    previous = view.previous.get(obj.id)
    if view.conditions_before(obj.id).get(ACCEPTED, {}).get("status") != "True":
        return seconds
    if dig(previous, "metadata", "annotations", DIGEST) is None:
        return seconds  # a live hub decided it, and told its agent
    return derived_lease_seconds(previous)


STAGE = Local("durations", stage, derives=(((MANAGED_CLUSTER,), (("metadata", "annotations"), RENEWAL)),))
