"""Files of Projections come, change and go with their reason; what cannot be decided stays as it is."""

from pathlib import Path

import pytest

from tests.rules.projections.repository import FOLDER, ProjectionRepository, fleet

NAMED = "cluster.metadata.name + '.json'"
REGION = "{'region': cluster.metadata.labels.region}"


@pytest.fixture
def repository(tmp_path: Path) -> ProjectionRepository:
    return fleet(tmp_path)


def relabel(repository: ProjectionRepository, name: str, region: str | None) -> None:
    repository.cluster(name, labels={"region": region} if region else {})


def test_files_go_with_their_cluster_and_their_projection(repository: ProjectionRepository) -> None:
    repository.projection("each", each="clusters", path=NAMED, object=REGION)
    repository.projection("list", each="all", path="'all.json'", object="{'a': clusters.map(c, c.metadata.name)}")
    assert sorted(repository.files()) == ["each/a.json", "each/b.json", "each/c.json", "list/all.json"]
    repository.write("ManagedCluster--c.yaml", None)
    found = repository.documents()
    assert sorted(found) == ["each/a.json", "each/b.json", "list/all.json"]
    assert found["list/all.json"] == {"a": ["a", "b"]}
    repository.write("projection-each.yaml", None)
    assert sorted(repository.files()) == ["list/all.json"]
    repository.write("projection-list.yaml", None)
    assert repository.files() == {}
    assert not (repository.root / FOLDER / "list.yaml").exists()


def test_a_file_moves_with_its_path(repository: ProjectionRepository) -> None:
    path = "cluster.metadata.labels.region + '/' + cluster.metadata.name + '.json'"
    repository.projection("each", each="clusters", path=path, object=REGION)
    assert sorted(repository.files()) == ["each/eu/a.json", "each/eu/b.json", "each/us/c.json"]
    relabel(repository, "a", "us")
    assert sorted(repository.files()) == ["each/eu/b.json", "each/us/a.json", "each/us/c.json"]


def test_a_cluster_for_which_an_expression_fails_keeps_its_file(repository: ProjectionRepository) -> None:
    repository.projection("each", each="clusters", path=NAMED, object=REGION)
    repository.projection("web", each={"placement": "apps/web"}, path=NAMED, object=REGION)
    repository.projection("list", each="all", path="'l.json'", objects=f"clusters.map(cluster, {REGION})")
    before = repository.files()
    relabel(repository, "a", None)
    relabel(repository, "b", "us")
    after = repository.files()
    assert {path for path in before if before[path] != after[path]} == {"each/b.json", "web/b.json"}
    assert sorted(one[:6] for one in repository.findings) == ["MUS401"] * 3
    relabel(repository, "d", None)
    assert "each/d.json" not in repository.files(), "there is nothing to keep"


def test_a_path_that_leads_out_is_a_finding(repository: ProjectionRepository) -> None:
    repository.projection(
        "each",
        each="clusters",
        path="(cluster.metadata.name == 'a' ? '../../../x/' : '') + cluster.metadata.name",
        text="'x'",
    )
    assert sorted(repository.files()) == ["each/b", "each/c"]
    (found,) = repository.findings
    assert "leads out of the Projection's folder" in found
    assert not (repository.root / "x").exists()


def test_a_broken_projection_keeps_its_files(repository: ProjectionRepository) -> None:
    repository.projection("each", each="clusters", path=NAMED, object=REGION)
    repository.projection("web", each={"placement": "apps/web"}, path=NAMED, object=REGION)
    before = repository.files()
    repository.projection("each", each="clusters", path=NAMED, object="{'region': cluster.nothing}")
    repository.projection("web", each={"placement": "apps/web"}, path=NAMED, objekt=REGION)
    assert repository.files() == before
    repository.write("ManagedCluster--c.yaml", None)
    assert sorted(repository.files()) == ["each/a.json", "each/b.json", "web/a.json", "web/b.json"]


HEAD = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata:"


@pytest.mark.parametrize("broken", (f"{HEAD} {{name: a}}\nspec: [1", f"{HEAD} {{name"))
def test_a_cluster_that_cannot_be_read_is_in_no_list_missing(repository: ProjectionRepository, broken: str) -> None:
    repository.projection("each", each="clusters", path=NAMED, object=REGION)
    repository.projection("web", each={"placement": "apps/web"}, path=NAMED, object=REGION)
    repository.projection("list", each="all", path="'l.json'", objects=f"clusters.map(cluster, {REGION})")
    before = repository.files()
    repository.write("ManagedCluster--a.yaml", broken)
    relabel(repository, "b", "ap")
    after = repository.files()
    assert after["each/a.json"] == before["each/a.json"]
    assert after["web/a.json"] == before["web/a.json"]
    assert after["list/l.json"] == before["list/l.json"]


