"""The registry of kinds: the one place that knows which objects exist and how their parts merge.

A new kind is one entry here and one JSON Schema in `schemas/`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType

from muster.data.ids import ObjectId
from muster.data.names import did_you_mean
from muster.data.tree import Tree, dig
from muster.dataclass import dataclass

#: The key fields of elements, by the path of their list.
ListKeys = Mapping[str, tuple[str, ...]]

_CONDITIONS: ListKeys = MappingProxyType({"status.conditions": ("type",)})
_CLUSTER_LISTS: ListKeys = {
    "status.conditions": ("type",),
    "status.clusterClaims": ("name",),
    "status.detections": ("source", "type"),
}
TAINTS = "spec.taints"
#: Karmada's taints have the keys of a node's taints; in Open Cluster Management's, the value is part of the key.
_KARMADA_LISTS: ListKeys = MappingProxyType({**_CLUSTER_LISTS, TAINTS: ("key", "effect")})
_OCM_LISTS: ListKeys = MappingProxyType({**_CLUSTER_LISTS, TAINTS: ("key", "effect", "value")})
#: Key fields that an element may omit, which means an empty text.
OPTIONAL_KEYS = frozenset(("value",))


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """What the registry knows of a kind. There is one instance per kind, so identity is equality.

    `versions` are the accepted ones, the preferred one first; `schema` is the stem of its file in `schemas/`;
    `list_keys` maps the dotted path of each list that merges by key to its elements' key fields, every other list is
    atomic; `counted` kinds get a generation, which ignores the fields of `spec` in `of_hub`; `reported` names the
    top-level fields that an agent may write for its own cluster through an agent ref. `headline` is the type of the
    condition that judges a cluster as a whole, Unknown if it is silent; `conditions` are further types that muster
    decides without a policy, or that reporters are expected to set. `describes`: of muster's own kinds, one that says
    how things are and not what to do. A `qualified` kind has the same name as another of the registry, and the name
    alone means the other one.
    """

    group: str
    versions: tuple[str, ...]
    name: str
    plural: str
    namespaced: bool = False
    list_keys: ListKeys = field(default_factory=lambda: _CONDITIONS)
    counted: bool = False
    of_hub: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    headline: str = ""
    conditions: tuple[str, ...] = ()
    describes: bool = False
    qualified: bool = False

    @property
    def label(self) -> str:
        """A unique name of the kind."""
        return f"{self.name}.{self.group}" if self.qualified else self.name

    @property
    def commands(self) -> bool:
        """Do its objects tell muster what to decide, do or allow? An import proposes those and takes over none: muster
        would obey whoever wrote the dump. What a hub's own controllers obey is the fleet."""
        return self.group in (_MUSTER, _ADMISSION) and not self.describes

    @property
    def schema(self) -> str:
        """The stem of the JSON Schema's file."""
        return self.label.lower()

    @property
    def folder(self) -> str:
        """The name of the folder for the kind's objects, as under `derived/`. It is the kind's plural in most cases."""
        return f"{self.plural}.{self.group}" if self.qualified else self.plural

    @property
    def full_names(self) -> tuple[str, ...]:
        """Name and plural with the group, and with a version before it, as kubectl reads and prints them."""
        groups = (self.group, *(f"{version}.{self.group}" for version in self.versions))
        return tuple(f"{name}.{group}" for name in (self.name.lower(), self.plural) for group in groups)

    @property
    def api_version(self) -> str:
        """`group/version` with the preferred version, as in derived files."""
        return f"{self.group}/{self.versions[0]}"

    def id(self, name: str, namespace: str = "") -> ObjectId:
        """The id of the object of this kind with a name."""
        return ObjectId(self.group, self.name, namespace, name)

    def has(self, id_: ObjectId) -> bool:
        """Is the object of this kind?"""
        return id_.kind == self.name and id_.group == self.group

    def body(self, metadata: Tree, **sections: Tree) -> Tree:
        """The body of an object of this kind, as in a file."""
        return {"apiVersion": self.api_version, "kind": self.name, "metadata": metadata, **sections}


#: The condition that says whether a ManagedCluster is accepted; absent if it never was.
ACCEPTED = "HubAcceptedManagedCluster"

