"""Stories of sets of works: who gets the template, when, and what the set says."""

import pytest
import yaml

from tests.rules.works.repository import WorkFleet, condition, instant


@pytest.fixture
def fleet() -> WorkFleet:
    """Four clusters that all have one placement."""
    return WorkFleet()


def test_all_at_once_and_the_labels_of_upstream(fleet: WorkFleet) -> None:
    fleet.set(1, metadata={"labels": {"team": "shop"}})
    fleet.at(0)
    assert fleet.versions() == "a1 b1 c1 d1"
    work = fleet.works()["a"]
    assert work["metadata"]["labels"] == {
        "team": "shop",
        "work.open-cluster-management.io/manifestworkreplicaset": "shop.web",
        "work.open-cluster-management.io/placementname": "web",
    }
    assert work["metadata"]["generation"] == 1
    assert work["metadata"]["annotations"]["muster.dev/spec-digest"] == fleet.status()["muster"]["rollout"]["revision"]
    assert fleet.said() == "False Progressing"
    for name in "abcd":
        fleet.done(name, 5)
    fleet.at(10)
    assert fleet.said() == "True Complete"
    assert fleet.said("ManifestworkApplied") == "True AsExpected"
    assert fleet.status()["summary"] == {"total": 4, "applied": 4, "available": 4, "progressing": 0, "degraded": 0}


def test_one_after_the_other_each_soaked_to_the_second(fleet: WorkFleet) -> None:
    fleet.set(1, maxConcurrency=1, minSuccessTime="5m")
    fleet.at(0)
    assert fleet.versions() == "a1"
    fleet.done("a", 30)
    fleet.at(31)
    assert fleet.status()["muster"]["rollout"] == {
        "revision": fleet.works()["a"]["metadata"]["annotations"]["muster.dev/spec-digest"],
        "selected": 4,
        "done": 0,
        "soaking": 1,
        "until": instant(331),
    }
    assert fleet.at(330).versions() == "a1"
    assert fleet.horizon() == 331
    assert fleet.at(331).versions() == "a1 b1"


def test_a_change_of_the_template_is_a_new_rollout_and_old_reports_do_not_count(fleet: WorkFleet) -> None:
    fleet.set(1, maxConcurrency=1)
    for second, name in enumerate("abcd"):
        fleet.at(second * 10)
        fleet.done(name, second * 10 + 5)
    assert fleet.at(40).said() == "True Complete"
    fleet.set(2, maxConcurrency=1, minSuccessTime="1m")
    assert fleet.at(50).versions() == "a2 b1 c1 d1"
    assert fleet.works()["a"]["metadata"]["generation"] == 2
    assert fleet.states() == "a ToApply, b Succeeded, c Succeeded, d Succeeded"
    # The agent keeps the time at which Progressing became False, which was for the template before.
    fleet.done("a", 5)
    fleet.at(60)
    assert fleet.horizon() == 120
    assert fleet.at(120).versions() == "a2 b2 c1 d1"


def test_too_many_failures_stop_the_rollout_and_say_who_failed(fleet: WorkFleet) -> None:
    fleet.set(1, maxConcurrency=2, maxFailures=1)
    fleet.at(0)
    fleet.reports("a", condition("Applied", "False", 5))
    fleet.at(10)
    assert (fleet.versions(), fleet.said()) == ("a1 b1 c1", "False Progressing")
    fleet.reports("b", condition("Applied", "True", 15), condition("Degraded", "True", 15))
    fleet.at(20)
    assert fleet.versions() == "a1 b1 c1"
    assert fleet.said() == "False Stopped: 2 clusters failed: a, b"
    fleet.done("b", 25)
    assert fleet.at(30).versions() == "a1 b1 c1 d1"


def test_silence_neither_soaks_nor_succeeds_and_ends_at_the_deadline(fleet: WorkFleet) -> None:
    fleet.tolerating().set(1, maxConcurrency=1, minSuccessTime="10m", progressDeadline="20m")
    fleet.at(0)
    fleet.done("a", 10)
    fleet.at(20)
    expiry = 20 + 5 * 60
    fleet.at(expiry - 1, silent="a")
    assert fleet.states() == "a Succeeded"
    fleet.at(expiry, silent="a")
    assert fleet.works()["a"]["status"]["muster"]["rollout"]["silentAfter"] == instant(20)
    assert fleet.said() == "False Progressing: waits for silent a"
    assert fleet.status()["summary"]["available"] == 0
    assert fleet.at(1200, silent="a").versions() == "a1"
    assert fleet.horizon() == 20 + 1200, "since its last sign of life"
    fleet.at(20 + 1200, silent="a")
    assert fleet.said() == "False Stopped: 1 cluster failed: a (silent)"
    fleet.at(1230)
    fleet.at(1829)
    assert (fleet.versions(), fleet.horizon()) == ("a1", 1230 + 600), "heard again, and soaks from the start"
    assert fleet.at(1230 + 600).versions() == "a1 b1"


