"""Replaying: by the policies that ruled, what was committed; by others, exactly what differs."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from muster.features.reconcile.reconcile import reconcile
from muster.features.replay.replay import Replayed, replay
from muster.features.whatif.supposing import NotSupposable
from muster.git.push import branch_attempts
from muster.git.repository import Repository, open_repository
from tests.support.example import NOON
from tests.support.git import Content, Repo, new_repository
from tests.support.living import BINDING, REMEDY, cluster, lease, observed, placement

NAMES = tuple("abcdef")
#: A Fleet whose runs record nothing.
UNRECORDED = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {record: {keep: 0s}}\n"
EAGER = REMEDY.replace('conditionStatus: "False"', "conditionStatus: Unknown")


@dataclass
class Past:
    """A fleet whose people and agents commit at random, and whose runs commit what follows."""

    repo: Repo
    chance: random.Random
    now: datetime = NOON

    @classmethod
    def of(cls, folder: Path, seed: int) -> "Past":
        made = cls(new_repository(folder), random.Random(seed))
        files: dict[str, Content] = {
            "apps/binding.yaml": BINDING,
            "apps/some.yaml": placement("some", 3),
            "r.yaml": REMEDY,
        }
        for name in NAMES:
            files |= {f"{name}/cluster.yaml": cluster(name), f"{name}/seen.yaml": observed(name)}
        made.repo.commit({**files, **made.beats(NAMES)})
        made.run()
        return made

    @property
    def repository(self) -> Repository:
        return open_repository(self.repo.path, self.repo.environ)

    def beats(self, names: tuple[str, ...]) -> dict[str, Content]:
        return {f"{name}/lease.yaml": lease(name, self.now) for name in names}

    def speak(self, name: str) -> None:
        """The agent of a cluster reports on its branch."""
        self.repo.commit_to(
            f"refs/heads/agents/{name}", {"lease.yaml": lease(name, self.now), "seen.yaml": observed(name)}
        )

    def run(self) -> None:
        reconcile(self.repository, lambda: self.now, branch="main", attempts=branch_attempts())

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.now += timedelta(seconds=self.chance.choice((20, 60, 180, 400)))
            beating = tuple(name for name in NAMES if self.chance.random() < 0.6)
            name = self.chance.choice(NAMES)
            happenings: tuple[dict[str, Content], ...] = (
                {f"{name}/seen.yaml": observed(name, healthy=self.chance.random() < 0.5)},
                {f"{name}/cluster.yaml": cluster(name, region=self.chance.choice(("eu", "us")))},
                {"apps/some.yaml": placement("some", self.chance.randint(1, 5))},
                {},
            )
            happening = self.chance.choice(happenings)
            self.repo.commit({**self.beats(beating), **happening})
            self.run()

    def replayed(self, start: str, policies: str = "HEAD", files: dict[str, bytes] | None = None) -> Replayed:
        return replay(self.repository, self.repo.tip(start), self.repo.tip(), self.repo.tip(policies), files)


def runs(repo: Repo, commits: str) -> Iterator[str]:
    yield from repo.git("log", "--grep=Muster-Now", "--format=%H", commits).split()


def test_by_the_policies_that_ruled_it_is_what_was_committed(tmp_path: Path) -> None:
    past = Past.of(tmp_path / "fleet", 1)
    first = past.repo.tip()
    past.live(12)
    found = past.replayed(first)
    assert found.differences == ()
    assert found.runs == len(list(runs(past.repo, f"{first}..HEAD"))) > 5


def test_by_another_policy_it_finds_what_that_would_have_done(tmp_path: Path) -> None:
    """A Remedy that acts on silence, and not on what a cluster says of itself."""
    past = Past.of(tmp_path / "fleet", 2)
    first = past.repo.tip()
    past.now += timedelta(minutes=1)
    past.repo.commit({**past.beats(tuple("bcdef")), "b/seen.yaml": observed("b", healthy=False)})
    past.run()
    failed = past.now
    past.now += timedelta(minutes=5)
    past.repo.commit(past.beats(tuple("bcdef")))
    past.run()
    silent = past.now
    past.now += timedelta(minutes=1)
    past.repo.commit(past.beats(NAMES))
    past.run()
    found = past.replayed(first, files={"eager.yaml": EAGER.encode()})
    told = {(d.object.name, d.field, d.since, d.until, bool(d.committed), bool(d.replayed)) for d in found.differences}
    assert ("b", "remedy TrafficControl", failed, None, True, False) in told
    assert ("a", "remedy TrafficControl", silent, past.now, False, True) in told
    assert {name for name, field, *_ in told if field.startswith("remedy")} == {"a", "b"}


def test_policies_of_another_revision_rule_whatever_was_committed_since(tmp_path: Path) -> None:
    past = Past.of(tmp_path / "fleet", 3)
    first = past.repo.tip()
    past.repo.commit({"r.yaml": None, **past.beats(NAMES)})
    past.now += timedelta(minutes=1)
    past.repo.commit({**past.beats(NAMES), "b/seen.yaml": observed("b", healthy=False)})
    past.run()
    found = past.replayed(first, policies=first)
    assert [(d.object.name, d.field, d.committed) for d in found.differences if d.field.startswith("remedy")] == [
        ("b", "remedy TrafficControl", "")
    ]
    assert past.replayed(first).differences == (), "today there is no such Remedy"


def test_clusters_that_spoke_through_refs_stay_as_they_were_in_runs_without_a_record(tmp_path: Path) -> None:
    past = Past.of(tmp_path / "fleet", 4)
    past.repo.commit({"a/lease.yaml": None, "fleet.yaml": UNRECORDED})
    past.repo.commit_to("refs/heads/agents/a", {"lease.yaml": lease("a", past.now)})
    past.run()
    first = past.repo.tip()
    past.now += timedelta(minutes=10)
    past.repo.commit(past.beats(tuple("bcdef")))
    past.run()
    found = past.replayed(first)
    assert found.unrecorded == 1
    assert {d.object.name for d in found.differences if d.object.kind == "ManagedCluster"} <= {"a"}


def test_what_agents_said_then_counts(tmp_path: Path) -> None:
    """And not what they say today: the agent on a branch was silent, and is back."""
    past = Past.of(tmp_path / "fleet", 4)
    past.repo.commit({"a/lease.yaml": None, "a/seen.yaml": None})
    past.speak("a")
    past.run()
    first = past.repo.tip()
    past.now += timedelta(minutes=10)
    past.repo.commit(past.beats(tuple("bcdef")))
    past.run()
    past.now += timedelta(minutes=1)
    past.repo.commit(past.beats(tuple("bcdef")))
    past.speak("a")
    past.run()
    found = past.replayed(first, files={"eager.yaml": EAGER.encode()})
    silent, back = past.now - timedelta(minutes=1), past.now
    assert [(d.object.name, d.since, d.until) for d in found.differences if d.field == "remedy TrafficControl"] == [
        ("a", silent, back)
    ]


def test_a_rollout_is_no_policy(tmp_path: Path) -> None:
    past = Past.of(tmp_path / "fleet", 5)
    text = "apiVersion: muster.dev/v1alpha1\nkind: Rollout\nmetadata: {name: web, namespace: apps}\nspec: {}\n"
    with pytest.raises(NotSupposable, match="forecast --edit"):
        past.replayed(past.repo.tip(), files={"rollout.yaml": text.encode()})
