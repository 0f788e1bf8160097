"""Silence is no recovery: a taint that stands because of what was reported goes when that is news, else it stays."""

from datetime import UTC, datetime, timedelta

import pytest

from muster.data.tree import dig
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
#: How long the agent of a ManagedCluster may be silent, and that of a cluster of Karmada's, in seconds.
GRACE, KARMADA_GRACE = 300, 41
OCM, KARMADA = "cluster.open-cluster-management.io/v1", "cluster.karmada.io/v1alpha1"
POLICY = """\
apiVersion: muster.dev/v1alpha1
kind: TaintPolicy
metadata: {{name: full}}
spec: {{target: {{kind: {kind}}}, taints: [{{key: full, effect: {effect}, when: "{when}"}}]}}
"""
#: Two ways to say the same; the other one looks at every condition that there is.
WHENS = {
    "by name": "has(reported.Disk) && reported.Disk.status == 'True'",
    "all of them": "reported.exists(t, t == 'Disk' && reported[t].status == 'True')",
}


def files(kind: str, when: str, spec: str = "") -> dict[str, str]:
    """A cluster that people want, and the policy."""
    managed = kind == "ManagedCluster"
    spec = spec or ("hubAcceptsClient: true" if managed else "syncMode: Pull")
    wanted = f"apiVersion: {OCM if managed else KARMADA}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{{spec}}}\n"
    effect = "NoSelect" if managed else "NoSchedule"
    return {"a.yaml": wanted, "policy.yaml": POLICY.format(kind=kind, effect=effect, when=when)}


def said(kind: str, ready: str, **conditions: str) -> str:
    """What is reported of the cluster."""
    managed = kind == "ManagedCluster"
    told = {"ManagedClusterConditionAvailable" if managed else "Ready": ready, **conditions}
    listed = ", ".join(
        f"{{type: {type_}, status: '{status}', reason: R, message: m}}" for type_, status in told.items()
    )
    head = f"apiVersion: {OCM if managed else KARMADA}\nkind: {kind}\nmetadata: {{name: a}}\n"
    return f"{head}status: {{conditions: [{listed}]}}\n"


def lease(kind: str, second: int) -> str:
    """The agent's, renewed at a second of the story."""
    renewed = (NOON + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")
    name, space = ("managed-cluster-lease", "a") if kind == "ManagedCluster" else ("a", "karmada-cluster")
    head = f"apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: {name}, namespace: {space}}}\n"
    return f"{head}spec: {{renewTime: '{renewed}'}}\n"


def tainted(texts: dict[str, str], second: int) -> bool:
    """Run muster at a second, commit what follows, and say whether the taint stands."""
    settled = settle(MemorySnapshot(dict(texts)), NOON + timedelta(seconds=second))
    for path, text in settled.files.items():
        if text is None:
            texts.pop(path)
        else:
            texts[path] = text
    (cluster,) = [
        body
        for body in settled.last.objects
        if dig(body, "metadata", "name") == "a" and "spec" in body and body["kind"] in ("ManagedCluster", "Cluster")
    ]
    return "full" in [taint["key"] for taint in cluster["spec"].get("taints", ())]


#: Of which kind the cluster is, what is reported then, when the lease was renewed last (None: there is none any more),
#: when muster looks, and whether the taint stays.
STORIES = {
    "an agent that is alive says that it is over": ("ManagedCluster", "False", 0, GRACE - 1, False),
    "... and when its lease has run out, nobody knows": ("ManagedCluster", "False", 0, GRACE, True),
    "who is heard again is believed again": ("ManagedCluster", "False", GRACE, GRACE + 1, False),
    "an agent that is alive reports it no longer": ("ManagedCluster", None, 0, GRACE - 1, False),
    "an agent that is silent reports it no longer": ("ManagedCluster", None, 0, GRACE, True),
    "an agent that is alive does not know": ("ManagedCluster", "Unknown", 0, 60, True),
    "an agent that had joined is gone, with all that it said": ("ManagedCluster", None, None, 60, True),
    "in Karmada an agent that is alive says that it is over": ("Cluster", "False", 0, KARMADA_GRACE - 1, False),
    "in Karmada an agent is silent": ("Cluster", "False", 0, KARMADA_GRACE, True),
    "in Karmada an agent that is silent reports it no longer": ("Cluster", None, 0, KARMADA_GRACE, True),
}


@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("story", STORIES)
def test_a_taint_goes_when_it_is_known_that_its_reason_is_gone(story: str, when: str) -> None:
    kind, then, renewed, second, stays = STORIES[story]
    texts = files(kind, WHENS[when]) | {"said.yaml": said(kind, "True", Disk="True"), "lease.yaml": lease(kind, 0)}
    assert tainted(texts, 1)
    texts["said.yaml"] = said(kind, "True", **({"Disk": then} if then else {}))
    if renewed is None:
        del texts["lease.yaml"]
    else:
        texts["lease.yaml"] = lease(kind, renewed)
    assert tainted(texts, second) is stays


@pytest.mark.parametrize(
    ("kind", "spec", "ready", "stays"),
    [
        ("ManagedCluster", "hubAcceptsClient: false", "True", False),
        ("ManagedCluster", "hubAcceptsClient: true", "True", True),  # whoever reports of it has joined
        ("Cluster", "syncMode: Push", "Unknown", False),
        ("Cluster", "syncMode: Pull", "True", False),
        ("Cluster", "syncMode: Pull", "Unknown", True),
    ],
)
def test_without_a_lease_files_are_peoples_word_where_no_agent_is_missed(
    kind: str, spec: str, ready: str, stays: bool
) -> None:
    texts = files(kind, WHENS["by name"], spec) | {"said.yaml": said(kind, ready, Disk="True")}
    assert tainted(texts, 1)
    texts["said.yaml"] = said(kind, ready)
    assert tainted(texts, 2) is stays
