"""Upstream's fields by name and type, read off its own definitions: `python -m tests.support.upstream --help`.

The lists under schemas/upstream/ are facts (paths, types and limits), with the version they were read from. `muster
export objects` fits objects to them, tests/schemas/test_upstream.py compares our schemas with them, and `crds` turns
them into the CustomResourceDefinitions that tests give to a real API server. To bring them up to date, check out
upstream and run this again; what changed is then in the diff, and what our schemas lack in the failing test.

The value of a field is its type, or a map where more than the type is known: the keywords of a structural schema, and
`required`. `subresources` are those that the API of the kind serves.
"""

import argparse
import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from muster.data.kinds import BY_GROUP_KIND, Kind
from muster.data.tree import Tree

FOLDER = Path(__file__).parents[2] / "schemas" / "upstream"
#: Standard parts of every object, which no list repeats.
_STANDARD = frozenset(("apiVersion", "kind", "metadata"))
_PREFIX = "#/definitions/"


def main() -> None:
    """Write the lists of every kind that the named sources define."""
    parser = argparse.ArgumentParser(description="Write upstream's field lists from its CRDs and OpenAPI documents.")
    parser.add_argument(
        "source",
        type=Path,
        nargs="+",
        help="CRD files (YAML), folders of them, OpenAPI v2 (JSON), or the installed package of the Kubernetes client",
    )
    parser.add_argument("--version", required=True, help="what the sources are, for example `karmada v1.18.0`")
    arguments = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for source in arguments.source:
        for found in _definitions(source):
            kind, fields = found.kind, dict(sorted(_fields(found.schema, found.references, "", ())))
            body = {
                "kind": kind.name,
                "apiVersion": f"{kind.group}/{found.version}",
                "source": arguments.version,
                "subresources": list(found.subresources),
                "fields": fields,
            }
            text = yaml.safe_dump(body, sort_keys=False, width=100_000, default_flow_style=None)
            (FOLDER / f"{kind.schema}.{found.version}.yaml").write_text(text, encoding="utf-8")
            print(f"{kind.name} {found.version}: {len(fields)} fields")


class _Definition(NamedTuple):
    """One version of a kind: its schema, what references in it resolve in, and the subresources that are served."""

    kind: Kind
    version: str
    schema: Tree
    references: Tree
    subresources: tuple[str, ...]


def _definitions(source: Path) -> Iterator[_Definition]:
    """Every version of every known kind in a source."""
    if (source / "client" / "models").is_dir():
        yield from _models(source / "client" / "models")
    elif source.is_dir():
        for path in sorted(source.rglob("*.yaml")):
            yield from _definitions(path)
    elif source.suffix == ".json":
        definitions = json.loads(source.read_text(encoding="utf-8"))["definitions"]
        for schema in definitions.values():
            for named in schema.get("x-kubernetes-group-version-kind", ()):
                if kind := BY_GROUP_KIND.get((named["group"], named["kind"])):
                    served = ("status",) if "status" in schema["properties"] else ()
                    yield _Definition(kind, named["version"], schema, definitions, served)
    else:
        with source.open(encoding="utf-8") as stream:
            documents = [body for body in yaml.safe_load_all(stream) if isinstance(body, dict)]
        for body in documents:
            if body.get("kind") == "CustomResourceDefinition":
                spec = body["spec"]
                if kind := BY_GROUP_KIND.get((spec["group"], spec["names"]["kind"])):
                    for version in spec["versions"]:
                        schema, served = version["schema"]["openAPIV3Schema"], version.get("subresources", {})
                        yield _Definition(kind, version["name"], schema, {}, tuple(served))


#: Kinds of Kubernetes itself, with the class of the Python client (generated from its OpenAPI) that describes them.
_KUBERNETES = {
    "V1Lease": ("coordination.k8s.io", "Lease"),
    "V1CertificateSigningRequest": ("certificates.k8s.io", "CertificateSigningRequest"),
    "V1EndpointSlice": ("discovery.k8s.io", "EndpointSlice"),
    "V1ValidatingAdmissionPolicy": ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    "V1ValidatingAdmissionPolicyBinding": ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
}
_MODEL_TYPES = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "float": {"type": "number"},
    "datetime": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string"},
    "object": {},
}


def _models(folder: Path) -> Iterator[_Definition]:
    """The kinds of Kubernetes, read as text from the client's generated classes."""
    definitions = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                tables = {
                    statement.target.id: ast.literal_eval(statement.value)
                    for statement in node.body
                    if isinstance(statement, ast.AnnAssign)
                    and isinstance(statement.target, ast.Name)
                    and statement.target.id in ("openapi_types", "attribute_map")
                    and statement.value
                }
                if len(tables) == 2:
                    types, names = tables["openapi_types"], tables["attribute_map"]
                    definitions[node.name] = {"properties": {names[own]: _model_type(types[own]) for own in types}}
    for name in ("acquireTime", "renewTime"):  # the client knows one type of times, Kubernetes two
        definitions["V1LeaseSpec"]["properties"][name]["format"] = "micro-time"
    for model, named in _KUBERNETES.items():
        served = ("status",) if "status" in definitions[model]["properties"] else ()
        yield _Definition(BY_GROUP_KIND[named], "v1", definitions[model], definitions, served)


def _model_type(text: str) -> Tree:
    """A type as the client writes it: `str`, `List[V1Taint]`, `Dict[str, str]`, `V1LeaseSpec`."""
    if text.startswith("List["):
        return {"type": "array", "items": _model_type(text[len("List[") : -1])}
    if text.startswith("Dict["):
        return {"type": "object", "additionalProperties": _model_type(text[len("Dict[") : -1].partition(", ")[2])}
    return _MODEL_TYPES.get(text, {"$ref": _PREFIX + text})


