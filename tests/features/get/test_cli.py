"""`muster get`: what budgets hold back, and nothing that nobody vouches for."""

import json
from pathlib import Path

from muster.data.times import format_time
from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.git import new_repository
from tests.support.outages import Fleet


def test_what_is_held_has_a_column_and_its_reason_a_line(tmp_path: Path, muster: Run) -> None:
    fleet = Fleet(12)
    fleet.evaluate()
    repo = new_repository(tmp_path / "fleet")
    repo.commit(dict(fleet.files()))
    code, out, _ = muster("get", "clusters", "--repo", repo.path, "--now", format_time(fleet.now))
    assert (code, "HELD" in out, "held" in out) == (0, False, False)

    fleet.dark(*fleet.names[:9])
    fleet.evaluate()
    repo.commit(dict(fleet.files()))
    code, out, _ = muster("get", "clusters", "--repo", repo.path, "--now", format_time(fleet.now))
    table, last = out.splitlines()[:-1], out.splitlines()[-1]
    assert code == 0
    assert table[0].split()[-1] == "HELD"
    assert table[1].endswith("taint unreachable:NoSelect")
    assert table[12].endswith(" -")
    assert last == (
        f"9 effects are held: 9 of 12 clusters are disrupted, budget 'default' allows 6, since {format_time(fleet.now)}"
    )


def test_nothing_is_claimed_of_a_cluster_that_was_never_let_in(tmp_path: Path, muster: Run) -> None:
    said = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a}
