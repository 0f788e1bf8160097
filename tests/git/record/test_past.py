"""With --rev, the past is answered by what was recorded then, and never by what agents say today."""

import json
from datetime import timedelta
from pathlib import Path
from shutil import copytree

import pytest

from muster.data.times import format_time
from muster.git.open import open_snapshot
from tests.support.commandline import Run
from tests.support.example import NOON
from tests.support.git import Repo, clone
from tests.support.living import Living

DARK = NOON + timedelta(minutes=6)
#: Every command that shows what is derived of one cluster, with the words that it shows of an expired lease.
SHOWING = (
    (("get", "managedclusters", "c001"), "Unknown"),
    (("get", "managedclusters", "c001", "-o", "yaml"), "ManagedClusterLeaseUpdateStopped"),
    (("describe", "managedcluster/c001"), "ManagedClusterLeaseUpdateStopped"),
    (("explain", "managedcluster/c001", "ManagedClusterConditionAvailable"), "lease-expired"),
    (("history", "managedcluster/c001"), "Unknown"),
    (("export", "objects", "managedclusters", "--status"), "ManagedClusterLeaseUpdateStopped"),
)


def an_outage(folder: Path) -> tuple[Repo, str]:
    """A fleet whose first cluster was silent for six minutes, and came back; and the commit that found it silent."""
    living = Living.small(folder, 1, 4)
    found = list[str]()
    for minutes, speaking in ((0, ("c001", "c003")), (6, ("c003",)), (8, ("c001", "c003"))):
        living.now = NOON + timedelta(minutes=minutes)
        for name in speaking:
            living.speaks(name)
        done = living.reconcile()
        assert done.commit
        found.append(done.commit)
    return living.repo, found[1]


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repo, str]:
    return an_outage(tmp_path_factory.mktemp("fleet") / "fleet")


@pytest.fixture
def repo(outage: tuple[Repo, str], tmp_path: Path) -> Repo:
    copytree(outage[0].path, tmp_path / "fleet")
    return Repo(tmp_path / "fleet", outage[0].environ)


@pytest.mark.parametrize(("command", "words"), SHOWING, ids=lambda value: " ".join(value) if value is not str else "")
@pytest.mark.parametrize("instant", ((), ("--now", format_time(DARK))), ids=("", "now"))
def test_the_past_is_as_it_was_decided(
    muster: Run, repo: Repo, outage: tuple[Repo, str], command: tuple[str, ...], words: str, instant: tuple[str, ...]
) -> None:
    code, out, err = muster(*command, "--repo", str(repo.path), "--rev", outage[1], *instant)
    assert (code, words in out) == (0, True)
    assert "note:" not in err


def test_the_heartbeat_that_decided_is_shown_with_its_commit(muster: Run, repo: Repo, outage: tuple[Repo, str]) -> None:
    where, commit = ("--repo", str(repo.path)), outage[1]
    history = ("history", "managedcluster/c001", *where, "--since", "9999d")
    heard = json.loads(muster(*history, "-o", "json")[1])["transitions"]
    by_commit = {step["commit"]: step["heartbeats"] for step in heard}
    (decided,), (first,) = by_commit[commit], by_commit[repo.git("rev-parse", f"{commit}~1")]
    assert decided == first
    assert (decided["ref"], decided["renewed"]) == ("agents/c001", format_time(NOON))
    assert len(decided["commit"]) == 40
    _, out, _ = muster(*history)
    assert f"heard: agents/c001 at {decided['commit'][:7]}, renewed at {format_time(NOON)}" in out
    explained = ("explain", "managedcluster/c001", "ManagedClusterConditionAvailable", *where, "--rev")
    assert f"{decided['commit'][:7]} by Ada" in muster(*explained, commit)[1]
    _, other, _ = muster("explain", "managedcluster/c003", "ManagedClusterConditionAvailable", *where, "--rev", commit)
    assert f"recorded with {commit[:7]}" in other


def test_a_forecast_of_the_past_follows_from_what_was_known_then(
    muster: Run, repo: Repo, outage: tuple[Repo, str]
) -> None:
    where = ("--repo", str(repo.path), "--for", "10m", "-o", "json")
    code, out, _ = muster("forecast", *where, "--rev", outage[1])
    assert code == 0
    moments = json.loads(out)
    assert not any(change["object"]["name"] == "c001" for moment in moments for change in moment["changes"])
    # c003 renewed its lease at that instant, and nobody knows whether it will again.
    assert any(change["object"]["name"] == "c003" for moment in moments for change in moment["changes"])
    _, first, _ = muster("forecast", *where, "--rev", f"{outage[1]}~1", "--renew", "c003")
    assert {change["object"]["name"] for moment in json.loads(first) for change in moment["changes"]} >= {"c001"}


def test_a_plan_of_the_past_has_nothing_to_do(muster: Run, repo: Repo, outage: tuple[Repo, str]) -> None:
    assert muster("plan", "--repo", str(repo.path), "--rev", outage[1], "--exit-code")[0] == 0
    _, out, _ = muster("plan", "--repo", str(repo.path), "--rev", f"{outage[1]}~1")
    assert "c001" not in out


def test_the_newest_commit_is_past_as_of_its_own_instant(muster: Run, repo: Repo) -> None:
    where = ("get", "managedclusters", "c003", "--repo", str(repo.path), "--rev", "main")
    _, then, _ = muster(*where, "--now", format_time(NOON + timedelta(minutes=8)))
    _, today, _ = muster(*where)
    assert ("True" in then, "Unknown" in today) == (True, True)