_OCM = "cluster.open-cluster-management.io"
_HIVE = "hive.openshift.io"
_SIG = "multicluster.x-k8s.io"
_WORK = "work.open-cluster-management.io"
_MUSTER = "muster.dev"
_ADMISSION = "admissionregistration.k8s.io"
_ADMISSION_VERSIONS = ("v1", "v1beta1", "v1alpha1")

MANAGED_CLUSTER = Kind(
    _OCM,
    ("v1", "v1beta1"),
    "ManagedCluster",
    "managedclusters",
    list_keys=_OCM_LISTS,
    counted=True,
    of_hub=("hubAcceptsClient", "leaseDurationSeconds", "taints"),
    reported=("metadata", "spec", "status"),
    headline="ManagedClusterConditionAvailable",
    conditions=(ACCEPTED, "ManagedClusterJoined", "ManagedClusterConditionClockSynced", "Deleting"),
)
KARMADA_CLUSTER = Kind(
    "cluster.karmada.io",
    ("v1alpha1",),
    "Cluster",
    "clusters",
    list_keys=_KARMADA_LISTS,
    counted=True,
    of_hub=("taints",),
    reported=("status",),
    headline="Ready",
    conditions=("CompleteAPIEnablements",),
)
LEASE = Kind("coordination.k8s.io", ("v1",), "Lease", "leases", namespaced=True, reported=("metadata", "spec"))
CSR = Kind(
    "certificates.k8s.io",
    ("v1",),
    "CertificateSigningRequest",
    "certificatesigningrequests",
    reported=("metadata", "spec"),
)
PLACEMENT = Kind(_OCM, ("v1beta1", "v1"), "Placement", "placements", namespaced=True, counted=True)
PLACEMENT_DECISION = Kind(_OCM, ("v1beta1", "v1"), "PlacementDecision", "placementdecisions", namespaced=True)
MANAGED_CLUSTER_SET = Kind(_OCM, ("v1beta2", "v1beta1"), "ManagedClusterSet", "managedclustersets")
MANAGED_CLUSTER_SET_BINDING = Kind(
    _OCM, ("v1beta2", "v1beta1"), "ManagedClusterSetBinding", "managedclustersetbindings", namespaced=True
)
MANAGED_CLUSTER_ADD_ON = Kind(
    "addon.open-cluster-management.io",
    ("v1alpha1", "v1beta1"),
    "ManagedClusterAddOn",
    "managedclusteraddons",
    namespaced=True,
    reported=("metadata", "status"),
    conditions=("ClusterCertificateRotated",),
)
MANIFEST_WORK = Kind(
    _WORK,
    ("v1",),
    "ManifestWork",
    "manifestworks",
    namespaced=True,
    reported=("metadata", "status"),
    conditions=("Applied", "Available", "Progressing", "Degraded"),
)
MANIFEST_WORK_REPLICA_SET = Kind(
    _WORK, ("v1alpha1",), "ManifestWorkReplicaSet", "manifestworkreplicasets", namespaced=True, counted=True
)
ADD_ON_PLACEMENT_SCORE = Kind(
    _OCM,
    ("v1alpha1",),
    "AddOnPlacementScore",
    "addonplacementscores",
    namespaced=True,
    reported=("metadata", "status"),
)
SIG_PLACEMENT_DECISION = Kind(
    _SIG, ("v1alpha1",), "PlacementDecision", "placementdecisions", namespaced=True, qualified=True
)
CLUSTER_PROFILE = Kind(
    _SIG,
    ("v1alpha1",),
    "ClusterProfile",
    "clusterprofiles",
    namespaced=True,
    list_keys={"status.conditions": ("type",), "status.properties": ("name",)},
)
REMEDY = Kind("remedy.karmada.io", ("v1alpha1",), "Remedy", "remedies")
MULTI_CLUSTER_INGRESS = Kind(
    "networking.karmada.io", ("v1alpha1",), "MultiClusterIngress", "multiclusteringresses", namespaced=True
)
CLUSTER_TAINT_POLICY = Kind("policy.karmada.io", ("v1alpha1",), "ClusterTaintPolicy", "clustertaintpolicies")
RESOURCE_BINDING = Kind(
    "work.karmada.io", ("v1alpha2", "v1alpha1"), "ResourceBinding", "resourcebindings", namespaced=True
)
ENDPOINT_SLICE = Kind("discovery.k8s.io", ("v1",), "EndpointSlice", "endpointslices", namespaced=True)
CLUSTER_POOL = Kind(_HIVE, ("v1",), "ClusterPool", "clusterpools", namespaced=True, counted=True)
CLUSTER_CLAIM = Kind(_HIVE, ("v1",), "ClusterClaim", "clusterclaims", namespaced=True)
CLUSTER_DEPLOYMENT = Kind(
    _HIVE,
    ("v1",),
    "ClusterDeployment",
    "clusterdeployments",
    namespaced=True,
    reported=("spec", "status"),
    conditions=(
        "Hibernating",
        "Ready",
        "Provisioned",
        "ProvisionStopped",
        "ProvisionFailed",
        "AuthenticationFailure",
        "ClusterOperatorsDegraded",
        "Unreachable",
    ),
)
CLUSTER_IMAGE_SET = Kind(_HIVE, ("v1",), "ClusterImageSet", "clusterimagesets")
CLUSTER_DEPLOYMENT_CUSTOMIZATION = Kind(
    _HIVE, ("v1",), "ClusterDeploymentCustomization", "clusterdeploymentcustomizations", namespaced=True
)
VALIDATING_ADMISSION_POLICY = Kind(
    _ADMISSION, _ADMISSION_VERSIONS, "ValidatingAdmissionPolicy", "validatingadmissionpolicies"
)
VALIDATING_ADMISSION_POLICY_BINDING = Kind(
    _ADMISSION, _ADMISSION_VERSIONS, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"
)
FLEET = Kind(_MUSTER, ("v1alpha1",), "Fleet", "fleets")
CONDITION_POLICY = Kind(_MUSTER, ("v1alpha1",), "ConditionPolicy", "conditionpolicies")
TAINT_POLICY = Kind(_MUSTER, ("v1alpha1",), "TaintPolicy", "taintpolicies")
PULSE_POLICY = Kind(_MUSTER, ("v1alpha1",), "PulsePolicy", "pulsepolicies")
NOTIFICATION_POLICY = Kind(_MUSTER, ("v1alpha1",), "NotificationPolicy", "notificationpolicies")
DISRUPTION_BUDGET = Kind(_MUSTER, ("v1alpha1",), "DisruptionBudget", "disruptionbudgets")
ADAPTER_REPORT = Kind(
    _MUSTER,
    ("v1alpha1",),
    "AdapterReport",
    "adapterreports",
    namespaced=True,
    reported=("metadata", "spec"),
    conditions=("Applied", "Health", "Finalized"),
    describes=True,
)
NODE_POOL = Kind(_MUSTER, ("v1alpha1",), "NodePool", "nodepools", namespaced=True, counted=True, describes=True)
POLICY_TEST = Kind(_MUSTER, ("v1alpha1",), "PolicyTest", "policytests")
WAIVER = Kind(_MUSTER, ("v1alpha1",), "Waiver", "waivers")
APPROVAL = Kind(_MUSTER, ("v1alpha1",), "Approval", "approvals")
ROLLOUT = Kind(_MUSTER, ("v1alpha1",), "Rollout", "rollouts", namespaced=True)
PROJECTION = Kind(_MUSTER, ("v1alpha1",), "Projection", "projections")
CALENDAR = Kind(_MUSTER, ("v1alpha1",), "Calendar", "calendars")
SCORE_POLICY = Kind(_MUSTER, ("v1alpha1",), "ScorePolicy", "scorepolicies")
DRILL = Kind(_MUSTER, ("v1alpha1",), "Drill", "drills")

