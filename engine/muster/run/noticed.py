"""Transitions as people are told of them: what became of a derived file, once it is written."""

from collections.abc import Iterator
from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import BY_GROUP_KIND
from muster.data.locations import is_derived_path
from muster.data.notices import Notice
from muster.data.tree import Tree, dig
from muster.run.changes import object_changes


def notices_of(path: str, before: Tree, after: Tree, commit: str, now: datetime) -> Iterator[Notice]:
    """Yield the transitions from one content of a derived file to another, None for no file; `commit` made them, and
    `now` is when they are looked at. Nothing where the file is not in the place of its object."""
    id_ = _id_of(before or after, path)
    if id_ is None:
        return
    for change in object_changes(id_, before, after, lambda _: ""):
        fact = change.fact
        yield Notice(
            id_, fact.sort, fact.name, change.was.text if change.was else "", change.now.text if change.now else "",
            change.note, str(change), commit, now,
        )  # fmt: skip


def _id_of(body: Tree, path: str) -> ObjectId | None:
    """The object that a derived file is of; None where that is not its place."""
    group, kind = str(dig(body, "apiVersion")).rpartition("/")[0], str(dig(body, "kind"))
    name, namespace = dig(body, "metadata", "name"), dig(body, "metadata", "namespace")
    if (group, kind) not in BY_GROUP_KIND or not isinstance(name, str):
        return None
    id_ = ObjectId(group, kind, namespace if isinstance(namespace, str) else "", name)
    return id_ if is_derived_path(path, id_) else None
