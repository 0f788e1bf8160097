"""Derived files, read strictly: what muster did not write there is a finding and is decided again.

Files under `derived/` count as the decisions of the last run, so an edit there could reset a condition's time or lift a
budget's hold. A document counts only in the file where muster writes that object's derived part, and a field only if
muster derives it for that kind (`schemas/derived/parts.json`). Anything else is ignored: the run derives it again and
rewrites the file. Fields and list elements are dropped one by one, so that one edit does not cost an object all its
times.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import BY_GROUP_KIND, Kind
from muster.data.locations import is_derived_path, is_safe
from muster.data.source import Layer, Part, SourceFile
from muster.data.tree import At, Tree, dig
from muster.data.yaml.problem import Document
from muster.fleet import derived_messages as messages
from muster.fleet.schemas import Gate, gate_for, load_schema

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_SECTIONS = ("metadata", "spec", "status")
#: A violation drops its whole field of a section, but only one key of these.
_BY_KEY = (("metadata", "annotations"), ("metadata", "labels"), ("status", "muster"))
_MOST_FINDINGS = 5


def derived_parts(source: SourceFile, documents: tuple[Document, ...], findings: list[Finding]) -> Iterator[Part]:
    """Yield the valid parts of a derived file, and append findings about the rest to `findings`."""
    for document in documents:
        identity = _identified(source, document.body)
        if isinstance(identity, str):
            findings.append(messages.not_derived(source, document, identity))
            continue
        kind, id_ = identity
        body, strange = _without_unknown(kind, document.body)
        findings.extend(
            messages.unknown_derived_field(source, document, id_, violation) for violation in strange[:_MOST_FINDINGS]
        )
        version = document.body["apiVersion"].rpartition("/")[2]
        yield Part(id_, version, body, Layer.DERIVED, source, document.index, None, document.line)


def _identified(source: SourceFile, body: Tree) -> tuple[Kind, ObjectId] | str:
    """The kind and id whose derived part the document is, or the reason why it is none."""
    api_version, name, namespace = (
        body.get("apiVersion"),
        dig(body, "metadata", "name"),
        dig(body, "metadata", "namespace"),
    )
    if not isinstance(api_version, str) or not isinstance(body.get("kind"), str):
        return "it is no object"
    group, _, version = api_version.rpartition("/")
    kind = BY_GROUP_KIND.get((group, body["kind"]))
    if kind is None or version not in kind.versions:
        return f"muster derives no {body['kind']!r} in {api_version!r}"
    if not isinstance(name, str) or not isinstance(namespace, str | None) or kind.namespaced != bool(namespace):
        return f"it does not identify its {kind.name}"
    if not is_safe(name) or (namespace and not is_safe(namespace)):
        return "its name can be no object's"
    id_ = kind.id(name, namespace or "")
    if not is_derived_path(source.path, id_):
        return f"the derived part of {id_} does not belong here"
    return kind, id_


def as_derived(kind: Kind, body: Tree) -> Tree:
    """Return the fields of a part that would count under `derived/`."""
    return _without_unknown(kind, body)[0]


def _without_unknown(kind: Kind, body: Tree) -> tuple[Tree, list[str]]:
    """The part without the fields that muster does not derive, and a text about each of them."""
    if _gate(kind).is_valid(body):
        return body, []
    from muster.fleet.violations import validator_for  # jsonschema loads slowly

    strange: dict[At, str] = {}
    for error in validator_for(derived_schema(kind)).iter_errors(body):
        for path, cut in _places(error):
            strange.setdefault(cut, messages.violation_text(error, path))
    pruned = _pruned(body, strange.keys())
    if not _gate(kind).is_valid(pruned):
        pruned = {name: body[name] for name in ("apiVersion", "kind")}
        pruned["metadata"] = {
            name: body["metadata"][name] for name in ("name", "namespace") if name in body["metadata"]
        }
        strange.setdefault((), "no field of it is valid")
    return pruned, [text for _, text in sorted(strange.items(), key=lambda item: repr(item[0]))]


def _places(error: "ValidationError") -> Iterator[tuple[At, At]]:
    """Where a part violates its schema, and the place to drop for it: for an unknown field, that field alone."""
    path = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and error.validator_value is False:
        schema: Tree = error.schema
        instance: Tree = error.instance
        for name in sorted(set(instance) - set(schema.get("properties", {}))):
            yield (*path, name), (*path, name)
    else:
        yield path, _cut(path)


def _cut(path: At) -> At:
    """The smallest place that can be dropped because of a violation at `path`."""
    for position, step in enumerate(path):
        if isinstance(step, int):
            return path[: position + 1]
    return path[:3] if path[:2] in _BY_KEY else path[:2]


def _pruned(tree: Tree, gone: object, path: At = ()) -> Tree:
    left_out = frozenset(gone)  # type: ignore[call-overload]
    if isinstance(tree, dict):
        return {
            name: _pruned(value, left_out, (*path, name))
            for name, value in tree.items()
            if (*path, name) not in left_out
        }
    if isinstance(tree, list):
        return [
            _pruned(value, left_out, (*path, index))
            for index, value in enumerate(tree)
            if (*path, index) not in left_out
        ]
    return tree


@cache
def _gate(kind: Kind) -> Gate:
    return gate_for(derived_schema(kind))


def derived_kinds() -> frozenset[str]:
    """Return the labels of the kinds that have derived parts."""
    return frozenset(load_schema("derived/parts.json")["kinds"])


@cache
def derived_schema(kind: Kind) -> Mapping[str, Tree]:
    """Return the schema of a kind's derived part, built from `schemas/derived/parts.json`. `beside` there are fields
    beside the usual sections."""
    table = load_schema("derived/parts.json")
    of_kind, common = table["kinds"].get(kind.label, {}), table["common"]
    sections = {section: _section(common.get(section, {}), of_kind.get(section, {})) for section in _SECTIONS}
    book = _section(common["muster"], of_kind.get("muster", {}))
    sections["status"]["properties"]["muster"] = book
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"derived-{kind.schema}.json",
        "type": "object",
        "properties": {"apiVersion": True, "kind": True, **sections, **of_kind.get("beside", {})},
        "additionalProperties": False,
    }


def _section(common: Mapping[str, Tree], of_kind: Mapping[str, Tree] | None) -> dict[str, Tree]:
    """A mapping with exactly these fields; with any, if `of_kind` is null in the table."""
    if of_kind is None:
        return {"type": "object"}
    return {"type": "object", "properties": {**common, **of_kind}, "additionalProperties": False}
