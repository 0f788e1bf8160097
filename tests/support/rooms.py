"""The picture of the rooms in CONTRIBUTING.md: which package of muster imports which."""

from collections.abc import Iterator, Mapping
from importlib import import_module

import grimp

ROOT = "muster"


def imports() -> Mapping[str, frozenset[str]]:
    """The packages of muster, each with those that its modules import when they run."""
    graph = grimp.build_graph(ROOT, exclude_type_checking_imports=True)
    rooms = sorted(name for name in graph.find_children(ROOT) if graph.find_children(name))
    found = {room: set[str]() for room in rooms}
    for room in rooms:
        for module in {room, *graph.find_descendants(room)}:
            for imported in graph.find_modules_directly_imported_by(module):
                other = ".".join(imported.split(".")[:2])
                if other in found and other != room:
                    found[room].add(other)
    return {room.partition(".")[2]: frozenset(one.partition(".")[2] for one in into) for room, into in found.items()}


def picture() -> str:
    """A diagram: an arrow for every import that is not also had through another room, and what each room holds."""
    into = imports()
    lines = ["```mermaid", "flowchart TD"]
    lines += [f"  {room} --> {other}" for room in sorted(into) for other in sorted(_nearest(into, room))]
    lines += ["```", "", "| room | what it holds |", "|---|---|"]
    for room in _from_the_top(into):
        doc = (import_module(f"{ROOT}.{room}").__doc__ or "").partition("\n")[0]
        lines.append(f"| `{room}` | {doc} |")
    return "\n".join(lines)


def _nearest(into: Mapping[str, frozenset[str]], room: str) -> Iterator[str]:
    for other in into[room]:
        if not any(other in _below(into, between) for between in into[room] - {other}):
            yield other


def _below(into: Mapping[str, frozenset[str]], room: str) -> frozenset[str]:
    """All that a room rests on. RecursionError where there is a circle, which the gate forbids."""
    return into[room].union(*(_below(into, other) for other in into[room]))


def _from_the_top(into: Mapping[str, frozenset[str]]) -> list[str]:
    return sorted(into, key=lambda room: (-len(_below(into, room)), room))
