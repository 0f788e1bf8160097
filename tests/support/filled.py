"""Objects of upstream's kinds with every field filled that upstream serves, by the lists in schemas/upstream/.

The values are made up, of the right types, and such as our schemas take: times for times, members of enumerations.
"""

import re
from functools import cache

from muster.data.kinds import BY_GROUP_KIND
from muster.data.tree import Tree
from tests.schemas.loading import load_yaml, resolve, schemas
from tests.support.upstream import FOLDER, steps, type_of

TIME = "2025-06-01T08:00:00Z"
_TEXTS = (
    "example",
    "Example",
    "example.com/name",
    "web.example.com",
    "https://example.com",
    "True",
    "10.0.0.1",
    "8h",
    "1",
    "self.x == 1",
    "bGV0dGVycw==",
    "apps/v1",
    "Secret/hive/name",
    "work-agent",
)
#: Fields of which an object has one or the other, and not both.
_ALTERNATIVES = {"validatingadmissionpolicybinding.v1.yaml": "spec.paramRef.selector"}


def filled(name: str) -> Tree:
    """One object with every field of a list."""
    listed = load_yaml(FOLDER / name)
    kind = BY_GROUP_KIND[listed["apiVersion"].rpartition("/")[0], listed["kind"]]
    stem = kind.schema
    metadata = {"name": "example", **({"namespace": "example"} if kind.namespaced else {})}
    body: Tree = {"apiVersion": listed["apiVersion"], "kind": listed["kind"], "metadata": metadata}
    left_out = _ALTERNATIVES.get(name, "nothing")
    fields = {path: type_of(told) for path, told in listed["fields"].items()}
    for path in sorted(fields, key=lambda path: (len(steps(path)), path)):
        if not path.startswith(left_out):
            _fill(body, steps(path), fields, path, stem)
    return body


def _fill(body: Tree, path: list[str], fields: dict[str, str], whole: str, stem: str) -> None:
    value: Tree = {"object": {}, "array": []}.get(fields[whole])
    deeper = any(other.startswith((f"{whole}.", f"{whole}[")) for other in fields)
    if not deeper:
        value = leaf(stem, path, fields[whole])
    here = body
    for step in path[:-1]:
        here = here[0] if step == "[]" else here["example" if step == "*" else step]
    last = path[-1]
    if last == "[]":
        if not here:
            here.append(value)
    else:
        here.setdefault("example" if last == "*" else last, value)


def leaf(stem: str, path: list[str], type_: str) -> Tree:
    """A value for a leaf: what our schema takes there, else anything of upstream's type."""
    schema, base = schemas()[stem], stem
    for step in path:
        schema, base = _deref(schema, base)
        if step == "[]":
            schema = schema.get("items", {})
        elif step == "*":
            schema = schema.get("additionalProperties", {})
        else:
            schema = schema.get("properties", {}).get(step, {})
        if not isinstance(schema, dict):
            schema = {}
    return example(schema, base, type_)


def _deref(schema: Tree, base: str) -> tuple[Tree, str]:
    while "$ref" in schema:
        target, where = resolve(schema["$ref"], base)
        schema, base = {**target, **{k: v for k, v in schema.items() if k != "$ref"}}, where
    return schema, base


def example(schema: Tree, base: str, type_: str) -> Tree:
    """A value that a schema takes."""
    schema, base = _deref(schema, base)
    if "const" in schema:
        return schema["const"]
    if values := [value for value in schema.get("enum", ()) if value not in (None, "")]:
        return values[0]
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return example(schema[word][0], base, type_)
    kinds = schema.get("type", {"int-or-string": "string", "date-time": "string"}.get(type_, type_))
    kind = kinds if isinstance(kinds, str) else next(k for k in kinds if k != "null")
    if kind == "string":
        return _text(schema, type_)
    if kind in ("integer", "number"):
        return max(1, schema.get("minimum", 1))
    if kind == "array":
        return [example(schema["items"], base, "string")] if "items" in schema else []
    return {"boolean": True, "object": {}}.get(kind, "example")


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _text(schema: Tree, type_: str) -> str:
    if type_ == "date-time" or schema.get("format") == "date-time":
        return TIME
    if schema.get("format") == "duration":
        return "8h"
    pattern = schema.get("pattern", "")
    fits = (text for text in _TEXTS if _pattern(pattern).search(text) and len(text) >= schema.get("minLength", 0))
    return next(fits, "example")
