"""docs/rollouts.md: the story that it tells is played with a real repository, and quotes what muster says."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.features.pulses.test_walkthrough import Muster, muster
from tests.support.git import Content, new_repository
from tests.support.killing import killer

__all__ = ["muster"]

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rollouts.md").read_text(encoding="utf-8")
YAML = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
QUOTES = re.findall(r"^```text (\d\d:\d\d) (muster [^\n]+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
DAY = "2026-12-21"
NAMES = [f"{region}-{number}" for region in ("ap", "eu", "us") for number in (1, 2, 3)]
OCM = "cluster.open-cluster-management.io"
KILLED = """
from muster import commandline as cli
def run(argument):
    cli.run(argument.split())
"""


def _cluster(name: str, version: str) -> str:
    labels = {"region": name[:2], **({"canary": "true"} if name == "eu-1" else {})}
    available = {
        "type": "ManagedClusterConditionAvailable",
        "status": "True",
        "reason": "Ok",
        "message": "ok",
        "lastTransitionTime": f"{DAY}T00:00:00Z",
    }
    status = {"conditions": [available], "clusterClaims": [{"name": "web.example.com", "value": version}]}
    body = {
        "apiVersion": f"{OCM}/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": labels},
        "spec": {"hubAcceptsClient": True},
        "status": status,
    }
    return str(yaml.safe_dump(body))


def _lease(name: str) -> str:
    metadata = {"name": "managed-cluster-lease", "namespace": name}
    spec = {"renewTime": "2027-12-21T00:00:00Z"}
    return str(
        yaml.safe_dump({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})
    )


def _placement() -> str:
    metadata = {"name": "web", "namespace": "shop"}
    binding = {
        "apiVersion": f"{OCM}/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "global", "namespace": "shop"},
        "spec": {"clusterSet": "global"},
    }
    placement = {"apiVersion": f"{OCM}/v1beta1", "kind": "Placement", "metadata": metadata, "spec": {}}
    return str(yaml.safe_dump_all([binding, placement]))


class Story:
    """The morning, up to any time of it."""

    def __init__(self, path: Path, muster: Muster) -> None:
        self.repo, self.muster = new_repository(path), muster
        files: dict[str, Content] = {
            "placement.yaml": _placement(),
            "rollout.yaml": YAML[0].replace("v2.4.1", "v2.4.0"),
        }
        for name in NAMES:
            files |= {
                f"clusters/{name}/cluster.yaml": _cluster(name, "v2.4.0"),
                f"clusters/{name}/lease.yaml": _lease(name),
            }
        self.repo.commit(files)
        seconds = 0
        while "completed: v2.4.0" not in self._rollout():  # a step takes a second at least, and canaries soak
            self.at("06:00", "muster reconcile", seconds)
            seconds += 1 if seconds != 2 else 1800
            if "rollouts" in self.repo.git("branch", "--list", "muster/proposals/*"):
                self.approve()

    def _rollout(self) -> str:
        path = self.repo.path / "derived/rollouts/shop/web.yaml"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def runs(self, version: str, *names: str) -> None:
        """Agents report the version that their clusters run."""
        self.repo.commit({f"clusters/{name}/cluster.yaml": _cluster(name, version) for name in names})

    def approve(self, topic: str = "rollouts") -> None:
        """A person merges a proposal."""
        self.repo.git("merge", "--quiet", "--no-ff", "--message", "Yes", f"muster/proposals/{topic}")

    def at(self, clock: str, command: str, seconds: int = 0) -> str:
        """Run a command at a time of the day."""
        now = (
            f"{DAY}T{int(clock[:2]) + seconds // 3600:02}:{int(clock[3:]) + seconds % 3600 // 60:02}:{seconds % 60:02}Z"
        )
        words = command.split()[1:]
        return self.muster(self.repo, *words, "--now", now)[1]

    def starts(self) -> None:
        """A person sets another revision."""
        self.repo.commit({"rollout.yaml": YAML[0]})


@pytest.fixture(scope="module")
def quotes() -> list[tuple[str, str, str]]:
    return [(clock, command, text) for clock, command, text in QUOTES]


def test_the_story(tmp_path: Path, muster: Muster, quotes: list[tuple[str, str, str]]) -> None:
    story = Story(tmp_path / "fleet", muster)
    happens: dict[str, Callable[[], object]] = {
        "09:00": story.starts,
        "09:04": lambda: story.runs("v2.4.1", "eu-1"),
        "09:40": lambda: story.runs("v2.4.1", "eu-2"),
        "09:50": lambda: story.runs("v2.4.1", "eu-3"),
        "10:00": story.approve,
        "10:10": lambda: story.runs("v2.4.1", "ap-1"),
        "14:00": lambda: story.repo.commit({"fleet.yaml": YAML[1]}),
        "19:00": lambda: story.repo.commit({"rollout.yaml": YAML[0].replace("v2.4.1", "v2.4.2")}),
        "20:00": lambda: story.approve("freeze-holidays"),
        "11:30": lambda: story.runs("v2.4.0", "ap-1", "eu-1", "eu-2", "eu-3"),
    }
    done = set[str]()
    for clock, command, text in quotes:
        if clock in happens and clock not in done:
            happens[clock]()
        if clock == "09:34" and clock not in done:
            _killed(story, f"{DAY}T09:34:00Z")
        done.add(clock)
        said = story.at(clock, command).splitlines()
        position = 0
        for line in text.splitlines():
            if line != "…":
                assert line in said[position:], (clock, command, line, said)
                position = said.index(line, position) + 1
    assert set(happens) <= done


def _killed(story: Story, now: str) -> None:
    """The engine is killed in the middle of a step: the branch stays where it was."""
    tip = story.repo.tip("main")
    with killer(KILLED, {**story.repo.environ, "PYTHONPATH": os.pathsep.join(("", *sys.path))}) as kills:
        assert kills.kill_at(6, f"reconcile --repo {story.repo.path} --now {now}") < 0
    assert story.repo.tip("main") == tip
