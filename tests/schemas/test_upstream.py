"""Our schemas beside upstream's own definitions: every field that upstream serves is taken, with its type.

The lists in schemas/upstream/ are written by `python -m tests.support.upstream`, from the version that each
names. What differs on purpose stands in a table here with its reason; an entry that no longer differs fails too.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest

from muster.data.kinds import ALL, BY_GROUP_KIND, Kind
from muster.data.tree import Tree
from tests.schemas.loading import load_yaml, resolve, schemas
from tests.support.upstream import FOLDER, steps, type_of

LISTS = sorted(path.name for path in FOLDER.glob("*.yaml"))

_QUANTITY = "a quantity may also be written as a number, as an API server accepts it"
#: Types that differ on purpose: list and path, our type, and why.
OTHER_TYPES: dict[tuple[str, str], tuple[str, str]] = {
    **{
        ("cluster.v1alpha1", path): ("number string", _QUANTITY)
        for path in (
            "spec.resourceModels[].ranges[].max",
            "spec.resourceModels[].ranges[].min",
            "status.resourceSummary.allocatable.*",
            "status.resourceSummary.allocated.*",
            "status.resourceSummary.allocating.*",
        )
    },
    ("managedcluster.v1", "status.allocatable.*"): ("number string", _QUANTITY),
    ("managedcluster.v1", "status.capacity.*"): ("number string", _QUANTITY),
    ("clusterdeploymentcustomization.v1", "spec.installConfigPatches[].value"): (
        "any",
        "upstream's type changed from any value to a text of YAML; both are read",
    ),
}

_SEED = "a field of the seed's proposal, which upstream has not taken up"
#: Fields of a spec that upstream does not have, with their reason. What a status may hold beside upstream's is open.
OURS = {
    ("clusterdeployment", "spec.powerstateTransitionToHibernatingTimeout"): _SEED,
    ("clusterdeployment", "spec.powerstateTransitionToRunningTimeout"): _SEED,
    ("clusterpool", "spec.powerstateTransitionToHibernatingTimeout"): _SEED,
    ("clusterpool", "spec.powerstateTransitionToRunningTimeout"): _SEED,
    ("remedy", "spec.decisionMatches[].expression"): "muster's addition to Remedy: CEL in place of a match",
}


class Found(NamedTuple):
    """What a path of upstream's means in our schema: `missing`, `open` (content that is taken as it is), or types."""

    how: str
    types: frozenset[str]


@cache
def upstream(name: str) -> Tree:
    """One list of upstream's fields."""
    return load_yaml(FOLDER / name)


def kind_of_list(listed: Tree) -> Kind:
    """The kind whose fields are listed."""
    return BY_GROUP_KIND[listed["apiVersion"].rpartition("/")[0], listed["kind"]]


def look(schema: Tree, base: str, path: list[str]) -> Found:
    """Follow a path through one of our schemas."""
    while "$ref" in schema:
        target, where = resolve(schema["$ref"], base)
        schema, base = {**target, **{name: value for name, value in schema.items() if name == "type"}}, where
    if not path:
        type_ = schema.get("type", "any")
        return Found("typed", frozenset({type_} if isinstance(type_, str) else type_) - {"null"})
    step, rest = path[0], path[1:]
    if step == "[]":
        child = schema.get("items")
    elif step == "*":
        child = schema.get("additionalProperties")
    else:
        child = schema.get("properties", {}).get(step)
    if isinstance(child, dict):
        return look(child, base, rest)
    takes_anything = schema.get("additionalProperties", True) is True and step != "[]"
    return Found("open" if takes_anything else "missing", frozenset())


def own_type(upstreams: str) -> frozenset[str]:
    """Upstream's word for a type in JSON Schema's."""
    words = {"int-or-string": {"integer", "string"}, "date-time": {"string"}, "micro-time": {"string"}}
    return frozenset(words.get(upstreams, {upstreams}))


def compared(name: str) -> Iterator[tuple[str, str, Found]]:
    """Every field of a list: its path, upstream's type, and what our schema has."""
    listed = upstream(name)
    stem = kind_of_list(listed).schema
    for path, told in listed["fields"].items():
        yield path, type_of(told), look(schemas()[stem], stem, steps(path))


@pytest.mark.parametrize("name", LISTS)
def test_every_field_that_upstream_serves_is_taken(name: str) -> None:
    assert [path for path, _, found in compared(name) if found.how == "missing"] == []


@pytest.mark.parametrize("name", LISTS)
def test_fields_have_upstreams_types(name: str) -> None:
    stem = name.removesuffix(".yaml")
    other = {
        (stem, path): " ".join(sorted(found.types))
        for path, type_, found in compared(name)
        if found.how == "typed" and found.types != own_type(type_)
    }
    assert other == {key: types for key, (types, _) in OTHER_TYPES.items() if key[0] == stem}


@pytest.mark.parametrize("name", LISTS)
def test_the_version_is_one_that_is_read(name: str) -> None:
    listed = upstream(name)
    enum = schemas()[kind_of_list(listed).schema]["properties"]["apiVersion"]
    assert listed["apiVersion"] in enum.get("enum", [enum.get("const")])


def own_fields(stem: str) -> Iterator[str]:
    """Every field below the spec of one of our schemas, as a path."""
    spec = schemas()[stem]["properties"].get("spec")
    for path, schema in fields_below(spec, stem, "spec") if spec else ():
        if not path.endswith(("[]", "*")) or "properties" in schema:
            yield path


def fields_below(schema: Tree, base: str, path: str) -> Iterator[tuple[str, Tree]]:
    """A node of a schema and all below it."""
    while "$ref" in schema:
        schema, base = resolve(schema["$ref"], base)
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from fields_below(child, base, f"{path}.{name}")
    for keyword, suffix in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(keyword), dict):
            yield from fields_below(schema[keyword], base, path + suffix)


@pytest.mark.parametrize("stem", sorted({name.removesuffix(".yaml").rpartition(".")[0] for name in LISTS}))
def test_no_spec_has_fields_that_upstream_does_not_know_but_those_of_the_table(stem: str) -> None:
    theirs = {
        path
        for name in LISTS
        if name.removesuffix(".yaml").rpartition(".")[0] == stem
        for path in upstream(name)["fields"]
    }
    assert set(own_fields(stem)) - theirs == {path for kind, path in OURS if kind == stem}


def test_every_kind_of_upstreams_is_compared_in_some_version() -> None:
    listed = {kind_of_list(upstream(name)) for name in LISTS}
    assert {kind for kind in ALL if kind.group != "muster.dev"} == listed


def test_a_missing_field_would_be_seen() -> None:
    closed: Tree = {"type": "object", "properties": {"known": {"type": "string"}}, "additionalProperties": False}
    assert look(closed, "remedy", ["unknown"]).how == "missing"
    assert look(closed, "remedy", ["known"]).types == {"string"}
    assert look({"type": "object"}, "remedy", ["anything"]).how == "open"