ALL: tuple[Kind, ...] = (
    MANAGED_CLUSTER,
    KARMADA_CLUSTER,
    LEASE,
    CSR,
    PLACEMENT,
    PLACEMENT_DECISION,
    MANAGED_CLUSTER_SET,
    MANAGED_CLUSTER_SET_BINDING,
    ADD_ON_PLACEMENT_SCORE,
    MANAGED_CLUSTER_ADD_ON,
    MANIFEST_WORK,
    MANIFEST_WORK_REPLICA_SET,
    SIG_PLACEMENT_DECISION,
    CLUSTER_PROFILE,
    REMEDY,
    MULTI_CLUSTER_INGRESS,
    CLUSTER_TAINT_POLICY,
    RESOURCE_BINDING,
    ENDPOINT_SLICE,
    CLUSTER_POOL,
    CLUSTER_CLAIM,
    CLUSTER_DEPLOYMENT,
    CLUSTER_IMAGE_SET,
    CLUSTER_DEPLOYMENT_CUSTOMIZATION,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    FLEET,
    CONDITION_POLICY,
    TAINT_POLICY,
    PULSE_POLICY,
    NOTIFICATION_POLICY,
    DISRUPTION_BUDGET,
    ADAPTER_REPORT,
    NODE_POOL,
    POLICY_TEST,
    WAIVER,
    APPROVAL,
    ROLLOUT,
    PROJECTION,
    CALENDAR,
    SCORE_POLICY,
    DRILL,
)

