"""Placements through whole evaluations: who is chosen, who leaves and why, and when time changes it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.rules.placements.repository import START, Evaluated, Repository, at

TAINT = {"key": "gpu", "effect": "NoSelect"}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A fleet of three clusters in three zones."""
    found = Repository(tmp_path)
    for name, zone in (("a", "x"), ("b", "y"), ("c", "z")):
        found.cluster(name, labels={"zone": zone})
    return found


def test_all_accepted_clusters_of_bound_sets_are_chosen(repository: Repository) -> None:
    repository.placement("web")
    repository.cluster("d", accepted=False)
    repository.cluster("e", deletionTimestamp=at(-10))
    done = repository.evaluate()
    assert done.chosen == {"web": "a b c"}
    assert done.condition("Placement", "web", "PlacementSatisfied")[:2] == ("True", "AllDecisionsScheduled")
    assert {name: reason.rule for name, reason in done.why("web").items()} == {
        "a": "selected",
        "b": "selected",
        "c": "selected",
        "d": "pending",
        "e": "deleting",
    }


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ({"labelSelector": {"matchLabels": {"zone": "x"}}}, "a"),
        ({"labelSelector": {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["x"]}]}}, "b c d"),
        ({"claimSelector": {"matchExpressions": [{"key": "v", "operator": "In", "values": ["1"]}]}}, "d"),
        ({"claimSelector": {"matchExpressions": [{"key": "v", "operator": "DoesNotExist"}]}}, "a b c"),
        ({"celSelector": {"celExpressions": ["managedCluster.metadata.labels['zone'] > 'x'"]}}, "b c"),
        ({"celSelector": {"celExpressions": ["'[1]'.parseJSON()[0] == 1", "managedCluster.metadata.name > 'c'"]}}, "d"),
        ({"celSelector": {"celExpressions": ["managedCluster.scores('cost').exists(s, s.value > 5)"]}}, "c"),
        ({"celSelector": {"celExpressions": ["managedCluster.status.clusterClaims.exists(c, c.value == '1')"]}}, "d"),
        ({}, "a b c d"),
    ],
)
def test_predicates(repository: Repository, selector: Any, chosen: str) -> None:
    repository.cluster("d", status={"clusterClaims": [{"name": "v", "value": "1"}]})
    scores = {"scores": [{"name": "low", "value": 9}]}
    repository.object("AddOnPlacementScore", "cost", version="v1alpha1", namespace="c", status=scores)
    repository.placement("web", {"predicates": [{"requiredClusterSelector": selector}]})
    assert repository.evaluate().chosen == {"web": chosen}


