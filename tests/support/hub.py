"""A real hub: kube-apiserver and etcd in directories of their own, with CustomResourceDefinitions of upstream's kinds.

The server validates fields strictly. It has two users: `admin` may do anything, `muster` what roles allow.
"""

import json
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

import pytest
import urllib3
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from muster.data.kinds import BY_GROUP_KIND
from muster.data.tree import Tree, dig
from tests.support.patience import PATIENCE_SECONDS, wait_until
from tests.support.upstream import crds

BINARIES = {name: shutil.which(name) for name in ("etcd", "kube-apiserver")}
MISSING = [name for name, found in BINARIES.items() if found is None]
needs_hub = pytest.mark.skipif(bool(MISSING), reason=f"{' and '.join(MISSING)} not installed (make servers)")


class RefusedError(Exception):
    """The server's answer where it refuses a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Hub:
    """A running server."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        self._processes = list[tuple[subprocess.Popen[bytes], TextIO]]()
        self.tokens = {"admin": secrets.token_hex(16), "muster": secrets.token_hex(16)}
        etcd, peers, self.port = _free_ports(3)
        self.url = f"https://127.0.0.1:{self.port}"
        self._start(
            "etcd",
            {
                "data-dir": directory / "etcd",
                "listen-client-urls": f"http://127.0.0.1:{etcd}",
                "advertise-client-urls": f"http://127.0.0.1:{etcd}",
                "listen-peer-urls": f"http://127.0.0.1:{peers}",
                "initial-advertise-peer-urls": f"http://127.0.0.1:{peers}",
                "initial-cluster": f"default=http://127.0.0.1:{peers}",
                "unsafe-no-fsync": "true",
            },
        )
        key = generate_private_key(public_exponent=65537, key_size=2048)
        signing = directory / "accounts.key"
        signing.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        users = directory / "tokens.csv"
        users.write_text(f"{self.tokens['admin']},admin,1,system:masters\n{self.tokens['muster']},muster,2\n")
        self._arguments = {
            "etcd-servers": f"http://127.0.0.1:{etcd}",
            "bind-address": "127.0.0.1",
            "secure-port": self.port,
            "cert-dir": directory / "certificates",
            "token-auth-file": users,
            "authorization-mode": "RBAC",
            "service-account-issuer": self.url,
            "service-account-key-file": signing,
            "service-account-signing-key-file": signing,
            "service-cluster-ip-range": "10.0.0.0/24",
            "disable-admission-plugins": "ServiceAccount",
            "endpoint-reconciler-type": "none",
        }
        self.certificate = directory / "certificates" / "apiserver.crt"
        self._http = urllib3.PoolManager(ca_certs=str(self.certificate), timeout=PATIENCE_SECONDS, retries=False)

    def start(self) -> None:
        """Start the API server, and wait until it answers."""
        self._start("kube-apiserver", self._arguments)
        wait_until(self.certificate.exists, self._log)
        wait_until(self._ready, self._log)

    def stop(self) -> None:
        """Stop the API server; what it holds stays."""
        _end(*self._processes.pop())

    def pause(self) -> None:
        """Give the processes no processor time: an API server that nobody asks takes a fiftieth of a core."""
        for process, _ in self._processes:
            process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """End the pause, and wait until the server answers."""
        self._continue()
        wait_until(self._ready, self._log)

    def kill(self) -> None:
        """End the API server without warning. Asked to end, it waits up to a minute for those who watch."""
        self._processes[-1][0].kill()
        self.stop()

    def close(self) -> None:
        """Stop everything."""
        self._continue()
        while self._processes:
            _end(*self._processes.pop())
        self._http.clear()

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig with a context for each user."""
        users = [{"name": name, "user": {"token": token}} for name, token in self.tokens.items()]
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "admin",
            "users": users,
            "clusters": [
                {"name": "hub", "cluster": {"server": self.url, "certificate-authority": str(self.certificate)}}
            ],
            "contexts": [{"name": name, "context": {"cluster": "hub", "user": name}} for name in self.tokens],
        }
        path = self._directory / "kubeconfig"
        path.write_text(json.dumps(body))
        return path

    def request(self, method: str, path: str, body: Tree = None, *, user: str = "admin", form: str = "json") -> Tree:
        """Ask the server; RefusedError where it refuses. A warning of an unknown field counts as a refusal."""
        answer = self._http.request(
            method,
            self.url + path,
            body=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.tokens[user]}", "Content-Type": f"application/{form}"},
        )
        found = (
            json.loads(answer.data) if answer.headers.get("Content-Type", "").startswith("application/json") else None
        )
        if answer.status >= 400:
            raise RefusedError(answer.status, dig(found, "message") or answer.data.decode())
        return found

    def apply(self, body: Tree, *, status: bool = False, manager: str = "test", user: str = "admin") -> Tree:
        """Server-side apply under strict validation of fields, as `kubectl apply --server-side --force-conflicts`."""
        query = f"?fieldManager={manager}&fieldValidation=Strict&force=true"
        part = "/status" if status else ""
        return self.request("PATCH", path_of(body) + part + query, body, user=user, form="apply-patch+yaml")

    def create(self, body: Tree) -> Tree:
        """Create an object under strict validation of fields, as `kubectl create`."""
        collection = path_of(body).rpartition("/")[0]
        return self.request("POST", f"{collection}?fieldValidation=Strict", body)

    def get(self, body: Tree) -> Tree:
        """The object as the server has it; RefusedError with 404 where it has none."""
        return self.request("GET", path_of(body))

    def delete(self, body: Tree) -> None:
        """Delete an object."""
        self.request("DELETE", path_of(body))

    def histories(self) -> dict[str, Tree]:
        """Who manages which fields of every object, by path; without what the server itself keeps up to date."""
        found = {}
        groups = [f"/apis/{one['preferredVersion']['groupVersion']}" for one in self.request("GET", "/apis")["groups"]]
        for root in ("/api/v1", *groups):
            for resource in self.request("GET", root)["resources"]:
                if "list" in resource["verbs"] and "/" not in resource["name"]:
                    for one in self.request("GET", f"{root}/{resource['name']}")["items"]:
                        path = "/".join(
                            (root, resource["name"], one["metadata"].get("namespace", ""), one["metadata"]["name"])
                        )
                        entries = one["metadata"].get("managedFields") or []
                        found[path] = [entry for entry in entries if "kube-apiserver" not in str(entry["manager"])]
        return found

    def make_namespaces(self, bodies: Iterable[Tree]) -> None:
        """Make the namespaces in which objects lie, where they are not there yet."""
        for name in sorted({body["metadata"]["namespace"] for body in bodies if "namespace" in body["metadata"]}):
            self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def install_crds(self, bodies: Iterable[Tree]) -> None:
        """Have the server know further kinds."""
        installed = [self.create(crd) for crd in bodies]
        for crd in installed:
            wait_until(partial(self._established, crd), partial(str, crd["metadata"]["name"]))

    def _established(self, crd: Tree) -> bool:
        conditions = dig(self.get(crd), "status", "conditions") or []
        if not any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
            return False
        spec = crd["spec"]
        try:
            for version in (one for one in spec["versions"] if one["served"]):
                self.request("GET", f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}")
        except RefusedError:
            return False
        return True

    def _continue(self) -> None:
        for process, _ in self._processes:
            process.send_signal(signal.SIGCONT)

    def _ready(self) -> bool:
        assert self._processes[-1][0].poll() is None, self._log()
        try:
            self.request("GET", "/readyz")
            self.request("GET", "/api/v1/namespaces/default")
        except (RefusedError, urllib3.exceptions.HTTPError):
            return False
        return True

    def _log(self) -> str:
        return (self._directory / "kube-apiserver.log").read_text()[-3000:]

    def _start(self, name: str, options: dict[str, object]) -> None:
        binary = BINARIES[name]
        assert binary is not None
        log = (self._directory / f"{name}.log").open("a")
        command = [binary, *(f"--{option}={value}" for option, value in options.items())]
        self._processes.append((subprocess.Popen(command, stdout=log, stderr=log, cwd=self._directory), log))


def foreign_kind(api_version: str, kind: str, fields: dict[str, Tree]) -> Tree:
    """A namespaced kind that muster does not know, as a CustomResourceDefinition: the fields of its spec by name, as
    types, or maps of fields below."""
    group, _, version = api_version.rpartition("/")
    names = {"kind": kind, "plural": _plural(kind), "singular": kind.lower()}
    schema = {"type": "object", "properties": {"spec": _field(fields)}}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [served]},
    }


def _field(known: Tree) -> Tree:
    if isinstance(known, str):
        return {"type": known}
    return {"type": "object", "properties": {name: _field(below) for name, below in known.items()}}


def _plural(kind: str) -> str:
    return f"{kind.lower()}s".replace("ys", "ies")


def path_of(body: Tree) -> str:
    """Where the server has an object: kinds of muster's registry, and those that tests make besides."""
    group, _, version = body["apiVersion"].rpartition("/")
    kind = BY_GROUP_KIND.get((group, body["kind"]))
    plural = kind.plural if kind else _plural(body["kind"])
    namespace = body["metadata"].get("namespace")
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{f'/apis/{group}' if group else '/api'}/{version}{inside}/{plural}/{body['metadata']['name']}"


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def _end(process: subprocess.Popen[bytes], log: TextIO) -> None:
    process.terminate()
    process.wait(PATIENCE_SECONDS)
    log.close()


@contextmanager
def running_hub(directory: Path) -> Iterator[Hub]:
    """A hub with upstream's kinds until the block ends."""
    made = Hub(directory)
    try:
        made.start()
        made.install_crds(crds())
        yield made
    finally:
        made.close()


_shared = list[Hub]()


@pytest.fixture(scope="module")
def hub(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """One hub for all tests of a process, of whatever file: they use namespaces and names of their own."""
    if _shared:
        _shared[0].resume()
    else:
        stack = ExitStack()
        _shared.append(stack.enter_context(running_hub(tmp_path_factory.mktemp("hub") / "hub")))
        request.session.addfinalizer(stack.close)
    yield _shared[0]
    _shared[0].pause()
