"""Objects as the API server of a hub takes them under strict validation: with upstream's fields alone, in its forms.

`schemas/upstream` lists the fields that upstream's APIs serve, with the version of each list. A server refuses a field
that its schema does not have, drops the status of a kind that has a status subresource, and neither takes nor keeps a
`deletionTimestamp`. So objects are fitted to the lists, their status is printed separately, and an object that is being
deleted is absent. Times have the form of Kubernetes' Time, or of its MicroTime in a Lease.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache

from muster.data.kinds import (
    ADD_ON_PLACEMENT_SCORE,
    ADMISSION,
    BY_GROUP_KIND,
    CSR,
    ENDPOINT_SLICE,
    FLEET,
    LEASE,
    RESOURCE_BINDING,
    Kind,
)
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mapping_at
from muster.data.yaml.loader import first_body
from muster.dataclass import dataclass
from muster.fleet.bundle import bundle_path

_OWN_GROUP = "muster.dev/"
#: What agents and the hub's own controllers write, and the rules for changes of the repository.
_OF_OTHERS = frozenset((LEASE, CSR, ADD_ON_PLACEMENT_SCORE, ENDPOINT_SLICE, RESOURCE_BINDING, *ADMISSION))
#: Works of a set: the hub's own controller may write them, too.
_SET_LABEL = "work.open-cluster-management.io/manifestworkreplicaset"
#: Metadata that a person gives. The rest is the server's own, or names objects of another server by their `uid`.
_METADATA = ("name", "namespace", "labels", "annotations", "finalizers")
#: Values that a version has another name for than the version that is exported.
_RENAMED = {("spec.clusterSelector.selectorType", "LegacyClusterSetLabel"): "ExclusiveClusterSetLabel"}


@dataclass(frozen=True, slots=True, eq=False)
class ServedField:
    """A field of upstream's, and those below it: `[]` is an element of a list, `*` a value of a map."""

    type: str
    open: bool = False
    below: dict[str, "ServedField"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ServedVersion:
    """A version of a kind as upstream serves it: `source` is where the list is from."""

    api_version: str
    source: str
    has_status: bool
    root: ServedField


@dataclass(frozen=True, slots=True)
class Export:
    """The objects to print. What is left out: fields by kind, path and source; kinds by plural; deleted objects."""

    bodies: list[Tree] = field(default_factory=list)
    fields: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    deleted: list[Tree] = field(default_factory=list)

    def left_out(self) -> Iterator[str]:
        """Say what is not printed, a line for each reason."""
        for (kind, path, source), count in sorted(self.fields.items()):
            yield f"not exported: {path} of {count} {kind}: {source} has no such field"
        if self.kinds:
            counts = ", ".join(f"{count} {plural}" for plural, count in sorted(self.kinds.items()))
            yield f"not exported: {counts}: others write them on a hub; name the kind to print them"
        if self.deleted:
            yield f"not exported: {len(self.deleted)} being deleted; --deletes prints them"


def exported(objects: Iterable[Tree], *, named: bool = False, status: bool = False) -> Export:
    """Return objects as a hub takes them, and what is left out of them.

    Objects of muster's own kinds, and of kinds that others write on a hub, are left out unless they are `named`. With
    `status` each object is its name and its status, as the status subresource takes it. Without, the status of a kind
    that has the subresource is left out.
    """
    export = Export()
    for body in objects:
        kind = _kind_of(body)
        served = _served(kind, body)
        if not named and (kind in _OF_OTHERS or _SET_LABEL in mapping_at(body, "metadata", "labels")):
            export.kinds[kind.plural] += 1
        elif not named and kind.group == FLEET.group:
            continue
        elif dig(body, "metadata", "deletionTimestamp") is not None:
            export.deleted.append(identified(body, served))
        elif (fitted := _fitted(body, served, export, status=status)) is not None:
            export.bodies.append(fitted)
    return export


def _fitted(body: Tree, served: ServedVersion | None, export: Export, *, status: bool) -> Tree | None:
    """An object as it is printed; None where only the status is wanted and the hub takes none."""
    sections = {name: value for name, value in body.items() if name not in _STANDARD}
    if isinstance(body.get("status"), dict):
        sections["status"] = {name: value for name, value in body["status"].items() if name != "muster"}
    if not sections.get("status"):
        sections.pop("status", None)
    separate = served is not None and served.has_status
    if status and not (separate and "status" in sections):
        return None
    if separate:
        sections = {name: value for name, value in sections.items() if (name == "status") == status}
    if served is not None:
        left_out = set[str]()
        sections = _trimmed(sections, served.root, "", left_out)
        export.fields.update((body["kind"], path, served.source) for path in left_out)
    named = identified(body, served)
    if not status:
        named["metadata"] |= {name: value for name in _METADATA[2:] if (value := _metadatum(body, name))}
    return named | sections


_STANDARD = ("apiVersion", "kind", "metadata")


def identified(body: Tree, served: ServedVersion | None = None) -> dict[str, Tree]:
    """An object without anything but what names it; in the version that upstream serves, if that is given."""
    metadata = {name: value for name in _METADATA[:2] if (value := dig(body, "metadata", name))}
    version = served.api_version if served else body["apiVersion"]
    return {"apiVersion": version, "kind": body["kind"], "metadata": metadata}


def _metadatum(body: Tree, name: str) -> Tree:
    value = dig(body, "metadata", name)
    if name == "annotations":
        return {key: text for key, text in mapping_at(body, "metadata", name).items() if not key.startswith(_OWN_GROUP)}
    return value


def _trimmed(value: Tree, field: ServedField, path: str, left_out: set[str]) -> Tree:
    """A value with the fields that upstream has; the paths of others are added to `left_out`."""
    if field.open:
        return value
    if isinstance(value, dict):
        kept = {}
        for name, child in value.items():
            below = field.below.get("*") or field.below.get(name)
            inner = f"{path}.{name}" if path else name
            if below is None:
                left_out.add(inner)
            elif child is not None:  # a server prunes a null
                kept[name] = _trimmed(child, below, inner, left_out)
        return kept
    if isinstance(value, list) and (element := field.below.get("[]")):
        return [_trimmed(child, element, f"{path}[]", left_out) for child in value]
    if field.type in ("date-time", "micro-time") and (instant := try_time(value)) is not None:
        whole = format_time(instant.replace(microsecond=0))
        return f"{whole[:-1]}.{instant.microsecond:06d}Z" if field.type == "micro-time" else whole
    return _RENAMED.get((path, value), value) if isinstance(value, str) else value


def _kind_of(body: Tree) -> Kind:
    return BY_GROUP_KIND[body["apiVersion"].rpartition("/")[0], body["kind"]]


def _served(kind: Kind, body: Tree) -> ServedVersion | None:
    """What upstream serves of an object: its own version where there is a list of it, else another; None for none."""
    versions = served_versions(kind)
    return versions.get(body["apiVersion"]) or next(iter(versions.values()), None)


@cache
def served_versions(kind: Kind) -> Mapping[str, ServedVersion]:
    """Return the versions of a kind that upstream serves, by `group/version`, the preferred one first."""
    versions = {}
    for version in kind.versions:
        path = bundle_path("schemas") / "upstream" / f"{kind.schema}.{version}.yaml"
        if path.exists():
            listed = first_body(path.read_bytes(), path.name)
            versions[listed["apiVersion"]] = ServedVersion(
                listed["apiVersion"], listed["source"], "status" in listed["subresources"], _tree_of(listed["fields"])
            )
    return versions


def _tree_of(fields: Mapping[str, Tree]) -> ServedField:
    """The fields of a list, each below its parent. What upstream keeps as it comes has no fields below it."""
    nodes = {"": ServedField("object")}
    for path in sorted(fields, key=len):
        described = fields[path]
        facts = {"type": described} if isinstance(described, str) else described
        is_open = facts["type"] == "any" or facts.get("x-kubernetes-preserve-unknown-fields") is True
        parent, step = _split(path)
        nodes[path] = nodes[parent].below[step] = ServedField(facts["type"], is_open)
    return nodes[""]


def _split(path: str) -> tuple[str, str]:
    """The path of a field's parent, and its own step."""
    if path.endswith("[]"):
        return path[:-2], "[]"
    parent, _, step = path.rpartition(".")
    return parent, step
