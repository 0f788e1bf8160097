"""A slice of the simulation over a real repository: reconcile commits, and the provisioner commits beside it."""

from pathlib import Path

from muster.features.reconcile.reconcile import reconcile
from muster.git.repository import open_repository
from tests.rules.pools.simulator import World
from tests.support.git import Repo, new_repository


class GitWorld(World):
    """A world whose files are those of a branch: every step is a commit, and muster's are made by `reconcile`."""

    repo: Repo

    def reconcile(self) -> None:
        """Commit what people and the provisioner did, then let muster commit what follows."""
        known = self.committed()
        changed: dict[str, str | bytes | None] = {p: t for p, t in self.files.items() if known.get(p) != t}
        changed |= {path: None for path in known if path not in self.files}
        if changed:
            self.repo.commit(changed)
        due = self.horizon is not None and self.now >= self.horizon
        if not (changed or due):
            return
        head = self.repo.git("rev-parse", "HEAD")
        repository = open_repository(self.repo.path, self.repo.environ)
        done = reconcile(repository, lambda: self.now, branch="main", attempts=(1,))
        if done.commit is not None:
            assert self.repo.git("rev-parse", "HEAD^") == head, "one reconcile is one commit"
        assert self.repo.git("status", "--porcelain") == ""
        self.files, self.horizon, self.dirty = self.committed(), done.settled.last.horizon, False
        self.check()

    def committed(self) -> dict[str, str]:
        """The files of the branch's head."""
        root = self.repo.path
        tracked = self.repo.git("ls-files").splitlines()
        return {path: (root / path).read_text(encoding="utf-8") for path in tracked}


def test_invariants_hold_over_a_real_repository(tmp_path: Path) -> None:
    world = GitWorld(7, {"size": 2, "runningCount": 1, "powerstateTransitionToRunningTimeout": "15m"})
    world.repo = new_repository(tmp_path / "fleet")
    assert world.repo.git("symbolic-ref", "--short", "HEAD") == "main"
    world.run(45)
    assert world.assigned, "a simulation in which nobody gets a cluster shows nothing"
    assert world.committed() == world.files
