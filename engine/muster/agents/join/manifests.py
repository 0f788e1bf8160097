"""What runs an agent in its cluster: Kubernetes objects at the level `restricted` and a systemd unit, both of the same
command. `muster.agents.join.chart` makes a Helm chart of the objects.

Several agents of several fleets run in one cluster in namespaces of their own, after which their roles outside of these
are named.

The agent may ask for the health and version of the API server and for its own Deployment; each extra adds the rights
that it needs and no more. What the manifests of works need, the user grants. Credentials come from a Secret that the
user makes, with the key `token` for a relay, `credentials` (a line of git-credential-store) for a repository over
HTTP, `identity` (a private key) and `known_hosts` for one over ssh, and `ca.crt` for a relay with an authority of its
own.
"""

import shlex
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from muster.agents.heartbeat.facts import ADD_ON_NAMESPACE
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.version import __version__

NAME: Final = "muster-agent"
#: Extras that can be asked for, and what each adds.
EXTRAS: Final = {
    "capacity": "capacity and allocatable of the nodes",
    "claims": "ClusterClaims",
    "addons": "Leases of add-ons",
    "remedies": "a detector of DNS failures on each node",
    "works": "apply the ManifestWorks of the cluster",
}
#: The labels of the agent's namespace.
RESTRICTED: Final = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
_DETECTOR: Final = "muster-detector"
_SECRETS: Final = "/var/run/secrets/muster"
_RBAC: Final = "rbac.authorization.k8s.io"
_TEMPORARY: Final = "/tmp"  # noqa: S108 - of the container
_UID: Final = 65532
_DNS, _HTTPS, _API_SERVER, _SSH = 53, 443, 6443, 22
#: TCP ports that an agent may reach besides its address's.
OPEN_PORTS: Final = (_DNS, _HTTPS, _API_SERVER)


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """An agent to run. `relay`: `address` is a relay's, not a repository's; `own_authority`: the Secret has `ca.crt`;
    `port`: where the address listens; `ssh`: it is a repository's, over ssh."""

    cluster: str
    address: str
    relay: bool
    image: str = f"muster-agent:{__version__}"
    namespace: str = NAME
    secret: str = NAME
    extras: frozenset[str] = frozenset()
    own_authority: bool = False
    port: int = _HTTPS
    ssh: bool = False

    @property
    def keys(self) -> list[str]:
        """The keys of the Secret."""
        if self.relay:
            return ["token", *(["ca.crt"] if self.own_authority else [])]
        return ["identity", "known_hosts"] if self.ssh else ["credentials"]

    def arguments(self, secrets: str, *, inside: bool = True) -> list[str]:
        """The agent's command line, with its credentials in the folder `secrets`."""
        of_deployment = [f"--deployment={self.namespace}/{NAME}"] if inside else []
        works = ["--works", f"--works-namespace={self.namespace}"] if "works" in self.extras else []
        return ["heartbeat", f"--cluster={self.cluster}", *self._target(secrets), *of_deployment, *works, "--every"]

    def detector_arguments(self, secrets: str) -> list[str]:
        """The command line of a detector of DNS failures."""
        return [
            "detect",
            f"--cluster={self.cluster}",
            "--kind=ManagedCluster",
            *self._target(secrets),
            "--dns=kubernetes.default.svc.cluster.local",
        ]

    def _target(self, secrets: str) -> list[str]:
        if not self.relay:
            return [f"--remote={self.address}"]
        authority = [f"--relay-ca={secrets}/ca.crt"] if self.own_authority else []
        return [f"--relay={self.address}", f"--token-file={secrets}/token", *authority]


def port_of(address: str) -> int:
    """Return the port of a URL; 22 for ssh in either form, 443 if nothing says otherwise."""
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.scheme or is_ssh(address):
        return port or _SSH
    return port or {"http": 80, "git": 9418}.get(parts.scheme, _HTTPS)


def is_ssh(address: str) -> bool:
    """Does git reach the address over ssh? Also in the form host:path."""
    scheme, separator, _ = address.partition("://")
    return "ssh" in scheme.split("+") if separator else ":" in address.partition("/")[0]


def manifests(setup: AgentSetup) -> list[Tree]:
    """Return the objects to apply in the cluster."""
    return [
        _body("v1", "Namespace", setup.namespace, "", labels=RESTRICTED),
        _body("v1", "ServiceAccount", NAME, setup.namespace),
        *_roles(setup),
        _network_policy(setup),
        _workload("Deployment", NAME, setup, setup.arguments(_SECRETS)),
        *(
            [_workload("DaemonSet", _DETECTOR, setup, setup.detector_arguments(_SECRETS))]
            if "remedies" in setup.extras
            else []
        ),
    ]


