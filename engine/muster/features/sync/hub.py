"""Where a live hub's API server has objects, and questions that an absence answers."""

from collections.abc import Iterator
from typing import Final

from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.data.kinds import Kind
from muster.data.tree import Tree
from muster.features.sync.wanted import HubKey, api_version

#: The field manager of everything that muster applies.
MANAGER: Final = "muster"


def objects_of(hub: ApiServer, kind: Kind) -> Iterator[Tree]:
    """Yield the objects of a kind in all namespaces; none if the hub does not have the kind. ApiError if it fails."""
    try:
        yield from hub.list(_path(kind))
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
    return f"{_path(key.kind, key.namespace)}/{key.name}{'/status' if key.status else ''}"


def _path(kind: Kind, namespace: str = "") -> str:
    version = api_version(kind)
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}/namespaces/{namespace}/{kind.plural}" if namespace else f"{root}/{kind.plural}"


def parent_path(namespace: str, name: str) -> str:
    """The ConfigMap that is the parent of an ApplySet."""
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"