def _fields(
    schema: Tree, definitions: Tree, path: str, above: tuple[str, ...], *, required: bool = False
) -> Iterator[tuple[str, Tree]]:
    """Each field below a schema: its path (`[]` for elements of a list, `*` for values of a map), its type or facts."""
    reference = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), None)
    if reference:
        name = reference.removeprefix(_PREFIX)
        if name in above:
            return
        schema, above = {**definitions[name], **_default(schema)}, (*above, name)
    if path:
        facts = _facts(schema)
        if required:
            facts.pop("default", None)  # OpenAPI v2 says Go's zero value there
            facts["required"] = True
        yield path, {"type": _type(schema), **facts} if facts else _type(schema)
    for name, child in schema.get("properties", {}).items():
        if path or name not in _STANDARD:
            inner = f"{path}.{name}" if path else name
            yield from _fields(child, definitions, inner, above, required=name in schema.get("required", ()))
    for keyword, suffix in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(keyword), dict) and path:
            yield from _fields(schema[keyword], definitions, path + suffix, above)


def _default(schema: Tree) -> Tree:
    return {"default": schema["default"]} if schema.get("default") else {}


#: What a field is known by elsewhere in its line, what says nothing to a server, and how OpenAPI v2 names Go's types.
_TOLD = frozenset(
    (
        "type",
        "properties",
        "items",
        "additionalProperties",
        "required",
        "description",
        "example",
        "title",
        "$ref",
        "allOf",
        "x-kubernetes-int-or-string",
        "x-kubernetes-patch-merge-key",
        "x-kubernetes-patch-strategy",
        "x-kubernetes-group-version-kind",
    )
)
_TYPES_OF_TIME = ("date-time", "micro-time")


def _facts(schema: Tree) -> dict[str, Tree]:
    """What a structural schema says of a field besides its type, without its texts."""
    found = {name: value for name, value in schema.items() if name not in _TOLD}
    if parts := [part for part in schema.get("allOf", ()) if "$ref" not in part]:
        found["allOf"] = parts
    if schema.get("x-kubernetes-int-or-string"):
        found.pop("anyOf", None)
    if found.get("format") in ("int32", "int64", "int-or-string", "double", *_TYPES_OF_TIME):
        del found["format"]
    if rules := found.get("x-kubernetes-validations"):
        found["x-kubernetes-validations"] = [{"rule": rule["rule"]} for rule in rules]
    return dict(sorted(found.items()))


def _type(schema: Tree) -> str:
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return "int-or-string"
    if "type" not in schema:
        return "object" if "properties" in schema else "any"
    type_, form = str(schema["type"]), schema.get("format")
    return str(form) if type_ == "string" and form in _TYPES_OF_TIME else type_


def crds() -> Iterator[Tree]:
    """The lists as CustomResourceDefinitions, but for the kinds that every API server has."""
    listed = defaultdict[Kind, dict[str, Tree]](dict)
    for path in sorted(FOLDER.glob("*.yaml")):
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
        group, _, version = body["apiVersion"].partition("/")
        kind = BY_GROUP_KIND[group, body["kind"]]
        if (kind.group, kind.name) not in _KUBERNETES.values():
            listed[kind][version] = body
    for kind, versions in listed.items():
        stored = next(version for version in kind.versions if version in versions)
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": f"{kind.plural}.{kind.group}",
                "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
            },
            "spec": {
                "group": kind.group,
                "scope": "Namespaced" if kind.namespaced else "Cluster",
                "names": {"kind": kind.name, "plural": kind.plural, "singular": kind.name.lower()},
                "versions": [
                    {
                        "name": version,
                        "served": True,
                        "storage": version == stored,
                        "subresources": {"status": {}} if "status" in body["subresources"] else {},
                        "schema": {"openAPIV3Schema": structural(body["fields"])},
                    }
                    for version, body in versions.items()
                ],
            },
        }


def structural(fields: Tree) -> dict[str, Tree]:
    """The structural schema that a list of fields says."""
    root: dict[str, Tree] = {
        "type": "object",
        "properties": {name: {"type": _STANDARD_TYPES[name]} for name in sorted(_STANDARD)},
    }
    nodes = {"": root}
    for path, told in sorted(fields.items(), key=lambda field: len(steps(field[0]))):
        facts = {"type": told} if isinstance(told, str) else dict(told)
        required = facts.pop("required", False)
        node = nodes[path] = {**_OF_TYPE.get(facts["type"], {"type": facts["type"]}), **_without_type(facts)}
        step = steps(path)[-1]
        if step == "[]":
            nodes[path.removesuffix("[]")]["items"] = node
        elif step == "*":
            nodes[path.removesuffix(".*")]["additionalProperties"] = node
        else:
            parent = nodes[path.removesuffix(step).removesuffix(".")]
            parent.setdefault("properties", {})[step] = node
            if required:
                parent.setdefault("required", []).append(step)
    return root


def steps(path: str) -> list[str]:
    """`spec.taints[].key` as steps: names, `[]` for an element and `*` for a value."""
    return re.findall(r"\[\]|[^.\[\]]+", path)


def type_of(told: Tree) -> str:
    """The type of a field as a list has it."""
    return str(told if isinstance(told, str) else told["type"])


def _without_type(facts: Tree) -> Tree:
    return {name: value for name, value in facts.items() if name != "type"}


_STANDARD_TYPES = {"apiVersion": "string", "kind": "string", "metadata": "object"}
#: Types whose name in a list is not that of a structural schema.
_OF_TYPE: dict[str, dict[str, Tree]] = {
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "int-or-string": {"x-kubernetes-int-or-string": True},
    "date-time": {"type": "string", "format": "date-time"},
    "micro-time": {"type": "string", "format": "date-time"},
}


if __name__ == "__main__":
    main()
