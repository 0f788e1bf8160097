"""A past for the example fleet: thirty days in which clusters came and went, in commits that runs could have made.

The statuses in derived files are what changes, back and forth; in the end all are as they were.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

from muster.data.times import format_time
from tests.support.example import EXAMPLE, NOON
from tests.support.git import Repo, new_repository

_FOLDERS = {"managedclusters": "ManagedClusterConditionAvailable", "clusters": "Ready"}
#: Before noon so long, which clusters (as their names begin), what becomes of them, and for how long.
OUTAGES = (
    (timedelta(days=24, hours=3), ("prod-us", "edge-us"), "Unknown", timedelta(hours=9)),
    (timedelta(days=17), ("stage-eu-1",), "False", timedelta(days=2, hours=5)),
    (timedelta(days=9, hours=7), ("prod-ap", "member-ap"), "False", timedelta(hours=14)),
    (timedelta(days=4, hours=1), ("prod-eu-2",), "Unknown", timedelta(hours=20)),
    (timedelta(hours=19), ("prod-us-1", "member-us-1"), "False", timedelta(minutes=50)),
    (timedelta(hours=8), ("prod-eu", "edge-eu", "member-eu"), "Unknown", timedelta(hours=1, minutes=25)),
    (timedelta(hours=2, minutes=30), ("prod-eu-1",), "False", timedelta(minutes=35)),
)


def example_with_past(
    folder: Path, outages: Iterable[tuple[timedelta, tuple[str, ...], str, timedelta]] = OUTAGES
) -> Repo:
    """The example fleet as a repository in which it has been for a while."""
    repo = new_repository(folder / "fleet")
    files = {str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()}
    repo.commit({path: data for path, data in files.items() if not path.startswith("derived/")}, "A fleet")
    _commit(repo, files, NOON - timedelta(days=40), "12 clusters available")
    for before, names, status, lasted in outages:
        gone = {path: data for path, data in files.items() if _is_of(path, names) and b'status: "True"' in data}
        of = f"{len(gone)} cluster{'s' * (len(gone) != 1)}"
        said = {"False": "not available"}.get(status, status)
        at = NOON - before
        _commit(repo, {path: _said(path, data, status) for path, data in gone.items()}, at, f"{of} {said}")
        _commit(repo, gone, at + lasted, f"{of} available")
    return repo


def _is_of(path: str, names: tuple[str, ...]) -> bool:
    folder, _, file = path.rpartition("/")
    return folder in {f"derived/{name}" for name in _FOLDERS} and file.startswith(names)


def _said(path: str, data: bytes, status: str) -> bytes:
    condition = f"- type: {_FOLDERS[path.split('/')[1]]}\n    status: ".encode()
    return data.replace(condition + b'"True"', condition + f'"{status}"'.encode())


def _commit(repo: Repo, files: dict[str, bytes], at: datetime, subject: str) -> None:
    repo.commit_run(files, subject, now=format_time(at))
