"""The defaults that an API server sets before it evaluates policies, for Kubernetes' own kinds.

Policies rely on them: `object.spec.replicas <= 5` fails for a Deployment without `replicas` unless that is 1. Source:
kubernetes `pkg/apis/*/v1/defaults.go`, and what Go writes for unset fields (`resources: {}`). The table has the fields
that policies use, and none that depend on a cluster: service account tokens, priorities, admission plug-ins.
"""

from collections.abc import Callable, Mapping
from typing import Final

from muster.data.ids import ObjectId
from muster.data.tree import Tree

#: Sets defaults in a mapping.
_Fill = Callable[[Tree], Tree]


def defaulted(id_: ObjectId, body: Tree) -> Tree:
    """Return a copy of an object with its kind's defaults."""
    fill = _KINDS.get((id_.group, id_.kind))
    return body if fill is None else fill(body)


def _with(values: Mapping[str, Tree] | None = None, **below: _Fill) -> _Fill:
    """Set absent fields to `values`, then set defaults below the given fields."""
    absent = values or {}

    def fill(tree: Tree) -> Tree:
        if not isinstance(tree, dict):
            return tree
        filled = {**absent, **tree}
        for name, inner in below.items():
            if name in filled:
                filled[name] = inner(filled[name])
        return filled

    return fill


def _each(fill: _Fill) -> _Fill:
    return lambda tree: [fill(entry) for entry in tree] if isinstance(tree, list) else tree


def _in_sequence(*fills: _Fill) -> _Fill:
    def fill(tree: Tree) -> Tree:
        for next_fill in fills:
            tree = next_fill(tree)
        return tree

    return fill


def _pull(tree: Tree) -> Tree:
    """Images with the tag latest are always pulled."""
    if not isinstance(tree, dict) or "imagePullPolicy" in tree or not isinstance(tree.get("image"), str):
        return tree
    name, _, digest = tree["image"].partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    latest = not digest and tag in ("", "latest")
    return {**tree, "imagePullPolicy": "Always" if latest else "IfNotPresent"}


def _host_port(tree: Tree) -> Tree:
    return {"hostPort": tree["containerPort"], **tree} if isinstance(tree, dict) and "containerPort" in tree else tree


def _host_ports(tree: Tree) -> Tree:
    """In the host's network, container ports are host ports."""
    if not isinstance(tree, dict) or tree.get("hostNetwork") is not True:
        return tree
    container = _with(ports=_each(_host_port))
    return _with(containers=_each(container), initContainers=_each(container))(tree)


def _parallel(tree: Tree) -> Tree:
    """A Job with neither completions nor parallelism runs once."""
    if isinstance(tree, dict) and "completions" not in tree and "parallelism" not in tree:
        return {"completions": 1, "parallelism": 1, **tree}
    return _with({"parallelism": 1})(tree)


def _target(tree: Tree) -> Tree:
    return {"targetPort": tree["port"], **tree} if isinstance(tree, dict) and "port" in tree else tree


_PROBE = _with(
    {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    httpGet=_with({"path": "/", "scheme": "HTTP"}),
)
_CONTAINER = _in_sequence(
    _with(
        {"resources": {}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
        ports=_each(_with({"protocol": "TCP"})),
        livenessProbe=_PROBE,
        readinessProbe=_PROBE,
        startupProbe=_PROBE,
    ),
    _pull,
)
_MODE: Final = {"defaultMode": 0o644}
_POD = _in_sequence(
    _with(
        {
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
            "securityContext": {},
        },
        containers=_each(_CONTAINER),
        initContainers=_each(_CONTAINER),
        volumes=_each(
            _with(configMap=_with(_MODE), secret=_with(_MODE), projected=_with(_MODE), hostPath=_with({"type": ""}))
        ),
    ),
    _host_ports,
)
_TEMPLATE = _with({"metadata": {}}, spec=_POD)
_ROLLING: Final = {"type": "RollingUpdate"}
_JOB = _in_sequence(
    _with({"backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False}, template=_TEMPLATE), _parallel
)
_SERVICE = _with(
    {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"},
    ports=_each(_in_sequence(_with({"protocol": "TCP"}), _target)),
)
_RBAC: Final = "rbac.authorization.k8s.io"


def _subject(tree: Tree) -> Tree:
    """Users and groups have the API group of roles, service accounts the core group."""
    if not isinstance(tree, dict) or "apiGroup" in tree or tree.get("kind") == "ServiceAccount":
        return tree
    return {**tree, "apiGroup": _RBAC}


_ROLE: Final = _with(roleRef=_with({"apiGroup": _RBAC}), subjects=_each(_subject))


def _kind(spec: _Fill) -> _Fill:
    return _with({"metadata": {}, "spec": {}, "status": {}}, spec=spec)


_KINDS: Final[Mapping[tuple[str, str], _Fill]] = {
    ("apps", "Deployment"): _kind(
        _with(
            {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "strategy": {}},
            strategy=_with(_ROLLING),
            template=_TEMPLATE,
        )
    ),
    ("apps", "ReplicaSet"): _kind(_with({"replicas": 1}, template=_TEMPLATE)),
    ("apps", "StatefulSet"): _kind(
        _with(
            {"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady", "updateStrategy": {}},
            updateStrategy=_with(_ROLLING),
            template=_TEMPLATE,
        )
    ),
    ("apps", "DaemonSet"): _kind(
        _with({"revisionHistoryLimit": 10, "updateStrategy": {}}, updateStrategy=_with(_ROLLING), template=_TEMPLATE)
    ),
    ("", "ReplicationController"): _kind(_with({"replicas": 1}, template=_TEMPLATE)),
    ("", "Pod"): _kind(_in_sequence(_with({"enableServiceLinks": True}), _POD)),
    ("", "PodTemplate"): _with(template=_TEMPLATE),
    ("batch", "Job"): _kind(_JOB),
    ("batch", "CronJob"): _kind(
        _with(
            {
                "concurrencyPolicy": "Allow",
                "suspend": False,
                "successfulJobsHistoryLimit": 3,
                "failedJobsHistoryLimit": 1,
            },
            jobTemplate=_with({"metadata": {}}, spec=_with(template=_TEMPLATE)),
        )
    ),
    ("", "Service"): _kind(_SERVICE),
    ("", "Namespace"): _kind(_with({"finalizers": ["kubernetes"]})),
    ("", "Secret"): _with({"type": "Opaque"}),
    ("", "PersistentVolume"): _kind(_with({"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"})),
    ("", "PersistentVolumeClaim"): _kind(_with({"volumeMode": "Filesystem", "resources": {}})),
    ("autoscaling", "HorizontalPodAutoscaler"): _kind(_with({"minReplicas": 1})),
    ("storage.k8s.io", "StorageClass"): _with({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
    (_RBAC, "RoleBinding"): _ROLE,
    (_RBAC, "ClusterRoleBinding"): _ROLE,
}
