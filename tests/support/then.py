"""What commands say of a fleet at an instant, to be compared with what they say of that commit later.

Further repositories are asked then, as the run asked them: one that did not answer is heard by neither.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from muster.data.times import format_time
from tests.support.commandline import Run
from tests.support.git import Repo

#: Commands that read a fleet. `{cluster}` is one of its clusters.
_QUESTIONS: Final = (
    ("get", "all", "-o", "json"),
    ("get", "waiting"),
    ("describe", "cluster/{cluster}"),
    ("describe", "placements"),
    ("explain", "cluster/{cluster}", "ManagedClusterConditionAvailable"),
    ("explain", "placement/apps/web"),
    ("explain", "rollout/apps/app"),
    ("forecast", "--for", "3h", "-o", "json"),
    ("history", "cluster/{cluster}"),
)


#: How an agent's commit is named: a record keeps those of clusters about which its run decided something.
_AGENTS_COMMIT: Final = re.compile(r"(, [0-9a-f]{7} by Agent, \w+ ago)?(, recorded with [0-9a-f]{7})?$", re.MULTILINE)
_HEARD_UNTIL: Final = re.compile("^agents heard until .*$", re.MULTILINE)


@dataclass
class SaidThen:
    """What commands said about the head of a repository, right after each `every`th run."""

    muster: Run
    repo: Repo
    clusters: list[str]
    every: int
    said: dict[tuple[str, str], list[tuple[int, str]]] = field(default_factory=dict)
    _runs: int = 0

    def landed(self, at: datetime, commit: str) -> None:
        """A run has made a commit: ask, if it is its turn."""
        self._runs += 1
        if self._runs % self.every == 0:
            self.said[format_time(at), commit] = list(self._ask(self.repo, format_time(at), self._runs))

    def differences(self, clone: Repo) -> Iterator[str]:
        """What a clone says otherwise about these commits."""
        for number, ((at, commit), before) in enumerate(self.said.items(), 1):
            now = list(self._ask(clone, at, number * self.every, "--rev", commit))
            for question, then, later in zip(_QUESTIONS, before, now, strict=True):
                if then != later:
                    yield f"{at} {commit} {question}:\n{then}\n{later}"

    def _ask(self, repo: Repo, now: str, number: int, *options: str) -> Iterator[tuple[int, str]]:
        cluster = self.clusters[number % len(self.clusters)]
        for question in _QUESTIONS:
            words = [word.format(cluster=cluster) for word in question]
            code, out, err = self.muster(*words, *options, "--repo", repo.path, "--now", now)
            assert code < 2, (question, err)
            yield code, _HEARD_UNTIL.sub("", _AGENTS_COMMIT.sub("", out))
