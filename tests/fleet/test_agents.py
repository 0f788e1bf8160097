"""Agent refs: further input parts of one cluster each, and never of another."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import muster
from muster.data.kinds import ALL
from muster.data.snapshot import SignerIdentity
from muster.data.source import Layer, Part, SourceFile
from muster.data.tree import Tree
from muster.fleet.agents import filter_agent_parts
from muster.fleet.leases import CLUSTER_NAME
from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.support.git import Repo, new_repository

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FRESH = "2026-01-01T00:00:00Z"
LABELLED = "name: x, labels: {open-cluster-management.io/cluster-name: b}, "


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A fleet of two accepted clusters whose agents speak on their own refs."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"clusters/a/cluster.yaml": cluster("a"), "clusters/b/cluster.yaml": cluster("b")})
    repo.commit_to("refs/heads/agents/a", {"lease.yaml": lease("a", FRESH), "observed.yaml": observed("a")})
    return repo


def available(run: muster.Run) -> dict[str, str]:
    """Cluster -> status of its Available condition."""
    return {
        body["metadata"]["name"]: c["status"]
        for body in run.objects
        if body["kind"] == "ManagedCluster"
        for c in body.get("status", {}).get("conditions", ())
        if c["type"] == "ManagedClusterConditionAvailable"
    }


def codes(run: muster.Run) -> list[str]:
    """Findings as code, file and message."""
    return [f"{f.code} {f.file}: {f.message}" for f in run.findings]


def body_of(run: muster.Run, name: str) -> Tree:
    """The assembled ManagedCluster."""
    return next(b for b in run.objects if b["kind"] == "ManagedCluster" and b["metadata"]["name"] == name)


def test_an_agents_ref_counts(repo: Repo) -> None:
    run = muster.evaluate(repo.path, NOW, "HEAD")
    assert available(run) == {"a": "True", "b": "Unknown"}
    assert run.findings == []


def test_what_speaks_for_another_cluster_is_refused_and_the_rest_counts(repo: Repo) -> None:
    repo.commit_to(
        "refs/heads/agents/a",
        {
            "lease.yaml": lease("a", FRESH),
            "observed.yaml": observed("a"),
            "b/lease.yaml": lease("b", FRESH),
            "b/observed.yaml": observed("b"),
            "policy.yaml": "apiVersion: muster.dev/v1alpha1\nkind: TaintPolicy\nmetadata: {name: x}\nspec: {}\n",
            "steal.yaml": lease("a", FRESH).replace("name: managed-cluster-lease, ", LABELLED),
        },
    )
    run = muster.evaluate(repo.path, NOW, "HEAD")
    assert available(run) == {"a": "True", "b": "Unknown"}
    found = codes(run)
    assert len(found) == 4
    assert all(text.startswith("MUS106 agents/a:") for text in found)
    assert "agents do not write TaintPolicy objects" in " ".join(found)


def test_an_agent_cannot_accept_itself(repo: Repo) -> None:
    wish = cluster("new").replace("spec: {", "spec: {taints: [], leaseDurationSeconds: 30, ")
    repo.commit_to("refs/heads/agents/new", {"cluster.yaml": wish})
    run = muster.evaluate(repo.path, NOW, "HEAD")
    assert body_of(run, "new")["spec"]["leaseDurationSeconds"] == 30
    assert "conditions" not in body_of(run, "new").get("status", {})
    assert [text.partition(": ")[2] for text in codes(run)] == [
        "the agent of new may not set spec.hubAcceptsClient of ManagedCluster/new; it is ignored",
        "the agent of new may not set spec.taints of ManagedCluster/new; it is ignored",
    ]


def test_peoples_word_on_the_spec_stands_alone(repo: Repo) -> None:
    wish = cluster("b", accepts=False).replace("spec: {", "spec: {leaseDurationSeconds: 1, ")
    repo.commit_to("refs/heads/agents/b", {"cluster.yaml": wish, "observed.yaml": observed("b")})
    run = muster.evaluate(repo.path, NOW, "HEAD")
    assert run.findings == []
    assert body_of(run, "b")["spec"].get("leaseDurationSeconds") is None
    assert available(run)["b"] == "True"


def test_a_hostile_ref_costs_nobody_else_anything(repo: Repo) -> None:
    repo.commit_to("refs/heads/agents/b", {"lease.yaml": "a: &a [*a]\napiVersion: x\nkind: y", "x.yaml": b"\xff\xfe"})
    run = muster.evaluate(repo.path, NOW, "HEAD")
    assert available(run)["a"] == "True"
    assert {f.file.partition(":")[0] for f in run.findings} == {"agents/b"}


@pytest.mark.parametrize("name", ["agents/zz/agents/a", "agents/a/b", "x/agents/a", "Agents/a"])
def test_a_branch_that_only_resembles_an_agents_speaks_for_nobody(repo: Repo, name: str) -> None:
    """Whoever may write below `agents/zz/` is not a's agent, though the name ends like its own."""
    repo.git("update-ref", "-d", "refs/heads/agents/a")
    repo.commit_to(f"refs/heads/{name}", {"lease.yaml": lease("a", FRESH), "observed.yaml": observed("a")})
    run = muster.evaluate(repo.path, NOW, "HEAD")
    assert available(run) == {"a": "Unknown", "b": "Unknown"}
    assert [text.partition(": ")[0] for text in codes(run)] == [f"MUS121 {name}"]


