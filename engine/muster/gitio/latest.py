"""The latest commits that changed each file of a folder: one `git log`, along the first parents."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from muster.gitio.repository import LOG, Repository

_START, _NEXT = b"\x01", b"\x02"
_LOG = (*LOG, "-z", "--name-only", "--no-renames", "-m", "--first-parent", "--format=%x01%H%x02%ct%x02%s")


@dataclass(frozen=True, slots=True)
class Latest:
    """A commit that changed a file."""

    commit: str
    time: datetime
    subject: str


def latest_commits(
    repository: Repository, commit: str, folder: str, *, looked_at: int, each: int
) -> Mapping[str, list[Latest]]:
    """Return for each file below `folder` at most `each` commits, the newest first, among the last `looked_at` that
    changed any of them."""
    said = repository.git.output(*_LOG, f"--max-count={looked_at}", commit, "--", f":(top,literal){folder}")
    found: dict[str, list[Latest]] = {}
    one: Latest | None = None
    for word in said.split(b"\0"):
        text = word.removeprefix(b"\n")
        if text.startswith(_START):
            name, seconds, subject = text[1:].split(_NEXT, 2)
            one = Latest(
                name.decode(),
                datetime.fromtimestamp(int(seconds), UTC),
                subject.decode(errors="replace").split("\n")[0],
            )
        elif text and one is not None:
            known = found.setdefault(text.decode(errors="surrogateescape"), [])
            if len(known) < each:
                known.append(one)
    return found
