"""`muster plan --base` as a user meets it: what a branch changes, on a terminal, in CI, and as a comment."""

import json
import re
from pathlib import Path

import pytest

from muster.cli import exits
from tests.rules.rollouts.world import RolloutWorld
from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.git import Repo, clone, new_repository

NOW = ("--now", "2026-01-01T12:02:30Z")
RECONCILED = ("--now", "2026-01-01T12:02:00Z")
REMEDY = "remedies/dns-down.yaml"


@pytest.fixture
def repo(tmp_path: Path, muster: Run) -> Repo:
    """The example fleet, reconciled, on a branch of its own; without its Drills, which take as long as all the rest."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit(
        {
            str(file.relative_to(EXAMPLE)): file.read_bytes()
            for file in sorted(EXAMPLE.rglob("*"))
            if file.is_file() and file.parent.name != "drills"
        }
    )
    assert muster("reconcile", "--repo", repo.path, *RECONCILED)[0] == 0
    repo.git("switch", "--quiet", "--create", "topic")
    return repo


def edit(repo: Repo, path: str, old: str, new: str) -> None:
    text = (repo.path / path).read_text()
    assert old in text
    repo.commit({path: text.replace(old, new)})


def of_remedy(repo: Repo) -> None:
    """What it acts on is turned round."""
    edit(repo, REMEDY, 'conditionStatus: "False"', 'conditionStatus: "True"')


def test_a_change_of_words_changes_nothing(repo: Repo, muster: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    repo.commit({"README.md": "New words."})
    base = repo.tip("main")[:12]
    code, out, _ = muster("plan", "--repo", repo.path, "--base", "main", "--exit-code", *NOW)
    assert code == exits.FINE
    assert out == (
        f"This branch changes nothing that is derived, since it left main at {base},\n"
        "both as of 2026-01-01T12:02:30Z.\n"
    )
    assert muster("plan", "--repo", repo.path, "--exit-code", "--now", "2026-01-01T12:08:00Z")[0] == exits.FINDINGS


def test_a_change_of_a_remedy_names_clusters_and_traffic(
    repo: Repo, muster: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    of_remedy(repo)
    code, out, err = muster("plan", "--repo", repo.path, "--base", "main", "--exit-code", *NOW)
    assert (code, err) == (exits.FINDINGS, "")
    assert out == (
        "Edited: 1 object\n"
        "  spec.decisionMatches[0].clusterConditionMatch.conditionStatus\n"
        "    False -> True: Remedy/dns-down\n"
        "Remedies: 3 clusters\n"
        "  TrafficControl\n"
        "    asked for by upgrade-member-eu-1 -> by dns-down, upgrade-member-eu-1:\n"
        "      member-eu-1\n"
        "  TrafficControl, by dns-down\n"
        "    applied to: member-ap-1\n"
        "    lifted from: member-us-1\n"
        "Traffic: 2 clusters\n"
        "  web/shop\n"
        "    no more traffic to: member-ap-1\n"
        "    traffic again to: member-us-1\n"
        "TrafficControl applied to member-ap-1; and 5 more.\n"
        "This branch changes what is derived of 4 objects, since it left main at\n"
        f"{repo.tip('main')[:12]}, both as of 2026-01-01T12:02:30Z.\n"
    )


def test_three_clusters_that_are_removed(repo: Repo, muster: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("prod-eu-1", "prod-eu-2", "prod-eu-3"):
        repo.git("rm", "-r", "--quiet", f"clusters/eu/{name}")
    repo.commit()
    code, out, err = muster("plan", "--repo", repo.path, "--base", "main", *NOW)
    assert code == exits.FINE, "a warning"
    lines = out.splitlines()
    assert lines[0].startswith("Removed: 3 clusters, ")
    assert lines[1:3] == [
        "  ManagedCluster",
        "    no longer declared, and kept: see what is held: prod-eu-1, prod-eu-2,",
    ]
    assert "    removal held: prod-eu-1, prod-eu-2, prod-eu-3" in lines
    assert "warning MUS420" in err
    assert err.endswith("1 warning\n"), "and nothing that was wrong before"


def test_a_label_that_a_person_changes_is_named_with_its_object(repo: Repo, muster: Run) -> None:
    edit(repo, "clusters/eu/prod-eu-1/cluster.yaml", "region: eu", "region: de")
    out = muster("plan", "--repo", repo.path, "--base", "main", *NOW)[1]
    assert out.startswith("Edited: 1 cluster\n  label region\n    eu -> de: prod-eu-1\n")
    assert "  clusters\n    5 -> 4: ManagedClusterSet/europe\n" in out
    assert "cluster set europe resized; prod-eu-1 relabelled." in out
    assert not re.search(r"details|updated", out)
    change = json.loads(muster("plan", "--repo", repo.path, "--base", "main", *NOW, "-o", "json")[1])["changes"][0]
    assert (change["object"]["name"], change["field"], change["before"], change["after"]) == (
        "prod-eu-1",
        "label region",
        "eu",
        "de",
    )


def test_an_edited_copy_replaces_the_part_that_it_is(repo: Repo, tmp_path: Path, muster: Run) -> None:
    """Wherever it lies; what the cluster's agent reports in another file stands."""
    text = (repo.path / "clusters/eu/prod-eu-1/cluster.yaml").read_text()
    before = muster("plan", "--repo", repo.path, *NOW)[1]
    for copy in (tmp_path / "x.yaml", repo.path / "x.yaml"):
        copy.write_text(text)
        assert muster("plan", "--repo", repo.path, "--edit", copy, *NOW)[1] == before
    reported = tmp_path / "seen.yaml"
    reported.write_text((repo.path / "clusters/eu/prod-eu-1/observed.yaml").read_text())
    assert muster("plan", "--repo", repo.path, "--edit", reported, *NOW)[1] == before
    copy.write_text(text.replace("leaseDurationSeconds: 60", "leaseDurationSeconds: 120"))
    assert "+ lease duration: 2m" in muster("plan", "--repo", repo.path, "--edit", copy, *NOW)[1]


