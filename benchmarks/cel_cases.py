"""The expressions, the data and the hand-written equivalents that the CEL benchmark runs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from muster.cel import Env
from muster.cel.types import DURATION, INT, ListType
from muster.data.kinds import MANAGED_CLUSTER
from muster.rules.policies.environments import policy_environment

CONDITION_TYPES = (
    "HubAccepted",
    "HubClusterAdminAccepted",
    "ManagedClusterJoined",
    "ManagedClusterImportSucceeded",
    "ClockSynced",
    "AddonsReady",
    "ManagedClusterConditionAvailable",
    "PolicyCompliant",
    "ObservabilityReady",
    "BackupReady",
)


def condition(type_: str, status: str = "True") -> dict[str, Any]:
    """Return one condition with all its fields, as a live hub has them."""
    return {
        "type": type_,
        "status": status,
        "reason": f"{type_}Checked",
        "message": f"{type_} has been checked by its controller.",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 3,
    }


def managed_cluster() -> dict[str, Any]:
    """Return a ManagedCluster with ten conditions, labels, taints and claims."""
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {
            "name": "prod-eu-1",
            "generation": 3,
            "labels": {
                "cloud": "Amazon",
                "vendor": "OpenShift",
                "env": "prod",
                "region": "eu-west-1",
                "cluster.open-cluster-management.io/clusterset": "prod",
                "feature/search": "available",
            },
            "annotations": {f"example.com/note-{n}": f"a note of some length, number {n}" for n in range(8)},
        },
        "spec": {
            "hubAcceptsClient": True,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [{"url": "https://api.prod-eu-1.example.com:6443", "caBundle": "Q0E="}],
            "taints": [
                {"key": "example.com/maintenance", "effect": "PreferNoSelect", "timeAdded": "2026-01-01T00:00:00Z"},
                {"key": "gpu", "value": "true", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z"},
            ],
        },
        "status": {
            "conditions": [condition(type_) for type_ in CONDITION_TYPES],
            "version": {"kubernetes": "v1.33.2"},
            "allocatable": {"cpu": "96", "memory": "384Gi", "pods": "750"},
            "capacity": {"cpu": "100", "memory": "400Gi", "pods": "750"},
            "clusterClaims": [{"name": f"claim-{n}.example.com", "value": f"value {n}"} for n in range(20)],
        },
    }


def lease() -> dict[str, Any]:
    """Return the lease of a cluster, renewed 30 seconds before now."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "managed-cluster-lease", "namespace": "prod-eu-1", "labels": {"cluster": "prod-eu-1"}},
        "spec": {"holderIdentity": "agent", "leaseDurationSeconds": 60, "renewTime": "2026-01-01T00:09:30Z"},
    }


def report(number: int) -> dict[str, Any]:
    """Return one adapter's report: three conditions, `Available` the second."""
    return {
        "adapter": f"adapter-{number}",
        "observed_generation": 3,
        "observed_time": "2026-01-01T00:05:00Z",
        "resource": {"kind": "ManagedCluster", "name": "prod-eu-1"},
        "conditions": [condition("Applied"), condition("Available"), condition("Health")],
        "data": {f"field{position}": {"value": position, "unit": "s"} for position in range(8)},
    }


NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)


def variables() -> dict[str, Any]:
    """Return a fresh context: what one cluster's policies see."""
    conditions = {type_: condition(type_) for type_ in (*CONDITION_TYPES, "HubAcceptedManagedCluster")}
    made = {
        "self": managed_cluster(),
        "lease": lease(),
        "reports": [report(number) for number in range(12)],
        "conditions": conditions,
        "reported": conditions,
        "leaseDurationSeconds": 60,
    }
    return {**json.loads(json.dumps(made)), "now": NOW, "variables": {"seconds": 60, "grace": timedelta(minutes=5)}}


def environment() -> Env:
    """Return the environment of a condition policy over managed clusters, and a list of ints for loops."""
    policy = policy_environment((MANAGED_CLUSTER,), {"seconds": INT, "grace": DURATION})
    return Env(variables={**policy.variables, "l": ListType(INT)}, functions=policy.functions)