#: The kinds that "cluster" means: Remedies, budgets and taints treat them alike.
CLUSTERS: tuple[Kind, ...] = (MANAGED_CLUSTER, KARMADA_CLUSTER)
#: The kinds in the namespace of a cluster's name that belong to the cluster.
BESIDE_CLUSTERS: tuple[Kind, ...] = (
    ADAPTER_REPORT,
    NODE_POOL,
    MANAGED_CLUSTER_ADD_ON,
    MANIFEST_WORK,
    ADD_ON_PLACEMENT_SCORE,
)
#: The kinds that tell a run what to decide; all others are the fleet.
POLICIES: tuple[Kind, ...] = (
    CONDITION_POLICY,
    TAINT_POLICY,
    PULSE_POLICY,
    DISRUPTION_BUDGET,
    REMEDY,
    CLUSTER_TAINT_POLICY,
    CALENDAR,
    SCORE_POLICY,
)
#: The kinds that restrict which objects there may be.
ADMISSION: tuple[Kind, ...] = (VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING)
#: The kinds that adapters report about, by their name in `spec.resource.kind`.
TARGETS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in (*CLUSTERS, NODE_POOL)})

#: The taint effects of each kind of cluster, by the kind's name. Karmada's API server rejects `PreferNoSchedule`.
TAINT_EFFECTS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        KARMADA_CLUSTER.name: frozenset(("NoSchedule", "NoExecute")),
        MANAGED_CLUSTER.name: frozenset(("NoSelect", "PreferNoSelect", "NoSelectIfNew")),
    }
)

BY_GROUP_KIND: Mapping[tuple[str, str], Kind] = MappingProxyType({(kind.group, kind.name): kind for kind in ALL})
#: The kind of objects outside of the fleet, such as other programs': no rule reads them.
OTHER = Kind("", ("",), "", "")
_ENTRIES = dict(BY_GROUP_KIND)  # looked up a hundred times per cluster; a proxy takes twice as long
_CLUSTERS = frozenset((kind.group, kind.name) for kind in CLUSTERS)
BY_NAME: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in ALL if not kind.qualified})


def kind_of(id_: ObjectId) -> Kind:
    """Return the kind of an id. KeyError for a kind that is not in the registry."""
    return _ENTRIES[id_[:2]]


def kind_or_other(id_: ObjectId) -> Kind:
    """Return the kind of an id; OTHER for a kind that is not in the registry."""
    return _ENTRIES.get(id_[:2], OTHER)


def is_cluster(id_: ObjectId) -> bool:
    """Is the object a cluster?"""
    return id_[:2] in _CLUSTERS


def kind_of_body(body: Tree) -> Kind | None:
    """Return the kind of an object's body; None if the registry does not have it."""
    return BY_GROUP_KIND.get((str(dig(body, "apiVersion")).rpartition("/")[0], str(dig(body, "kind"))))


