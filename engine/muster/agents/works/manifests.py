"""The manifests of a ManifestWork: what each is to the API server, and what the work says about it.

Source: ocm `pkg/work/helper/helpers.go` and `pkg/work/spoke/controllers/manifestcontroller/manifestwork_reconciler.go`.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from muster.agents.kube.discovery import ApiResource
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.wildcards import matches
from muster.dataclass import dataclass

UPDATE, CREATE_ONLY, READ_ONLY, SERVER_SIDE_APPLY = "Update", "CreateOnly", "ReadOnly", "ServerSideApply"
#: In which order kinds are applied; others come after them, in the order of the work.
_ORDER: Final = (
    ("PriorityClass", "Namespace", "CustomResourceDefinition", "StorageClass", "PersistentVolume"),
    ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    ("NetworkPolicy", "ResourceQuota", "LimitRange", "PodDisruptionBudget", "ServiceAccount"),
    ("Secret", "ConfigMap", "PersistentVolumeClaim"),
    ("Service",),
    (
        "DaemonSet",
        "Pod",
        "ReplicationController",
        "ReplicaSet",
        "Deployment",
        "HorizontalPodAutoscaler",
        "StatefulSet",
        "Job",
        "CronJob",
    ),
    (
        "APIService",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ),
)
_RANKS: Final = {kind: rank for rank, kinds in enumerate(_ORDER) for kind in kinds}
#: Fields of metadata that the server sets.
_OF_SERVER: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")

#: Finds a kind of the server; None if it has none of this name.
FindKind = Callable[[str, str], ApiResource | None]


class ResourceKey(NamedTuple):
    """An object in the cluster, in whichever version."""

    group: str
    resource: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest at its place in a work. `resource` None: the server does not serve its kind, as `problem` says."""

    ordinal: int
    body: Tree
    resource: ApiResource | None
    problem: str = ""

    @property
    def namespace(self) -> str:
        """The namespace; empty for a kind that has none."""
        namespaced = self.resource is None or self.resource.namespaced
        return str(dig(self.body, "metadata", "namespace") or "") if namespaced else ""

    @property
    def name(self) -> str:
        """The name."""
        return str(dig(self.body, "metadata", "name") or "")

    @property
    def key(self) -> ResourceKey | None:
        """The object that it is about."""
        if self.resource is None:
            return None
        return ResourceKey(self.resource.group, self.resource.plural, self.namespace, self.name)

    @property
    def path(self) -> str:
        """Where the server has the object; empty for an unknown kind."""
        return self.resource.path(self.namespace, self.name) if self.resource is not None else ""

    def meta(self) -> Tree:
        """The `resourceMeta` of its status."""
        group, _, version = str(self.body.get("apiVersion") or "").rpartition("/")
        return {
            "ordinal": self.ordinal,
            "group": group,
            "version": version,
            "kind": str(self.body.get("kind") or ""),
            "resource": self.resource.plural if self.resource else "",
            "namespace": self.namespace,
            "name": self.name,
        }


def read_manifests(spec: Tree, find: FindKind) -> list[Manifest]:
    """Return the manifests of a work, in its order."""
    return [_manifest(number, body, find) for number, body in enumerate(mappings_at(spec, "workload", "manifests"))]


def _manifest(ordinal: int, body: Tree, find: FindKind) -> Manifest:
    metadata = {name: value for name, value in mapping_at(body, "metadata").items() if name not in _OF_SERVER}
    api_version, kind = str(body.get("apiVersion") or ""), str(body.get("kind") or "")
    resource = find(api_version, kind)
    if resource is None:
        problem = f"the server doesn't have a resource type {kind!r} in {api_version!r}"
        return Manifest(ordinal, {**body, "metadata": metadata}, None, problem)
    if not resource.namespaced:
        metadata.pop("namespace", None)
    problem = "" if metadata.get("namespace") or not resource.namespaced else f"a {kind} needs a namespace"
    return Manifest(ordinal, {**body, "metadata": metadata}, resource, problem)


def in_order(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Return manifests in the order in which they are applied."""
    return sorted(manifests, key=lambda manifest: _RANKS.get(str(manifest.body.get("kind")), len(_ORDER)))


@dataclass(frozen=True, slots=True)
class ManifestOptions:
    """What a work says about a manifest."""

    strategy: str = UPDATE
    apply: Tree = None
    feedback: tuple[Tree, ...] = ()
    rules: tuple[Tree, ...] = ()


def options_of(spec: Tree, key: ResourceKey) -> ManifestOptions:
    """Return a work's options for an object: of each sort the first that names it. Names may have `*`."""
    strategy: Tree = None
    feedback: list[Tree] = []
    rules: list[Tree] = []
    for config in mappings_at(spec, "manifestConfigs"):
        if _names(mapping_at(config, "resourceIdentifier"), key):
            strategy = strategy or config.get("updateStrategy")
            feedback = feedback or mappings_at(config, "feedbackRules")
            rules = rules or mappings_at(config, "conditionRules")
    type_ = str(dig(strategy, "type") or UPDATE)
    return ManifestOptions(type_, mapping_at(strategy, "serverSideApply"), tuple(feedback), tuple(rules))


def is_orphaned(spec: Tree, key: ResourceKey) -> bool:
    """Does the object stay when the work goes?"""
    policy = dig(spec, "deleteOption", "propagationPolicy")
    if policy == "SelectivelyOrphan":
        rules = mappings_at(spec, "deleteOption", "selectivelyOrphans", "orphaningRules")
        return any(ResourceKey(*(str(rule.get(name) or "") for name in key._fields)) == key for rule in rules)
    return bool(policy == "Orphan")


def _names(identifier: Tree, key: ResourceKey) -> bool:
    group, resource, *place = (str(identifier.get(name) or "") for name in key._fields)
    return (group, resource) == key[:2] and all(map(matches, place, key[2:]))