@dataclass(frozen=True, slots=True)
class Case:
    """One expression: what it stands for, its text, the variables it uses, and the same by hand where that is fair.

    `elsewhere` is the text for the other engines where theirs has to differ: to them an instant in an object is a
    string, and a duration inside a map is nothing that they take.
    """

    name: str
    about: str
    text: str
    uses: tuple[str, ...]
    by_hand: Callable[[Mapping[str, Any]], Any] | None = None
    elsewhere: str = ""


def _hand_c(v: Mapping[str, Any]) -> bool:
    for c in v["self"]["status"]["conditions"]:
        if c["type"] == "ManagedClusterConditionAvailable" and c["status"] == "True":
            return True
    return False


def _hand_e(v: Mapping[str, Any]) -> bool:
    metadata = v["self"]["metadata"]
    return metadata["name"].startswith("prod-") and metadata["labels"]["region"] == "eu-west-1"


def _hand_f(v: Mapping[str, Any]) -> bool:
    spec = v["self"]["spec"]
    if "taints" not in spec or v["self"]["metadata"]["labels"]["env"] not in ("prod", "staging"):
        return False
    return any(taint["key"] == "gpu" and taint["effect"] == "NoSelect" for taint in spec["taints"])


CASES = (
    Case(
        "a",
        "one field",
        "self.spec.hubAcceptsClient == true",
        ("self",),
        lambda v: v["self"]["spec"]["hubAcceptsClient"] is True,
    ),
    Case("b", "time arithmetic", "now - timestamp(lease.spec.renewTime) > duration('300s')", ("lease", "now")),
    Case(
        "c",
        "a condition, seventh of ten",
        "self.status.conditions.exists(c, c.type == 'ManagedClusterConditionAvailable' && c.status == 'True')",
        ("self",),
        _hand_c,
    ),
    Case(
        "d",
        "all of twelve reports, a condition in each",
        "reports.all(r, r.observed_generation >= 3 && "
        "r.conditions.exists(c, c.type == 'Available' && c.status == 'True'))",
        ("reports",),
    ),
    Case(
        "e",
        "string functions and a label",
        "self.metadata.name.startsWith('prod-') && self.metadata.labels['region'] == 'eu-west-1'",
        ("self",),
        _hand_e,
    ),
    Case(
        "f",
        "has, exists and in",
        "has(self.spec.taints) && self.metadata.labels['env'] in ['prod', 'staging'] && "
        "self.spec.taints.exists(t, t.key == 'gpu' && t.effect == 'NoSelect')",
        ("self",),
        _hand_f,
    ),
    Case(
        "g", "one absorbed missing key", "self.metadata.labels.tier == 'gold' || self.spec.hubAcceptsClient", ("self",)
    ),
    Case(
        "h",
        "ten missing keys in exists, then true",
        "self.status.conditions.exists(c, c.severity == 'x') || true",
        ("self",),
    ),
    Case(
        "i", "has, then the field", "has(self.spec.hubAcceptsClient) && self.spec.hubAcceptsClient == true", ("self",)
    ),
)


def policy_cases() -> tuple[Case, ...]:
    """Return the expressions of the built-in availability policy, as it stands in `policies/`."""
    folder = Path(__file__).resolve().parent.parent / "policies"
    spec = yaml.safe_load((folder / "managed-cluster-available.yaml").read_text(encoding="utf-8"))["spec"]
    rules = {rule["name"]: rule for rule in spec["rules"]}
    texts = {
        "accepted-once": (spec["matchConditions"][0]["expression"], ("conditions",)),
        "grace": (spec["variables"][0]["expression"], ("leaseDurationSeconds",)),
        "lease-never-renewed": (rules["lease-never-renewed"]["when"], ("lease",)),
        "lease-expired": (rules["lease-expired"]["when"], ("lease", "now", "variables")),
        "as-reported": (rules["as-reported"]["when"], ("reported",)),
        "status": (rules["as-reported"]["statusExpression"], ("reported",)),
        "reason": (rules["as-reported"]["reasonExpression"], ("reported",)),
    }
    other = {"lease-expired": "now - timestamp(lease.spec.renewTime) >= duration('300s')"}
    return tuple(
        Case(name, "built-in policy", text, uses, elsewhere=other.get(name, "")) for name, (text, uses) in texts.items()
    )
