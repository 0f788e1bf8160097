"""Ways to break the file of one object: everything that a person, an editor, a merge or a filter makes of it.

A way takes the file's path and text and returns what is committed instead; None where it cannot apply to the kind, as
its schema tells.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import yaml

from muster.data.kinds import ADMISSION, Kind, kind_of_body
from muster.data.tree import Tree
from muster.data.yaml import limits
from tests.support.loose import Edit, Entry

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"


#: Given path, text and kind.
Way = Callable[[str, str, Kind], Edit | None]


def _text(change: Callable[[str, str], str | None]) -> Way:
    """A way that edits the text; `change` also takes the name of the section that says what the object is for."""

    def way(path: str, text: str, kind: Kind) -> Edit | None:
        edited = change(text, section(text))
        return None if edited is None or edited == text else {path.encode(): Entry(edited.encode())}

    return way


def section(text: str) -> str:
    """The first field besides `apiVersion`, `kind` and `metadata`: in most kinds, `spec`."""
    names = [line.partition(":")[0] for line in text.splitlines() if line[:1].isalpha()]
    return next(name for name in names if name not in ("apiVersion", "kind", "metadata"))


def _without(text: str, name: str) -> str:
    """The text without a section."""
    return "".join(f"{line}\n" for line, inside in _lines(text, name) if not inside)


def _lines(text: str, name: str) -> list[tuple[str, bool]]:
    """The lines of a text, and whether each belongs to a section."""
    found, inside = [], False
    for line in text.splitlines():
        if line[:1].isalpha():
            inside = line.startswith(f"{name}:")
        found.append((line, inside))
    return found


def _misplaced(text: str, name: str) -> str:
    """The section below `metadata`."""
    body = yaml.safe_load(text)
    body["metadata"][name] = body.pop(name)
    return str(yaml.safe_dump(body, sort_keys=False))


def _swapped(text: str, name: str) -> str:
    """The section's name with two letters swapped."""
    return text.replace(f"\n{name}:", f"\n{name[:-2]}{name[-1]}{name[-2]}:", 1)


def _conflicted(text: str, name: str) -> str:
    return text.replace(f"\n{name}:", f"\n<<<<<<< HEAD\n{name}:", 1) + "=======\nspec: {}\n>>>>>>> theirs\n"


def _kind_misspelt(text: str, _name: str) -> str:
    line = next(line for line in text.splitlines() if line.startswith("kind:"))
    return text.replace(line, f"{line[:-1]}{line[-1]}{line[-1]}", 1)


def _version(text: str, _name: str) -> str:
    line = next(line for line in text.splitlines() if line.startswith("apiVersion:"))
    return text.replace(line, f"{line.rpartition('/')[0]}/v99", 1)


def _cel_error(path: str, text: str, kind: Kind) -> Edit | None:
    """The first expression in it does not compile. Which fields hold one, the schema says."""
    body = yaml.safe_load(text)
    if not _spoil(body, schema_of(kind), schema_of(kind)):
        return None
    return {path.encode(): Entry(str(yaml.safe_dump(body, sort_keys=False)).encode())}


def _spoil(value: Tree, schema: Tree, root: Tree) -> bool:
    """Replace the first expression below a value."""
    schema, root = _resolved(schema, root)
    if isinstance(value, dict):
        for name, child in value.items():
            below = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
            if not isinstance(below, dict):
                continue
            if isinstance(child, str) and "x-muster-cel" in below:
                value[name] = "1 +"
                return True
            if _spoil(child, below, root):
                return True
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for number, element in enumerate(value):
            if isinstance(element, str) and "x-muster-cel" in items:
                value[number] = "1 +"
                return True
            if _spoil(element, items, root):
                return True
    return False


def _resolved(schema: Tree, root: Tree) -> tuple[Tree, Tree]:
    while "$ref" in schema:
        file, _, pointer = schema["$ref"].partition("#")
        root = schema = _loaded(file) if file else root
        for step in pointer.strip("/").split("/") if pointer else ():
            schema = schema[step]
    return schema, root


def schema_of(kind: Kind) -> Tree:
    """The JSON Schema of a kind."""
    return _loaded(f"{kind.schema}.json")


@cache
def _loaded(file: str) -> Tree:
    return json.loads((SCHEMAS / file).read_text(encoding="utf-8"))


def _moved(name: bytes) -> Way:
    """A way that moves the file into a folder with a name."""

    def way(path: str, text: str, _kind: Kind) -> Edit:
        folder, _, file = path.encode().rpartition(b"/")
        return {path.encode(): Entry(None), folder + b"/" + name + b"/" + file: Entry(text.encode())}

    return way