def test_a_toleration_ends_to_the_second(repository: Repository) -> None:
    repository.placement("web", {"tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 60}]})
    repository.evaluate()
    repository.cluster("b", taints=[TAINT])
    assert repository.evaluate(100).seconds == 160
    assert repository.evaluate(159).chosen == {"web": "a b c"}
    done = repository.evaluate(160)
    assert done.chosen == {"web": "a c"}
    assert done.told == ["cluster b left placement apps/web because the toleration of its taint gpu:NoSelect has ended"]
    assert done.seconds is None


def test_no_select_if_new_spares_what_is_chosen(repository: Repository) -> None:
    repository.placement("web")
    repository.evaluate()
    repository.cluster("b", taints=[{"key": "old", "effect": "NoSelectIfNew"}])
    repository.placement("api")
    assert repository.evaluate(1).chosen == {"web": "a b c", "api": "a c"}


def test_prefer_no_select_comes_after_all_others_whatever_the_score(repository: Repository) -> None:
    repository.placement("web", {"numberOfClusters": 1})
    assert repository.evaluate().chosen == {"web": "a"}
    repository.cluster("a", taints=[{"key": "soft", "effect": "PreferNoSelect"}])
    done = repository.evaluate(1)
    assert done.chosen == {"web": "b"}
    assert done.told[0].startswith("cluster a left placement apps/web because only 1 wanted, and it has a Prefer")
    repository.placement("web", {"numberOfClusters": 3})
    assert repository.evaluate(2).chosen == {"web": "a b c"}


def test_a_preference_that_time_ends_is_a_horizon_only_where_it_matters(repository: Repository) -> None:
    toleration = {"key": "soft", "operator": "Exists", "tolerationSeconds": 30}
    repository.cluster("a", taints=[{"key": "soft", "effect": "PreferNoSelect"}])
    repository.placement("web", {"numberOfClusters": 1, "tolerations": [toleration]})
    assert repository.evaluate().seconds == 30
    repository.placement("web", {"tolerations": [toleration]})
    assert repository.evaluate(1).seconds is None
    repository.placement("web", {"numberOfClusters": 1, "tolerations": [toleration]})
    assert repository.evaluate(30).chosen == {"web": "b"}


def test_scores_of_add_ons_decide_until_they_run_out(repository: Repository) -> None:
    for name, value in (("a", 10), ("c", 90)):
        status = {"scores": [{"name": "low", "value": value}], **({"validUntil": at(60)} if name == "c" else {})}
        repository.object("AddOnPlacementScore", "cost", version="v1alpha1", namespace=name, status=status)
    coordinate = {"type": "AddOn", "addOn": {"resourceName": "cost", "scoreName": "low"}}
    policy = {"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate}]}
    repository.placement("web", {"numberOfClusters": 1, "prioritizerPolicy": policy})
    done = repository.evaluate()
    assert (done.chosen, done.seconds) == ({"web": "c"}, 61)
    assert repository.evaluate(60).chosen == {"web": "c"}
    assert repository.evaluate(61).chosen == {"web": "a"}


def test_balance_spreads_placements_and_steady_keeps_them(repository: Repository) -> None:
    for name in ("p1", "p2", "p3"):
        repository.placement(name, {"numberOfClusters": 1})
    assert repository.evaluate().chosen == {"p1": "a", "p2": "b", "p3": "c"}
    repository.cluster("aa")
    assert repository.evaluate(1).chosen == {"p1": "a", "p2": "b", "p3": "c"}


def test_more_memory_wins(repository: Repository) -> None:
    for name, memory in (("a", "4Gi"), ("b", "8Gi"), ("c", "1000M")):
        amounts = {"memory": memory}
        repository.cluster(name, status={"allocatable": amounts, "capacity": dict(amounts)})
    policy = {"mode": "Exact", "configurations": [{"scoreCoordinate": {"builtIn": "ResourceAllocatableMemory"}}]}
    repository.placement("web", {"numberOfClusters": 1, "prioritizerPolicy": policy})
    done = repository.evaluate()
    assert done.chosen == {"web": "b"}
    assert {name: reason.total for name, reason in done.why("web").items()} == {"a": -13, "b": 100, "c": -100}


def test_denied_deleted_and_removed_clusters_leave_at_once(repository: Repository) -> None:
    repository.cluster("d")
    repository.placement("web")
    repository.evaluate()
    repository.cluster("a", accepted=False)
    repository.cluster("b", deletionTimestamp=at(0))
    repository.write("ManagedCluster--c.yaml", None)
    done = repository.evaluate(1)
    assert done.chosen == {"web": "d"}
    assert done.told == [
        "cluster a left placement apps/web because the hub no longer accepts it",
        "cluster b left placement apps/web because it is being deleted",
        "cluster c left placement apps/web because there is no such cluster any more",
    ]


def test_a_broken_cluster_stays_where_it_is(repository: Repository) -> None:
    repository.placement("web", {"numberOfClusters": 2})
    assert repository.evaluate().chosen == {"web": "a b"}
    repository.cluster("a", labels={"zone": "x"}, taints=[{"key": "gpu"}])
    repository.write("ManagedCluster--b.yaml", "kind: ManagedCluster\napiVersion: [")
    done = repository.evaluate(1)
    assert done.chosen == {"web": "a b"}
    assert {name: reason.rule for name, reason in done.why("web").items() if reason.selected} == {
        "a": "kept",
        "b": "kept",
    }


@pytest.mark.parametrize("broken", ["Placement-apps-web.yaml", "ManagedClusterSet--eu.yaml", "Bind"])
def test_what_is_broken_around_it_moves_no_cluster(repository: Repository, broken: str) -> None:
    repository.object(
        "ManagedClusterSet", "eu", {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}, version="v1beta2"
    )
    repository.cluster("a", labels={"cluster.open-cluster-management.io/clusterset": "eu"})
    bind = repository.object(
        "ManagedClusterSetBinding", "eu", {"clusterSet": "eu"}, version="v1beta2", namespace="apps"
    )
    repository.placement("web", {"clusterSets": ["eu"]})
    assert repository.evaluate().chosen == {"web": "a"}
    file = bind if broken == "Bind" else broken
    text = (repository.root / file).read_text(encoding="utf-8")
    repository.write(file, text.replace("spec:", "spec:\n  typo: 1"))
    done = repository.evaluate(1)
    stays = [] if broken.startswith("Placement") else ["MUS112"]
    assert (done.codes, done.chosen) == (["MUS201", *stays], {"web": "a"})


def test_a_new_placement_waits_while_its_set_has_an_error(repository: Repository) -> None:
    repository.object("ManagedClusterSet", "eu", {"clusterSelector": {}, "typo": 1}, version="v1beta2")
    repository.object("ManagedClusterSetBinding", "eu", {"clusterSet": "eu"}, version="v1beta2", namespace="apps")
    repository.placement("web", {"clusterSets": ["eu"]})
    done = repository.evaluate()
    assert (done.codes, done.chosen) == (["MUS201", "MUS112"], {})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"tolerations": [{"operator": "Equal"}]}, "TaintToleration:If the key is empty, operator must be Exists."),
        (
            {"tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]},
            "TaintToleration:If the operator is Exists, the value should be empty.",
        ),
        ({"prioritizerPolicy": {"mode": "Best"}}, ":incorrect prioritizer policy mode: Best"),
        (
            {"prioritizerPolicy": {"configurations": [{"scoreCoordinate": {"builtIn": "Spread"}}]}},
            ":incorrect builtin prioritizer: Spread",
        ),
        (
            {"prioritizerPolicy": {"configurations": [{"scoreCoordinate": {"type": "AddOn"}}]}},
            ":addOn should not be empty",
        ),
        ({"prioritizerPolicy": {"configurations": [{"weight": 1}]}}, ":scoreCoordinate field is required"),
        (
            {"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "abc"}}},
            ":abc invalid type: string is not a percentage",
        ),
    ],
)
def test_a_misconfigured_placement_keeps_its_decisions(repository: Repository, spec: Any, message: str) -> None:
    repository.placement("web", {"numberOfClusters": 2})
    repository.evaluate()
    repository.placement("web", {"numberOfClusters": 2, **spec})
    repository.cluster("a", accepted=False)
    done = repository.evaluate(1)
    assert done.codes == ["MUS230"]
    assert done.condition("Placement", "web", "PlacementMisconfigured") == ("True", "Misconfigured", message)
    assert done.chosen == {"web": "b"}, "but a denied cluster leaves all the same"


@pytest.mark.parametrize(
    ("toleration", "hint"),
    [
        ({"key": "x", "operator": "Exist"}, "did you mean 'Exists'?"),
        ({"key": "x", "operator": "In"}, None),
        ({"key": "x", "operator": ""}, None),
        ({}, None),
    ],
)
def test_a_toleration_that_tolerates_nothing_is_said(
    repository: Repository, toleration: dict[str, str], hint: str | None
) -> None:
    repository.placement("web", {"tolerations": [toleration]})
    found = [one for one in repository.evaluate().run.findings if one.code == "MUS249"]
    assert [one.hint for one in found] == ([hint or ""] if toleration.get("operator") else [])


@pytest.mark.parametrize(
    ("sets", "bound", "reason"),
    [
        ([], False, "NoManagedClusterSetBindings"),
        (["others"], True, "NoIntersection"),
        ([], True, "NoManagedClusterMatched"),
    ],
)
def test_a_misconfigured_placement_that_has_chosen_nothing_names_the_first_reason(
    repository: Repository, sets: list[str], bound: bool, reason: str
) -> None:
    """As any Placement does: what is missing before its spec matters comes first."""
    if not bound:
        repository.write("ManagedClusterSetBinding-apps-global.yaml", None)
    wrong = {"clusterSets": sets, "tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]}
    repository.placement("web", wrong)
    done = repository.evaluate()
    assert done.condition("Placement", "web", "PlacementMisconfigured")[0] == "True"
    assert done.condition("Placement", "web", "PlacementSatisfied")[:2] == ("False", reason)


def test_an_expression_that_does_not_compile_is_shown_at_its_place(repository: Repository) -> None:
    repository.placement("web")
    repository.evaluate()
    selector = {"celSelector": {"celExpressions": ["managedCluster.metadat.name == 'a'"]}}
    repository.placement("web", {"predicates": [{"requiredClusterSelector": selector}]})
    done = repository.evaluate(1)
    status, _, message = done.condition("Placement", "web", "PlacementMisconfigured")
    assert (status, done.chosen, done.codes) == ("True", {"web": "a b c"}, ["MUS302"])
    assert message.startswith("Predicate:compilation failed: ")
    assert done.run.findings[0].file == "Placement-apps-web.yaml"


@pytest.mark.parametrize(
    ("spec", "bound", "reason"),
    [
        ({}, False, "NoManagedClusterSetBindings"),
        ({"clusterSets": ["eu"]}, True, "NoIntersection"),
        ({"clusterSets": ["default"]}, True, "NoIntersection"),
        (
            {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"zone": "q"}}}}]},
            True,
            "NoManagedClusterMatched",
        ),
        ({"numberOfClusters": 0}, True, "NoManagedClusterMatched"),
        ({"numberOfClusters": 4}, True, "NotAllDecisionsScheduled"),
        ({"numberOfClusters": 3}, True, "AllDecisionsScheduled"),
    ],
)
def test_reasons_of_being_satisfied(repository: Repository, spec: Any, bound: bool, reason: str) -> None:
    if not bound:
        repository.write("ManagedClusterSetBinding-apps-global.yaml", None)
    repository.placement("web", spec)
    assert repository.evaluate().condition("Placement", "web", "PlacementSatisfied")[1] == reason