def test_an_agent_of_karmada_renews_a_lease_that_is_named_after_its_cluster(repo: Repo) -> None:
    member = (
        "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: m}\n"
        "spec: {syncMode: Pull}\nstatus: {conditions: [{type: Ready, status: 'True'}]}\n"
    )
    renewed = (
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: NAME, namespace: karmada-cluster}\n"
        "spec: {renewTime: '2025-12-31T23:00:00Z'}\n"
    )
    repo.commit({"clusters/m/cluster.yaml": member})
    repo.commit_to(
        "refs/heads/agents/m", {"m.yaml": renewed.replace("NAME", "m"), "n.yaml": renewed.replace("NAME", "n")}
    )
    run = muster.evaluate(repo.path, NOW, "HEAD")
    (ready,) = next(b for b in run.objects if b["kind"] == "Cluster")["status"]["conditions"]
    assert (ready["status"], ready["reason"]) == ("Unknown", "ClusterStatusUnknown")
    (refused,) = (code for code in codes(run) if "n.yaml" in code)
    assert refused.startswith("MUS106")
    assert refused.endswith("it is the lease of cluster 'n'")


REQUEST = """\
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {{name: r, labels: {{open-cluster-management.io/cluster-name: a}}}}
spec: {{request: bm9uZQ==, signerName: s, username: {username}, groups: [{group}]}}
"""


@pytest.mark.parametrize(
    ("username", "kept"),
    [
        ("system:open-cluster-management:a:agent", True),
        ("system:open-cluster-management:ab:agent", False),
        ("admin", False),
    ],
)
def test_an_agent_is_believed_to_be_its_own_clusters_and_nobody_else(repo: Repo, username: str, kept: bool) -> None:
    text = REQUEST.format(username=username, group="system:masters")
    repo.commit_to("refs/heads/agents/a", {"csr.yaml": text})
    run = muster.evaluate(repo.path, NOW, "HEAD")
    spec = next(body["spec"] for body in run.objects if body["kind"] == "CertificateSigningRequest")
    assert spec.get("username") == (username if kept else None)
    assert "groups" not in spec
    refused = {finding.message.partition("may not set ")[2] for finding in run.findings if finding.code == "MUS106"}
    assert ("spec.groups of CertificateSigningRequest/r; it is ignored" in refused) is True
    assert ("spec.username of CertificateSigningRequest/r; it is ignored" in refused) is not kept