def test_one_work_per_cluster_of_the_first_placement_that_chooses_it(fleet: WorkFleet) -> None:
    fleet.placement("more")
    fleet.set(1, refs=[{"name": "web"}, {"name": "more"}])
    fleet.at(0)
    assert fleet.versions() == "a1 b1 c1 d1"
    assert "MUS431" in fleet.codes()
    assert [one["availableDecisionGroups"] for one in fleet.status()["placementSummary"]] == [
        "1 (4 / 4 clusters applied)",
        "1 (0 / 0 clusters applied)",
    ]
    fleet.set(1, refs=[{"name": "more"}, {"name": "web"}])
    fleet.at(10)
    labels = {
        work["metadata"]["labels"]["work.open-cluster-management.io/placementname"] for work in fleet.works().values()
    }
    assert labels == {"more"}
    assert {work["metadata"]["generation"] for work in fleet.works().values()} == {1}


def test_a_cluster_that_leaves_loses_its_work_whatever_template_it_has(fleet: WorkFleet) -> None:
    fleet.set(1, maxConcurrency=1)
    fleet.at(0)
    fleet.set(2, metadata={"annotations": {"muster.dev/paused": "true"}})
    assert fleet.at(10).versions() == "a1"
    assert fleet.said() == "False Waiting: the annotation muster.dev/paused is set"
    fleet.placement("web", predicates=[{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"no": "one"}}}}])
    assert fleet.at(20).versions() == ""
    assert fleet.said() == "False Progressing: no placement chooses a cluster"
    assert fleet.said("PlacementVerified") == "False PlacementDecisionEmpty"


def test_a_missing_placement_ends_the_pass(fleet: WorkFleet) -> None:
    fleet.set(1)
    fleet.at(0)
    before = fleet.status()["summary"]
    fleet.write("web-placement.yaml", None)
    fleet.at(10)
    assert fleet.said("PlacementVerified") == "False PlacementDecisionNotFound"
    assert (fleet.versions(), fleet.status()["summary"]) == ("a1 b1 c1 d1", before)


def test_a_set_that_goes_takes_its_works_with_it_and_a_broken_one_keeps_them(fleet: WorkFleet) -> None:
    fleet.set(1)
    fleet.at(0)
    text = fleet.files["web.yaml"]
    fleet.files["web.yaml"] = text.replace("placementRefs", "placmentRefs")
    assert fleet.at(10).versions() == "a1 b1 c1 d1"
    fleet.files["web.yaml"] = text + "  x: [\n"
    assert fleet.at(20).versions() == "a1 b1 c1 d1"
    fleet.set(1, metadata={"deletionTimestamp": instant(25)})
    assert fleet.at(30).versions() == ""
    fleet.set(1)
    assert fleet.at(40).versions() == "a1 b1 c1 d1"
    fleet.write("web.yaml", None)
    assert fleet.at(50).versions() == ""


