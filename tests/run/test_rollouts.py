"""Rollouts, evaluated from what the last run left, in shards and from nothing: always the same."""

from pathlib import Path

import pytest

from tests.run import test_incremental
from tests.run.shards import test_sharded
from tests.run.shuffled import Shuffled
from tests.run.test_incremental import from_state, state_in
from tests.support.happenings import a_rollout, a_set_of_works, a_work_report, all_speak, later
from tests.support.living import Living


class RollingLife(Living):
    """A fleet in which little happens that does not concern rollouts."""

    def step(self) -> str:
        """Let something happen."""
        if self.ahead:
            return self.ahead.pop(0)()
        if self.chance.random() < 0.5:
            return self.chance.choice((a_rollout, a_rollout, a_set_of_works, a_work_report))(self)
        return self.chance.choice((self.a_status, self.a_label, self.a_placement, lambda: later(self, 61)))()


class SilentLife(RollingLife):
    """A fleet in which clusters fall silent while they get revisions and works."""

    def step(self) -> str:
        """Let something happen."""
        if self.ahead or self.chance.random() < 0.7:
            return super().step()
        silent = self.chance.sample(self.names, self.chance.choice((1, 2, 2, len(self.names))))
        later(self, self.chance.choice((150, 301)))
        said = all_speak(self, [name for name in self.names if name not in silent])
        self.ahead.append(self.chance.choice((lambda: later(self, 150), lambda: all_speak(self, silent))))
        return f"{said}, not {silent}"


@pytest.mark.parametrize("seed", (2, 5))
def test_from_what_the_last_run_left(tmp_path: Path, seed: int) -> None:
    taken = test_incremental.live(RollingLife.small(tmp_path / "fleet", seed, 8), state_in(tmp_path), 30)
    assert from_state(taken) > 15, taken
    assert taken["steps"] > 2, taken


def test_while_clusters_fall_silent(tmp_path: Path) -> None:
    taken = test_incremental.live(SilentLife.small(tmp_path / "fleet", 4, 8), state_in(tmp_path), 30)
    assert from_state(taken) > 15, taken


def test_in_shards(tmp_path: Path) -> None:
    living, shuffled = SilentLife.small(tmp_path / "fleet", 3, 8), Shuffled(3)
    assert test_sharded.live(living, tmp_path, 14, shuffled, (1, 8, 30)) > 8
