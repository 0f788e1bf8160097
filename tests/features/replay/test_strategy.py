"""What a Rollout would have done with another strategy: when clusters would have got what, and what follows."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.data.kinds import ROLLOUT
from muster.features.reconcile.reconcile import reconcile
from muster.features.replay.replay import Replayed, replay
from muster.features.replay.strategy import Stints, strategies_of
from muster.features.whatif.supposing import NotSupposable
from muster.git.push import branch_attempts
from muster.git.repository import open_repository
from tests.support.commandline import Run
from tests.support.example import NOON
from tests.support.git import Repo, new_repository
from tests.support.living import BINDING, cluster, lease, observed, placement

RUNS = "self.status.clusterClaims.exists(c, c.name == 'app' && c.value == rollout.revision)"
FIRST = {"name": "first", "selector": {"matchLabels": {"region": "eu"}}, "minSuccessTime": "10m"}
REST = {"name": "rest", "maxConcurrency": 1, "progressDeadline": "1h"}


def _rollout(revision: str, *stages: Any, **spec: Any) -> str:
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Rollout", "metadata": {"name": "web", "namespace": "apps"}}
    own = {"placementRef": {"name": "web"}, "revision": revision, "gate": [{"name": "runs", "expression": RUNS}]}
    return str(yaml.safe_dump({**body, "spec": {**own, "stages": list(stages), **spec}}))


def _runs(name: str, revision: str) -> str:
    return f"{observed(name)}  clusterClaims: [{{name: app, value: {revision}}}]\n"


@dataclass
class RolledOut:
    """A fleet of which `a` is first, and that rolls out v2: `a` takes five minutes, and `b` never succeeds."""

    repo: Repo

    @classmethod
    def started(cls, folder: Path, *stages: Any) -> "RolledOut":
        """The fleet with v1 on every cluster."""
        made = cls(new_repository(folder))
        files: dict[str, str | bytes | None] = {
            "binding.yaml": BINDING, "web.yaml": placement("web", 9), "rollout.yaml": _rollout("v1", *stages),
        }  # fmt: skip
        for name in "abc":
            files |= {
                f"{name}.yaml": cluster(name, region="eu" if name == "a" else "us"),
                f"{name}-seen.yaml": _runs(name, "v1"),
                f"{name}-lease.yaml": lease(name, NOON + timedelta(days=1)),
            }
        made.repo.commit(files)
        for second in (0, 1, 601, 602, 603, 1800, 1801):
            made.run(second - 2000)
        made.repo.git("tag", "then")
        return made

    @classmethod
    def of(cls, folder: Path) -> "RolledOut":
        made = cls.started(folder, FIRST, REST)
        made.repo.commit({"rollout.yaml": _rollout("v2", FIRST, REST)})
        made.run(0)
        made.repo.commit({"a-seen.yaml": _runs("a", "v2")})
        for minutes in (5, 15, 75):
            made.run(minutes * 60)
        return made

    def run(self, seconds: int) -> None:
        repository = open_repository(self.repo.path, self.repo.environ)
        now = NOON + timedelta(seconds=seconds)
        reconcile(repository, lambda: now, branch="main", attempts=branch_attempts())

    def replayed(self, *stages: Any, **spec: Any) -> Replayed:
        repository, head = open_repository(self.repo.path, self.repo.environ), self.repo.tip()
        files = {"mine.yaml": _rollout("v9", *stages, **spec).encode()}
        return replay(repository, self.repo.tip("then"), head, head, files)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> RolledOut:
    return RolledOut.of(tmp_path_factory.mktemp("replayed") / "fleet")


def _rows(found: Replayed) -> list[str]:
    (rollout,) = found.rollouts
    return [
        f"{name} {revision} {_cell(fact)} / {_cell(would)}" for name, revision, fact, would in rollout.rows
    ]  # fmt: skip


def _cell(stint: Any) -> str:
    return "-" if stint is None else f"{(stint.got - NOON) // timedelta(minutes=1)}m {stint}"


def test_the_same_strategy_does_the_same(past: RolledOut) -> None:
    found = past.replayed(FIRST, REST)
    assert (_rows(found), found.differences) == ([], ())


def test_a_strategy_that_tolerates_a_failure_goes_on(past: RolledOut) -> None:
    """Nobody knows how `c` would have done: it never had v2."""
    found = past.replayed(FIRST, {**REST, "maxFailures": 1, "progressDeadline": "30m"})
    assert _rows(found) == ["c v2 - / 45m Succeeded 5m later (supposed)"]


def test_a_cluster_takes_as_long_at_another_time(past: RolledOut) -> None:
    """In runs that no run of the past was near to."""
    found = past.replayed({**FIRST, "minSuccessTime": "1m"}, {**REST, "progressDeadline": "20m"})
    assert _rows(found) == ["b v2 15m TimeOut / 6m TimeOut"]
    found = past.replayed({**REST, "name": "all", "sortBy": "nothing"})
    assert _rows(found) == ["b v2 15m TimeOut / 5m TimeOut"]


def test_as_people_see_it(muster: Run, past: RolledOut, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(_rollout("v1", FIRST, {**REST, "maxFailures": "100%", "maxConcurrency": 2}))
    asked = ("replay", "then..", "--repo", past.repo.path, "--policies", mine)
    code, out, err = muster(*asked, "--exit-code")
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[:3] == [
        "Rollout/apps/web",
        "CLUSTER   REVISION   GOT IT   THEN   WOULD HAVE GOT IT      THEN",
        "c         v2         -        -      2026-01-01T12:15:00Z   Succeeded 5m later (supposed)",
    ]
    assert lines[-1] == "4 runs replayed: all other decisions would have been the same."
    mine.write_text(f"{_rollout('v1', REST)}---\n{BINDING}")
    code, _, err = muster(*asked)
    assert (code, "give each Rollout once, in a file without other objects" in err) == (2, True)


def test_files_with_strategies_and_with_policies() -> None:
    given, rest = strategies_of({"one.yaml": _rollout("v1", REST).encode(), "two.yaml": BINDING.encode()})
    assert (list(given), list(rest)) == ([ROLLOUT.id("web", "apps")], ["two.yaml"])
    with pytest.raises(NotSupposable):
        strategies_of({"one.yaml": f"{_rollout('v1', REST)}---\n{BINDING}".encode()})


def test_what_a_cluster_does_after_the_rollout_went_on_is_kept_apart() -> None:
    found, since = Stints(revisions={"apps/web": "v2"}), "2026-01-01T12:00:{:02}Z"

    def see(revision: str, state: str, second: int) -> None:
        found.see("a", {"apps/web": {"revision": revision, "state": state, "since": since.format(second)}})

    see("v2", "Progressing", 0)
    see("v2", "Succeeded", 7)
    found.revisions["apps/web"] = "v1"
    see("v2", "Failed", 9)
    see("v1", "Progressing", 10)
    stint = found.found["a", "apps/web", "v2"]
    assert str(stint) == "Succeeded 7s later"
    assert stint.aftermath == [(timedelta(seconds=9), "Failed")]
    assert found.median("apps/web") == timedelta(seconds=7)


#: How many minutes a cluster takes to run a revision that it gets; `b` never does.
DELAYS = {"a": 5, "c": 7}
FASTER = {**FIRST, "minSuccessTime": "1m"}
STRATEGIES = (
    (FASTER, {**REST, "maxFailures": 1, "progressDeadline": "20m"}),
    ({**REST, "name": "all", "maxConcurrency": 3},),
    ({**FIRST, "minSuccessTime": "20m"}, {**REST, "maxConcurrency": 2, "maxFailures": "100%"}),
)


def lived(folder: Path, *stages: Any) -> tuple[RolledOut, dict[str, int]]:
    """A fleet in which each cluster takes its time, whatever the strategy by which v2 is rolled out; and the minute at
    which each cluster got v2."""
    made = RolledOut.started(folder, *stages)
    made.repo.commit({"rollout.yaml": _rollout("v2", *stages)})
    got = dict[str, int]()
    for minute in range(35):
        for name, since in got.items():
            if minute - since == DELAYS.get(name):
                made.repo.commit({f"{name}-seen.yaml": _runs(name, "v2")})
        made.run(minute * 60)
        for name in "abc":
            body = yaml.safe_load((made.repo.path / f"derived/managedclusters/{name}.yaml").read_text())
            if body["status"]["muster"]["rollouts"]["apps/web"]["revision"] == "v2":
                got.setdefault(name, minute)
    return made, got


@pytest.mark.parametrize("stages", STRATEGIES, ids=["tolerant", "at once", "patient"])
def test_what_it_answers_is_what_happens(tmp_path: Path, stages: tuple[Any, ...]) -> None:
    """The same clusters, in a fleet in which v2 was rolled out by that strategy."""
    past, got = lived(tmp_path / "past", FIRST, {**REST, "progressDeadline": "15m"})
    _, really = lived(tmp_path / "really", *stages)
    assert really != got, "the strategy makes a difference"
    (rollout,) = past.replayed(*stages).rollouts
    would = {
        name: (stint.got - NOON) // timedelta(minutes=1) for name, _, _, stint in rollout.rows if stint is not None
    }
    assert {**got, **would} == really