def test_a_strategy_that_cannot_be_followed_holds_all(fleet: WorkFleet) -> None:
    fleet.set(1, maxConcurrency=1)
    fleet.at(0)
    fleet.set(2, maxConcurrency=1, mandatoryDecisionGroups=[{"groupName": "canary"}])
    fleet.at(10)
    assert fleet.versions() == "a1"
    assert fleet.said().startswith("False Stopped: the strategy of placement web cannot be followed: ")
    assert fleet.codes() == ["MUS430"]
    groups = {
        "groupStrategy": {
            "decisionGroups": [
                {"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"canary": "true"}}}}
            ]
        }
    }
    fleet.placement("web", decisionStrategy=groups)
    fleet.at(20)
    assert (fleet.versions(), fleet.codes()) == ("a1", ["MUS430"])
    fleet.write(
        "clusters/c/cluster.yaml",
        {
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": "c", "labels": {"canary": "true"}},
            "spec": {"hubAcceptsClient": True},
        },
    )
    assert fleet.at(30).versions() == "a1 c2"
    assert fleet.codes() == []


def test_an_agents_report_of_an_earlier_work_does_not_count_for_a_later_one(fleet: WorkFleet) -> None:
    fleet.set(1)
    fleet.at(0)
    fleet.done("a", 5)
    fleet.at(10)
    fleet.write("web.yaml", None)
    fleet.at(20)
    fleet.set(1)
    fleet.at(30)
    assert fleet.works()["a"]["metadata"]["generation"] == 2
    assert fleet.states().startswith("a ToApply, ")


def test_a_name_that_makes_no_label(fleet: WorkFleet) -> None:
    fleet.set(1, metadata={"name": "w" * 60})
    fleet.at(0)
    assert "MUS434" in fleet.codes()
    assert not fleet.works()


def test_edited_works_are_written_again(fleet: WorkFleet) -> None:
    fleet.set(1)
    fleet.at(0)
    path = next(path for path in fleet.files if path.startswith("derived/manifestworks/a/"))
    body = yaml.safe_load(fleet.files[path])
    fleet.files[path] = "x: ["
    assert fleet.at(10).versions() == "a1 b1 c1 d1"
    assert yaml.safe_load(fleet.files[path])["spec"] == body["spec"]


def test_works_of_a_live_hub_are_taken_over_with_their_names_and_times(fleet: WorkFleet) -> None:
    fleet.set(1)
    body = yaml.safe_load(fleet.files["web.yaml"])
    labels = {
        "work.open-cluster-management.io/manifestworkreplicaset": "shop.web",
        "work.open-cluster-management.io/placementname": "web",
    }
    types = (("Applied", "True"), ("Available", "True"), ("Progressing", "False"))
    for name in "abcd":
        fleet.write(
            f"clusters/{name}/works/web.yaml",
            {
                "apiVersion": "work.open-cluster-management.io/v1",
                "kind": "ManifestWork",
                "metadata": {"name": "webx7k2p", "namespace": name, "generation": 3, "labels": labels},
                "spec": body["spec"]["manifestWorkTemplate"],
                "status": {"conditions": [condition(t, s, -600, observedGeneration=3) for t, s in types]},
            },
        )
    fleet.at(0)
    assert fleet.said() == "True Complete"
    work = fleet.works()["a"]["metadata"]
    assert (work["name"], work["generation"]) == ("webx7k2p", 3)
    fleet.set(2)
    assert fleet.at(10).versions() == "a2 b2 c2 d2"
    assert fleet.works()["a"]["metadata"]["generation"] == 4


def test_a_freeze_holds_the_next_clusters_until_an_approval_breaks_it(fleet: WorkFleet) -> None:
    freeze = {"name": "audit", "period": "2026-01-01T00:00:10Z/2026-01-01T00:10:00Z"}
    api = {"apiVersion": "muster.dev/v1alpha1"}
    fleet.write("fleet.yaml", {**api, "kind": "Fleet", "metadata": {"name": "f"}, "spec": {"freezes": [freeze]}})
    fleet.set(1, maxConcurrency=1)
    fleet.at(0)
    fleet.done("a", 5)
    assert fleet.at(20).versions() == "a1"
    waiting = "freeze 'audit' until 2026-01-01T00:10:00Z; to break it, merge muster/proposals/freeze-audit"
    assert [held["reason"] for held in fleet.run.held] == [waiting]
    assert fleet.said() == f"False Waiting: {waiting}"
    effect = fleet.run.held[0]["effect"]
    assert effect == f"rollout web {fleet.status()['muster']['rollout']['revision']}"
    entry = {"object": "ManifestWorkReplicaSet/shop/web", "effect": effect, "since": instant(20)}
    approval = {**api, "kind": "Approval", "metadata": {"name": "freeze-audit"}, "spec": {"effects": [entry]}}
    fleet.write("approval.yaml", approval)
    assert fleet.at(30).versions() == "a1 b1"
    fleet.done("b", 35)
    assert fleet.at(40).versions() == "a1 b1 c1", "it is broken for this template"
    fleet.done("c", 45)
    fleet.set(2, maxConcurrency=1)
    assert fleet.at(50).versions() == "a1 b1 c1"
    assert fleet.at(600).versions() == "a2 b1 c1"