@pytest.mark.parametrize(
    ("loss", "words"),
    (
        ("lost", "is not in this clone"),
        ("none", "did not record what agents reported"),
    ),
)
def test_without_a_record_what_was_decided_is_shown(
    muster: Run, repo: Repo, outage: tuple[Repo, str], loss: str, words: str
) -> None:
    commit = outage[1]
    if loss == "none":  # the same commits, as a version made them that recorded nothing
        message = repo.git("show", "-s", "--format=%B", commit)
        text = "\n".join(line for line in message.splitlines() if not line.startswith("Muster-Heard"))
        commit = repo.git("commit-tree", "-p", f"{commit}~1", "-m", text, f"{commit}^{{tree}}")
        repo.git(
            "update-ref", "refs/heads/main", repo.git("commit-tree", "-p", commit, "-m", "x", f"{commit}^{{tree}}")
        )
        repo.git("reset", "--quiet", "--hard")
    else:
        for ref in repo.refs():
            if ref.startswith("refs/muster/"):
                repo.git("update-ref", "-d", ref)
        repo.git("gc", "--quiet", "--prune=now")
    for command in (("get", "managedclusters", "c001"), ("describe", "managedcluster/c001")):
        code, out, err = muster(*command, "--repo", str(repo.path), "--rev", commit)
        assert (code, "Unknown" in out) == (0, True)
        assert (err.count("note:"), words in err) == (1, True)


def test_where_history_is_cut_off_before_the_run_it_is_said(
    muster: Run, repo: Repo, outage: tuple[Repo, str], tmp_path: Path
) -> None:
    depth = int(repo.git("rev-list", "--count", f"{outage[1]}..HEAD")) + 1
    shallow = clone(repo, tmp_path / "shallow", "--no-local", f"--depth={depth}")
    _, _, err = muster("get", "--repo", shallow.path, "--rev", outage[1])
    assert err.startswith("note: this clone's history does not reach the last run before")


def test_a_record_that_is_not_here_is_fetched(
    muster: Run, repo: Repo, outage: tuple[Repo, str], tmp_path: Path
) -> None:
    repo.git("clone", "--quiet", "--no-local", str(repo.path), str(tmp_path / "clone"))
    command = ("describe", "managedcluster/c001", "--repo", str(tmp_path / "clone"), "--rev", outage[1])
    assert muster(*command, "--offline")[2].count("is not in this clone") == 1
    code, out, err = muster(*command)
    assert (code, "note:" in err, "ManagedClusterLeaseUpdateStopped" in out) == (0, False, True)


def test_what_is_not_on_the_branch_that_is_checked_out_may_be_past(
    muster: Run, repo: Repo, outage: tuple[Repo, str]
) -> None:
    command = ("get", "managedclusters", "c001", "--repo", str(repo.path), "--rev")
    repo.git("checkout", "--quiet", outage[1])
    for revision in ("HEAD", outage[1]):
        assert f"by the record of {outage[1][:12]}" in muster(*command, revision)[1]
    repo.git("checkout", "--quiet", "-b", "topic", f"{outage[1]}~1")
    assert "by the record of" in muster(*command, outage[1])[1]
    repo.git("checkout", "--quiet", "-b", "ahead", "main")
    repo.commit({"notes.md": "x"})
    repo.git("checkout", "--quiet", "main")
    assert "by the record of" not in muster(*command, "main")[1], "another branch only adds what a person wants"


def test_a_head_that_is_detached_is_as_past_as_its_commit(repo: Repo, outage: tuple[Repo, str]) -> None:
    repo.git("checkout", "--quiet", outage[1])
    contents = [
        {file.label: file.read() for file in open_snapshot(repo.path, revision).files()}
        for revision in ("HEAD", outage[1])
    ]
    today = {file.label: file.read() for file in open_snapshot(repo.path, "main").files()}
    assert contents[0] == contents[1]
    assert contents[0]["agents/c001:lease.yaml"] != today["agents/c001:lease.yaml"]


def test_history_ends_with_the_revision(muster: Run, repo: Repo, outage: tuple[Repo, str]) -> None:
    where = ("history", "managedcluster/c001", "--repo", str(repo.path), "--since", "10m", "--rev")
    assert "True -> Unknown" in muster(*where, outage[1])[1]
    assert "Unknown -> True" not in muster(*where, outage[1])[1]


def test_the_past_of_a_fleet_with_a_branch_of_derived_files(muster: Run, tmp_path: Path) -> None:
    living = Living.small(tmp_path / "fleet", 1, 4)
    fleet = living.repo.show("fleet.yaml").replace("spec: {", "spec: {derived: {branch: derived}, ")
    commits = list[str]()
    for minutes, speaking in ((0, ("c001", "c003")), (6, ("c003",)), (8, ("c001", "c003"))):
        living.now = NOON + timedelta(minutes=minutes)
        commits.append(living.repo.commit({"fleet.yaml": f"{fleet}\n", "notes.md": f"{minutes}\n"}))
        for name in speaking:
            living.speaks(name)
        assert living.reconcile().commit
    repo = ("--repo", str(living.repo.path))
    for revision in (living.repo.tip("main~1"), "derived~1"):
        assert "Unknown" in muster("get", "managedclusters", "c001", *repo, "--rev", revision)[1]
        code, out, _ = muster("describe", "managedcluster/c001", *repo, "--rev", revision)
        assert (code, "ManagedClusterLeaseUpdateStopped" in out) == (0, True)
    for start in (commits[0], "derived~3"):
        assert muster("replay", f"{start}..HEAD", *repo, "--exit-code")[:2] == (0, "3 runs repeated: all the same\n")
    code, out, _ = muster("replay", f"{commits[0]}..HEAD", *repo, "--set", "fleet.spec.reports.maxAge=1h")
    assert (code, "3 runs" in out) == (0, True)
    assert muster("replay", f"{commits[1]}..{commits[1]}", *repo)[1] == "1 run repeated: all the same\n"
