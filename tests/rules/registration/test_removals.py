"""Removing many clusters at once is disruptive: it waits until somebody says that it is meant."""

from dataclasses import replace

import pytest

from muster.data.kinds import MANAGED_CLUSTER
from muster.data.tree import dig
from muster.rules.registration.removals import removals
from muster.run.run import Run
from tests.support.outages import Fleet, disrupted, effects, fleet_condition, held

FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata:
  name: fleet
  annotations: {muster.dev/allow-disruption: "until 2026-01-01T01:00:00Z: eu is closed"}
spec: {}
"""
PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: shop}
spec: {}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: shop}
spec: {clusterSet: global}
"""


def budget(spec: str, name: str = "default") -> str:
    return f"apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {{name: {name}}}\nspec: {spec}\n"


class Shrinking(Fleet):
    """A fleet of which some clusters' files can be deleted."""

    def __init__(self, size: int, **more: str) -> None:
        super().__init__(size)
        self.texts |= more
        self.gone: set[str] = set()
        self.evaluate()

    def files(self) -> dict[str, str]:
        return {path: text for path, text in super().files().items() if path not in self.gone}

    def delete(self, *names: str) -> Run:
        """Delete the files of clusters, evaluate, and check that a second evaluation changes nothing."""
        self.gone |= {f"clusters/{name}.yaml" for name in names}
        run = self.evaluate()
        assert self.look().files == {}
        return run

    @property
    def derived_clusters(self) -> list[str]:
        return sorted(path.split("/")[-1][:-5] for path in self.derived if path.startswith("derived/managedclusters/"))


def test_two_of_twelve_may_always_go() -> None:
    fleet = Shrinking(12)
    run = fleet.delete("c00", "c05")
    assert (run.held, fleet_condition(run, "RemovalHeld"), run.findings) == ([], {}, [])
    assert len(fleet.derived_clusters) == 10
    fleet.delete("c01", "c02")
    assert len(fleet.derived_clusters) == 8, "each run has its budget"


def test_a_lost_folder_removes_nothing_and_says_so() -> None:
    fleet = Shrinking(12, web=PLACEMENT)
    fleet.texts["web.yaml"] = fleet.texts.pop("web")
    fleet.broken_dns = {"c03"}
    before = effects(fleet.evaluate())
    parts = {path: text for path, text in fleet.derived.items() if path.startswith("derived/managedclusters/")}
    decisions = fleet.derived["derived/placementdecisions/shop/web-decision-1.yaml"]
    run = fleet.delete(*fleet.names)
    assert held(run) == {(name, "removal") for name in fleet.names}
    text = "12 of 12 clusters are no longer declared, budget 'default' lets 2 be removed at once"
    assert {entry["reason"] for entry in run.held} == {text}
    condition = fleet_condition(run, "RemovalHeld")
    assert (condition["status"], condition["reason"]) == ("True", "TooManyRemoved")
    assert condition["message"].startswith(f"{text}. c00, c01, ")
    assert condition["message"].endswith(" and 2 more stay as they are.")
    (found,) = run.findings
    assert (found.code, found.severity.value) == ("MUS420", "warning")
    assert found.message.startswith("c00, c01, c02")
    assert f"Muster-Allow-Removal: {', '.join(fleet.names)}`" in found.hint
    assert effects(run) == before
    assert fleet.derived["derived/placementdecisions/shop/web-decision-1.yaml"] == decisions
    for path, text in parts.items():
        assert fleet.derived[path].startswith(text.removesuffix("\n").rpartition("\n  muster:")[0] or text)
    assert dig(next(b for b in run.objects if b["metadata"]["name"] == "c00"), "status", "muster", "held") == [
        {"effect": "removal", "heldBy": "DisruptionBudget/default"}
    ]


def test_what_is_restored_is_as_it_was() -> None:
    fleet = Shrinking(12)
    before = dict(fleet.derived)
    fleet.delete(*fleet.names[:6])
    fleet.gone.clear()
    run = fleet.evaluate()
    after = {path: text for path, text in fleet.derived.items() if not path.startswith("derived/fleets/")}
    assert after == before
    assert (run.held, fleet_condition(run, "RemovalHeld")["status"]) == ([], "False")


def test_the_fleet_lets_them_go_until_a_time() -> None:
    fleet = Shrinking(12)
    fleet.delete(*fleet.names[:6])
    fleet.texts["fleet.yaml"] = FLEET
    run = fleet.evaluate()
    assert (run.held, fleet.derived_clusters) == ([], fleet.names[6:])
    fleet.now = fleet.now.replace(hour=2)
    assert len(fleet.delete(*fleet.names[6:9]).held) == 3, "it has expired"


