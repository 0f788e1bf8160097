"""Credentials from a login plugin (`exec` in a kubeconfig), as those of EKS, GKE and AKS.

Source: client-go's exec authenticator, client.authentication.k8s.io/v1 and v1beta1. A credential is kept until it
expires, or until the server refuses it; one without an expiry is kept until then. The plugin has no terminal.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Final

from muster.data.times import try_time
from muster.data.tree import Tree, mapping_at, mappings_at, read_json
from muster.dataclass import dataclass
from muster.git.clock import wall_clock
from muster.net.commands import run_command

_GROUP: Final = "client.authentication.k8s.io"
_VERSIONS: Final = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_LIMIT_SECONDS: Final = 60.0
_QUOTED: Final = 300  # characters of a plugin's complaint that a message repeats


class AccessError(Exception):
    """The credentials for an API server, or the way to it, cannot be had: the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request authenticates with: a token, or a certificate with its key as PEM. `expires` None: unknown."""

    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    expires: datetime | None = None


@dataclass
class LoginPlugin:
    """A program that prints credentials. Thread-safe: it runs once for all threads that wait for it."""

    command: tuple[str, ...]
    environ: Mapping[str, str] = field(repr=False)
    api_version: str
    install_hint: str = ""
    clock: Callable[[], datetime] = wall_clock
    _known: Credential | None = None
    _lock: Lock = field(default_factory=Lock)

    def credential(self) -> Credential:
        """Return the kept credential, or a new one if that has expired. AccessError if the plugin fails."""
        if not self._lock.acquire(timeout=_LIMIT_SECONDS):
            raise AccessError(f"the login plugin {Path(self.command[0]).name} is still running")
        try:
            if self._known is None or (self._known.expires is not None and self._known.expires <= self.clock()):
                self._known = None
                self._known = self._run()
            return self._known
        finally:
            self._lock.release()

    def forget(self, refused: Credential) -> None:
        """Forget a credential that the server refuses, unless another thread has replaced it already."""
        with self._lock:
            if self._known is refused:
                self._known = None

    def _run(self) -> Credential:
        name = Path(self.command[0]).name
        try:
            done = run_command(self.command, _LIMIT_SECONDS, environ={**os.environ, **self.environ})
        except FileNotFoundError as error:
            hint = f": {' '.join(self.install_hint.split())}" if self.install_hint else ""
            raise AccessError(f"the login plugin {name} is not installed{hint}") from error
        except (OSError, ValueError) as error:
            raise AccessError(f"the login plugin {name} cannot run: {type(error).__name__}") from error
        if done.status is None:
            raise AccessError(f"the login plugin {name} did not end within {_LIMIT_SECONDS:g} seconds")
        if done.status != 0:
            said = " ".join(done.errors.decode("utf-8", "replace").split())[-_QUOTED:]
            raise AccessError(f"the login plugin {name} failed with status {done.status}: {said}")
        try:
            return _credential(read_json(done.output), self.api_version)
        except ValueError as error:
            raise AccessError(f"the answer of the login plugin {name} cannot be used: {error}") from error


def login_plugin(spec: Mapping[str, Tree], cluster: Mapping[str, Tree], folder: Path) -> LoginPlugin:
    """Return the plugin that `exec` of a user describes, for a cluster of a kubeconfig in `folder`. AccessError if it
    cannot be used."""
    command, version = spec.get("command"), spec.get("apiVersion")
    if not isinstance(command, str) or not command:
        raise AccessError("exec has no command")
    if version not in _VERSIONS:
        raise AccessError(f"exec has apiVersion {version!r}; plugins of {' and '.join(_VERSIONS)} can be used")
    if spec.get("interactiveMode") == "Always":
        raise AccessError(f"the login plugin {command} needs a terminal")
    info: dict[str, Tree] = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    if spec.get("provideClusterInfo") is True:
        info["spec"]["cluster"] = _cluster_info(cluster)
    # As in a shell, a name without a slash is looked up on PATH, and a path begins at the kubeconfig's folder.
    program = str(folder / command) if "/" in command else command
    environ = {str(entry.get("name")): str(entry.get("value", "")) for entry in mappings_at(spec, "env")}
    return LoginPlugin(
        (program, *map(str, spec.get("args") or ())),
        {**environ, "KUBERNETES_EXEC_INFO": json.dumps(info)},
        version,
        str(spec.get("installHint") or ""),
    )


def _cluster_info(cluster: Mapping[str, Tree]) -> dict[str, Tree]:
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")
    extensions = mappings_at(dict(cluster), "extensions")
    config = [extension.get("extension") for extension in extensions if extension.get("name") == f"{_GROUP}/exec"]
    return {**{name: cluster[name] for name in names if name in cluster}, **({"config": config[0]} if config else {})}


def _credential(answer: Tree, version: str) -> Credential:
    if mapping_at(answer).get("kind") != "ExecCredential" or answer.get("apiVersion") != version:
        raise ValueError(f"it is not an ExecCredential of {version}")
    status = mapping_at(answer, "status")
    token, certificate, key = (status.get(n) for n in ("token", "clientCertificateData", "clientKeyData"))
    if (certificate is None) != (key is None) or (token is None and certificate is None):
        raise ValueError("it has neither a token nor a client certificate with its key")
    expires = status.get("expirationTimestamp")
    if expires is not None and try_time(expires) is None:
        raise ValueError(f"expirationTimestamp {expires!r} is not a time")
    return Credential(str(token or ""), str(certificate or "").encode(), str(key or "").encode(), try_time(expires))
