"""A live hub's API server, by the official client: list, server-side apply and delete under strict validation."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from muster.data.kinds import Kind
from muster.data.tree import Tree, dig
from muster.features.sync.wanted import HubKey, api_version

#: The field manager of everything that muster applies.
MANAGER: Final = "muster"
_PAGE: Final = 500
_TIMEOUT_SECONDS: Final = 30


class HubError(Exception):
    """The hub refused a request, or did not answer (`status` 0)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class LiveHub:
    """An API server. Every method raises HubError if the server refuses, or does not answer."""

    def __init__(self, kubeconfig: Path, context: str | None = None) -> None:
        """Read a kubeconfig; exec plugins, proxies and rotating token files work as kubectl's do. HubError if it cannot
        be used, ModuleNotFoundError without the extra `hub`."""
        from kubernetes import client, config  # the extra `hub`
        from kubernetes.config.config_exception import ConfigException

        settings = client.Configuration()
        settings.retries = False  # who follows the hub decides when to ask again
        try:
            config.load_kube_config(str(kubeconfig), context, settings, persist_config=False)
            self._client: Any = client.ApiClient(settings)
        except (ConfigException, OSError) as error:
            raise HubError(0, f"{kubeconfig}: {error}") from error

    def list(self, kind: Kind, *, label: str = "") -> Iterator[Tree]:
        """Yield the objects of a kind in all namespaces; none if the hub does not have the kind."""
        after = ""
        while True:
            query = {"limit": str(_PAGE), "continue": after, "labelSelector": label}
            try:
                page = self._request("GET", _path(kind), {name: value for name, value in query.items() if value})
            except HubError as error:
                if error.status == 404:
                    return
                raise
            yield from page["items"]
            after = dig(page, "metadata", "continue") or ""
            if not after:
                return

    def get(self, path: str) -> Tree:
        """The object at a path; None if there is none."""
        try:
            return self._request("GET", path, {})
        except HubError as error:
            if error.status == 404:
                return None
            raise

    def apply(self, path: str, body: Mapping[str, Tree], *, dry_run: bool = False) -> Tree:
        """Apply fields as their manager, and take them over from others; return the object."""
        query = {"fieldManager": MANAGER, "fieldValidation": "Strict", "force": "true", **_dry(dry_run)}
        return self._request("PATCH", path, query, body, "application/apply-patch+yaml")

    def delete(self, path: str, uid: str, *, dry_run: bool = False) -> Tree:
        """Delete the object that has this uid; return the server's answer."""
        return self._request("DELETE", path, _dry(dry_run), {"preconditions": {"uid": uid}}, "application/json")

    def _request(
        self, method: str, path: str, query: Mapping[str, str], body: Tree = None, form: str = "application/json"
    ) -> Tree:
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        headers = {"Accept": "application/json", "Content-Type": form}
        asked = self._client.param_serialize(
            method, path, query_params=list(query.items()), header_params=headers, body=body,
            auth_settings=["BearerToken"],
        )  # fmt: skip
        try:
            answer = self._client.call_api(*asked, _request_timeout=_TIMEOUT_SECONDS)
            data = answer.read()
        except ApiException as error:
            raise HubError(error.status or 0, str(error.reason)) from error
        except (HTTPError, OSError) as error:
            raise HubError(0, f"the hub does not answer: {error}") from error
        found = json.loads(data) if data else {}
        if answer.status >= 400:
            raise HubError(answer.status, str(dig(found, "message") or f"HTTP {answer.status}"))
        return found


def _dry(dry_run: bool) -> dict[str, str]:  # noqa: FBT001 - a query parameter
    return {"dryRun": "All"} if dry_run else {}


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
