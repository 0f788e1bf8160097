"""What the files of unreadable clusters said last: their labels and spec count until they can be read again.

Budgets, sets and policies go by them, so a mistake in one file changes nothing for the rest of the fleet.
"""

from collections.abc import Iterator
from dataclasses import replace

from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster
from muster.data.source import Layer, Part
from muster.fleet.declaration import declares
from muster.fleet.report_parts import report_sections
from muster.fleet.vanished.search import Search, earlier_content

_IDENTITY = ("apiVersion", "kind", "metadata")


def earlier_declarations(search: Search) -> Iterator[Part]:
    """Yield for each unreadable cluster the part that declared it, as the last run could read it."""
    unread = {
        id_ for id_ in (*search.broken, *search.reading.broken) if is_cluster(id_) and not _is_readable(search, id_)
    }
    if not unread or search.past is None or not search.past.commit:
        return
    written = (part for part in search.reading.parts if part.layer is Layer.INPUT and part.id in unread)
    labelled = {part.id for part in written if not report_sections(part)}
    for path, versions in sorted(search.past.below("").items()):
        earlier = earlier_content(versions, search.reading.files.get(path, ""))
        for part in earlier.parts if earlier is not None else ():
            if part.id in unread and declares(part.id, part.body):
                unread.discard(part.id)
                body = {name: value for name, value in part.body.items() if name != "status"}
                if part.id in labelled:
                    body["metadata"] = {"name": part.id.name}
                yield replace(part, body=body)


def _is_readable(search: Search, id_: ObjectId) -> bool:
    stand_ins = (part.body for part in search.reading.stand_ins if part.id == id_)
    return any(declares(id_, body) for body in (*search.current.get(id_, ()), *stand_ins))
