"""An API server in memory, for what a real one cannot be made to do: go away in the middle, and refuse one thing."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.agents.kube.apiserver import ApiError, ApiServer, Login
from muster.data.tree import Tree, dig, mapping_at
from muster.net.deadline import Deadline

KINDS = {
    "v1": (("configmaps", "ConfigMap", True), ("namespaces", "Namespace", False)),
    "apps/v1": (("deployments", "Deployment", True),),
}


@dataclass
class State:
    """What the server has, by path; which requests it refuses, by a part of `METHOD path`, and with which status."""

    objects: dict[str, Tree] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    made: int = 0


class MemoryServer(ApiServer):
    """Answers as a real server does, as far as the agent's requests go: no validation, no field managers."""

    def __init__(self, state: State | None = None, user: str = "agent") -> None:
        super().__init__("memory:", Login())
        self.state, self.user = state or State(), user

    def acting_as(self, user: str) -> "MemoryServer":
        return MemoryServer(self.state, user.rpartition(":")[2])

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Tree = None,
        form: str = "json",
        deadline: Deadline | None = None,
    ) -> dict[str, Tree]:
        asked = f"{method} {path}"
        if not (query or {}).get("limit") and method != "GET":
            self.state.asked.append(f"{self.user}: {asked}")
        for part, status in self.state.refused.items():
            if part in f"{self.user}: {asked}":
                raise ApiError(status, f"{self.user} may not {asked}")
        if path.endswith("selfsubjectaccessreviews"):
            verb = dig(body, "spec", "resourceAttributes", "verb")
            return {"status": {"allowed": f"{self.user}: {verb}" not in self.state.refused}}
        return self._answered(method, path, body)

    def _answered(self, method: str, path: str, body: Tree) -> dict[str, Tree]:
        objects, version = self.state.objects, path.removeprefix("/apis/").removeprefix("/api/")
        if method == "GET" and version in KINDS:
            names = ("name", "kind", "namespaced")
            return {"resources": [dict(zip(names, one, strict=True)) for one in KINDS[version]]}
        if method == "GET" and path.endswith("/configmaps"):
            return {"items": [copy.deepcopy(one) for at, one in objects.items() if at.startswith(f"{path}/")]}
        if method == "POST":
            path = f"{path}/{body['metadata']['name']}"
        if method in ("GET", "DELETE") and path not in objects:
            raise ApiError(404, f"{path} not found")
        if method == "DELETE":
            return dict(objects.pop(path))
        if method != "GET":
            self._put(path, body)
        return dict(copy.deepcopy(objects[path]))

    def _put(self, path: str, body: Tree) -> None:
        known = self.state.objects.get(path)
        if known is None:
            self.state.made += 1
            known = {"metadata": {"uid": f"u{self.state.made}", "managedFields": [{"manager": "work-agent"}]}}
        self.state.objects[path] = _merged(known, copy.deepcopy(body))


def _merged(old: Tree, new: Tree) -> Tree:
    if not isinstance(new, dict):
        return new
    return {**mapping_at(old), **{name: _merged(mapping_at(old).get(name), value) for name, value in new.items()}}
