"""Transitions as notices for people: from the contents of a derived file before and after a commit."""

from collections.abc import Iterator
from datetime import datetime

from muster.data.kinds import id_of_body
from muster.data.locations import is_derived_path
from muster.data.notices import Notice
from muster.data.tree import Tree
from muster.run.transitions.transitions import object_changes


def notices_of(path: str, before: Tree, after: Tree, commit: str, now: datetime) -> Iterator[Notice]:
    """Yield the transitions from one content of a derived file to another (None: no file). `commit` made them, and
    `now` is the instant of looking. Yields nothing if the file is not at the path of its object."""
    id_ = id_of_body(before or after)
    if id_ is None or not is_derived_path(path, id_):
        return
    for change in object_changes(id_, before, after, lambda _: ""):
        fact = change.fact
        released = change.was.note if change.was and change.now is None and fact.sort == "held" else ""
        yield Notice(
            id_,
            fact.sort,
            fact.name,
            change.was.text if change.was else "",
            change.now.text if change.now else "",
            change.note or released,
            str(change),
            commit,
            now,
        )
