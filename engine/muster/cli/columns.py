"""The columns of each kind's table. A kind without an entry shows its name and its conditions."""

from collections.abc import Callable, Mapping
from datetime import datetime

from muster.cli import cells
from muster.cli.table import Heading
from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet.clusters import CLUSTER_SET
from muster.fleet.objects import SPEC_DIGEST


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its header, the function for its cells, a short header, and its rank (see
    `muster.cli.table.Heading`)."""

    header: str
    cell: Callable[[Tree, datetime], str]
    short: str = ""
    rank: int = 0

    @property
    def heading(self) -> Heading:
        """The heading of the column."""
        return Heading(self.header, self.short, self.rank)


_NAME = Column("NAME", cells.text("metadata", "name"))
_NAMESPACE = Column("NAMESPACE", cells.text("metadata", "namespace"))
_KIND = Column("KIND", cells.target, rank=1)
COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "ManagedCluster": (
        _NAME,
        Column("ACCEPTED", cells.cluster_field(MANAGED_CLUSTER, "accepted"), rank=2),
        Column("AVAILABLE", cells.cluster_field(MANAGED_CLUSTER, "status")),
        Column("SINCE", cells.cluster_field(MANAGED_CLUSTER, "since"), rank=1),
        Column("TAINTS", cells.taints, rank=3),
        Column("REASON", cells.cluster_field(MANAGED_CLUSTER, "reason"), rank=5),
    ),
    "Cluster": (
        _NAME,
        Column("READY", cells.cluster_field(KARMADA_CLUSTER, "status")),
        Column("SINCE", cells.cluster_field(KARMADA_CLUSTER, "since"), rank=1),
        Column("TAINTS", cells.taints, rank=3),
        Column("REMEDIES", cells.texts("status", "remedyActions"), rank=2),
        Column("REASON", cells.cluster_field(KARMADA_CLUSTER, "reason"), rank=4),
    ),
    "Placement": (
        _NAMESPACE,
        _NAME,
        Column("WANTED", cells.wanted_clusters, rank=2),
        Column("SELECTED", cells.text("status", "numberOfSelectedClusters")),
        Column("SATISFIED", cells.status("PlacementSatisfied")),
        Column("REASON", cells.placement_reason, rank=1),
    ),
    "Rollout": (
        _NAMESPACE,
        _NAME,
        Column("REVISION", cells.text("status", "revision")),
        Column("STAGE", cells.text("status", "stage")),
        Column("CLUSTERS", cells.rolled_out),
        Column("STATE", cells.reason("RolledOut")),
        Column("NEXT", cells.text("status", "nextStepAt"), rank=1),
        Column("MESSAGE", cells.message("RolledOut"), rank=2),
    ),
    "ManifestWorkReplicaSet": (
        _NAMESPACE,
        _NAME,
        Column("CLUSTERS", cells.worked),
        Column("STATE", cells.reason("PlacementRolledOut")),
        Column("MESSAGE", cells.message("PlacementRolledOut"), rank=1),
    ),
    "ManifestWork": (
        _NAMESPACE,
        _NAME,
        Column("STATE", cells.text("status", "muster", "rollout", "state")),
        Column("SINCE", cells.text("status", "muster", "rollout", "since"), rank=1),
        Column("REVISION", cells.text("metadata", "annotations", SPEC_DIGEST), rank=2),
    ),
    "PlacementDecision": (
        _NAMESPACE,
        _NAME,
        Column(
            "GROUP", cells.text("metadata", "labels", "cluster.open-cluster-management.io/decision-group-name"), rank=1
        ),
        Column("CLUSTERS", cells.decided_clusters),
    ),
    "ClusterProfile": (
        _NAMESPACE,
        _NAME,
        Column("HEALTHY", cells.status("ControlPlaneHealthy")),
        Column("SINCE", cells.since("ControlPlaneHealthy"), rank=1),
        Column("VERSION", cells.text("status", "version", "kubernetes"), rank=2),
    ),
    "ManagedClusterSet": (
        _NAME,
        Column("SELECTOR", cells.set_selector, rank=1),
        Column("EMPTY", cells.status("ClusterSetEmpty")),
        Column("MEMBERS", cells.set_members),
    ),
    "ManagedClusterSetBinding": (
        _NAMESPACE,
        _NAME,
        Column("SET", cells.text("spec", "clusterSet")),
        Column("BOUND", cells.status("Bound")),
    ),
    "CertificateSigningRequest": (
        _NAME,
        Column("CLUSTER", cells.text("metadata", "labels", "open-cluster-management.io/cluster-name")),
        Column("STATE", cells.request_state),
        Column("EXPIRES", cells.certificate_end),
        Column("USER", cells.certificate_user, rank=1),
    ),
    "AdapterReport": (
        Column("OBJECT", cells.reported_on),
        Column("ADAPTER", cells.adapter),
        Column("GENERATION", cells.text("spec", "observed_generation"), short="GEN"),
        Column("AVAILABLE", cells.available("spec"), short="AVAIL"),
        Column("OBSERVED", cells.age_of("spec", "observed_time"), rank=2),
        Column("ACCEPTED", cells.status("Accepted")),
        Column("REASON", cells.reason("Accepted"), rank=3),
        Column("COUNTS", cells.counting, rank=1),
    ),
    "NodePool": (
        _NAMESPACE,
        _NAME,
        Column("GENERATION", cells.text("metadata", "generation"), short="GEN"),
        Column("READY", cells.status("Ready", "Reconciled")),
        Column("AVAILABLE", cells.status("Available", "LastKnownReconciled"), short="AVAIL"),
        Column("SINCE", cells.since("Ready", "Reconciled"), rank=1),
        Column("REASON", cells.reason("Ready", "Reconciled"), rank=2),
    ),
    "ClusterPool": (
        _NAMESPACE,
        _NAME,
        Column("SIZE", cells.text("spec", "size")),
        Column("READY", cells.bucket("assignable")),
        Column("STANDBY", cells.bucket("standby"), short="STBY"),
        Column("RESUMING", cells.bucket("resuming"), short="RES"),
        Column("HIBERNATING", cells.bucket("hibernating"), short="HIB"),
        Column("INSTALLING", cells.bucket("installing"), short="INST"),
        Column("BROKEN", cells.bucket("broken"), short="BRKN"),
        Column("DELETING", cells.bucket("deleting", "marked"), short="DEL", rank=2),
        Column("CLAIMED", cells.bucket("claimed"), short="CLMD"),
        Column("NOTE", cells.pool_note, rank=1),
    ),
    "ClusterClaim": (
        _NAMESPACE,
        _NAME,
        Column("POOL", cells.text("spec", "clusterPoolName")),
        Column("CLUSTER", cells.text("spec", "namespace")),
        Column("STATE", cells.claim_state),
        Column("SINCE", cells.since("Pending"), rank=1),
        Column("LIFETIME", cells.text("status", "lifetime"), rank=2),
    ),
    "ClusterDeployment": (
        _NAME,
        Column("POOL", cells.text("spec", "clusterPoolRef", "poolName")),
        Column("BUCKET", cells.text("status", "muster", "bucket")),
        Column("WANTED", cells.text("spec", "powerState"), rank=2),
        Column("POWER", cells.text("status", "powerState")),
        Column("CLAIM", cells.text("spec", "clusterPoolRef", "claimName"), rank=3),
        Column("WHY", cells.why, rank=1),
    ),
    "MultiClusterIngress": (
        _NAMESPACE,
        _NAME,
        Column("SERVICES", cells.services),
        Column("BLOCKED", cells.texts("status", "trafficBlockClusters")),
    ),
    "Remedy": (_NAME, Column("CLUSTERS", cells.affinity), Column("ACTIONS", cells.texts("spec", "actions"))),
    "Fleet": (
        _NAME,
        Column("HELD", cells.status("DisruptionHeld")),
        Column("FROZEN", cells.status("Frozen")),
        Column("SINCE", cells.since("DisruptionHeld", "Frozen")),
        Column("OBSERVER SUSPECT", cells.status("ObserverSuspect"), short="SUSPECT", rank=1),
        Column("REMOVAL HELD", cells.status("RemovalHeld"), short="REMOVAL", rank=1),
        Column("REASON", cells.reason("DisruptionHeld", "Frozen"), rank=2),
    ),
    "Calendar": (
        _NAME,
        Column("STATE", cells.calendar("state")),
        Column("UNTIL", cells.calendar("until")),
        Column("WHY", cells.calendar("why"), rank=1),
    ),
    "DisruptionBudget": (
        _NAME,
        Column("MAX", cells.text("spec", "maxDisrupted")),
        Column("MAX REMOVED", cells.text("spec", "maxRemoved")),
        Column("COOLDOWN", cells.text("spec", "cooldown")),
    ),
    "Lease": (_NAMESPACE, _NAME, Column("RENEWED", cells.renewed)),
    "ConditionPolicy": (
        _NAME,
        _KIND,
        Column("TYPE", cells.text("spec", "type")),
        Column("RULES", cells.count("spec", "rules"), rank=2),
    ),
    "TaintPolicy": (_NAME, _KIND, Column("TAINTS", cells.policy_taints)),
    "PulsePolicy": (
        _NAME,
        _KIND,
        Column("RULES", cells.count("spec", "rules")),
        Column("EVENT", cells.text("spec", "event", "type"), rank=3),
        Column("SINKS", cells.texts("spec", "sinks"), rank=2),
    ),
    "NotificationPolicy": (
        _NAME,
        _KIND,
        Column("SEVERITY", cells.text("spec", "severity")),
        Column("SINKS", cells.texts("spec", "sinks")),
    ),
    "ScorePolicy": (
        _NAME,
        Column("RESOURCE", cells.text("spec", "resource")),
        Column("SCORE", cells.text("spec", "score")),
        Column("VALID FOR", cells.text("spec", "validFor"), rank=1),
    ),
    "Drill": (
        _NAME,
        Column("FOR", cells.text("spec", "for")),
        Column("NEVER", cells.count("spec", "never")),
    ),
    "PolicyTest": (
        _NAME,
        Column("POLICIES", cells.texts("spec", "policies"), rank=1),
        Column("CASES", cells.count("spec", "cases")),
        Column("INVARIANTS", cells.count("spec", "invariants"), rank=2),
    ),
    "Projection": (_NAME, Column("FOR EACH", cells.for_each), Column("PATH", cells.text("spec", "path"), rank=1)),
    "Approval": (_NAME, Column("EFFECTS", cells.approved)),
    "Waiver": (
        _NAME,
        Column("CODE", cells.text("spec", "code")),
        Column("OBJECT", cells.text("spec", "object"), rank=1),
        Column("UNTIL", cells.text("spec", "until")),
        Column("OWNER", cells.text("spec", "owner"), rank=2),
        Column("REASON", cells.text("spec", "reason"), rank=3),
    ),
    # From here on the columns of upstream's tables.
    "ManagedClusterAddOn": (
        _NAMESPACE,
        _NAME,
        Column("AVAILABLE", cells.status("Available")),
        Column("DEGRADED", cells.status("Degraded"), rank=1),
        Column("PROGRESSING", cells.status("Progressing"), rank=2),
    ),
    "AddOnPlacementScore": (
        _NAMESPACE,
        _NAME,
        Column("SCORES", cells.scores),
        Column("VALID UNTIL", cells.text("status", "validUntil"), rank=1),
    ),
    "ClusterTaintPolicy": (_NAME, Column("TAINTS", cells.policy_taints)),
    "ResourceBinding": (
        _NAMESPACE,
        _NAME,
        Column("RESOURCE", cells.text("spec", "resource", "kind")),
        Column("CLUSTERS", cells.each("name", "spec", "clusters")),
        Column("SCHEDULED", cells.status("Scheduled"), rank=1),
        Column("FULLYAPPLIED", cells.status("FullyApplied"), rank=2),
    ),
    "EndpointSlice": (
        _NAMESPACE,
        _NAME,
        Column("ADDRESSTYPE", cells.text("addressType"), rank=1),
        Column("PORTS", cells.each("port", "ports")),
        Column("ENDPOINTS", cells.endpoints),
    ),
    "ClusterImageSet": (_NAME, Column("RELEASE", cells.text("spec", "releaseImage"))),
    "ClusterDeploymentCustomization": (
        _NAMESPACE,
        _NAME,
        Column("AVAILABLE", cells.status("Available")),
        Column("POOL", cells.text("status", "clusterPoolRef", "name")),
        Column("CLUSTER", cells.text("status", "clusterDeploymentRef", "name"), rank=1),
    ),
    "ValidatingAdmissionPolicy": (
        _NAME,
        Column("VALIDATIONS", cells.count("spec", "validations")),
        Column("PARAMKIND", cells.parameter_kind),
    ),
    "ValidatingAdmissionPolicyBinding": (
        _NAME,
        Column("POLICYNAME", cells.text("spec", "policyName")),
        Column("PARAMREF", cells.parameters, rank=1),
        Column("ACTIONS", cells.texts("spec", "validationActions")),
    ),
}


#: Further columns of wide tables.
WIDE: Mapping[str, tuple[Column, ...]] = {
    "ManagedCluster": (
        Column("VERSION", cells.text("status", "version", "kubernetes")),
        Column("SET", cells.text("metadata", "labels", CLUSTER_SET)),
        Column("ROLLOUTS", cells.rollouts),
        Column("URL", cells.each("url", "spec", "managedClusterClientConfigs")),
    ),
    "Cluster": (
        Column("VERSION", cells.text("status", "kubernetesVersion")),
        Column("MODE", cells.text("spec", "syncMode")),
        Column("REGION", cells.text("spec", "region")),
        Column("ENDPOINT", cells.text("spec", "apiEndpoint")),
    ),
}
#: Shown for any kind that has held effects.
_HELD = Column("HELD", lambda body, _now: ", ".join(cells.held_effects(body)) or "-", rank=4)


def columns_of(kind: str, *, namespaced: bool) -> tuple[Column, ...]:
    """Return the columns of a kind."""
    default = (*((_NAMESPACE,) if namespaced else ()), _NAME, Column("CONDITIONS", cells.all_conditions))
    return COLUMNS.get(kind, default)


def rows(
    kind: str, bodies: list[Tree], now: datetime, *, namespaced: bool, wide: bool = False
) -> tuple[list[Heading], list[list[str]]]:
    """Return headings and rows for objects of one kind, with a column for held effects if there are any, and further
    ones if they are to be `wide`."""
    held = (_HELD,) if any(cells.held_effects(body) for body in bodies) else ()
    columns = (*columns_of(kind, namespaced=namespaced), *held, *(WIDE.get(kind, ()) if wide else ()))
    return [c.heading for c in columns], [[c.cell(body, now) for c in columns] for body in bodies]
