"""The latest commits that changed each file of a folder."""

from pathlib import Path

from muster.gitio.latest import latest_commits
from muster.gitio.repository import open_repository
from tests.support.git import new_repository


def test_each_file_has_its_latest_commits(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    commits = [
        repo.commit({f"derived/{name}": str(number), "elsewhere": str(number)}, message=f"Number {number}\n\nmore")
        for number, name in enumerate(("a.yaml", "ü b.yaml", "a.yaml", "a.yaml"))
    ]
    repo.commit({"elsewhere": "last"})
    found = latest_commits(open_repository(repo.path, repo.environ), "HEAD", "derived/", looked_at=3, each=2)
    assert {path: [(one.commit, one.subject) for one in known] for path, known in found.items()} == {
        "derived/a.yaml": [(commits[3], "Number 3"), (commits[2], "Number 2")],
        "derived/ü b.yaml": [(commits[1], "Number 1")],
    }
