"""The record of the files that Projections write: `status.muster.projections` of the objects that they write them for.

Each entry has the file's path and a digest of its content. An entry of a cluster is named after the Projection that
writes a file for it; an entry of a Projection after what the file is about.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from muster.data.decision import Decision, Path
from muster.data.locations import is_projected
from muster.data.tree import Tree, mapping_at
from muster.fleet.derived import content_id

PROJECTIONS: Final = ("status", "muster", "projections")
_DIGITS: Final = 12


def record_of(path: str, text: str) -> Tree:
    """Return the entry of a file."""
    return {"file": path, "digest": content_id(text.encode())[:_DIGITS]}


def is_as_recorded(record: Tree, content: str | None) -> bool:
    """Is a file with this content id the one that was recorded?"""
    return content is not None and content[:_DIGITS] == record.get("digest")


def records(decisions: Mapping[Path, Decision]) -> Mapping[str, Tree]:
    """Return the entries that were decided for an object, by name; also those that are decided again as a whole."""
    entries: dict[str, Tree] = {}
    for path in decisions:
        if len(path) > 1 and path[1] == PROJECTIONS[1] and path[0] == PROJECTIONS[0]:
            entries.update(_entries(path, decisions[path].value))
    if not entries:
        return entries
    return {name: entry for name, entry in entries.items() if is_projected(str(mapping_at(entry).get("file")))}


def recorded_files(decisions: Mapping[Path, Decision]) -> Iterator[str]:
    """Yield the paths of the recorded files."""
    return (entry["file"] for entry in records(decisions).values())


def entries_of(body: Tree) -> Mapping[str, Tree]:
    """Return the entries of a derived part, by name."""
    return mapping_at(body, *PROJECTIONS)


def _entries(path: Path, value: Tree) -> Mapping[str, Tree]:
    if path == PROJECTIONS[:2]:
        return mapping_at(value, PROJECTIONS[2])
    if path == PROJECTIONS:
        return mapping_at(value)
    return {str(path[3]): value} if path[:3] == PROJECTIONS and value is not None else {}
