"""Where a live hub's API server has objects, which kinds it has, and questions that an absence answers."""

from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple, Self
from urllib.parse import quote

from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.kube.discovery import ApiResource, Discovery
from muster.data.kinds import Kind
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.features.export.objects import served_versions


@dataclass(frozen=True, slots=True, order=True)
class HubKind:
    """A kind as a hub serves it. Group and name identify it: an object is the same one in each version."""

    group: str
    name: str
    version: str = field(compare=False)
    plural: str = field(compare=False, default="")
    namespaced: bool = field(compare=False, default=True)

    @classmethod
    def of(cls, kind: Kind) -> Self:
        """A kind of the registry, in the version that upstream serves."""
        version = next(iter(served_versions(kind)), kind.api_version).rpartition("/")[2]
        return cls(kind.group, kind.name, version, kind.plural, kind.namespaced)

    @property
    def api_version(self) -> str:
        """The version in which objects are sent and listed."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> str:
        """The kind as an ApplySet names it: `PlacementDecision.cluster.open-cluster-management.io`."""
        return f"{self.name}.{self.group}" if self.group else self.name


class HubKey(NamedTuple):
    """An object on a hub, or its status subresource."""

    kind: HubKind
    namespace: str
    name: str
    status: bool = False


def kind_at(discovery: Discovery, api_version: str, name: str) -> HubKind | None:
    """Return a kind in a version; None if the hub does not have it. ApiError if the hub does not say."""
    resource = discovery.find(api_version, name)
    if resource is None:
        return None
    return HubKind(resource.group, resource.kind, resource.version, resource.plural, resource.namespaced)


def kind_in_any_version(hub: ApiServer, discovery: Discovery, group: str, name: str) -> HubKind | None:
    """Return a kind in the version that the hub prefers; None if the hub does not have it. ApiError if the hub does not
    say."""
    about = object_at(hub, f"/apis/{quote(group, safe='')}") if group else {"versions": [{"groupVersion": "v1"}]}
    served = [dig(about, "preferredVersion"), *mappings_at(about, "versions")]
    versions = dict.fromkeys(str(entry["groupVersion"]) for entry in served if entry)
    kinds = (kind_at(discovery, version, name) for version in versions)
    return next((kind for kind in kinds if kind is not None), None)


def objects_of(hub: ApiServer, kind: HubKind, **query: str) -> Iterator[Tree]:
    """Yield the objects of a kind in all namespaces; none if the hub does not have the kind. ApiError if it fails."""
    try:
        yield from hub.list(_path(kind), **query)
    except ApiError as error:
        if error.status != 404:
            raise


def object_at(hub: ApiServer, path: str) -> Tree:
    """Return the object at a path; None if there is none. ApiError if the hub fails."""
    try:
        return hub.get_json(path)
    except ApiError as error:
        if error.status == 404:
            return None
        raise


def path_of(key: HubKey) -> str:
    """Where the server has an object, or its status."""
    return _path(key.kind, key.namespace, key.name) + ("/status" if key.status else "")


def _path(kind: HubKind, namespace: str = "", name: str = "") -> str:
    return ApiResource(kind.api_version, kind.name, kind.plural, namespaced=True).path(namespace, name)


def parent_path(namespace: str, name: str) -> str:
    """The ConfigMap that is the parent of an ApplySet."""
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"
