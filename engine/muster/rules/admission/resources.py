"""What an API server knows about a kind: its plural, and whether it is namespaced.

Registered kinds are known. For others a CustomResourceDefinition in the repository counts, then the table of
Kubernetes' own kinds; the rest is guessed. Plurals are guessed as upstream does (apimachinery,
`UnsafeGuessKindToResource`), except for endings that it gets wrong: `gateways`, `boxes`, `meshes`.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final

from muster.data.kinds import ALL, BY_GROUP_KIND, Kind
from muster.data.tree import Tree, dig
from muster.dataclass import dataclass
from muster.fleet.foreign import BodyLoader, ByKind, Foreign

#: The kind of definitions of kinds.
DEFINITION: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")
_VOWELS: Final = frozenset("aeiou")


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as policies match it. `plurals`: all possible plurals, likeliest first. `guessed`: the kind has no
    definition, so `namespaced` is inferred from its documents."""

    group: str
    kind: str
    plurals: tuple[str, ...]
    namespaced: bool
    guessed: bool = False

    @property
    def plural(self) -> str:
        """The plural in `request.resource`."""
        return self.plurals[0]


def resource_of(kind: Kind) -> Resource:
    """Return a registered kind as policies match it."""
    return Resource(kind.group, kind.name, (kind.plural,), kind.namespaced)


REGISTERED: tuple[Resource, ...] = tuple(map(resource_of, ALL))


def plurals(kind: str) -> tuple[str, ...]:
    """Return the possible plurals of a kind, likeliest first."""
    name = kind.lower()
    if name.endswith("endpoints"):
        return (name,)
    guess = f"{name}es" if name.endswith("s") else f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    english = guess
    if name.endswith("y") and name[-2:-1] in _VOWELS:
        english = f"{name}s"
    elif name.endswith(("x", "z", "ch", "sh")):
        english = f"{name}es"
    return tuple(dict.fromkeys((english, guess)))


class Resources:
    """The kinds of a fleet's foreign objects."""

    def __init__(self, foreign: ByKind) -> None:
        """Use the kinds in `foreign` and those that its CustomResourceDefinitions define."""
        self._foreign = foreign
        self._known: dict[tuple[str, str], Resource] = {}

    def of(self, group: str, kind: str) -> Resource:
        """Return what is known about a kind."""
        registered = BY_GROUP_KIND.get((group, kind))
        if registered is not None:
            return resource_of(registered)
        resource = self._known.get((group, kind))
        if resource is None:
            resource = self._known[group, kind] = self._guess(group, kind)
        return resource

    def _guess(self, group: str, kind: str) -> Resource:
        for defined in self._defined_in(group):
            if defined.kind == kind:
                return defined
        if group in BUILT_IN:
            return Resource(group, kind, plurals(kind), kind not in _CLUSTER_SCOPED)
        # No definition: namespaced if any document has a namespace.
        spaced = any(document.id.namespace for document in self._foreign.get((group, kind), ()))
        return Resource(group, kind, plurals(kind), spaced, guessed=True)

    def present(self) -> Iterator[Resource]:
        """Yield the kinds of existing objects."""
        return (self.of(group, kind) for group, kind in sorted(self._foreign))

    def possible(self, groups: Iterable[str]) -> Iterator[Resource]:
        """Yield the known kinds of these groups (`*` for all)."""
        wanted = frozenset(groups)
        for group, kinds in BUILT_IN.items():
            if group in wanted or "*" in wanted:
                yield from (self.of(group, kind) for kind in kinds)
        defined = {definition.id.name.partition(".")[2] for definition in self._definitions}
        for group in sorted(defined if "*" in wanted else defined & wanted):
            yield from self._defined_in(group)

    def _defined_in(self, group: str) -> Iterator[Resource]:
        """Yield the kinds that CustomResourceDefinitions of a group define: their name is `<plural>.<group>`."""
        definitions = [
            definition for definition in self._definitions if group and definition.id.name.partition(".")[2] == group
        ]
        opener = BodyLoader()
        yield from (resource for definition in definitions if (resource := _defined(group, opener.body(definition))))

    @cached_property
    def _definitions(self) -> tuple[Foreign, ...]:
        return tuple(self._foreign.get(DEFINITION, ()))


def _defined(group: str, body: Tree) -> Resource | None:
    names, scope = dig(body, "spec", "names"), dig(body, "spec", "scope")
    kind, plural = dig(names, "kind"), dig(names, "plural")
    if dig(body, "spec", "group") != group or not isinstance(kind, str) or not isinstance(plural, str) or not plural:
        return None
    return Resource(group, kind, (plural,), scope != "Cluster")


#: Kubernetes' own kinds by group, as of 1.34, without those in muster's registry.
BUILT_IN: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        group: tuple(kinds.split())
        for group, kinds in {
            "": "ConfigMap ComponentStatus Endpoints Event LimitRange Namespace Node PersistentVolume "
            "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
            "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
            "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
            "apiextensions.k8s.io": "CustomResourceDefinition",
            "apiregistration.k8s.io": "APIService",
            "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
            "autoscaling": "HorizontalPodAutoscaler",
            "batch": "CronJob Job",
            "certificates.k8s.io": "ClusterTrustBundle PodCertificateRequest",
            "coordination.k8s.io": "LeaseCandidate",
            "discovery.k8s.io": "",
            "events.k8s.io": "Event",
            "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
            "networking.k8s.io": "Ingress IngressClass IPAddress NetworkPolicy ServiceCIDR",
            "node.k8s.io": "RuntimeClass",
            "policy": "PodDisruptionBudget",
            "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding Role RoleBinding",
            "resource.k8s.io": "DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice",
            "scheduling.k8s.io": "PriorityClass",
            "storage.k8s.io": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment "
            "VolumeAttributesClass",
        }.items()
    }
)
_CLUSTER_SCOPED: Final = frozenset(
    (
        "APIService",
        "CSIDriver",
        "CSINode",
        "ClusterRole",
        "ClusterRoleBinding",
        "ClusterTrustBundle",
        "ComponentStatus",
        "CustomResourceDefinition",
        "DeviceClass",
        "DeviceTaintRule",
        "FlowSchema",
        "IPAddress",
        "IngressClass",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "PriorityLevelConfiguration",
        "ResourceSlice",
        "RuntimeClass",
        "ServiceCIDR",
        "StorageClass",
        "ValidatingWebhookConfiguration",
        "VolumeAttachment",
        "VolumeAttributesClass",
    )
)
