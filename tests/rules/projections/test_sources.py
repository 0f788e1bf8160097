"""What each source of `forEach` writes files for, and what its expressions see."""

from pathlib import Path

import yaml

from tests.rules.projections.repository import ProjectionRepository, fleet
from tests.rules.rollouts.world import RolloutWorld


def test_every_cluster_with_its_conditions_and_taints(tmp_path: Path) -> None:
    repository = fleet(tmp_path)
    repository.cluster("d", taints=[{"key": "own", "effect": "NoSelect"}])
    repository.projection(
        "each",
        each="clusters",
        path="cluster.metadata.name + '.yaml'",
        object="{'up': status(conditions, 'ManagedClusterConditionAvailable'), "
        "'accepted': cluster.spec.hubAcceptsClient, 'taints': cluster.spec.?taints.orValue([]).map(t, t.key), "
        "'generation': cluster.metadata.generation, "
        "'fleet': has(fleet.limits)}",
    )
    found = repository.documents()
    assert sorted(found) == ["each/a.yaml", "each/b.yaml", "each/c.yaml", "each/d.yaml"]
    assert found["each/d.yaml"] == {
        "up": "True",
        "accepted": True,
        "taints": ["own"],
        "generation": 1,
        "fleet": False,
    }


def test_clusters_are_selected_by_labels_and_by_an_expression(tmp_path: Path) -> None:
    repository = fleet(tmp_path)
    name = "cluster.metadata.name + '.txt'"
    repository.projection("eu", each="clusters", select={"matchLabels": {"region": "eu"}}, path=name, text="'x'")
    repository.projection(
        "no-eu",
        each="clusters",
        path=name,
        text="'x'",
        select={"matchExpressions": [{"key": "region", "operator": "NotIn", "values": ["eu"]}]},
    )
    repository.projection(
        "b", each="clusters", select={"expression": "cluster.metadata.name == 'b'"}, path=name, text="'x'"
    )
    assert sorted(repository.files()) == ["b/b.txt", "eu/a.txt", "eu/b.txt", "no-eu/c.txt"]


def test_clusters_of_karmada(tmp_path: Path) -> None:
    repository = fleet(tmp_path)
    body = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m"}}
    repository.write("m.yaml", yaml.safe_dump({**body, "spec": {"syncMode": "Pull"}}))
    repository.projection(
        "each",
        each="clusters",
        select={"kind": "Cluster"},
        path="cluster.metadata.name + '.yaml'",
        object="{'mode': cluster.spec.syncMode}",
    )
    assert repository.documents() == {"each/m.yaml": {"mode": "Pull"}}


def test_the_clusters_that_a_placement_chose(tmp_path: Path) -> None:
    repository = fleet(tmp_path)
    repository.projection(
        "web",
        each={"placement": "apps/web"},
        path="cluster.metadata.name + '/web.yaml'",
        object="{'of': placement.metadata.name, 'with': decisions, 'region': cluster.metadata.labels.region}",
    )
    assert repository.documents() == {
        "web/a/web.yaml": {"of": "web", "with": ["a", "b"], "region": "eu"},
        "web/b/web.yaml": {"of": "web", "with": ["a", "b"], "region": "eu"},
    }
    repository.placement("web", {"numberOfClusters": 1})
    assert sorted(repository.files()) == ["web/a/web.yaml"]
    repository.projection("web", each={"placement": "apps/none"}, path="cluster.metadata.name", text="'x'")
    assert repository.files() == {}


def test_all_is_one_file(tmp_path: Path) -> None:
    repository = fleet(tmp_path)
    repository.projection(
        "list",
        each="all",
        select={"matchLabels": {"region": "eu"}},
        path="'list.json'",
        object="{'clusters': clusters.map(c, c.metadata.name), 'web': placements['apps/web'], 'pools': pools.size()}",
    )
    repository.projection(
        "web",
        each="all",
        select={"expression": "cluster.metadata.name in placements['apps/web']"},
        path="'web.yaml'",
        objects="clusters.map(c, {'name': c.metadata.name})",
    )
    found = repository.files()
    assert yaml.safe_load(found["list/list.json"]) == {"clusters": ["a", "b"], "web": ["a", "b"], "pools": 0}
    assert list(yaml.safe_load_all(found["web/web.yaml"])) == [{"name": "a"}, {"name": "b"}]
    repository.projection(
        "list",
        each="all",
        select={"matchLabels": {"region": "ap"}},
        path="'list.json'",
        object="{'clusters': clusters.size()}",
    )
    assert yaml.safe_load(repository.files()["list/list.json"]) == {"clusters": 0}, "an empty fleet is a list, too"


