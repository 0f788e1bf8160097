"""Who wrote a line of a file, in which commit and when: for people who ask why something is as it is."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from muster.git.errors import RepositoryError
from muster.git.repository import Repository, cut_off_at

#: Seconds for one line: a history may be very long, and nobody waits longer for what is told beside the answer.
_LIMIT: Final = 5.0


@dataclass(frozen=True, slots=True)
class Written:
    """The commit that wrote a line as it stands: its id in short, its author, and the time at which it was made."""

    commit: str
    author: str
    time: datetime


def written(repository: Repository, commit: str, path: str, line: int) -> Written | None:
    """Return who wrote a line (1-based; 0 for the first) of a file as it stands in a commit.

    None where git cannot tell in time: the file is not there, the clone is too shallow, or its history too long.
    """
    number = max(line, 1)
    try:
        done = repository.git.run(
            "-c", "core.quotePath=false", "blame", "--porcelain", "-L", f"{number},{number}",
            commit, "--", path, limit_seconds=_LIMIT,
        )  # fmt: skip
    except RepositoryError:
        return None
    if done.status:
        return None
    fields: dict[str, str] = {}
    lines = done.stdout.decode(errors="replace").splitlines()
    for text in lines[1:]:
        if text.startswith("\t"):
            break
        name, _, value = text.partition(" ")
        fields[name] = value
    if "author-time" not in fields or ("boundary" in fields and cut_off_at(repository)):
        return None
    moment = datetime.fromtimestamp(int(fields["author-time"]), UTC)
    return Written(lines[0].partition(" ")[0][:7], fields.get("author", ""), moment)