SET = "cluster.open-cluster-management.io/clusterset"
HELPS_ITSELF = {
    "the set": (f"metadata: {{name: new, labels: {{{SET}: prod}}}}", f"metadata.labels ({SET})"),
    "any label": ("metadata: {name: new, labels: {env: prod, region: eu}}", "metadata.labels (env, region)"),
    "disruption allowed": (
        "metadata: {name: new, annotations: {muster.dev/allow-disruption: 'until 2030-01-01T00:00:00Z: why not'}}",
        "metadata.annotations",
    ),
    "on its way out": (
        "metadata: {name: new, deletionTimestamp: '2025-01-01T00:00:00Z'}",
        "metadata.deletionTimestamp",
    ),
    "held": ("metadata: {name: new, finalizers: [x/y]}", "metadata.finalizers"),
    "owned": (
        "metadata: {name: new, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: x, uid: y}]}",
        "metadata.ownerReferences",
    ),
    "acceptance": ("spec: {hubAcceptsClient: true}", "spec.hubAcceptsClient"),
    "taints": ("spec: {taints: [{key: a, effect: NoSelect}]}", "spec.taints"),
    "a lease for ever": ("spec: {leaseDurationSeconds: 2000000000}", "spec.leaseDurationSeconds"),
    "the hub's word": (
        "status: {conditions: [{type: HubAcceptedManagedCluster, status: 'True'}]}",
        "status.conditions[HubAcceptedManagedCluster]",
    ),
    "synced clocks": (
        "status: {conditions: [{type: ManagedClusterConditionClockSynced, status: 'True'}]}",
        "status.conditions[ManagedClusterConditionClockSynced]",
    ),
    "bookkeeping": ("status: {muster: {leaseDurationSeconds: 9}}", "status.muster"),
    "actions": ("status: {remedyActions: []}", "status.remedyActions"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("declared", [False, True], ids=["asking", "declared"])
@pytest.mark.parametrize("wished", HELPS_ITSELF)
def test_an_agent_does_not_help_itself(repo: Repo, wished: str, declared: bool) -> None:
    """Nor where the fleet takes all comers, and no person looks at what they ask for."""
    text, field = HELPS_ITSELF[wished]
    parts = {"metadata": "metadata: {name: new}", "spec": "spec: {hubAcceptsClient: false}"}
    parts[text.partition(":")[0]] = text
    wish = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n" + "\n".join(parts.values())
    repo.commit({"fleet.yaml": FLEET, **({"clusters/new/cluster.yaml": cluster("new")} if declared else {})})
    plain = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: new}\n"
    repo.commit_to("refs/heads/agents/new", {"c.yaml": plain + "spec: {hubAcceptsClient: false}\n"})
    before = muster.evaluate(repo.path, NOW, "HEAD")
    repo.commit_to("refs/heads/agents/new", {"c.yaml": wish + "\n"})
    after = muster.evaluate(repo.path, NOW, "HEAD")
    assert body_of(after, "new")["metadata"] == body_of(before, "new")["metadata"]
    assert body_of(after, "new")["spec"] == body_of(before, "new")["spec"]
    assert after.files == before.files
    # Where people say the very same, there is nothing to refuse.
    said = [f"MUS106 agents/new:c.yaml: the agent of new may not set {field} of ManagedCluster/new; it is ignored"]
    assert codes(after) == ([] if field == "spec.hubAcceptsClient" and declared else said)


FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec: {registration: {autoAccept: true}}
"""


def test_a_ref_of_a_thousand_labels_fills_nobodys_screen(repo: Repo) -> None:
    labels = ", ".join(f"l{n}: x" for n in range(1000))
    wish = cluster("new", accepts=False).replace("name: new", f"name: new, labels: {{{labels}}}")
    repo.commit_to("refs/heads/agents/new", {"c.yaml": wish})
    (found,) = codes(muster.evaluate(repo.path, NOW, "HEAD"))
    assert "990 more" in found
    assert len(found) < 250


def request(name: str, for_: str, username: str) -> str:
    """A request for a certificate."""
    return (
        REQUEST.replace("name: r", f"name: {name}")
        .replace("cluster-name: a", f"cluster-name: {for_}")
        .format(username=username, group="g")
    )


@pytest.mark.parametrize(
    ("name", "owner"), [("b-x", "b"), ("a-x", "a"), ("b", "b"), ("x", "a"), ("a-b-x", "a"), ("ab-x", "a")]
)
def test_no_agent_takes_the_name_of_anothers_request(repo: Repo, name: str, owner: str) -> None:
    """Requests have no namespace: two agents that use one name would set each other's fields."""
    for who in ("a", "b"):
        repo.commit_to(
            f"refs/heads/agents/{who}", {"csr.yaml": request(name, who, f"system:open-cluster-management:{who}:x")}
        )
    run = muster.evaluate(repo.path, NOW, "HEAD")
    (made,) = (body for body in run.objects if body["kind"] == "CertificateSigningRequest")
    assert made["metadata"]["labels"]["open-cluster-management.io/cluster-name"] == owner
    refused = next(text for text in codes(run) if "has a request of that name" in text)
    assert refused.startswith(f"MUS106 agents/{'b' if owner == 'a' else 'a'}:")


POOL = """\
apiVersion: hive.openshift.io/v1
kind: ClusterPool
metadata: {name: ci, namespace: pools}
spec: {size: 1, runningCount: 1, baseDomain: ci.example.com, imageSetRef: {name: v1}, platform: {aws: {region: eu-1}}}
---
apiVersion: hive.openshift.io/v1
kind: ClusterImageSet
metadata: {name: v1}
spec: {releaseImage: "quay.io/release:1"}
"""
PROVISIONED = """\
apiVersion: hive.openshift.io/v1
kind: ClusterDeployment
metadata: {name: ci-1, namespace: ci-1}
spec: {installed: true}
status:
  powerState: Running
  conditions: [{type: Hibernating, status: "False", reason: Running}, {type: Ready, status: "True", reason: Running}]
"""


def _bucket(run: muster.Run) -> str:
    body = next(b for b in run.objects if b["kind"] == "ClusterDeployment" and b["metadata"]["name"] == "ci-1")
    return str(body["status"]["muster"]["bucket"])


def test_a_provisioner_reports_a_pools_cluster_from_a_ref_of_its_own(repo: Repo) -> None:
    repo.commit({"pool.yaml": POOL})
    repo.commit(muster.evaluate(repo.path, NOW, "HEAD").files)
    assert _bucket(muster.evaluate(repo.path, NOW, "HEAD")) == "installing"
    repo.commit_to("refs/heads/agents/ci-1", {"observed.yaml": PROVISIONED})
    run = muster.evaluate(repo.path, NOW, "HEAD")
    assert _bucket(run) == "assignable"
    assert run.findings == []
    repo.commit(run.files)
    assert muster.evaluate(repo.path, NOW, "HEAD").files == {}, "a second run changes nothing"
    # A checkout without agents' refs has not heard the provisioner: nothing is taken back.
    for name in ("a", "ci-1"):
        repo.git("update-ref", "-d", f"refs/heads/agents/{name}")
    assert _bucket(muster.evaluate(repo.path, NOW, "HEAD")) == "assignable"


def test_a_provisioner_says_what_it_saw_of_its_cluster_and_nothing_else(repo: Repo) -> None:
    repo.commit({"pool.yaml": POOL})
    repo.commit(muster.evaluate(repo.path, NOW, "HEAD").files)
    hostile = PROVISIONED.replace("namespace: ci-1}", "namespace: ci-1, labels: {x: y}, deletionTimestamp: now}")
    hostile = hostile.replace("{installed: true}", "{installed: true, powerState: Hibernating, clusterName: mine}")
    other = PROVISIONED.replace("ci-1", "ci-2")
    elsewhere = PROVISIONED.replace("namespace: ci-1", "namespace: pools")
    files = {"observed.yaml": hostile, "other.yaml": other, "elsewhere.yaml": elsewhere}
    repo.commit_to("refs/heads/agents/ci-1", files)
    run = muster.evaluate(repo.path, NOW, "HEAD")
    told = "\n".join(codes(run))
    for refused in (
        "metadata.labels",
        "metadata.deletionTimestamp",
        "spec.powerState",
        "spec.clusterName",
        "it is about cluster 'ci-2'",
        "its namespace is 'pools'",
    ):
        assert refused in told
    assert {one.code for one in run.findings} == {"MUS106"}
    body = next(b for b in run.objects if b["kind"] == "ClusterDeployment")
    assert (body["spec"]["powerState"], body["spec"]["clusterName"]) == ("Running", "ci-1")
    assert "deletionTimestamp" not in body["metadata"]
    assert _bucket(run) == "assignable"


def test_a_ref_dated_ahead_shadows_nobody_and_is_told(repo: Repo) -> None:
    """The cluster's own ref counts; the one that would only win by its date is named."""
    repo.commit_to("refs/remotes/origin/agents/a", {"lease.yaml": lease("a", FRESH)}, date="2025-12-31T23:59:00Z")
    repo.commit_to("refs/remotes/other/agents/a", {"lease.yaml": lease("a", FRESH)}, date="2999-01-01T00:00:00Z")
    run = muster.evaluate(repo.path, NOW, "HEAD")
    assert [found.code for found in run.findings] == ["MUS122"]
    assert "other/agents/a" in f"{run.findings[0].file}{run.findings[0].message}"


USER = "system:open-cluster-management:c1:me"


def said(kind: str, name: str, namespace: str = "", **sections: Tree) -> Part:
    """What the agent of c1 says of an object."""
    known = {one.name: one for one in ALL}[kind]
    body = {"apiVersion": known.api_version, "kind": kind, "metadata": {"name": name, "labels": {CLUSTER_NAME: "c1"}}}
    source = SourceFile(f"{name}.yaml", "", lambda: b"", "agents/c1")
    return Part(known.id(name, namespace), known.versions[0], {**body, **sections}, Layer.INPUT, source)


@pytest.mark.parametrize(
    ("user", "named", "counts"),
    [(USER, USER, True), (USER, None, True), (USER, f"{USER}2", False), ("", None, True), ("", USER, False)],
)
def test_where_agents_sign_a_request_is_of_who_signed_it(user: str, named: str | None, counts: bool) -> None:
    spec = {"request": "aGVsbG8=", **({} if named is None else {"username": named})}
    found = filter_agent_parts([said("CertificateSigningRequest", "c1-a", spec=spec)], {"c1": SignerIdentity(user)})
    assert len(found.parts) == counts
    assert [one.code for one in found.findings] == ([] if counts else ["MUS106"])


def test_a_stranger_may_say_that_his_cluster_is_there_and_nothing_else() -> None:
    parts = [
        said("ManagedCluster", "c1", spec={"leaseDurationSeconds": 60}, status={"conditions": []}),
        said("Lease", "managed-cluster-lease", "c1", spec={"renewTime": "2026-01-01T00:00:00Z"}),
        said("AdapterReport", "dns", "c1", spec={}),
    ]
    for identities in ({}, {"c1": SignerIdentity("", "NotSigned", "it is not")}):
        (left,) = filter_agent_parts(parts, identities).parts
        assert set(left.body) == {"apiVersion", "kind", "metadata", "spec"}
    assert (
        len(filter_agent_parts(parts, {"c1": SignerIdentity(USER)}).parts) == len(filter_agent_parts(parts).parts) == 3
    )


WORK = "{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, "
APPLIED = (
    '{type: Applied, status: "True", reason: Done, lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1}'
)


def test_an_agent_reports_the_status_of_its_clusters_works_and_nothing_else_of_them(repo: Repo) -> None:
    repo.commit_to(
        "refs/heads/agents/a",
        {
            "lease.yaml": lease("a", FRESH),
            "web.yaml": f"{WORK}metadata: {{name: web, namespace: a, labels: {{owner: me}}}}, spec: {{}}, "
            f"status: {{conditions: [{APPLIED}], muster: {{}}}}}}\n",
            "other.yaml": f"{WORK}metadata: {{name: web, namespace: b}}, status: {{conditions: [{APPLIED}]}}}}\n",
        },
    )
    run = muster.evaluate(repo.path, NOW, "HEAD")
    (work,) = (body for body in run.objects if body["kind"] == "ManifestWork")
    assert work["metadata"] == {"name": "web", "namespace": "a"}
    assert [condition["type"] for condition in work["status"]["conditions"]] == ["Applied"]
    assert "spec" not in work
    refused = [found.message for found in run.findings]
    assert [text for text in refused if "its namespace is 'b'" in text]
    for name in ("metadata.labels", "spec", "status.muster"):
        assert [text for text in refused if f" {name}" in text or f"{name} " in text], (name, refused)


def test_an_invalid_report_of_a_work_counts_as_not_sent(repo: Repo) -> None:
    declared = f"{WORK}metadata: {{name: web, namespace: a}}, spec: {{workload: {{manifests: []}}}}}}\n"
    report = (
        f"{WORK}metadata: {{name: web, namespace: a}}, status: {{conditions: [{{type: Applied, status: yes}}]}}}}\n"
    )
    repo.commit({"clusters/a/works/web.yaml": declared, "clusters/a/works/web-status.yaml": report})
    run = muster.evaluate(repo.path, NOW, "HEAD")
    (work,) = (body for body in run.objects if body["kind"] == "ManifestWork")
    assert "status" not in work
    assert [found.file for found in run.findings] == ["clusters/a/works/web-status.yaml"]
