"""What files say becomes what an API server would have made of them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import muster
from muster.data.tree import Tree

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def evaluated(tmp_path: Path, *documents: str) -> muster.Run:
    """A run over one file with these documents."""
    (tmp_path / "objects.yaml").write_text("---\n".join(documents), encoding="utf-8")
    return muster.evaluate(tmp_path, NOW)


def told(run: muster.Run) -> list[str]:
    """Findings as code, line and message."""
    return [f"{found.code} {found.line}: {found.message}" for found in run.findings]


def body(run: muster.Run, kind: str) -> Tree:
    """The one object of a kind."""
    (found,) = [body for body in run.objects if body["kind"] == kind]
    return found


SPARSE_CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: a
  creationTimestamp: null
  labels: {region: eu, zone: null}
spec:
  hubAcceptsClient: true
  leaseDurationSeconds: null
  managedClusterClientConfigs:
  taints:
  - {key: example.com/x, value: null, effect: NoSelect, timeAdded: ~}
status:
  conditions: null
  version: {kubernetes: null}
"""


def test_optional_nulls_are_dropped(tmp_path: Path) -> None:
    run = evaluated(tmp_path, SPARSE_CLUSTER)
    assert told(run) == []
    cluster = body(run, "ManagedCluster")
    assert "zone" not in cluster["metadata"]["labels"]
    assert set(cluster["spec"]) == {"hubAcceptsClient", "taints"}
    taint = next(taint for taint in cluster["spec"]["taints"] if taint["key"] == "example.com/x")
    assert "value" not in taint and taint["timeAdded"] == "2026-01-01T00:00:00Z"


def test_a_null_that_a_schema_takes_or_leaves_to_somebody_else_stays(tmp_path: Path) -> None:
    report = """\
apiVersion: muster.dev/v1alpha1
kind: AdapterReport
metadata: {name: dns, namespace: a}
spec:
  resource: {kind: ManagedCluster, name: a}
  adapter: dns
  observed_generation: 1
  observed_time: "2026-01-01T00:00:00Z"
  conditions: [{type: Applied, status: "True", message: null}]
  data: {zone: null}
"""
    spec = body(evaluated(tmp_path, report), "AdapterReport")["spec"]
    assert spec["data"] == {"zone": None}
    assert spec["conditions"] == [{"type": "Applied", "status": "True"}]


def test_a_required_null_is_missing_and_an_unknown_one_unknown(tmp_path: Path) -> None:
    remedy = """\
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: r}
spec:
  decisionMatches: [{clusterConditionMatch: {conditionType: null, operator: Equal, conditionStatus: "False"}}]
  acions: null
"""
    assert [text.partition(": ")[2] for text in told(evaluated(tmp_path, remedy))] == [
        "spec.decisionMatches[0].clusterConditionMatch.conditionType is missing",
        "unknown field spec.acions",
    ]


def test_the_namespace_of_a_cluster_scoped_object_is_dropped_with_a_warning(tmp_path: Path) -> None:
    run = evaluated(tmp_path, SPARSE_CLUSTER.replace("name: a\n", "name: a\n  namespace: fleet\n", 1))
    assert told(run) == ["MUS104 1: ManagedCluster 'a' is cluster-scoped; its namespace 'fleet' is dropped"]
    assert not run.failed
    assert "namespace" not in body(run, "ManagedCluster")["metadata"]


def test_a_namespaced_object_without_a_namespace_is_in_default(tmp_path: Path) -> None:
    placement = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web}
spec: {}
"""
    run = evaluated(tmp_path, placement)
    assert body(run, "Placement")["metadata"]["namespace"] == "default"
    assert [text for text in told(run) if "MUS104" in text] == []


def test_a_lease_without_a_namespace_is_said_to_miss_its_cluster(tmp_path: Path) -> None:
    lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: managed-cluster-lease}\nspec: {}\n"
    (text,) = [text for text in told(evaluated(tmp_path, SPARSE_CLUSTER, lease)) if "MUS104" in text]
    assert "names no namespace" in text


@pytest.mark.parametrize("inner", ["", "apiVersion: remedy.karmada.io/v1alpha1, kind: Remedy, "])
def test_a_list_of_one_kind_is_unwrapped(tmp_path: Path, inner: str) -> None:
    text = f"""\
apiVersion: remedy.karmada.io/v1alpha1
kind: RemedyList
metadata: {{resourceVersion: "1"}}
items:
- {{{inner}metadata: {{name: one}}, spec: {{actions: [TrafficControl]}}}}
- {{{inner}metadata: {{name: two}}, spec: {{actons: []}}}}
"""
    run = evaluated(tmp_path, text)
    assert [(body["kind"], body["metadata"]["name"]) for body in run.objects if body["kind"] == "Remedy"] == [
        ("Remedy", "one"),
        ("Remedy", "two"),
    ]
    assert [f"{found.code} {found.line}" for found in run.findings if found.code == "MUS201"] == ["MUS201 6"]


def test_an_item_of_a_list_that_is_no_object_is_a_finding(tmp_path: Path) -> None:
    text = "apiVersion: remedy.karmada.io/v1alpha1\nkind: RemedyList\nitems: [5]\n"
    assert told(evaluated(tmp_path, text)) == ["MUS009 1: item 0 of the List is not a mapping with apiVersion and kind"]


def test_a_namespace_that_is_no_text_is_refused(tmp_path: Path) -> None:
    text = "apiVersion: hive.openshift.io/v1\nkind: ClusterClaim\nmetadata: {name: c, namespace: 5}\nspec: {}\n"
    assert told(evaluated(tmp_path, text)) == ["MUS103 1: metadata.namespace must be a text"]