status: {conditions: [{type: ManagedClusterConditionAvailable, status: "True", reason: Up, message: m}]}
"""
    repo = new_repository(tmp_path / "fleet")
    declared = said.partition("status:")[0]
    for accepts, shown in (
        ("false", ["a", "no", "-", "-", "unreachable:NoSelect", "-"]),
        ("true", ["a", "yes", "True", "0s", "-", "Up"]),
    ):
        spec = f"spec: {{hubAcceptsClient: {accepts}}}\n"
        repo.commit({"observed.yaml": said, "cluster.yaml": declared + spec})
        _, out, err = muster("get", "clusters", "--repo", repo.path, "--now", "2026-01-01T00:00:00Z")
        assert out.splitlines()[1:] and out.splitlines()[1].split() == shown, f"{out}{err}"


def test_the_habits_of_kubectl(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    version = "cluster.open-cluster-management.io/v1beta1"
    placement = f"apiVersion: {version}\nkind: Placement\nmetadata: {{name: web, namespace: %s}}\nspec: {{}}\n"
    repo.commit(
        {f"{name}.yaml": _CLUSTER % (name, region) for name, region in (("a", "eu"), ("b", "us"), ("c", "eu"))}
        | {f"{namespace}.yaml": placement % namespace for namespace in ("shop", "blog")}
    )

    def names(*arguments: str) -> list[str]:
        code, out, err = muster("get", *arguments, "-o", "name", "--repo", repo.path, "--now", "2026-01-01T00:00:00Z")
        assert code == 0, err
        return out.split()

    clusters = {name: f"managedcluster.cluster.open-cluster-management.io/{name}" for name in "abc"}
    placement_of = "placement.cluster.open-cluster-management.io/%s/web"
    assert names() == [*clusters.values()]
    assert names("cluster", "b") == [clusters["b"]] == names("cluster/b") == names(clusters["b"])
    assert names("managedclusters.v1.cluster.open-cluster-management.io", "b") == [clusters["b"]]
    assert names("mcl", "c", "a") == [clusters["c"], clusters["a"]]
    assert names("clusters", "-l", "region=eu,!legacy") == [clusters["a"], clusters["c"]]
    assert names("clusters", "-l", "") == [*clusters.values()] == names("clusters", "--field-selector", "")
    assert names("clusters", "--field-selector", "metadata.name!=b") == [clusters["a"], clusters["c"]]
    assert names("clusters", "-l", "region=eu", "--field-selector=metadata.name=a") == [clusters["a"]]
    assert names("placements", "-A") == [placement_of % "blog", placement_of % "shop"]
    assert names("placements", "--field-selector", "metadata.namespace==shop") == [placement_of % "shop"]
    assert names("placement", "web", "-n", "shop") == [placement_of % "shop"] == names(placement_of % "shop")
    assert names("placement", "web", "-n", "shop", "-o=name") == [placement_of % "shop"]
    for wrong, said in (
        (("clusters", "-l", "=="), "-l: "),
        (("cluster/a", "b"), "names one object"),
        (("placements", "-A", "-n", "x"), "all of them"),
        (("clusters", "--field-selector", "spec.x=y"), "--field-selector: the field 'spec.x'"),
        (("clusters", "-o", "go-template={{.items}}"), "write -o jsonpath="),
        (("clusters", "-o", "go-template-file=x"), "go-template-file is a format of kubectl"),
        (("pulses", "--ignore-not-found"), "pulses are events"),
    ):
        code, _, err = muster("get", *wrong, "--repo", repo.path)
        assert (code, said in err) == (2, True), err


def test_what_is_there_is_shown_beside_what_is_missing(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({f"{name}.yaml": _CLUSTER % (name, "eu") for name in "ab"})

    def said(*arguments: str) -> tuple[int, str, str]:
        return muster(*arguments, "--repo", repo.path, "--now", "2026-01-01T00:00:00Z")

    missing = "error: there is no cluster/c\n"
    code, out, err = said("get", "cluster", "a", "c", "b", "--no-headers")
    assert (code, [line.split()[0] for line in out.splitlines()], err) == (1, ["a", "b"], missing)
    code, out, err = said("get", "cluster", "c", "a", "-o", "json")
    assert (code, [body["metadata"]["name"] for body in json.loads(out)["items"]], err) == (1, ["a"], missing)
    for form in ("table", "json", "name", "jsonpath={.metadata.name}"):
        assert said("get", "cluster", "c", "-o", form) == (1, "", missing)
        assert said("get", "cluster/c", "-o", form, "--ignore-not-found") == (0, "", "")
    assert said("get", "cluster", "c", "-w") == (1, "", missing)
    assert said("get", "placements", "--ignore-not-found", "-o", "json") == (0, "", "")
    assert said("get", "placements") == (0, "", "no placements in this fleet\n")
    code, out, err = said("get", "cluster/a", "cluster/c", "--ignore-not-found", "-o", "name")
    assert (code, out.count("\n"), err) == (0, 1, "")

    code, out, err = said("describe", "cluster", "c", "b")
    assert (code, out.splitlines()[0].split(), err) == (1, ["Name:", "b"], missing)
    code, out, _ = said("describe", "clusters", "-l", "region=eu", "--field-selector", "metadata.name!=a")
    assert (code, out.splitlines()[0].split()) == (0, ["Name:", "b"])
    assert said("describe", "placements", "-n", "x") == (0, "", "no placements in namespace x\n")


def test_templates_are_given_an_object_or_a_list(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({f"{name}.yaml": _CLUSTER % (name, region) for name, region in (("a", "eu"), ("b", "us"))})

    def said(*arguments: str) -> tuple[int, str, str]:
        return muster("get", *arguments, "--repo", repo.path, "--now", "2026-01-01T00:00:00Z")

    each = "jsonpath={range .items[*]}{.metadata.name}={.metadata.labels.region}{'\\n'}{end}{.kind}"
    assert said("clusters", "-o", each)[:2] == (0, "a=eu\nb=us\nList")
    assert said("cluster/a", "-o", "jsonpath={.metadata.name}{.nowhere}")[:2] == (0, "a")
    assert said("cluster", "a", "b", "-o=jsonpath={.items[1].metadata.name}")[:2] == (0, "b")
    accepted = "jsonpath={.status.conditions[?(@.type=='HubAcceptedManagedCluster')].status}"
    assert said("mcl", "a", "-o", accepted)[:2] == (0, "True")
    code, out, _ = said("clusters", "-o", "jsonpath-as-json={.items[*].metadata.name}")
    assert (code, json.loads(out)) == (0, ["a", "b"])
    ranged = "jsonpath-as-json={range .items[*]}{.metadata.labels.region}={end}"
    assert json.loads(said("clusters", "-o", ranged)[1]) == ["eu", "=", "us", "="]
    for wrong, caret in (("{.a", "^"), ("{.items[7]}", " " * 7 + "^")):
        code, out, err = said("clusters", "-o", f"jsonpath={wrong}")
        assert (code, out) == (2, "")
        assert f"\n{wrong}\n{caret}\n" in err


_CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: %s, labels: {region: %s}}
spec: {hubAcceptsClient: true}
"""


