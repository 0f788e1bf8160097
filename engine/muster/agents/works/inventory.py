"""What the agent applied, remembered in its cluster: one ConfigMap for each work, in a namespace of the agent.

An object is written down before it is applied, so an agent that is killed in between finds it again. An entry has the
object's uid: an object that somebody has made anew since then is not deleted. Source: ocm's AppliedManifestWork, whose
kind is missing in a cluster without Open Cluster Management.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from http import HTTPStatus
from typing import Final

from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.kube.discovery import ApiResource
from muster.agents.works.applying import MANAGER
from muster.agents.works.manifests import ResourceKey
from muster.data.tree import Tree, dig, mapping_at, mappings_at, read_json
from muster.dataclass import dataclass

_MANAGER: Final = "muster-agent"
_LABEL: Final = "muster.dev/applied-work"


@dataclass(frozen=True, slots=True)
class AppliedObject:
    """An applied object. `uid` is empty until the server has answered."""

    key: ResourceKey
    version: str
    namespaced: bool
    uid: str = ""

    @property
    def path(self) -> str:
        """Where the server has the object."""
        group = self.key.group
        resource = ApiResource(
            f"{group}/{self.version}" if group else self.version, "", self.key.resource, self.namespaced
        )
        return resource.path(self.key.namespace, self.key.name)


@dataclass(frozen=True, slots=True)
class WorkInventory:
    """What was applied for a work, and in whose name: `executor`, as `namespace/name`; empty: the agent's."""

    entries: Mapping[ResourceKey, AppliedObject] = field(default_factory=dict)
    executor: str = ""


@dataclass
class InventoryStore:
    """The inventories of a cluster's works in `namespace`. Methods raise ApiError."""

    server: ApiServer
    cluster: str
    namespace: str
    _known: dict[str, WorkInventory] = field(default_factory=dict)

    def load(self) -> dict[str, WorkInventory]:
        """Return the inventories by the name of their work."""
        config_maps = self.server.list(self._path(), labelSelector=f"{_LABEL}=true")
        bodies = [mapping_at(config_map, "data") for config_map in config_maps]
        self._known = {
            str(data.get("work")): _inventory(data) for data in bodies if data.get("cluster") == self.cluster
        }
        return dict(self._known)

    def save(self, work: str, inventory: WorkInventory) -> None:
        """Write an inventory if it has changed; remove it if it is empty."""
        if inventory == self._known.get(work, WorkInventory(executor=inventory.executor)):
            return
        name = f"muster-work-{hashlib.sha256(f'{self.cluster}/{work}'.encode()).hexdigest()[:16]}"
        if not inventory.entries:
            self._delete(name)
            self._known.pop(work, None)
            return
        entries = [
            [*entry.key, entry.version, entry.namespaced, entry.uid] for _, entry in sorted(inventory.entries.items())
        ]
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {_LABEL: "true"}},
            "data": {
                "cluster": self.cluster,
                "work": work,
                "executor": inventory.executor,
                "applied": json.dumps(entries, separators=(",", ":")),
            },
        }
        self.server.apply(self._path(name), body, _MANAGER)
        self._known[work] = inventory

    def _delete(self, name: str) -> None:
        try:
            self.server.delete(self._path(name))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    def _path(self, name: str = "") -> str:
        return ApiResource("v1", "ConfigMap", "configmaps", namespaced=True).path(self.namespace, name)


def _inventory(data: Mapping[str, Tree]) -> WorkInventory:
    try:
        rows = read_json(str(data.get("applied") or "[]"))
        entries = [AppliedObject(ResourceKey(*row[:4]), row[4], row[5], row[6]) for row in rows]
    except (ValueError, TypeError, IndexError) as error:
        message = f"what was applied for the work {data.get('work')} cannot be read"
        raise ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, message) from error
    return WorkInventory({entry.key: entry for entry in entries}, str(data.get("executor") or ""))


def remove(server: ApiServer, entries: Iterable[AppliedObject]) -> tuple[dict[ResourceKey, AppliedObject], list[str]]:
    """Delete objects. Return those that still exist, and what went wrong.

    An object that another agent's AppliedManifestWork owns stays, and so does one that is not the applied one any more.
    """
    left, problems = dict[ResourceKey, AppliedObject](), list[str]()
    for entry in entries:
        try:
            if _remove(server, entry):
                left[entry.key] = entry
        except ApiError as error:
            if is_outage(error):
                raise
            left[entry.key] = entry
            problems.append(f"cannot remove {entry.key.resource} {entry.key.name}: {error}")
    return left, problems


def is_outage(error: ApiError) -> bool:
    """Does the server not answer, or not know the agent? Such an error says nothing about the request."""
    return error.is_outage or error.status == HTTPStatus.UNAUTHORIZED


def _remove(server: ApiServer, entry: AppliedObject) -> bool:
    """Delete an object; return whether it still exists."""
    try:
        existing = server.get_json(entry.path)
        metadata = mapping_at(existing, "metadata")
        if not _is_ours(metadata, entry.uid):
            return False
        if "deletionTimestamp" not in metadata:
            server.delete(entry.path, str(metadata.get("uid")), propagation="Background")
    except ApiError as error:
        if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):  # it is gone, or made anew
            return False
        raise
    return True


def _is_ours(metadata: Mapping[str, Tree], uid: str) -> bool:
    if any(owner.get("kind") == "AppliedManifestWork" for owner in mappings_at(dict(metadata), "ownerReferences")):
        return False
    if uid:
        return metadata.get("uid") == uid
    # The agent was killed before it knew the uid.
    managers = (str(dig(manager, "manager")) for manager in mappings_at(dict(metadata), "managedFields"))
    return any(manager.startswith(MANAGER) for manager in managers)