def pool(repository: ProjectionRepository, size: int) -> None:
    """Write a pool with an image and its secrets."""
    repository.write(
        "pool.yaml",
        (
            "apiVersion: hive.openshift.io/v1\nkind: ClusterPool\nmetadata: {name: dev, namespace: pools}\nspec:\n"
            f"  size: {size}\n  baseDomain: example.com\n  imageSetRef: {{name: v1}}\n  platform: {{none: {{}}}}\n---\n"
            "apiVersion: hive.openshift.io/v1\nkind: ClusterImageSet\nmetadata: {name: v1}\nspec: {releaseImage: r}\n"
        ),
    )


def test_the_clusters_of_a_pool(tmp_path: Path) -> None:
    repository = fleet(tmp_path)
    pool(repository, 2)
    repository.projection(
        "dev",
        each={"pool": "pools/dev"},
        path="cluster.metadata.name + '.tfvars.json'",
        object="{'name': cluster.spec.clusterName, 'domain': cluster.spec.baseDomain, 'size': pool.spec.size}",
    )
    repository.projection(
        "all", each="all", path="'pool.tfvars.json'", object="{'clusters': pools['pools/dev'].map(c, c.metadata.name)}"
    )
    repository.settle()
    found = repository.documents()
    names = found["all/pool.tfvars.json"]["clusters"]
    assert len(names) == 2
    for name in names:
        assert found[f"dev/{name}.tfvars.json"] == {"name": name, "domain": "example.com", "size": 2}


class _RolledOut(ProjectionRepository, RolloutWorld):
    """A Rollout whose places Projections write out."""


def test_the_revision_that_each_cluster_should_have(tmp_path: Path) -> None:
    world = _RolledOut(tmp_path)
    world.runs("v1", "a", canary="true")
    world.runs("v1", "b")
    world.rollout("v1", {"name": "canary", "selector": {"matchLabels": {"canary": "true"}}}, {"name": "rest"})
    name = "cluster.metadata.name + '.yaml'"
    world.projection(
        "web", each={"rollout": "apps/web"}, path=name, object="{'path': './web/' + rollout.revision, 'all': rollout}"
    )
    world.projection("each", each="clusters", path=name, object="{'path': rollouts[?'apps/web'].revision.orValue('')}")
    world.projection(
        "placed", each={"placement": "apps/web"}, path=name, object="{'path': has(rollout.state) ? rollout.state : ''}"
    )
    world.projection(
        "list",
        each="all",
        path="'list.json'",
        object="{'revisions': clusters.filter(c, c.metadata.name in rollouts['apps/web']).map(c, "
        "c.metadata.name + ' ' + rollouts['apps/web'][c.metadata.name].revision)}",
    )
    found = world.documents()
    assert found["web/a.yaml"]["path"] == "./web/v1"
    assert found["web/a.yaml"]["all"].keys() == {"revision", "stage", "state", "since", "gate"}
    assert "web/b.yaml" not in found, "its turn has not come"
    assert [found[f"each/{name}.yaml"]["path"] for name in "ab"] == ["v1", ""]
    assert [found[f"placed/{name}.yaml"]["path"] for name in "ab"] == ["Progressing", ""]
    assert found["list/list.json"] == {"revisions": ["a v1"]}
    for second in (1, 2):
        world.files(second)
    assert sorted(path for path in world.files(3) if path.startswith("web/")) == ["web/a.yaml", "web/b.yaml"]
    world.write("rollout.yaml", None)
    assert not [path for path in world.files(4) if path.startswith("web/")]
