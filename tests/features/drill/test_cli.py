"""Drills as people use them: the matrix, the tests of a fleet, and the plan of a branch."""

import json
from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.git import Repo, clone, new_repository
from tests.support.living import Living

NOON = ("--now", "2026-01-01T12:00:00Z")
#: Fewer outages than the Drills of the example have.
LESS = "  lose:\n    clusters: [prod-us-2]\n"


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()})
    regions = (EXAMPLE / "drills/regions.yaml").read_text().replace("  lose:\n    each: region\n", LESS)
    clusters = (EXAMPLE / "drills/clusters.yaml").read_text().replace("[prod-*]", "[prod-us-2]")
    repo.commit({"drills/regions.yaml": regions, "drills/clusters.yaml": clusters})
    return repo


def test_a_fleet_that_holds_and_a_branch_that_breaks_it(muster: Run, fleet: Repo) -> None:
    code, out, err = muster("drill", "--repo", fleet.path, *NOON)
    assert (code, err) == (0, "")
    assert out == (
        "Drill/clusters: agents stop at 2026-01-01T12:00:00Z, for 30m\n"
        "LOST        shop/search   shop/web   web/shop\nprod-us-2   ok            ok         ok\n\n"
        "Drill/regions: agents stop at 2026-01-01T12:00:00Z, for 1h\n"
        "LOST        shop/search   shop/web\nprod-us-2   ok            ok\n"
    )
    fleet.git("checkout", "-q", "-b", "both-taints")
    fleet.git("apply", "branches/both-taints.patch")
    fleet.git("commit", "-qam", "Use the built-in taints")
    said = (
        "Drill/regions, prod-us-2 is lost: Placement/shop/web: moves-back for 9m20s, until 12:09:20 (gains prod-us-2)"
    )
    code, _, err = muster("plan", "--repo", fleet.path, *NOON, "--base", "main")
    assert code == 1
    assert f"drills/regions.yaml:15:5: error MUS440: {said}" in err
    code, out, _ = muster("test", "--repo", fleet.path, *NOON, "-k", "regions")
    assert code == 1
    assert "FAILED  Drill/regions: prod-us-2 is lost" in out
    code, out, err = muster("drill", "regions", "--repo", fleet.path, *NOON, "-o", "json")
    assert (code, said in err) == (1, True)
    (drill,) = json.loads(out)
    (cell,) = (one for one in drill["domains"][0]["cells"] if not one["ok"])
    assert cell["broken"] == [
        {"name": "moves-back", "from": "2026-01-01T12:00:00Z", "until": "2026-01-01T12:09:20Z", "gained": ["prod-us-2"]}
    ]
    assert muster("plan", "--repo", fleet.path, *NOON, "--base", "both-taints")[0] == 0, "it was broken before"


def test_the_work_tree_and_what_is_unknown(muster: Run, fleet: Repo) -> None:
    text = (fleet.path / "drills/regions.yaml").read_text()
    (fleet.path / "drills/regions.yaml").write_text(text.replace("prod-us-2", "prod-us-9"))
    code, out, err = muster("drill", "regions", "--worktree", "--repo", fleet.path, *NOON)
    assert (code, out.splitlines()[1]) == (1, "nothing to look at: 0 domains, 0 objects")
    assert "drills/regions.yaml:9:5: error MUS441: Drill/regions loses no cluster" in err
    code, out, _ = muster("test", "-k", "regions", "--repo", fleet.path, *NOON)
    assert (code, "Drill/regions loses no cluster" in out) == (1, True)
    code, _, err = muster("drill", "reigons", "--repo", fleet.path, *NOON)
    assert (code, "no Drill is called 'reigons'; did you mean 'regions'?" in err) == (2, True)
    code, _, err = muster("test", "--repo", EXAMPLE, *NOON)
    assert "2 Drills are not rehearsed: that needs a repository with a commit" in err


def test_a_large_matrix_is_folded(muster: Run, fleet: Repo) -> None:
    placement = (fleet.path / "placements/search.yaml").read_text()
    more = {f"placements/p{n}.yaml": placement.replace("name: search", f"name: p{n}") for n in range(4)}
    fleet.commit(more)
    code, out, _ = muster("drill", "regions", "--repo", fleet.path, *NOON)
    assert (code, out.splitlines()[1]) == (0, "ok: 1 domain, 6 objects")
    fleet.commit({"placements/p1.yaml": more["placements/p1.yaml"] + "  tolerations:\n  - {operator: Exists}\n"})
    _, out, _ = muster("drill", "regions", "--repo", fleet.path, *NOON)
    assert out.splitlines()[1:] == [
        "LOST        shop/p1",
        "prod-us-2   moves-back from 12:00:00 (gains new-ap-1)",
        "ok in all: 5 other objects",
    ]


def test_a_drill_with_an_error_fails(muster: Run, fleet: Repo) -> None:
    text = (fleet.path / "drills/regions.yaml").read_text()
    fleet.commit({"drills/regions.yaml": text.replace("placement.clusters.size()", "placement.clusterz.size()")})
    for names in ((), ("regions",)):
        code, _, err = muster("drill", *names, "--repo", fleet.path, *NOON)
        assert (code, "error MUS302: placement has no field 'clusterz'" in err) == (1, True)
    code, out, _ = muster("test", "-k", "regions", "--repo", fleet.path, *NOON)
    assert (code, "FAILED  Drill/regions" in out, "clusterz" in out) == (1, True, True)


def test_a_drill_that_is_not_committed_yet_fails_at_its_place(muster: Run, fleet: Repo) -> None:
    text = (fleet.path / "drills/regions.yaml").read_text()
    states = {"any": "placement.clusters.size() > 999", "any-at-all": "placement.clusters.size() > 0"}
    rules = "".join(f"  - {{name: {name}, expression: {state}}}\n" for name, state in states.items())
    never = f"{text.partition('  never:')[0]}  never:\n{rules}"
    (fleet.path / "drills/new.yaml").write_text(never.replace("name: regions", "name: new"))
    line = never.count("\n")
    code, _, err = muster("drill", "new", "--worktree", "--repo", fleet.path, *NOON)
    assert (code, f"drills/new.yaml:{line}:" in err, "error MUS440" in err) == (1, True, True)


def test_without_the_agents_branches_nothing_holds(muster: Run, tmp_path: Path) -> None:
    living = Living.small(tmp_path / "fleet", 1, 4)
    drill = "{lose: {clusters: [c001]}, never: [{name: n, expression: placement.clusters.size() == 99}]}"
    living.repo.commit(
        {"d.yaml": f"apiVersion: muster.dev/v1alpha1\nkind: Drill\nmetadata: {{name: d}}\nspec: {drill}\n"}
    )
    assert living.reconcile().commit
    ours = clone(living.repo, tmp_path / "clone", "--single-branch")
    for command in (
        ("drill", "--offline"),
        ("forecast", "--offline"),
        ("explain", "placement/apps/some", "c001", "--how", "--offline"),
    ):
        code, _, err = muster(*command, "--repo", ours.path, *NOON)
        assert (code, "report" in err and "that are missing here" in err) == (4, True), command
    assert muster("drill", "--repo", ours.path, *NOON)[0] == 0, "it fetches them"
    assert muster("test", "--repo", ours.path, *NOON)[0] == 0
