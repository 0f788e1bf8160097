"""Upstream's fields by name and type, read off its own definitions: `python -m tests.support.upstream --help`.

The lists under tests/schemas/upstream/ are facts (paths and types), with the version they were read from; the test
beside them holds our schemas to them, so that drift shows. To bring them up to date, check out upstream and run this
again; what changed is then in the diff, and what our schemas lack in the failing test.
"""

import argparse
import ast
import json
from collections.abc import Iterator
from pathlib import Path

import yaml

from muster.data.kinds import BY_GROUP_KIND, Kind
from muster.data.tree import Tree

FOLDER = Path(__file__).parents[1] / "schemas" / "upstream"
#: Standard parts of every object, which no list repeats.
_STANDARD = frozenset(("apiVersion", "kind", "metadata"))
_PREFIX = "#/definitions/"


def main() -> None:
    """Write the lists of every kind that the named sources define."""
    parser = argparse.ArgumentParser(description="Write upstream's field lists from its CRDs and OpenAPI documents.")
    parser.add_argument(
        "source", type=Path, nargs="+",
        help="CRD files (YAML), folders of them, OpenAPI v2 (JSON), or the installed package of the Kubernetes client",
    )  # fmt: skip
    parser.add_argument("--version", required=True, help="what the sources are, for example `karmada v1.18.0`")
    arguments = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for source in arguments.source:
        for kind, version, schema, definitions in _definitions(source):
            fields = dict(sorted(_fields(schema, definitions, "", ())))
            body = {"kind": kind.name, "apiVersion": f"{kind.group}/{version}", "source": arguments.version}
            text = yaml.safe_dump({**body, "fields": fields}, sort_keys=False, width=1000)
            (FOLDER / f"{kind.schema}.{version}.yaml").write_text(text, encoding="utf-8")
            print(f"{kind.name} {version}: {len(fields)} fields")


def _definitions(source: Path) -> Iterator[tuple[Kind, str, Tree, Tree]]:
    """Every version of every known kind in a source: kind, version, its schema, and what references resolve in."""
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
                    yield kind, named["version"], schema, definitions
    else:
        with source.open(encoding="utf-8") as stream:
            documents = [body for body in yaml.safe_load_all(stream) if isinstance(body, dict)]
        for body in documents:
            if body.get("kind") == "CustomResourceDefinition":
                spec = body["spec"]
                if kind := BY_GROUP_KIND.get((spec["group"], spec["names"]["kind"])):
                    for version in spec["versions"]:
                        yield kind, version["name"], version["schema"]["openAPIV3Schema"], {}


#: Kinds of Kubernetes itself, with the class of the Python client (generated from its OpenAPI) that describes them.
_KUBERNETES = {
    "V1Lease": ("coordination.k8s.io", "Lease"),
    "V1CertificateSigningRequest": ("certificates.k8s.io", "CertificateSigningRequest"),
    "V1EndpointSlice": ("discovery.k8s.io", "EndpointSlice"),
    "V1ValidatingAdmissionPolicy": ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    "V1ValidatingAdmissionPolicyBinding": ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
}
_MODEL_TYPES = {
    "str": {"type": "string"}, "int": {"type": "integer"}, "bool": {"type": "boolean"}, "float": {"type": "number"},
    "datetime": {"type": "string", "format": "date-time"}, "bytes": {"type": "string"}, "object": {},
}  # fmt: skip


def _models(folder: Path) -> Iterator[tuple[Kind, str, Tree, Tree]]:
    """The kinds of Kubernetes, read as text from the client's generated classes."""
    definitions = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                tables = {
                    statement.target.id: ast.literal_eval(statement.value)
                    for statement in node.body
                    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
                    and statement.target.id in ("openapi_types", "attribute_map") and statement.value
                }  # fmt: skip
                if len(tables) == 2:
                    types, names = tables["openapi_types"], tables["attribute_map"]
                    definitions[node.name] = {"properties": {names[own]: _model_type(types[own]) for own in types}}
    for model, named in _KUBERNETES.items():
        yield BY_GROUP_KIND[named], "v1", definitions[model], definitions


def _model_type(text: str) -> Tree:
    """A type as the client writes it: `str`, `List[V1Taint]`, `Dict[str, str]`, `V1LeaseSpec`."""
    if text.startswith("List["):
        return {"type": "array", "items": _model_type(text[len("List[") : -1])}
    if text.startswith("Dict["):
        return {"type": "object", "additionalProperties": _model_type(text[len("Dict[") : -1].partition(", ")[2])}
    return _MODEL_TYPES.get(text, {"$ref": _PREFIX + text})


def _fields(schema: Tree, definitions: Tree, path: str, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each field below a schema: its path (`[]` for elements of a list, `*` for values of a map) and its type."""
    reference = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), None)
    if reference:
        name = reference.removeprefix(_PREFIX)
        if name in above:
            return
        schema, above = definitions[name], (*above, name)
    if path:
        yield path, _type(schema)
    for name, child in schema.get("properties", {}).items():
        if path or name not in _STANDARD:
            yield from _fields(child, definitions, f"{path}.{name}" if path else name, above)
    for keyword, suffix in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(keyword), dict) and path:
            yield from _fields(schema[keyword], definitions, path + suffix, above)


def _type(schema: Tree) -> str:
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return "int-or-string"
    if "type" not in schema:
        return "object" if "properties" in schema else "any"
    type_ = str(schema["type"])
    return "date-time" if type_ == "string" and schema.get("format") == "date-time" else type_


if __name__ == "__main__":
    main()
