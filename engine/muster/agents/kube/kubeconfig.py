"""An API server from a kubeconfig, as kubectl reads it, or from inside a cluster.

Source: client-go's clientcmd. Several files may be given as in `KUBECONFIG`: the first that names a cluster, user or
context counts, and so does the first current-context; paths in a file begin at its folder.
"""

import base64
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import yaml

from muster.agents.kube.apiserver import ApiServer, Content, Login, read_content
from muster.agents.kube.plugin import AccessError, login_plugin
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass

_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def from_kubeconfig(path: Path, context: str | None = None) -> ApiServer:
    """Return the API server of a context, the current one if it is None. `path` may name several files.

    AccessError if a file cannot be read or does not tell how to reach a server. Plugins run at the first request.
    """
    paths = [Path(part) for part in str(path).split(os.pathsep) if part]
    # As kubectl does, skip files of a list that do not exist.
    files = [_File(file, _load(file)) for file in paths if file.exists() or len(paths) == 1]
    name = context or next((current for file in files if (current := file.body.get("current-context"))), None)
    if not name:
        contexts = sorted(str(entry.get("name")) for file in files for entry in mappings_at(file.body, "contexts"))
        if not contexts:
            raise AccessError(f"{path} is not a kubeconfig: it has no contexts")
        raise AccessError(f"{path} has no current-context: name one with --context: {', '.join(contexts)}")
    chosen = _entry(files, "contexts", name).body
    cluster = _entry(files, "clusters", chosen.get("cluster"))
    user = _entry(files, "users", chosen["user"]) if chosen.get("user") else _File(path, {})
    server = cluster.body.get("server")
    if not isinstance(server, str):
        raise AccessError(f"{path} names no server")
    try:
        login = _login(user, cluster)
        authority = cluster.content("certificate-authority")
        read_content(authority)
    except (AccessError, ValueError) as error:
        raise AccessError(f"{path}: {error}") from error
    return ApiServer(
        server,
        login,
        authority,
        cluster.body.get("insecure-skip-tls-verify") is not True,
        str(cluster.body.get("tls-server-name") or ""),
        cluster.body.get("proxy-url"),
    )


def from_inside() -> ApiServer | None:
    """Return the API server of the cluster that this process runs in; None outside of a cluster."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        return None
    name = f"[{host}]" if ":" in host else host
    return ApiServer(
        f"https://{name}:{port}", Login(token_file=_SERVICE_ACCOUNT / "token"), _SERVICE_ACCOUNT / "ca.crt"
    )


@dataclass(frozen=True, slots=True)
class _File:
    """A kubeconfig, or an entry of it, and where it was read."""

    path: Path
    body: Mapping[str, Tree]

    def content(self, name: str) -> Content:
        """A file that is given inline, which counts, or by its path; empty if it is not given."""
        if data := self.body.get(f"{name}-data"):
            return base64.b64decode(str(data), validate=True)
        return self.path.parent / str(self.body[name]) if self.body.get(name) else b""


def _load(path: Path) -> dict[str, Tree]:
    try:
        return mapping_at(yaml.safe_load(path.read_text(encoding="utf-8")))
    except yaml.MarkedYAMLError as error:
        place = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise AccessError(f"{path} is not YAML: {place}{error.problem}") from error
    except OSError as error:
        raise AccessError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise AccessError(f"{path} cannot be read: {error}") from error


def _entry(files: list[_File], plural: str, name: Tree) -> _File:
    singular = plural.removesuffix("s")
    for file in files:
        for entry in mappings_at(file.body, plural):
            if entry.get("name") == name:
                return _File(file.path, mapping_at(entry, singular))
    raise AccessError(f"the kubeconfig has no {singular} {name!r}")


def _login(user: _File, cluster: _File) -> Login:
    body = user.body
    if "auth-provider" in body:
        raise AccessError(
            f"auth-provider {dig(body, 'auth-provider', 'name')!r} is not supported; use its successor, a login plugin"
        )
    certificate, key = user.content("client-certificate"), user.content("client-key")
    read_content(certificate), read_content(key)
    return Login(
        str(body.get("token") or ""),
        user.path.parent / body["tokenFile"] if body.get("tokenFile") else None,
        (str(body["username"]), str(body.get("password", ""))) if body.get("username") else None,
        login_plugin(mapping_at(body, "exec"), cluster.body, user.path.parent) if body.get("exec") else None,
        certificate,
        key,
        tuple(_impersonation(body)),
    )


def _impersonation(user: Mapping[str, Tree]) -> Iterator[tuple[str, str]]:
    if user.get("as"):
        yield "Impersonate-User", str(user["as"])
    if user.get("as-uid"):
        yield "Impersonate-Uid", str(user["as-uid"])
    yield from (("Impersonate-Group", str(group)) for group in user.get("as-groups") or ())
    for name, values in mapping_at(user, "as-user-extra").items():
        yield from ((f"Impersonate-Extra-{name}", str(value)) for value in values)
