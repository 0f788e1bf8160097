"""A cluster's API server: its address and credentials, from a kubeconfig or from inside the cluster."""

import base64
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import urllib3
import yaml

from muster.data.tree import Tree, dig, mapping_at, mappings_at, read_json

_LIMIT_SECONDS: Final = 10.0
_MOST_BYTES: Final = 64 * 1024 * 1024  # a list of thousands of nodes
_QUOTED: Final = 200  # characters of an answer that a message repeats
_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class AccessError(Exception):
    """A kubeconfig that does not tell how to reach an API server."""


@dataclass(frozen=True, slots=True)
class ApiServer:
    """An API server. `token_file` is read for each request, because such tokens are renewed in place."""

    url: str
    token: str = field(default="", repr=False)
    token_file: str = ""
    tls: ssl.SSLContext | None = None

    def get(self, path: str) -> tuple[int, str]:
        """Return the status code (0: no answer) and the start of the answer in one line."""
        code, body = self._get(path)
        return code, " ".join(body.decode("utf-8", "replace").split())[:_QUOTED]

    def get_json(self, path: str) -> dict[str, Tree]:
        """Return the JSON object at a path. OSError for a status other than 200, ValueError for a body that is not
        an object."""
        code, body = self._get(path)
        if code != 200:
            raise OSError(f"GET {path}: status {code}")
        value = read_json(body)
        if not isinstance(value, dict):
            raise ValueError(f"GET {path}: not an object")  # noqa: TRY004 - the server's value is wrong
        return value

    def _get(self, path: str) -> tuple[int, bytes]:
        timeout = urllib3.Timeout(total=_LIMIT_SECONDS)
        with urllib3.PoolManager(timeout=timeout, retries=False, ssl_context=self.tls) as pool:
            try:
                answer = pool.request(
                    "GET", self.url.rstrip("/") + path, headers=self._headers(), preload_content=False, redirect=False
                )
                body = answer.read(_MOST_BYTES)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                return 0, type(error).__name__.encode()
            answer.close()
        return answer.status, body

    def _headers(self) -> dict[str, str]:
        token = Path(self.token_file).read_text(encoding="utf-8").strip() if self.token_file else self.token
        return {"Authorization": f"Bearer {token}"} if token else {}


def from_kubeconfig(path: Path) -> ApiServer:
    """Read a kubeconfig. AccessError if it is incomplete or requires a login plugin."""
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise AccessError(f"{path} cannot be read: {error}") from error
    chosen = _named(config, "contexts", dig(config, "current-context"), "context")
    cluster = _named(config, "clusters", chosen.get("cluster"), "cluster")
    user = _named(config, "users", chosen.get("user"), "user") if chosen.get("user") else {}
    if "exec" in user or "auth-provider" in user:
        raise AccessError(f"{path} needs a plugin to log in; give a token or a client certificate")
    server = cluster.get("server")
    if not isinstance(server, str):
        raise AccessError(f"{path} names no server")
    token_file = str(path.parent / user["tokenFile"]) if user.get("tokenFile") else ""
    try:
        tls = _tls(cluster, user, path.parent) if server.startswith("https:") else None
    except (OSError, ValueError) as error:
        raise AccessError(f"{path}: {error}") from error
    return ApiServer(server, str(user.get("token") or ""), token_file, tls)


def from_inside() -> ApiServer | None:
    """Return the API server of the cluster that this process runs in; None outside of a cluster."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        return None
    tls = ssl.create_default_context(cafile=str(_SERVICE_ACCOUNT / "ca.crt"))
    name = f"[{host}]" if ":" in host else host
    return ApiServer(f"https://{name}:{port}", token_file=str(_SERVICE_ACCOUNT / "token"), tls=tls)


def _named(config: Tree, plural: str, name: Tree, singular: str) -> dict[str, Tree]:
    for entry in mappings_at(config, plural):
        if entry.get("name") == name:
            return mapping_at(entry, singular)
    raise AccessError(f"the kubeconfig has no {singular} {name!r}")


def _tls(cluster: Mapping[str, Tree], user: Mapping[str, Tree], folder: Path) -> ssl.SSLContext:
    authority = _content(cluster, "certificate-authority", folder)
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify") is True:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate, key = _content(user, "client-certificate", folder), _content(user, "client-key", folder)
    if certificate and key:
        # The ssl module reads client certificates from files only; this file is readable only by us.
        with tempfile.NamedTemporaryFile(prefix="muster-", suffix=".pem") as file:
            file.write(certificate + b"\n" + key)
            file.flush()
            context.load_cert_chain(file.name)
    return context


def _content(mapping: Mapping[str, Tree], name: str, folder: Path) -> bytes:
    """A file that is given inline or by its path; empty if it is not given."""
    if data := mapping.get(f"{name}-data"):
        return base64.b64decode(str(data), validate=True)
    return (folder / str(mapping[name])).read_bytes() if mapping.get(name) else b""
