"""Incarnations: when an object came to be, so that nothing said of its predecessor counts for it.

A cluster or NodePool that is removed and made again under the same name is another object. What was derived of the
first goes with it; what adapters said of it, and which pulses went out, lies elsewhere and may still be there. So it is
remembered when an object was first derived: what is older is not about it.

* `metadata.creationTimestamp` in a file says it better: an object that moves in from a live hub is as old as it says,
  and one that says it is younger than muster remembers was made again in between.
* On a fleet's first run, where nothing has been derived, every object was there before muster; nobody knows since when,
  and everything that is said of it counts.
* An object that no run saw missing, and that says nothing of its age, was edited.

It is remembered where adapters are used at all, and changes with the object alone.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.data.decision import OF_ITSELF, Because, Decision, Path, Published
from muster.data.ids import ObjectId
from muster.data.kinds import TARGETS
from muster.data.times import format_time, try_time
from muster.data.tree import dig
from muster.fleet.view import View
from muster.rules.context import Context

CREATED: Path = ("status", "muster", "created")
_BECAUSE = Because("reports", OF_ITSELF, "when the object came to be; what was said before is not about it")


def came_to_be(view: View, context: Context, id_: ObjectId, now: datetime) -> datetime | None:
    """When an object came to be; None where it was there before anybody took note."""
    obj = view.objects.get(id_)
    written = try_time(dig(obj.body, "metadata", "creationTimestamp")) if obj is not None else None
    if written is not None and written > now:
        written = None
    # What a hub had decided of an object that moves in is no derived part: the file says how old it is.
    if id_ in view.derived_paths:
        known = try_time(view.before(id_, *map(str, CREATED)))
        return max((instant for instant in (known, written) if instant is not None), default=None)
    return written if written is not None or context.fresh else now


def creations(view: View, context: Context, now: datetime) -> Iterator[Decision]:
    """Remember when the objects came to be that adapters report on."""
    if not context.uses_adapters:
        return
    for kind in TARGETS.values():
        for obj in view.of(kind):
            if (since := came_to_be(view, context, obj.id, now)) is not None:
                yield Decision(obj.id, CREATED, format_time(since), _BECAUSE)


def of_this(view: View, context: Context, id_: ObjectId, last: Published | None) -> Published | None:
    """The last pulse of an object; None where it was one of a predecessor."""
    if last is None or (not context.fresh and id_ not in view.derived_paths):
        return None
    since = try_time(view.now(id_, *CREATED))
    return None if since is not None and last.time < since else last
