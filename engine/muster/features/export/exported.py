"""Objects as a live hub takes them: without what is muster's own."""

from collections.abc import Iterable, Iterator

from muster.data.tree import Tree, dig

_OWN_GROUP = "muster.dev/"


def exported(objects: Iterable[Tree], *, own_kinds: bool) -> Iterator[Tree]:
    """Yield objects without `status.muster` and annotations of `muster.dev`.

    Objects of muster's own kinds are left out unless `own_kinds`: a hub does not know them.
    """
    for body in objects:
        if own_kinds or not str(body.get("apiVersion", "")).startswith(_OWN_GROUP):
            yield _without_own(body)


def _without_own(body: Tree) -> Tree:
    found = dict(body)
    annotations = dig(body, "metadata", "annotations")
    if isinstance(annotations, dict):
        kept = {name: value for name, value in annotations.items() if not name.startswith(_OWN_GROUP)}
        metadata = {name: value for name, value in body["metadata"].items() if name != "annotations"}
        found["metadata"] = {**metadata, "annotations": kept} if kept else metadata
    if isinstance(body.get("status"), dict):
        status = {name: value for name, value in body["status"].items() if name != "muster"}
        found = {name: value for name, value in found.items() if name != "status"}
        if status:
            found["status"] = status
    return found