def _second_writer(path: str, text: str, _kind: Kind) -> Edit | None:
    """A copy of the file sets the same fields to other values."""
    body = yaml.safe_load(text)
    other = dict(body)
    if not _differ(other, section(text)):
        return None
    return {b"copies/" + path.encode().replace(b"/", b"-"): Entry(str(yaml.safe_dump(other)).encode())}


def _differ(body: Tree, name: str) -> bool:
    """Give the first leaf of a section another value of its type."""
    copied = body[name] = json.loads(json.dumps(body[name]))
    nodes: list[Tree] = [copied]
    while nodes:
        node = nodes.pop(0)
        for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
            if isinstance(value, bool):
                node[key] = not value
                return True
            if isinstance(value, int):
                node[key] = value + 1
                return True
        nodes += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return True  # equal values in two files are two writers, too


def _second_label(path: str, text: str, _kind: Kind) -> Edit | None:
    """A copy of the file sets a label to another value."""
    body = yaml.safe_load(text)
    labels = body["metadata"].get("labels")
    if not labels:
        return None
    other = {**body, "metadata": {**body["metadata"], "labels": {name: f"{value}x" for name, value in labels.items()}}}
    return {b"copies/" + path.encode().replace(b"/", b"-"): Entry(str(yaml.safe_dump(other)).encode())}


_DENY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: deny}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [{group}], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [{plural}]}}
  matchConditions:
  - {{name: name, expression: "object.metadata.name == '{name}'"}}
  - {{name: namespace, expression: "object.metadata[?'namespace'].orValue('') == '{namespace}'"}}
  validations:
  - {{expression: "false", message: not this one}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: deny}}
spec: {{policyName: deny, validationActions: [Deny]}}
"""


def _denied(path: str, text: str, kind: Kind) -> Edit | None:
    """An admission policy refuses the object."""
    if kind in ADMISSION:
        return None
    metadata = yaml.safe_load(text)["metadata"]
    policy = _DENY.format(
        group=kind.group, plural=kind.plural, name=metadata["name"], namespace=metadata.get("namespace", "")
    )
    return {b"admission/deny.yaml": Entry(policy.encode())}


WAYS: Mapping[str, Way] = {
    "an unknown field": _text(lambda text, _: f"{text}bogus: 1\n"),
    "a misspelt section": _text(_swapped),
    "an empty section": _text(lambda text, name: _without(text, name) + f"{name}:\n"),
    "a lost section": _text(_without),
    "a misplaced section": _text(_misplaced),
    "a no-break space": _text(lambda text, name: text.replace(f"\n{name}:", f"\n\u00a0{name}:", 1)),
    "a wrong type": _text(lambda text, name: _without(text, name) + f"{name}: [1]\n"),
    "an unknown version": _text(_version),
    "an unknown kind": _text(_kind_misspelt),
    "broken YAML": _text(lambda text, _: f"{text}metadata: {{name: [\n"),
    "a duplicate key": _text(lambda text, _: text.replace("\nkind:", "\nkind: X\nkind:", 1)),
    "an empty file": _text(lambda *_: ""),
    "conflict markers": _text(_conflicted),
    "UTF-16": lambda path, text, _: {path.encode(): Entry(text.encode("utf-16"))},
    "too large": lambda path, text, _: {path.encode(): Entry(text.encode() + b"#" * limits.FILE)},
    "a link": lambda path, *_: {path.encode(): Entry(b"../elsewhere.yaml", b"120000")},
    "a submodule": lambda path, *_: {path.encode(): Entry(b"", b"160000")},
    "an LFS pointer": lambda path, *_: {
        path.encode(): Entry(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n")
    },
    "ignored": lambda path, *_: {b".musterignore": Entry(f"{path}\n".encode())},
    "a tab in its path": _moved(b"a\tb"),
    "a newline in its path": _moved(b"a\nb"),
    "a path that is not UTF-8": _moved(b"a\xffb"),
    "a suffix that is not read": lambda path, text, _: {
        path.encode(): Entry(None),
        path.replace(".yaml", ".YAML").encode(): Entry(text.encode()),
    },
    "two writers": _second_writer,
    "two writers of a label": _second_label,
    "an error in an expression": _cel_error,
    "refused by a policy": _denied,
}


def edit_of(way: str, path: str, text: str) -> Edit | None:
    """What is committed to break a file; None if the way cannot apply to its kind.

    A path on a ref is written `ref:path`. No file there ignores another.
    """
    kind = kind_of_body(yaml.safe_load(text))
    assert kind is not None
    ref, colon, inside = path.rpartition(":")
    edit = WAYS[way](inside, text, kind)
    if not colon or edit is None:
        return edit
    of_people = (b".musterignore", b"admission/deny.yaml")
    return {
        path if path in of_people else f"{ref}:".encode() + path: entry
        for path, entry in edit.items()
        if path != b".musterignore"
    }