def test_a_large_decision_is_cut_into_shards_that_change_together(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    for number in range(205):
        repository.cluster(f"c{number:03d}")
    repository.placement("web", {"numberOfClusters": 205})
    folder = tmp_path / "derived" / "placementdecisions" / "apps"
    repository.evaluate()
    assert sorted(path.name for path in folder.iterdir()) == [f"web-decision-{n}.yaml" for n in (1, 2, 3)]
    repository.placement("web", {"numberOfClusters": 150})
    repository.evaluate(1)
    assert sorted(path.name for path in folder.iterdir()) == [f"web-decision-{n}.yaml" for n in (1, 2)]


def test_a_paused_placement_keeps_what_it_has(repository: Repository) -> None:
    repository.placement("web", {"numberOfClusters": 1})
    repository.evaluate()
    pause = {"cluster.open-cluster-management.io/experimental-scheduling-disable": "true"}
    repository.placement("web", {"numberOfClusters": 3}, annotations=pause)
    assert repository.evaluate(1).chosen == {"web": "a"}


def test_decisions_of_a_removed_placement_go_with_it(repository: Repository) -> None:
    file = repository.placement("web")
    repository.evaluate()
    repository.write(file, None)
    assert repository.evaluate(1).chosen == {}


@pytest.mark.parametrize(
    ("when", "number", "chosen"),
    [
        ("DoNotSchedule", None, "a b d e"),
        ("DoNotSchedule", 2, "a d"),
        ("ScheduleAnyway", 4, "a b d e"),
        ("ScheduleAnyway", None, "a b c d e f"),
    ],
)
def test_spread_keeps_topologies_even(tmp_path: Path, when: str, number: int | None, chosen: str) -> None:
    repository = Repository(tmp_path)
    for name, zone in (("a", "x"), ("b", "x"), ("c", "x"), ("d", "y"), ("e", "z"), ("f", "")):
        repository.cluster(name, labels={"zone": zone} if zone else {})
    constraint = {"topologyKey": "zone", "topologyKeyType": "Label", "whenUnsatisfiable": when}
    spec = {"spreadPolicy": {"spreadConstraints": [constraint]}}
    repository.placement("web", {**spec, **({"numberOfClusters": number} if number else {})})
    done = repository.evaluate()
    assert done.chosen == {"web": chosen}
    assert all(reason.rule in ("selected", "spread") for reason in done.why("web").values())


def _freeze(repository: Repository, *, until: int, **more: Any) -> None:
    """Freeze the Placements until so many seconds after the start."""
    freeze = {"name": "audit", "period": f"2026-01-01T00:00:00Z/{at(until)}", "holds": ["placements"], **more}
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"}}
    repository.write("fleet.yaml", yaml.safe_dump({**body, "spec": {"freezes": [freeze]}}))


def _approve(repository: Repository, *moves: str, since: int) -> None:
    """Approve moves of the Placement `web` that wait since so many seconds after the start."""
    effects = [{"object": "Placement/apps/web", "effect": f"move {name}", "since": at(since)} for name in moves]
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Approval", "metadata": {"name": "freeze-audit"}}
    repository.write("approval.yaml", yaml.safe_dump({**body, "spec": {"effects": effects}}))


def _held(done: Evaluated) -> str:
    return " ".join(held["effect"].removeprefix("move ") for held in done.after.held)


def test_a_freeze_holds_moves_until_it_ends_and_an_approved_one_happens(repository: Repository) -> None:
    repository.placement("web", {"numberOfClusters": 2})
    repository.placement("all")
    _freeze(repository, until=100)
    done = repository.evaluate()
    assert done.chosen == {"web": "a b", "all": "a b c"}, "nothing moves at a first choice"
    repository.cluster("a", taints=[TAINT], labels={"zone": "x"})
    repository.cluster("d")
    done = repository.evaluate(10)
    assert (done.chosen, _held(done)) == ({"web": "a b", "all": "a b c"}, "a d a d")
    assert done.after.horizon == START + timedelta(seconds=100)
    assert done.why("web")["a"].text.startswith("freeze 'audit' until 2026-01-01T00:01:40Z; to break it, merge ")
    assert done.why("web")["d"].text.endswith("so it does not come")
    assert {name: why.rule for name, why in done.why("web").items()} == {
        "a": "frozen",
        "b": "selected",
        "c": "limit",
        "d": "frozen",
    }
    _approve(repository, "d", since=10)
    done = repository.evaluate(20)
    assert (done.chosen["web"], _held(done)) == ("a b", "a d a d"), "there is no room for it until another one leaves"
    assert [held["reason"] for held in done.after.held][-1].startswith("it is approved, and waits")
    _approve(repository, "a", "d", since=10)
    done = repository.evaluate(30)
    assert (done.chosen["web"], _held(done)) == ("b d", "a d")
    repository.write("ManagedCluster--b.yaml", None)
    done = repository.evaluate(40)
    assert (done.chosen["web"], _held(done)) == ("d", "a d c"), "a cluster that is gone leaves, and none replaces it"
    assert repository.evaluate(99).chosen == {"web": "d", "all": "a c"}
    assert repository.evaluate(100).chosen == {"web": "c d", "all": "c d"}


def test_a_freeze_of_some_clusters_and_a_toleration_that_ends_in_it(repository: Repository) -> None:
    spec = {"tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 60}], "numberOfClusters": 2}
    repository.placement("web", spec)
    _freeze(repository, until=500, selector={"matchLabels": {"zone": "x"}})
    repository.evaluate()
    repository.cluster("a", taints=[TAINT], labels={"zone": "x"})
    repository.cluster("b", taints=[TAINT], labels={"zone": "y"})
    done = repository.evaluate(100)
    assert (done.chosen["web"], _held(done), done.seconds) == ("a b", "", 160)
    assert done.after.horizon == START + timedelta(seconds=160), "then it would leave"
    done = repository.evaluate(160)
    assert (done.chosen["web"], _held(done)) == ("a c", "a")
    assert repository.evaluate(500).chosen["web"] == "c"
