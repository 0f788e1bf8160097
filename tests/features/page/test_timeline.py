"""What history says of all clusters: over real commits, looked at once and as they come."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from muster.data.kinds import MANAGED_CLUSTER
from muster.data.times import format_time
from muster.features.history.history import Begins, FleetHistory
from muster.features.page.timeline import BEATS_COLUMNS, Timeline, heartbeats, state_in
from muster.git.derivedbranch import join_commits
from muster.git.repository import Repository, open_repository
from tests.support.example import NOON
from tests.support.git import Repo, clone, new_repository

AVAILABLE = "ManagedClusterConditionAvailable"
FILE = """\
# Written by muster. Edits are overwritten by the next reconcile.
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: a
status:
  conditions:
  - type: Available
    status: "False"
    message: |
      - type: ManagedClusterConditionAvailable
        status: "False"
  - type: ManagedClusterConditionAvailable
    status: "{}"
    reason: Told
"""
DENIED = '  conditions:\n  - type: HubAcceptedManagedCluster\n    status: "False"\n    reason: R\n'
BY_HAND = f"{{kind: ManagedCluster, status: {{conditions: [{{type: {AVAILABLE}, status: 'False'}}]}}}}\n"


def hours(number: float) -> datetime:
    return NOON + timedelta(hours=number)


def decide(
    repo: Repo, at: datetime | None, clusters: Mapping[str, str], folder: str = "derived/managedclusters"
) -> str:
    """Commit what is derived of clusters; no status: nothing more. Without an instant, it was no run."""
    files = {
        f"{folder}/{name}.yaml": FILE.format(status) if status in ("True", "Unknown", "False") else status or None
        for name, status in clusters.items()
    }
    if at is None:
        return repo.commit(files, "Told")
    # Of the first commit that is known nothing but its date counts.
    dated = Repo(repo.path, {**repo.environ, "GIT_COMMITTER_DATE": format_time(at)})
    if repo.git("rev-parse", "--verify", "--quiet", "HEAD", check=False):
        return dated.commit_run(files, "Told", now=format_time(at))
    return dated.commit(files, "Told")


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def told(history: FleetHistory) -> list[tuple[float, dict[str, tuple[str, str]]]]:
    """Hours since noon, and what became of which cluster."""
    return [
        ((one.commit.at - NOON) / timedelta(hours=1), {it.cluster.split("/")[1][:-5]: it[1:] for it in one.changes})
        for one in history.steps
    ]


def test_steps_are_those_in_which_a_status_changed_whoever_made_them(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    timeline, seen = Timeline(opened(repo)), []

    def look() -> FleetHistory:
        found = timeline.upto(repo.tip(), hours(9))
        assert found == Timeline(opened(repo)).upto(repo.tip(), hours(9)), "as if it had not looked before"
        seen.append(len(found.steps))
        return found

    repo.commit({"clusters/a.yaml": "x"})
    decide(repo, hours(0), {"a": "True", "b": "True"})
    look()
    unknown = decide(repo, hours(1), {"a": "Unknown"})
    decide(repo, hours(1.5), {"a": FILE.format("Unknown").replace("Told", "Heard")})
    look()
    decide(repo, None, {"b": BY_HAND})  # dated by a clock that is half a day late
    decide(repo, hours(3), {"a": "True", "b": "True"})
    flat = {name: (repo.path / f"derived/managedclusters/{name}.yaml").read_bytes() for name in "ab"}
    repo.commit_run(
        {f"derived/managedclusters/{name}.yaml": None for name in flat}
        | {f"derived/managedclusters/0{name}/{name}.yaml": data for name, data in flat.items()},
        "Shards",
        now=format_time(hours(4)),
    )
    look()
    decide(repo, hours(5), {"b": ""}, "derived/managedclusters/0b")
    found = look()
    assert told(found) == [
        (0, {"a": ("", "True"), "b": ("", "True")}),
        (1, {"a": ("True", "Unknown")}),
        (1, {"b": ("True", "False")}),
        (3, {"a": ("Unknown", "True"), "b": ("False", "True")}),
        (5, {"b": ("True", "")}),
    ]
    assert found.steps[1].commit.commit == unknown
    assert [one.subject for one in found.latest["managedclusters/b.yaml"]] == ["Told", "Shards", "Told", "Told", "Told"]
    assert (found.begins, found.reason, seen) == (hours(0), Begins.FIRST, [1, 2, 4, 5])


def test_what_is_older_than_the_window_is_passed_over(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    for days, status in ((0, "True"), (1, "Unknown"), (400, "True"), (401, "False")):
        decide(repo, hours(24 * days), {"a": status})
    timeline = Timeline(opened(repo))
    found = timeline.upto(repo.tip(), hours(24 * 405))
    assert ([at / 24 for at, _ in told(found)], found.begins) == ([400, 401], None)
    assert len(found.latest["managedclusters/a.yaml"]) == 4, "of a cluster something older is told, too"
    assert told(timeline.upto(repo.tip(), hours(24 * 767 - 1))) == [(401 * 24, {"a": ("True", "False")})]


def test_it_says_since_when_it_knows(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    for hour in range(6):
        decide(repo, hours(hour), {"a": "True" if hour % 2 else "Unknown", "b": "True"})
        repo.commit({"people.yaml": str(hour)})

    def known(of: Repo, **bounds: int) -> tuple[float | None, Begins | None, int]:
        found = Timeline(opened(of), **bounds).upto(of.tip(), hours(7))
        begins = None if found.begins is None else (found.begins - NOON) / timedelta(hours=1)
        return begins, found.reason, len(found.steps)

    assert known(repo) == (0, Begins.FIRST, 5)
    assert known(repo, max_commits=5) == (4, Begins.LENGTH, 2)
    assert known(repo, max_files=3) == (2, Begins.LENGTH, 3)
    for _ in range(3):
        repo.commit({"people.yaml": f"{_}"})
    assert known(repo, max_commits=2) == (-12, Begins.LENGTH, 0), "as the clock of the first that was passed over says"
    repo.git("reset", "--quiet", "--hard", "HEAD~3")
    assert known(clone(repo, tmp_path / "shallow", "--no-local", "--depth=6")) == (3, Begins.CLONE, 2)
    assert known(clone(repo, tmp_path / "shallower", "--no-local", "--depth=2")) == (5, Begins.CLONE, 0)


def test_what_was_rewritten_or_came_by_a_merge_is_looked_at_anew(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    first = decide(repo, hours(0), {"a": "True"})
    decide(repo, hours(1), {"a": "Unknown"})
    timeline = Timeline(opened(repo))
    assert len(timeline.upto(repo.tip(), hours(9)).steps) == 1
    repo.git("reset", "--quiet", "--hard", first)
    decide(repo, hours(2), {"a": "False"})
    assert told(timeline.upto(repo.tip(), hours(9))) == [(2, {"a": ("True", "False")})]
    known = repo.tip()
    repo.git("reset", "--quiet", "--hard", first)
    repo.commit({"people.yaml": "mine"})
    repo.git("merge", "--quiet", "--no-edit", known)  # what was known is not among the first parents now
    found = timeline.upto(repo.tip(), hours(9))
    assert found == Timeline(opened(repo)).upto(repo.tip(), hours(9))
    assert [step.commit.commit for step in found.steps] == [repo.tip()]


def test_what_is_derived_may_have_a_branch_of_its_own(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    people = repo.commit({"clusters/a.yaml": "x"})
    repo.git("checkout", "--quiet", "--orphan", "derived")
    repo.git("rm", "-r", "--quiet", "--force", ".")
    timeline, repository = Timeline(opened(repo)), opened(repo)
    decide(repo, hours(0), {"a": "True"})
    for hour, status in ((1, "Unknown"), (2, "True")):
        tip = decide(repo, hours(hour), {"a": status})
        found = timeline.upto(join_commits(repository, people, tip), hours(9))
        assert [at for at, _ in told(found)] == list(range(1, hour + 1))
    assert found.latest["managedclusters/a.yaml"][0].commit == tip


def test_heartbeats_of_the_last_day_are_counted_by_file(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    for at in (-30, -25, -2, -1.95, 0):
        dated = Repo(repo.path, {**repo.environ, "GIT_COMMITTER_DATE": format_time(hours(at))})
        dated.commit({"a/lease.yaml": f"{at}", "derived/managedclusters/a.yaml": f"{at}"})
    repo.git("checkout", "--quiet", "--orphan", "derived")
    joined = join_commits(opened(repo), repo.git("rev-parse", "main"), repo.git("rev-parse", "main"))
    for commit in ("main", joined):
        found = heartbeats(opened(repo), commit, hours(0))
        assert {path: sum(beats) for path, beats in found.items()} == {"a/lease.yaml": 3}
        beats = found["a/lease.yaml"]
        assert (len(beats), beats[-1], beats[int(BEATS_COLUMNS * 22 / 24)]) == (BEATS_COLUMNS, 1, 2)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (FILE.format("True"), "True"),
        (FILE.format("Unknown").replace('"Unknown"', "Unknown"), "Unknown"),
        (FILE.format("False").replace("    reason", "    other: [a\n      b]\n\n    reason"), "False"),
        (FILE.replace("# Written by", "# Mended by").format("True"), "True"),
        (FILE.replace('    status: "{}"', "    reason: None\n    status: False").format(), ""),  # no text
        (BY_HAND, "False"),
        (FILE.replace("  conditions:\n", DENIED).format("Unknown"), "Denied"),
        (FILE.replace("  conditions:\n", DENIED.replace("False", "True")).format("Unknown"), "NotJoined"),
        (FILE.replace("  conditions:\n", DENIED.replace("False", "True")).format("True"), "True"),
        (f"spec:\n  {AVAILABLE}:\n  - type: {AVAILABLE}\n    status: 'True'\n", ""),
        (FILE.split("status:", maxsplit=1)[0], ""),
        (f"{AVAILABLE}: [", ""),
        (f"[{AVAILABLE}]", ""),
    ],
)
def test_a_status_is_read_however_it_is_written(data: str, status: str) -> None:
    assert state_in(data.encode(), MANAGED_CLUSTER) == status
