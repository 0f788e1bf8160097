"""Kubernetes objects in the files of Projections: those that a user chooses are exported, and synced to a hub.

A file holds objects if each of its YAML or JSON documents is a map with `apiVersion`, `kind` and `metadata.name`. Other
files, such as lists, variables of Terraform and texts, are for tools that read them from git.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Final, NamedTuple

from muster.data.ids import ObjectId
from muster.data.kinds import BY_GROUP_KIND, MANAGED_CLUSTER_ADD_ON, MANIFEST_WORK, PROJECTION, is_cluster
from muster.data.locations import SUFFIXES, is_projected
from muster.data.names import did_you_mean
from muster.data.tree import Tree, dig
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.projected import records
from muster.regex import Regex

ALL: Final = "all"
_API_VERSION: Final = Regex(r"([a-z0-9][-a-z0-9.]*/)?[a-z][a-z0-9]*")
#: Kinds of the registry that a Projection may write on a hub. Muster, agents or the hub's controllers write the others.
_FREE: Final = frozenset((MANIFEST_WORK, MANAGED_CLUSTER_ADD_ON))
_REFUSED: Final = frozenset(BY_GROUP_KIND) - {(kind.group, kind.name) for kind in _FREE}


class RecordedProjection(NamedTuple):
    """A file that a Projection of this name writes, as its `owner` records it in `entry`."""

    projection: str
    path: str
    record: Tree
    owner: ObjectId
    entry: str


class ProjectedObject(NamedTuple):
    """A Kubernetes object in a file of a Projection. `fault` says why it is not sent to a hub; empty if it is."""

    projection: str
    body: Mapping[str, Tree]
    fault: str = ""

    @property
    def id(self) -> ObjectId:
        """What identifies it."""
        group, namespace = str(self.body["apiVersion"]).rpartition("/")[0], dig(self.body, "metadata", "namespace")
        return ObjectId(group, str(self.body["kind"]), str(namespace or ""), str(self.body["metadata"]["name"]))


@dataclass(frozen=True, slots=True)
class ProjectedObjects:
    """The objects in some files. `others` is the number of files that hold something else, by Projection; `unsure` are
    files whose content is not known; `chosen` are the names of the Projections."""

    chosen: frozenset[str]
    objects: list[ProjectedObject] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    unsure: list[str] = field(default_factory=list)

    def add(self, projection: str, path: str, data: bytes) -> None:
        """Read a file."""
        loaded = load_documents(data, path) if path.endswith(SUFFIXES) else None
        bodies = [document.body for document in loaded.documents] if loaded and not loaded.problems else []
        if not bodies or not all(map(_is_object, bodies)):
            self.others[projection] += 1
            return
        self.objects.extend(ProjectedObject(projection, body, _fault(body)) for body in bodies)

    def checked(self) -> "ProjectedObjects":
        """Return the same, where objects that are in two files are faulty."""
        by_id: dict[ObjectId, list[ProjectedObject]] = {}
        for obj in self.objects:
            by_id.setdefault(obj.id, []).append(obj)
        objects = [same[0] if len(same) == 1 else same[0]._replace(fault=_twice(same)) for same in by_id.values()]
        return ProjectedObjects(self.chosen, objects, self.others, self.unsure)


NO_PROJECTIONS: Final = ProjectedObjects(frozenset())


def projected_files(
    entries: Iterable[tuple[ObjectId, Mapping[str, Tree]]], chosen: frozenset[str]
) -> Iterator[RecordedProjection]:
    """Yield the files of chosen Projections among the entries of the record of each object."""
    for id_, recorded in entries:
        if is_cluster(id_) or PROJECTION.has(id_):
            for entry, record in sorted(recorded.items()):
                name, path = entry if is_cluster(id_) else id_.name, str(dig(record, "file"))
                if is_chosen(name, chosen) and is_projected(path):
                    yield RecordedProjection(name, path, record, id_, entry)


def projected_objects(fleet: Fleet, chosen: frozenset[str]) -> ProjectedObjects:
    """Return the objects of chosen Projections as a run decides them. A file that the run leaves as it was is none."""
    projected = ProjectedObjects(chosen)
    for file in projected_files(((id_, records(fleet.decided[id_])) for id_ in sorted(fleet.decided)), chosen):
        if (text := fleet.projected.get((file.owner, file.entry))) is None:
            projected.unsure.append(file.path)
        else:
            projected.add(file.projection, file.path, text.encode())
    return projected.checked()


def is_chosen(projection: str, chosen: frozenset[str]) -> bool:
    """Did the user choose this Projection?"""
    return projection in chosen or ALL in chosen


def unknown_projections(fleet: Fleet, chosen: Iterable[str]) -> Iterator[str]:
    """Say which chosen names no Projection has."""
    names = {id_.name for id_ in (*fleet.objects, *fleet.previous) if PROJECTION.has(id_)}
    for name in sorted({*chosen} - names - {ALL}):
        yield f"no Projection is called {name!r}; {did_you_mean(name, names)}".rstrip("; ")


def _is_object(body: Tree) -> bool:
    wanted = (dig(body, "apiVersion"), dig(body, "kind"), dig(body, "metadata", "name"))
    return all(isinstance(value, str) and value for value in wanted)


def _fault(body: Tree) -> str:
    group, kind = body["apiVersion"].rpartition("/")[0], body["kind"]
    if (group, kind) in _REFUSED:
        return f"muster itself, agents or the hub's controllers write each {kind}; a Projection may not"
    names = (body["metadata"]["name"], str(dig(body, "metadata", "namespace") or ""))
    if any(name in (".", "..") or "/" in name or "%" in name for name in (*names, kind)):
        return "its name is not one that Kubernetes takes"
    if not _API_VERSION.fullmatch(body["apiVersion"]):
        return f"its apiVersion is not one that Kubernetes takes: {body['apiVersion']}"
    return ""


def _twice(same: list[ProjectedObject]) -> str:
    names = sorted({obj.projection for obj in same})
    return f"{len(same)} files have it, of Projection {' and '.join(names)}"
