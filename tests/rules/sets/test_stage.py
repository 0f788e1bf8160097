"""Sets, bindings and the labels of clusters without a set."""

from pathlib import Path
from typing import Any

import pytest

from tests.rules.placements.repository import OCM, Repository, at

SET = f"{OCM}/clusterset"
EXCLUSIVE = {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}


def selecting(selector: Any) -> Any:
    given = {} if selector is None else {"labelSelector": selector}
    return {"clusterSelector": {"selectorType": "LabelSelector", **given}}


def bind(repository: Repository, name: str, cluster_set: str) -> None:
    spec = {"clusterSet": cluster_set}
    repository.object("ManagedClusterSetBinding", name, spec, version="v1beta2", namespace="apps")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A cluster in set `eu`, one without a set, one that is being deleted, and one that nobody has accepted."""
    found = Repository(tmp_path)
    found.cluster("a", labels={SET: "eu", "gpu": "yes"})
    found.cluster("b", labels={SET: ""})
    found.cluster("c", labels={SET: "eu"}, deletionTimestamp=at(0))
    found.cluster("d", accepted=False, labels={SET: "eu"})
    return found


@pytest.mark.parametrize(
    ("spec", "members"),
    [
        (EXCLUSIVE, 3),
        ({}, 3),
        (None, 3),
        ({"clusterSelector": {"selectorType": "LegacyClusterSetLabel"}}, 3),
        (selecting(None), 0),
        (selecting({}), 4),
        (selecting({"matchLabels": {"gpu": "yes"}}), 1),
        (selecting({"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}), 1),
    ],
)
def test_membership(repository: Repository, spec: Any, members: int) -> None:
    repository.object("ManagedClusterSet", "eu", spec, version="v1beta2")
    said = repository.evaluate().condition("ManagedClusterSet", "eu", "ClusterSetEmpty")
    if members:
        assert said == ("False", "ClustersSelected", f"{members} ManagedClusters selected")
    else:
        assert said == ("True", "NoClusterMatched", "No ManagedCluster selected")


def test_a_denied_cluster_leaves_its_set(repository: Repository) -> None:
    repository.object("ManagedClusterSet", "eu", EXCLUSIVE, version="v1beta2")
    repository.evaluate()
    repository.cluster("a", accepted=False, labels={SET: "eu"})
    assert repository.evaluate(1).condition("ManagedClusterSet", "eu", "ClusterSetEmpty")[2].startswith("2 ")


def test_labels_that_are_no_texts_put_a_broken_cluster_into_no_set(repository: Repository) -> None:
    repository.object("ManagedClusterSet", "eu", EXCLUSIVE, version="v1beta2")
    repository.object(
        "ManagedClusterSet",
        "any",
        selecting({"matchExpressions": [{"key": SET, "operator": "Exists"}]}),
        version="v1beta2",
    )
    repository.cluster("a", labels={SET: ["eu"], "gpu": {}})
    done = repository.evaluate()
    assert {found.code for found in done.run.findings} == {"MUS202"}
    assert done.condition("ManagedClusterSet", "eu", "ClusterSetEmpty")[2].startswith("2 ")
    assert done.condition("ManagedClusterSet", "any", "ClusterSetEmpty")[2].startswith("3 ")


def test_a_cluster_without_a_set_is_in_default(repository: Repository) -> None:
    repository.object(
        "ManagedClusterSetBinding", "default", {"clusterSet": "default"}, version="v1beta2", namespace="apps"
    )
    done = repository.evaluate()
    assert done.condition("ManagedClusterSet", "default", "ClusterSetEmpty")[2] == "1 ManagedClusters selected"
    labels = {
        body["metadata"]["name"]: body["metadata"]["labels"][SET]
        for body in done.run.objects
        if body["kind"] == "ManagedCluster"
    }
    assert labels == {"a": "eu", "b": "default", "c": "eu", "d": "eu"}


def test_built_in_sets_are_written_where_they_are_bound(repository: Repository) -> None:
    sets = {name for name in repository.evaluate().run.files if "/managedclustersets/" in name}
    assert sets == {"derived/managedclustersets/global.yaml"}


@pytest.mark.parametrize(
    ("annotations", "codes", "type_"),
    [
        ({}, ["MUS231"], "LabelSelector"),
        ({f"{OCM}/autoupdate": "false"}, [], "ExclusiveClusterSetLabel"),
    ],
)
def test_the_selector_of_a_built_in_set(repository: Repository, annotations: Any, codes: list[str], type_: str) -> None:
    repository.object("ManagedClusterSet", "global", EXCLUSIVE, version="v1beta2", annotations=annotations)
    done = repository.evaluate()
    body = next(b for b in done.run.objects if (b["kind"], b["metadata"]["name"]) == ("ManagedClusterSet", "global"))
    assert (done.codes, body["spec"]["clusterSelector"]["selectorType"]) == (codes, type_)
    assert all(
        found.message.startswith("spec.clusterSelector of ManagedClusterSet/global is") for found in done.run.findings
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("eu", ("False", "ClusterSetNotFound", "")),
        ("default", ("True", "ClusterSetBound", "")),
    ],
)
def test_bindings_say_whether_their_set_exists(repository: Repository, name: str, said: Any) -> None:
    bind(repository, name, name)
    assert repository.evaluate().condition("ManagedClusterSetBinding", name, "Bound") == said


def test_a_binding_has_the_name_of_its_set(repository: Repository) -> None:
    bind(repository, "mine", "global")
    done = repository.evaluate()
    assert [(f.code, f.file) for f in done.run.findings] == [("MUS232", "ManagedClusterSetBinding-apps-mine.yaml")]


def test_what_a_file_says_of_a_built_in_set_is_not_seen(repository: Repository) -> None:
    repository.object("ManagedClusterSet", "global", selecting({"matchLabels": {"gpu": "yes"}}), version="v1beta2")
    done = repository.evaluate()
    body = next(b for b in done.run.objects if (b["kind"], b["metadata"]["name"]) == ("ManagedClusterSet", "global"))
    assert body["spec"]["clusterSelector"]["labelSelector"] == {"matchLabels": None}
    assert done.condition("ManagedClusterSet", "global", "ClusterSetEmpty")[2] == "4 ManagedClusters selected"
