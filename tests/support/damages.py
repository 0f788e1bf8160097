"""Damaged derived files: each key deleted, each value of another type, each item twice, and whole files.

One run takes one damage of every file, so that all of them need as many runs as the largest file has damages.
"""

import copy
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from muster.data.tree import Tree
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import first_body
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle

EXAMPLE = Path(__file__).resolve().parents[2] / "fleet-repo-example"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FAULTS = ("MUS490", "MUS491")


def example() -> dict[str, str]:
    """The files of the example fleet by path."""
    return {
        path.relative_to(EXAMPLE).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(EXAMPLE.rglob("*.y*ml"))
    }


def _others(value: Tree) -> tuple[Tree, ...]:
    """Values of another type."""
    match value:
        case dict() | list():
            return ("text", 5, None, [] if isinstance(value, dict) else {})
        case str():
            return (5, "", None, [value], {"a": value})
        case _:
            return ("text", None, [value])


def _steps(tree: Tree, path: tuple[Tree, ...] = ()) -> Iterator[tuple[Tree, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for step, value in items:
        yield (*path, step)
        yield from _steps(value, (*path, step))


def damages(text: str) -> Iterator[str]:
    """Yield the text of a derived file with each damage in turn."""
    body = first_body(text.encode(), "derived")
    yield from ("", "---\n", f"{text}---\n{text}", f"- {text[:20]!r}\n")
    for path in _steps(body):
        for change in range(8):
            damaged = copy.deepcopy(body)
            holder: Tree = damaged
            for step in path[:-1]:
                holder = holder[step]
            others = _others(holder[path[-1]])
            if change < len(others):
                holder[path[-1]] = others[change]
            elif change == 6:
                del holder[path[-1]]
            elif change == 7 and isinstance(holder, list):
                holder.append(holder[path[-1]])
            else:
                continue
            yield emit(damaged)


def faults(texts: Mapping[str, str], instants: tuple[datetime, ...] = (NOON,)) -> list[str]:
    """Run muster over a damaged fleet, and return the faults, as text."""
    found, files = [], dict(texts)
    for now in instants:
        settled = settle(MemorySnapshot(files), now)
        found += [f"{finding.file}: {finding.message}" for finding in settled.last.findings if finding.code in FAULTS]
        for path, text in settled.files.items():
            if text is None:
                files.pop(path, None)
            else:
                files[path] = text
    return found
