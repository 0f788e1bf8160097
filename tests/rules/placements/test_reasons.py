"""Why a Placement chooses a cluster, or does not: the first thing that decided it, in words."""

from pathlib import Path

import pytest

from tests.rules.placements.repository import OCM, Repository, at


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


TIER = {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"tier": "gold"}}}}]}


def taint(effect: str = "NoSelect", added: int = 0) -> list[dict[str, str]]:
    return [{"key": "gpu", "effect": effect, "timeAdded": at(added)}]


def test_each_step_has_its_words(repo: Repository) -> None:
    gold = {"tier": "gold"}
    repo.cluster("a", labels=gold)
    repo.cluster("b", labels=gold)
    repo.cluster("newcomer", accepted=False, labels=gold)
    repo.cluster("other")
    repo.cluster("tainted", taints=taint(), labels=gold)
    repo.cluster("unwanted", taints=taint("PreferNoSelect"), labels=gold)
    repo.placement("web", {"numberOfClusters": 1, **TIER})
    found = repo.evaluate().why("web")
    assert {name: (why.rule, why.text) for name, why in found.items()} == {
        "a": ("selected", "it passes, and there is room for it"),
        "b": ("limit", "only 1 wanted, and others rank before it (it is number 2)"),
        "newcomer": ("pending", "the hub has not accepted it"),
        "other": ("predicate", "none of the placement's predicates matches it"),
        "tainted": ("taint", "its taint gpu:NoSelect is not tolerated"),
        "unwanted": ("limit", "only 1 wanted, and it has a PreferNoSelect taint that is not tolerated"),
    }


def test_a_toleration_ends(repo: Repository) -> None:
    repo.cluster("a", taints=taint())
    tolerations = [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 60}]
    repo.placement("web", {"tolerations": tolerations})
    assert repo.evaluate().why("web")["a"].rule == "selected"
    later = repo.evaluate(60)
    assert later.why("web")["a"].text == "the toleration of its taint gpu:NoSelect has ended"
    assert any("left placement apps/web because the toleration" in told for told in later.told)


@pytest.mark.parametrize(
    ("sets", "text"),
    [
        (["lab"], "none of the sets that the placement names is bound to its namespace"),
        (["prod"], "it is in none of the sets prod"),
    ],
)
def test_sets(repo: Repository, sets: list[str], text: str) -> None:
    repo.object("ManagedClusterSet", "prod", {}, version="v1beta2")
    repo.object("ManagedClusterSetBinding", "prod", {"clusterSet": "prod"}, version="v1beta2", namespace="apps")
    repo.cluster("a", labels={f"{OCM}/clusterset": "test"})
    repo.placement("web", {"clusterSets": sets})
    assert repo.evaluate().why("web")["a"].text == text


def test_a_namespace_that_is_bound_to_nothing(repo: Repository) -> None:
    repo.write("ManagedClusterSetBinding-apps-global.yaml", None)
    repo.cluster("a")
    repo.placement("web")
    assert repo.evaluate().why("web")["a"].text == "namespace apps is bound to no set of clusters"


def test_who_leaves_the_fleet(repo: Repository) -> None:
    for name in ("denied", "going", "gone"):
        repo.cluster(name)
    repo.placement("web")
    assert repo.evaluate().chosen == {"web": "denied going gone"}
    repo.cluster("denied", accepted=False)
    repo.cluster("going", deletionTimestamp=at(0), annotations={})
    repo.write("ManagedCluster--gone.yaml", None)
    later = repo.evaluate(1)
    told = {why.cluster: (why.rule, why.text) for why in later.why("web").values()}
    assert told == {
        "denied": ("denied", "the hub no longer accepts it"),
        "going": ("deleting", "it is being deleted"),
        "gone": ("removed", "there is no such cluster any more"),
    }
    assert "cluster gone left placement apps/web because there is no such cluster any more" in " ".join(later.told)


def test_a_placement_that_is_not_scheduled_keeps_what_it_has(repo: Repository) -> None:
    repo.cluster("a")
    repo.placement("web")
    repo.evaluate()
    repo.cluster("b")
    repo.placement("web", annotations={f"{OCM}/experimental-scheduling-disable": "true"})
    found = repo.evaluate(1).why("web")
    assert {name: (why.selected, why.rule) for name, why in found.items()} == {
        "a": (True, "kept"),
        "b": (False, "kept"),
    }


def test_a_typo_in_a_cluster_s_file_moves_nothing(repo: Repository) -> None:
    file = repo.cluster("a")
    repo.cluster("b")
    repo.placement("web")
    repo.evaluate()
    repo.write(file, (repo.root / file).read_text().replace("hubAcceptsClient: true", "hubAcceptsClient: 1"))
    found = repo.evaluate(1)
    assert found.chosen == {"web": "a b"}
    assert found.why("web")["a"].text == "its file has an error, so it stays"


def test_there_is_no_such_placement(repo: Repository) -> None:
    repo.cluster("a")
    assert repo.evaluate().why("nothing") == {}