def test_a_cluster_with_an_error_counts_in_lists_as_it_is(repository: ProjectionRepository) -> None:
    repository.projection("each", each="clusters", path=NAMED, object=REGION)
    repository.projection("list", each="all", path="'l.json'", objects=f"clusters.map(cluster, {REGION})")
    before = repository.files()
    repository.object("ManagedCluster", "a", {"hubAcceptsClient": True, "typo": 1}, labels={"region": "ap"})
    after = repository.documents()
    assert after["each/a.json"] == {"region": "eu"}
    assert after["list/l.json"] == [{"region": "ap"}, {"region": "eu"}, {"region": "us"}]
    assert before["each/b.json"] == repository.files()["each/b.json"]


@pytest.mark.parametrize(
    ("path", "colliding"),
    (
        ("cluster.metadata.labels.region + '.json'", ["a", "b"]),
        ("cluster.metadata.name == 'a' ? 'x.json' : cluster.metadata.name == 'b' ? 'X.json' : 'y.json'", ["a", "b"]),
        ("cluster.metadata.name == 'a' ? 'x' : cluster.metadata.name == 'b' ? 'x/y' : 'y'", ["a", "b"]),
    ),
)
@pytest.mark.parametrize("each", ("clusters", {"placement": "apps/all"}))
def test_files_that_collide_stay_and_the_rest_is_written(
    repository: ProjectionRepository, path: str, colliding: list[str], each: object
) -> None:
    repository.placement("all", {})
    repository.projection("each", each=each, path="cluster.metadata.name + '.txt'", text="'old'")
    repository.files()
    repository.projection("each", each=each, path=path, text="'new'")
    found = repository.files()
    assert {text for name, text in found.items() if name[5:].removesuffix(".txt") in colliding} == {"old\n"}
    assert [text for name, text in found.items() if name[5:].removesuffix(".txt") not in colliding] == ["new\n"]
    (finding,) = repository.findings
    assert finding.startswith("MUS530")
    assert "those for a, b" in finding
    repository.projection("each", each=each, path="cluster.metadata.name + '.conf'", text="'new'")
    assert sorted(repository.files()) == ["each/a.conf", "each/b.conf", "each/c.conf"]


def test_edits_by_hand_are_overwritten_and_strange_files_go(repository: ProjectionRepository) -> None:
    repository.projection("each", each="clusters", path="cluster.metadata.name + '.conf'", text="'x'")
    before = repository.files()
    repository.write(f"{FOLDER}/each/a.conf", "mine\n")
    repository.write(f"{FOLDER}/each/b.conf", None)
    repository.write(f"{FOLDER}/each/note.txt", "note\n")
    repository.write(f"{FOLDER}/gone/x.yaml", "kind: [\n")
    assert repository.files() == before
    assert repository.findings == []


def test_objects_in_files_of_projections_are_no_objects_of_the_fleet(repository: ProjectionRepository) -> None:
    copy = "'kind': cluster.kind, 'metadata': {'name': 'copy-' + cluster.metadata.name}, 'spec': {}"
    argo = "{'apiVersion': 'argoproj.io/v1', 'kind': 'X', 'metadata': {'name': 'x'}}"
    repository.projection(
        "copies",
        each="clusters",
        path="cluster.metadata.name + '.yaml'",
        object=f"{{'apiVersion': cluster.apiVersion, {copy}}}",
    )
    repository.projection("argo", each="all", path="'a.yaml'", object=argo)
    assert len(repository.files()) == 4
    run = repository.evaluate().run
    assert not [body for body in run.objects if body["metadata"]["name"].startswith("copy-")]
    assert run.findings == []


def test_names_of_projections_that_end_like_files(repository: ProjectionRepository) -> None:
    repository.projection("flux", each={"placement": "apps/web"}, path=NAMED, object=REGION)
    repository.projection("flux.yaml", each={"placement": "apps/web"}, path=NAMED, object=REGION)
    assert len(repository.files()) == 4


def test_derived_parts_of_projections_are_not_sharded(repository: ProjectionRepository) -> None:
    """A shard's folder could be that of another Projection."""
    repository.write(
        "fleet.yaml",
        "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {derived: {shards: 4096}}\n",
    )
    repository.projection("bad", each={"placement": "apps/web"}, path=NAMED, object=REGION)
    assert sorted(repository.files()) == ["bad/a.json", "bad/b.json"]
    assert (repository.root / FOLDER / "bad.yaml").exists()
