"""When an object was created, so that reports about an earlier object of the same name do not count for it.

A cluster or NodePool that is removed and created again under the same name is another object. The first one's derived
part is removed with it; adapters' reports and published pulses are stored elsewhere and may still exist. So the time at
which an object was first derived is recorded: older reports are not about it.

* `metadata.creationTimestamp` in a file is more exact: an object imported from a live hub is as old as it says, and one
  that is younger than the record was created again in between.
* On a fleet's first run every object existed before, since an unknown time, and all reports count.
* A timestamp ahead of the run's clock counts from that instant on.
* An object that no run saw missing, without a timestamp, was edited. One whose files never could be read has no derived
  part; if an earlier run accepted a report about it, it existed then.

The time is recorded only if adapters are used, and changes with the object alone.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.data.decision import OF_ITSELF, Because, Decision, Path, Published, Wake
from muster.data.ids import ObjectId
from muster.data.kinds import TARGETS
from muster.data.times import format_time, try_time
from muster.data.tree import dig
from muster.fleet.reports import had_reports
from muster.fleet.view import View
from muster.rules.stages import Traits

CREATED: Path = ("status", "muster", "created")
_BECAUSE = Because("reports", OF_ITSELF, "when the object was created; earlier reports are not about it")


def creation_time(view: View, traits: Traits, id_: ObjectId, now: datetime) -> datetime | None:
    """When the object was created; None if it existed before muster's first run."""
    written = _written(view, id_)
    if written is not None and written > now:
        written = None
    # An imported hub decision is no derived part: the file says how old the object is.
    if id_ in view.derived_paths:
        recorded = try_time(view.before(id_, *map(str, CREATED)))
        return max((instant for instant in (recorded, written) if instant is not None), default=None)
    return written if written is not None or traits.fresh or had_reports(view, id_) else now


def _written(view: View, id_: ObjectId) -> datetime | None:
    """When the object was created, as its file says."""
    obj = view.objects.get(id_)
    return try_time(dig(obj.body, "metadata", "creationTimestamp")) if obj is not None else None


def record_creations(view: View, traits: Traits, now: datetime) -> Iterator[Decision | Wake]:
    """Record when the objects were created that adapters report on."""
    if not traits.uses_adapters:
        return
    for kind in TARGETS.values():
        for obj in view.of(kind):
            if (since := creation_time(view, traits, obj.id, now)) is not None:
                yield Decision(obj.id, CREATED, format_time(since), _BECAUSE)
            if (written := _written(view, obj.id)) is not None and written > now:
                yield Wake(obj.id, _BECAUSE, written)


def last_pulse(view: View, traits: Traits, id_: ObjectId, last: Published | None) -> Published | None:
    """The last pulse of an object; None if it was about an earlier object of the same name."""
    if last is None or (not traits.fresh and id_ not in view.derived_paths):
        return None
    since = try_time(view.now(id_, *CREATED))
    return None if since is not None and last.time < since else last
