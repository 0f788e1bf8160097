"""What the hook says of what is staged: the same from what earlier checks left as from the whole fleet."""

from pathlib import Path

import pytest

from muster.answers.touched import touched_findings
from muster.engine.checking import check_snapshot
from muster.engine.staged import staged_fleet
from muster.engine.state import open_state
from muster.gitio.changes import staged_changes
from muster.gitio.index import IndexSnapshot
from muster.gitio.open import open_commit
from muster.gitio.repository import open_repository, resolve
from tests.support.git import Content
from tests.support.living import Living


class Staging(Living):
    """People who stage what they do, and commit it, or think better of it."""

    def _put(self, files: dict[str, Content], what: str) -> str:
        for path, text in files.items():
            if text is not None or (self.repo.path / path).exists():
                self.repo.write(path, text)
        self.repo.git("add", "--all")
        return what


@pytest.mark.parametrize("seed", range(4))
def test_the_same_is_said_of_what_is_touched(tmp_path: Path, seed: int) -> None:
    living = Staging.small(tmp_path / "fleet", seed, 10)
    asked = living.question()
    del asked
    repository = open_repository(living.repo.path, living.repo.environ)
    partial = 0
    for number in range(20):
        what = living.step()
        tip = resolve(repository, "HEAD")
        changes = staged_changes(repository, tip)
        names = [change.path for change in changes]
        state = open_state(tmp_path / "kept" / "s")
        fleet, count = staged_fleet(repository, tip, changes, state)
        assert state is not None
        state.close()
        with open_commit(repository, "HEAD") as head:
            whole = check_snapshot(IndexSnapshot(repository), head)
        assert touched_findings(fleet, names) == touched_findings(whole, names), (number, what)
        assert count == len(whole.objects), (number, what)
        partial += fleet.partial
        if living.chance.random() < 0.6:
            living.repo.git("commit", "--quiet", "--allow-empty", "--message", "x")
        elif living.chance.random() < 0.4:
            living.repo.git("reset", "--quiet", "--hard")
    assert partial > 2, "what this is about has happened"