def test_json_is_a_list_of_several_and_an_object_of_one(muster: Run) -> None:
    source = ("--repo", EXAMPLE, "--worktree", "--now", "2026-01-01T12:00:00Z", "-o", "json")
    for target in (("cluster/prod-eu-1",), ("cluster", "prod-eu-1")):
        assert json.loads(muster("get", *target, *source)[1])["metadata"]["name"] == "prod-eu-1"
    for targets in (["clusters"], ["cluster", "prod-eu-1", "prod-eu-2"], ["clusters", "-l", "region=nowhere"]):
        found = json.loads(muster("get", *targets, *source)[1])
        assert (found["apiVersion"], found["kind"]) == ("v1", "List")
        assert all(body["kind"] in ("ManagedCluster", "Cluster") for body in found["items"])


def test_labels_columns_and_an_order_of_ones_own(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({f"{name}.yaml": _CLUSTER % (name, region) for name, region in (("a", "us"), ("b", "eu"), ("c", "us"))})

    def rows(*options: str) -> list[list[str]]:
        code, out, err = muster("get", "clusters", "--repo", repo.path, *options)
        assert code == 0, err
        return [line.split() for line in out.splitlines()]

    assert [row[0] for row in rows("--sort-by", "metadata.labels.region")] == ["NAME", "b", "a", "c"]
    assert [row[-1].split(",")[-1] for row in rows("--show-labels")] == [
        "LABELS",
        "region=us",
        "region=eu",
        "region=us",
    ]
    assert rows("--no-headers", "--sort-by", "metadata.labels.region")[0][0] == "b"
    listed = rows("-L", "region,example.com/zone", "-L", "x", "--show-labels")
    assert listed[0][-4:] == ["REGION", "ZONE", "X", "LABELS"]
    assert listed[1][-2:] == ["us", "cluster.open-cluster-management.io/clusterset=default,region=us"]
    assert rows("-o", "custom-columns=WHO:.metadata.name", "--no-headers") == [["a"], ["b"], ["c"]]
    columns = "custom-columns=WHO:.metadata.name,WHERE:{.metadata.labels.region},ZONE:metadata.labels.zone"
    assert rows("-o", columns) == [
        ["WHO", "WHERE", "ZONE"],
        ["a", "us", "<none>"],
        ["b", "eu", "<none>"],
        ["c", "us", "<none>"],
    ]
    for options, message in (
        (("-o", "custom-columns=WHO"), "write HEADER:PATH for each column"),
        (("-o", "custom-columns=WHO:.a["), "-o custom-columns: this bracket is not closed"),
        (("--sort-by", "{.a"), "--sort-by: this is not closed"),
    ):
        code, _, err = muster("get", "clusters", "--repo", repo.path, *options)
        assert (code, message in err) == (2, True), err


def test_objects_of_every_kind(muster: Run) -> None:
    code, out, _ = muster("get", "all", "-o", "name", "--repo", EXAMPLE, "--worktree")
    assert code == 0
    assert {"managedcluster", "placement", "clusterpool", "fleet"} <= {line.partition(".")[0] for line in out.split()}
    assert muster("get", "all/web", "--repo", EXAMPLE, "--worktree")[0] == 2


def test_a_name_needs_no_kind_where_it_can_only_mean_one(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()})

    def names(*arguments: str) -> str:
        return muster("get", *arguments, "-o", "name", "--repo", repo.path)[1]

    assert names("prod-eu-1", "prod-us-2") == "".join(
        f"managedcluster.cluster.open-cluster-management.io/{name}\n" for name in ("prod-eu-1", "prod-us-2")
    )
    assert names("web") == "placement.cluster.open-cluster-management.io/shop/web\n"
    for verb, rest in (("describe", ()), ("explain", ("taints",)), ("history", ())):
        assert muster(verb, "prod-us-2", *rest, "--repo", repo.path)[0] == 0
    code, _, err = muster("get", "validation", "--repo", repo.path)
    assert (code, "validation is one of adapterreport/edge-eu-1/validation, " in err) == (2, True), err


def test_a_wide_table_of_placements_names_their_clusters(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*.yaml")})
    for target in ("placements", "placement/shop/search"):
        code, out, _ = muster("get", target, "-o", "wide", "--repo", repo.path, "--now", "2026-01-01T12:00:00Z")
        assert (code, out.splitlines()[0].split()[-1]) == (0, "CLUSTERS")
        (search,) = (line for line in out.splitlines() if " search " in line)
        assert search.endswith("prod-ap-1, prod-eu-1")