def systemd_unit(setup: AgentSetup) -> str:
    """Return a unit for a machine beside the cluster, with the kubeconfig and the credentials in /etc/muster."""
    command = ["/usr/local/bin/muster", *setup.arguments("%d", inside=False), "--kubeconfig=%d/kubeconfig"]
    lines = [f"LoadCredential={name}:/etc/muster/{setup.cluster}/{name}" for name in ("kubeconfig", *setup.keys)]
    if not setup.relay:
        entries = _git_environment("$CREDENTIALS_DIRECTORY", ssh=setup.ssh)
        lines += [f"Environment='{entry['name']}={entry['value']}'" for entry in entries if entry["name"] != "HOME"]
    return f"""\
# The agent of {setup.cluster}: write it to /etc/systemd/system/muster-agent-{setup.cluster}.service, then
# systemctl enable --now muster-agent-{setup.cluster}.service
[Unit]
Description=Report the cluster {setup.cluster} to its fleet
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
{chr(10).join(lines)}
Environment=HOME={_TEMPORARY}
ExecStart={shlex.join(command)}
Restart=always
RestartSec=10s
DynamicUser=yes
CapabilityBoundingSet=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
UMask=0077

[Install]
WantedBy=multi-user.target
"""


def _roles(setup: AgentSetup) -> Iterator[Tree]:
    # The own server: every user may ask for these anyway unless an administrator has changed that.
    rules: list[Tree] = [{"nonResourceURLs": ["/healthz", "/livez", "/version"], "verbs": ["get"]}]
    if "capacity" in setup.extras:
        rules.append({"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]})
    if "claims" in setup.extras:
        group = "cluster.open-cluster-management.io"
        rules.append({"apiGroups": [group], "resources": ["clusterclaims"], "verbs": ["list"]})
    yield from _role("ClusterRole", rules, setup, "")
    of_agent = {"apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": [NAME], "verbs": ["get"]}
    remembered = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "delete", "get", "list", "patch"]}
    own_rules: list[Tree] = [of_agent, *([remembered] if "works" in setup.extras else [])]
    yield from _role("Role", own_rules, setup, setup.namespace)
    if "addons" in setup.extras:
        leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]}
        yield from _role("Role", [leases], setup, ADD_ON_NAMESPACE)


def _role(kind: str, rules: list[Tree], setup: AgentSetup, namespace: str) -> Iterator[Tree]:
    name = NAME if namespace == setup.namespace else f"{NAME}:{setup.namespace}"
    yield {**_body(f"{_RBAC}/v1", kind, name, namespace), "rules": rules}
    yield {
        **_body(f"{_RBAC}/v1", f"{kind}Binding", name, namespace),
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": setup.namespace}],
    }


def _network_policy(setup: AgentSetup) -> Tree:
    tcp = dict.fromkeys((*OPEN_PORTS, setup.port))
    ports = [{"port": _DNS, "protocol": "UDP"}, *({"port": port, "protocol": "TCP"} for port in tcp)]
    spec = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "egress": [{"ports": ports}]}
    return {**_body("networking.k8s.io/v1", "NetworkPolicy", NAME, setup.namespace), "spec": spec}


def _workload(kind: str, name: str, setup: AgentSetup, arguments: list[str]) -> Tree:
    labels = {"app.kubernetes.io/name": name}
    agent = name == NAME
    spec: Tree = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "serviceAccountName": NAME,
                "automountServiceAccountToken": agent,
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": _UID,
                    "runAsGroup": _UID,
                    "fsGroup": _UID,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [
                    {
                        "name": "agent",
                        "image": setup.image,
                        "args": arguments,
                        "env": [{"name": "HOME", "value": _TEMPORARY}]
                        if setup.relay
                        else _git_environment(_SECRETS, ssh=setup.ssh),
                        "securityContext": {
                            "allowPrivilegeEscalation": False,
                            "readOnlyRootFilesystem": True,
                            "capabilities": {"drop": ["ALL"]},
                        },
                        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
                        "volumeMounts": [
                            {"name": "tmp", "mountPath": _TEMPORARY},
                            {"name": "credentials", "mountPath": _SECRETS, "readOnly": True},
                        ],
                    }
                ],
                "volumes": [
                    {"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}},
                    {"name": "credentials", "secret": {"secretName": setup.secret, "defaultMode": 0o440}},
                ],
            },
        },
    }
    if kind == "Deployment":  # of two agents at once each would take the other's ref for a rival's
        spec = {"replicas": 1, "strategy": {"type": "Recreate"}, **spec}
    return {**_body("apps/v1", kind, name, setup.namespace), "spec": spec}


def _git_environment(secrets: str, *, ssh: bool) -> list[Tree]:
    """Have git read credentials, or ssh its key and the keys of hosts, from files that they must not write."""
    if ssh:
        command = f'ssh -i "{secrets}/identity" -oIdentitiesOnly=yes -oUserKnownHostsFile="{secrets}/known_hosts"'
        environment = {"HOME": _TEMPORARY, "GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": command}
        return [{"name": name, "value": value} for name, value in environment.items()]
    helper = f'!f() {{ test "$1" != get || git credential-store --file="{secrets}/credentials" get; }}; f'
    entries = {
        "HOME": _TEMPORARY,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "credential.helper",
        "GIT_CONFIG_VALUE_0": helper,
    }
    return [{"name": name, "value": value} for name, value in entries.items()]


def _body(api: str, kind: str, name: str, namespace: str, labels: Mapping[str, str] | None = None) -> dict[str, Tree]:
    metadata: dict[str, Tree] = {"name": name, **({"namespace": namespace} if namespace else {})}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": api, "kind": kind, "metadata": metadata}