def id_of_body(body: Tree) -> ObjectId | None:
    """Return the id of an object's body; None without a name, or for a kind that is not in the registry."""
    kind, name, namespace = kind_of_body(body), dig(body, "metadata", "name"), dig(body, "metadata", "namespace")
    named = kind is not None and isinstance(name, str) and name
    return kind.id(name, namespace if isinstance(namespace, str) else "") if kind and named else None


def of_kinds(ids: Iterable[ObjectId], *kinds: Kind) -> list[ObjectId]:
    """Return the ids of some kinds, in their order: fast, for all objects of a fleet."""
    wanted = {(kind.group, kind.name) for kind in kinds}
    return [id_ for id_ in ids if id_[:2] in wanted]


def list_keys_of(id_: ObjectId) -> ListKeys:
    """Return the list keys of an object's kind; none for a kind that is not in the registry."""
    kind = BY_GROUP_KIND.get((id_.group, id_.kind))
    return {} if kind is None else kind.list_keys


class UnknownKind(ValueError):  # noqa: N818 - says what the person typed
    """No kind of that name."""


#: Words that mean one or several kinds: muster's own, and the short names of kubectl.
_KINDS_BY_SHORT_NAME: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("cluster", "clusters"), ("ManagedCluster", "Cluster")),
    **dict.fromkeys(("pool", "pools", "cp"), ("ClusterPool",)),
    **dict.fromkeys(("claim", "claims"), ("ClusterClaim",)),
    **dict.fromkeys(("report", "reports"), ("AdapterReport",)),
    **dict.fromkeys(("csr", "csrs"), ("CertificateSigningRequest",)),
    **dict.fromkeys(("mcl", "mcls"), ("ManagedCluster",)),
    **dict.fromkeys(("set", "sets", "clusterset", "clustersets", "mclset", "mclsets"), ("ManagedClusterSet",)),
    **dict.fromkeys(("mclsetbinding", "mclsetbindings"), ("ManagedClusterSetBinding",)),
    **dict.fromkeys(("mca", "mcas"), ("ManagedClusterAddOn",)),
    **dict.fromkeys(("budget", "budgets"), ("DisruptionBudget",)),
    **dict.fromkeys(("work", "works"), ("ManifestWork",)),
    "cd": ("ClusterDeployment",),
    "cdc": ("ClusterDeploymentCustomization",),
    "imgset": ("ClusterImageSet",),
    "mcing": ("MultiClusterIngress",),
    "mwrs": ("ManifestWorkReplicaSet",),
    "rb": ("ResourceBinding",),
}


def short_names(kind: Kind) -> list[str]:
    """Return the words that mean a kind, besides its name and plural; sorted."""
    return sorted(
        word
        for word, names in _KINDS_BY_SHORT_NAME.items()
        if kind.name in names and word not in (kind.schema, kind.plural)
    )


def kind_words() -> list[str]:
    """Return the words that mean kinds: plurals and short names; sorted."""
    return sorted({*(kind.folder for kind in ALL), "all", "policies", *_KINDS_BY_SHORT_NAME})


def kinds_named(text: str) -> tuple[Kind, ...]:
    """Return the kinds that a word means: a kind's name or plural in any case, with its group or without, or a short
    name; `clusters` means both kinds, `all` every kind, `policies` every kind of policy, `reports` those of adapters,
    `pools` and `claims` Hive's.
    Several words are separated by commas.

    Raises UnknownKind with the nearest name.
    """
    if "," in text:
        return tuple(dict.fromkeys(kind for name in text.split(",") for kind in kinds_named(name)))
    name = text.casefold()
    kinds = tuple(kind for kind in ALL if name in (kind.schema, kind.folder, *kind.full_names))
    if name == "all":
        kinds = ALL
    elif name in ("policy", "policies"):
        kinds = tuple(kind for kind in ALL if kind.name.endswith("Policy"))
    elif names := _KINDS_BY_SHORT_NAME.get(name):
        kinds = tuple(kind for kind in ALL if kind.name in names)
    if not kinds:
        candidates = {*kind_words(), *(kind.schema for kind in ALL)}
        hint = did_you_mean(name, candidates) or "write KIND/NAME, as in cluster/NAME"
        raise UnknownKind(f"no kind is called {text!r}; {hint}".rstrip("; "))
    return kinds
