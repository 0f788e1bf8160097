"""One expression over the documents of a file: it sees all that it would see in a policy, by the same names."""

from datetime import UTC, datetime

import pytest
import yaml

from muster.data.tree import Tree
from muster.features.cel.evaluate import evaluate
from muster.rules.policies.variables import VARIABLES

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
OBJECTS = """
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: managed-cluster-lease, namespace: a}
spec: {renewTime: "2026-01-01T00:00:00Z", leaseDurationSeconds: 20}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a, generation: 3, deletionTimestamp: "2026-01-01T00:00:30Z"}
spec: {hubAcceptsClient: true, leaseDurationSeconds: 20}
status: {conditions: [{type: HubAcceptedManagedCluster, status: "True", reason: R, message: m}]}
---
apiVersion: muster.dev/v1alpha1
kind: AdapterReport
metadata: {name: dns, namespace: a}
spec: {resource: {kind: ManagedCluster, name: a}, adapter: dns, observed_generation: 3, conditions: []}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: another-programs}
"""
REQUEST = """
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: r, labels: {open-cluster-management.io/cluster-name: a}}
spec: {signerName: kubernetes.io/kube-apiserver-client, request: bm90IGEgcmVxdWVzdA==}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a}
spec: {hubAcceptsClient: true}
"""


def documents(text: str) -> list[Tree]:
    return list(yaml.safe_load_all(text))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("self.metadata.name", "a"),
        ("lease.spec.leaseDurationSeconds", 20),
        ("leaseDurationSeconds", 20),
        ("reported['HubAcceptedManagedCluster'].status", "True"),
        ("reported['HubAcceptedManagedCluster'].stale", False),
        ("previous['HubAcceptedManagedCluster'].reason", "R"),
        ("status(conditions, 'HubAcceptedManagedCluster')", "True"),
        ("reports.map(r, r.adapter)", ["dns"]),
        ("adapters", ["dns"]),
        ("updated == now", True),
        ("accepted", True),
        ("deleting", True),
        ("children.size()", 0),
        ("generation", 3),
        ("has(fleet.heartbeats)", False),
        ("size(params)", 0),
        ("string(now)", "2026-01-01T00:01:00Z"),
    ],
)
def test_a_file_says_what_a_run_would_have_found(expression: str, value: object) -> None:
    answer = evaluate(expression, documents(OBJECTS), NOW)
    assert (answer.result.value, answer.result.error) == (value, None)


def test_every_variable_of_policies_has_a_value() -> None:
    for kind, text in ((None, OBJECTS), ("CertificateSigningRequest", REQUEST)):
        for name, variable in VARIABLES.items():
            if variable.only is None or variable.only.name == kind:
                assert evaluate(f"dyn({name}) == dyn({name})", documents(text), NOW).result.value is True, name


def test_a_request_is_decoded_and_its_cluster_found_beside_it() -> None:
    assert evaluate("csr.error != '' && cluster.spec.hubAcceptsClient", documents(REQUEST), NOW).result.value is True


def test_staleness_has_its_horizon() -> None:
    """Five durations of 20 seconds after the renewal."""
    answer = evaluate("reported['HubAcceptedManagedCluster'].stale", documents(OBJECTS), NOW)
    assert answer.result.horizon == datetime(2026, 1, 1, 0, 1, 40, tzinfo=UTC)


def test_without_an_object_of_which_policies_speak_there_is_only_now() -> None:
    lease = documents(OBJECTS)[:1]
    assert evaluate("string(now)", lease, NOW).result.value == "2026-01-01T00:01:00Z"
    assert evaluate("self.x", lease, NOW).result.error is not None