def test_a_placement_that_runs_dry(repo: Repo, muster: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    edit(
        repo,
        "placements/web.yaml",
        "spec:\n",
        "spec:\n  predicates:\n  - requiredClusterSelector: {labelSelector: {matchLabels: {a: b}}}\n",
    )
    out = muster("plan", "--repo", repo.path, "--base", "main", *NOW)[1]
    assert out.splitlines()[0] == "Edited: 1 object"
    assert out.partition("Placements")[2].splitlines()[:4] == [
        ": 1 placement, 1 left without clusters",
        "  shop/web: 6 -> 0 clusters, left without clusters",
        "    loses (none of the placement's predicates matches it): new-ap-1, prod-ap-1,",
        "      prod-ap-2, prod-eu-1, prod-eu-2, prod-us-1",
    ]


def test_in_a_checkout_of_one_commit(repo: Repo, tmp_path: Path, muster: Run) -> None:
    of_remedy(repo)
    server = clone(repo, tmp_path / "server.git", "--bare")
    repo.git("clone", "--quiet", "--depth=1", "--branch=topic", f"file://{server.path}", str(tmp_path / "shallow"))
    shallow = tmp_path / "shallow"
    expected = muster("plan", "--repo", repo.path, "--base", "main", *NOW, "-o", "json")
    code, _, err = muster("plan", "--repo", shallow, "--base", "origin/main", *NOW, "--offline")
    assert code == exits.REPOSITORY
    assert "'origin/main'" in err
    assert muster("plan", "--repo", shallow, "--base", "origin/main", *NOW, "-o", "json") == expected


@pytest.mark.parametrize("output", ["json", "yaml", "markdown"])
def test_other_formats(repo: Repo, muster: Run, output: str) -> None:
    of_remedy(repo)
    code, out, _ = muster("plan", "--repo", repo.path, "--base", "main", *NOW, "-o", output)
    assert code == exits.FINE
    assert "member-ap-1" in out
    if output == "json":
        document = json.loads(out)
        assert (document["base"], document["commit"], document["differing"]) == (repo.tip("main"), repo.tip(), 4)
    if output == "markdown":
        assert out.startswith("<!-- muster:plan -->\n### Plan: TrafficControl applied to member-ap-1; ")


def test_a_plan_without_a_base_is_a_comment_too(repo: Repo, muster: Run) -> None:
    code, out, _ = muster("plan", "--repo", repo.path, "--now", "2026-01-01T12:08:00Z", "-o", "markdown")
    assert code == exits.FINE
    assert "### Plan: 5 clusters Unknown; budget exceeded; and 4 more" in out
    assert "| <code>shop&#47;web&#58; 6 -&#62; 4 clusters</code> | <code>loses " in out
    assert "<code>taint unhealthy&#58;NoSelect held</code>" in out


def test_what_is_not_committed_yet(repo: Repo, muster: Run) -> None:
    path = repo.path / REMEDY
    path.write_text(path.read_text().replace('"False"', '"True"'))
    out = muster("plan", "--repo", repo.path, "--base", "main", "--worktree", *NOW)[1]
    assert "    applied to: member-ap-1" in out
    assert muster("plan", "--repo", repo.path, "--base", "main", *NOW)[1].startswith("This branch changes nothing")


def test_new_errors_fail_and_old_ones_do_not(repo: Repo, muster: Run) -> None:
    repo.git("switch", "--quiet", "main")
    typo = "apiVersion: remedy.karmada.io/v1alpha1\nkind: Remedy\nmetadata: {name: NAME}\nspec: {acions: []}\n"
    repo.commit({"remedies/old.yaml": typo.replace("NAME", "old")})
    repo.git("switch", "--quiet", "--create", "mine")
    repo.commit({"README.md": "words"})
    assert muster("plan", "--repo", repo.path, "--base", "main", *NOW)[0] == exits.FINE
    repo.commit({"remedies/new.yaml": typo.replace("NAME", "new"), "remedies/old.yaml": None})
    code, out, err = muster("plan", "--repo", repo.path, "--base", "main", *NOW)
    assert code == exits.FINDINGS
    assert "remedies/new.yaml:4:" in err
    assert "mended: remedies/old.yaml:4:" in out


def test_what_was_kept_gives_the_same(repo: Repo, tmp_path: Path, muster: Run) -> None:
    state = tmp_path / "state.sqlite"
    repo.git("switch", "--quiet", "main")
    muster("reconcile", "--repo", repo.path, "--state", state, "--now", "2026-01-01T12:02:10Z")
    repo.git("switch", "--quiet", "topic")
    repo.git("reset", "--quiet", "--hard", "main")
    edit(repo, "clusters/eu/prod-eu-1/cluster.yaml", "  labels:\n", "  labels:\n    new: label\n")
    for output in ("table", "json", "markdown"):
        arguments = ("plan", "--repo", repo.path, "--base", "main", *NOW, "-o", output)
        assert muster(*arguments, "--state", state) == muster(*arguments, "--state", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_where_there_is_no_history(tmp_path: Path, muster: Run) -> None:
    (tmp_path / "plain").mkdir()
    code, _, err = muster("plan", "--repo", tmp_path / "plain", "--worktree", "--base", "main")
    assert code == exits.REPOSITORY
    assert "there is no commit here to compare" in err


def test_a_new_revision_names_the_stages_and_clusters_in_their_order(tmp_path: Path, muster: Run) -> None:
    world = RolloutWorld(tmp_path / "fleet")
    world.runs("v1", "a", "b", "c")
    world.runs("v1", "d", canary="true")
    rest = {"name": "rest", "maxConcurrency": "50%", "approval": True, "windows": ["hours"]}
    for branch, revision in (("main", "v1"), ("topic", "v2")):
        canary = {"name": "canary", "selector": {"matchLabels": {"canary": "true"}}}
        empty = {"name": "edge", "selector": {"matchLabels": {"edge": "true"}}}
        world.rollout(revision, canary, empty, rest)
        if branch == "main":
            repo = new_repository(tmp_path / "repo")
        else:
            repo.git("switch", "--quiet", "--create", branch)
        repo.commit({file.name: file.read_bytes() for file in sorted(world.root.iterdir()) if file.is_file()})
    out = muster("plan", "--repo", repo.path, "--base", "main", *NOW)[1]
    assert (
        "Rollouts: 1 rollout to begin\n  apps/web: v1 -> v2\n    stage 1. canary: d\n    stage 2. edge: nobody\n"
        "    stage 3. rest, 50% at a time, after approval, while hours is open: a, b, c\n"
    ) in out
    found = json.loads(muster("plan", "--repo", repo.path, "--base", "main", "-o", "json", *NOW)[1])["rollouts"]
    assert [(one["before"], one["after"], one["stages"][0]) for one in found] == [
        ("v1", "v2", {"stage": "1. canary", "clusters": ["d"]})
    ]
