"""No setting without an effect: every field of muster's own kinds is read somewhere, or refused where it is set."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import muster
from muster.data.kinds import ALL
from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.test.memory import MemorySnapshot
from muster.run.evaluate import evaluate_snapshot
from tests.schemas.loading import schemas

OWN = sorted(kind.schema for kind in ALL if kind.group == "muster.dev")
#: Fields that no line of code names, each with the reason.
UNNAMED = {
    "conditionpolicy": {
        "spec.rules.reasonExpression": "the code makes the name of status, reason and message",
    },
    "adapterreport": {
        f"spec.metadata.{name}": "what a Job says of itself: handed on as it is, in the accepted report"
        for name in ("job_name", "job_namespace", "attempt", "started_time", "completed_time")
    },
}


def fields(schema: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every field that a schema declares itself; items of lists have the path of the list."""
    if not isinstance(schema, dict):
        return
    for name, node in schema.get("properties", {}).items():
        yield (*path, name)
        yield from fields(node, (*path, name))
    for inner in ("items", "additionalProperties"):
        yield from fields(schema.get(inner), path)
    for choice in ("oneOf", "anyOf", "allOf"):
        for node in schema.get(choice, ()):
            yield from fields(node, path)


@cache
def words() -> tuple[frozenset[str], ...]:
    """The texts that stand in each module of the engine; a dotted one counts for each of its steps."""
    found = []
    for path in sorted(Path(str(muster.__file__)).parent.rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        found.append(frozenset(texts | {step for text in texts if " " not in text for step in text.split(".")}))
    return tuple(found)


@pytest.mark.parametrize("name", OWN)
def test_every_field_has_a_reader(name: str) -> None:
    """A module of the engine names the field; those of the Fleet beside the section that they are in."""
    declared = {path for path in fields(schemas()[name]) if path[0] in ("spec", "status") and len(path) > 1}
    beside = {path: {path[-1], *([path[-2]] if name == "fleet" and path[-2] != "spec" else [])} for path in declared}
    unread = {".".join(path) for path in declared if not any(beside[path] <= module for module in words())}
    assert unread == UNNAMED.get(name, {}).keys()


@pytest.mark.parametrize(("place", "counts"), [("fleet.yaml", True), ("settings/fleet.yaml", False)])
def test_the_branch_of_what_is_derived_is_named_where_it_is_looked_for(place: str, counts: bool) -> None:
    fleet = (
        "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n"
        "spec:\n  derived:\n    branch: state\n  registration: {autoAccept: true}\n"
    )
    run = evaluate_snapshot(MemorySnapshot({place: fleet}), parse_time("2026-01-01T00:00:00Z"))
    assert (("MUS276", f"{place}:6:5") in [(one.code, str(one.place)) for one in run.findings]) is not counts
    assert run.fleet.settings.auto_accept is counts