@pytest.mark.parametrize(
    ("spec", "goes", "waits"),
    [
        ("{maxRemoved: 0}", 0, 1),
        ("{maxRemoved: 1}", 1, 2),
        ("{maxRemoved: 5}", 5, 6),
        ("{maxRemoved: 0%}", 2, 3),
        ("{maxRemoved: 50%}", 6, 7),
        ("{}", 2, 3),
        ("{maxRemovd: 100%}", 0, 1),
    ],
)
def test_how_many_may_go_at_once(spec: str, goes: int, waits: int) -> None:
    for number in (goes, waits):
        fleet = Shrinking(12)
        fleet.texts["budget.yaml"] = budget(spec)
        fleet.delete(*fleet.names[:number])
        assert len(fleet.derived_clusters) == (12 if number > goes else 12 - number), number


def test_ten_percent_of_a_large_fleet() -> None:
    for number, left in ((4, 36), (5, 40)):
        fleet = Shrinking(40)
        fleet.delete(*fleet.names[:number])
        assert len(fleet.derived_clusters) == left


def test_the_strictest_budget_counts_and_one_with_a_selector_does_not() -> None:
    fleet = Shrinking(12)
    fleet.texts["a.yaml"] = budget("{maxRemoved: 1}", "careful")
    fleet.texts["b.yaml"] = budget("{maxRemoved: 0, selector: {matchLabels: {region: eu}}}", "eu")
    assert "budget 'careful' lets 1" in fleet.delete("c00", "c01").held[0]["reason"]
    fleet.gone.remove("clusters/c00.yaml")
    assert fleet.evaluate().held == []


def test_a_rename_is_a_removal() -> None:
    fleet = Shrinking(12)
    for name in fleet.names[:6]:
        text = super(Shrinking, fleet).files()[f"clusters/{name}.yaml"]
        fleet.texts[f"clusters/{name}-new.yaml"] = text.replace(name, f"{name}-new")
    run = fleet.delete(*fleet.names[:6])
    assert {name for name, _ in held(run)} == set(fleet.names[:6])
    assert "6 of 18" in run.held[0]["reason"]


def test_what_is_on_its_way_out_or_was_never_let_in_may_go() -> None:
    fleet = Shrinking(0)
    cluster = (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        "metadata: {{name: {name}{mark}}}\nspec: {{hubAcceptsClient: {accepted}}}\n"
    )
    mark = ', deletionTimestamp: "2026-01-01T00:00:00Z"'
    for number in range(6):
        fleet.texts[f"in{number}"] = cluster.format(name=f"in{number}", mark=mark, accepted="true")
        fleet.texts[f"out{number}"] = cluster.format(name=f"out{number}", mark="", accepted="false")
    fleet.texts = {f"{name}.yaml" if "." not in name else name: text for name, text in fleet.texts.items()}
    fleet.evaluate()
    fleet.texts = {}
    run = fleet.evaluate()
    assert (run.held, fleet.derived_clusters) == ([], [])


def test_held_clusters_count_in_an_outage() -> None:
    fleet = Shrinking(12)
    fleet.delete(*fleet.names[:6])
    fleet.dark(*fleet.names[6:])
    run = fleet.evaluate()
    assert len(disrupted(run)) == 6, "six of twelve, not six of six"


@pytest.mark.parametrize(("allowed", "goes"), [(0, 0), (5, 5), (9, 9), (10, 12), (12, 12)])
def test_those_that_are_allowed_go_and_the_others_count(allowed: int, goes: int) -> None:
    fleet = Shrinking(12)
    fleet.gone = {f"clusters/{name}.yaml" for name in fleet.names}
    ids = frozenset(MANAGED_CLUSTER.id(name) for name in fleet.names[:allowed])
    seen = fleet.look().fleet
    asked = replace(seen, broken=frozenset(), held=(), read=replace(seen.read, allowed=ids))
    found = removals(asked, fleet.now)
    assert (found.budget is None) == (goes == 12)
    assert len(found.gone) == 12 - allowed


def test_what_lies_in_the_clusters_namespace_is_kept_with_it() -> None:
    fleet = Shrinking(0)
    fleet.texts = {
        f"m{number}.yaml": (
            f"apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {{name: m{number}}}\n"
            "spec: {syncMode: Push}\nstatus: {probe: {readyz: 200}}\n---\n"
            f"apiVersion: muster.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: workers, namespace: m{number}}}\n"
            "spec: {replicas: 3}\n"
        )
        for number in range(6)
    }
    fleet.evaluate()
    before = set(fleet.derived)
    assert "derived/nodepools/m0/workers.yaml" in before
    fleet.texts = {}
    run = fleet.evaluate()
    assert len(run.held) == 6
    assert before <= set(fleet.derived)
    assert fleet.look().files == {}
