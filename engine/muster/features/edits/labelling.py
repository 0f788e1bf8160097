"""Label clusters by hand, in their files, with the syntax of `kubectl label`: `key=value` sets, `key-` removes."""

from collections.abc import Iterable, Mapping

from muster.data.tree import mapping_at
from muster.features.edits.editing import Draft, EditRefusedError

_LABELS = ("metadata", "labels")


def parse(word: str) -> tuple[str, str | None]:
    """Read `key=value`, or `key-` as the key and None."""
    key, equals, value = word.partition("=")
    return (key, value) if equals else (key.removesuffix("-"), None)


def label(draft: Draft, clusters: Iterable[str], labels: Mapping[str, str | None], *, overwrite: bool) -> None:
    """Change labels of clusters. EditRefusedError for an unknown cluster, and for a label with another value unless
    `overwrite`."""
    for name in clusters:
        id_ = draft.cluster(name)
        for key, value in labels.items():
            part = draft.declaring_part(id_, *_LABELS, key)
            present = mapping_at(part.body, *_LABELS).get(key)
            if present == value:
                continue
            if None not in (present, value) and not overwrite:
                raise EditRefusedError(f"{id_} has {key}={present}", "to change it, use --overwrite")
            if value is None:
                draft.remove(part, (*_LABELS, key))
            else:
                draft.set(part, (*_LABELS, key), value)
            draft.changes.append(f"{id_}: label {key} {'removed' if value is None else f'set to {value}'}")
