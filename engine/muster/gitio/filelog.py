"""The versions of one file over a branch's history, with the commits that made them: one `git log` over its paths.

Along the first parents: the states that the branch was in. However long a history is, only the commits that changed the
file are looked into.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from muster.gitio.errors import UnreadableError
from muster.gitio.history import SOURCE
from muster.gitio.lastrun import TRAILER
from muster.gitio.objects import Objects
from muster.gitio.repository import LOG, Repository, cut_off_at
from muster.model.times import try_time

_START, _NEXT = b"\x01", b"\x02"
_GONE: Final = b"000000"
_FORMAT: Final = "%x02".join((
    "%x01%H", "%at", f"%(trailers:key={TRAILER},valueonly,separator=%x20)",
    f"%(trailers:key={SOURCE},valueonly,separator=%x20)", "%an", "%s",
))  # fmt: skip
_LOG: Final = (*LOG, "-z", "--raw", "--no-renames", "--no-abbrev", "-m", "--first-parent", "--reverse",
               f"--format={_FORMAT}")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Version:
    """A file as a commit left it; `data` None: it was removed. `time` is as of when a run decided it, else when it was
    committed; `source` the commit that a run had decided, empty where no run made this one. `first`: the clone has no
    history before this commit, which may not be what wrote the file."""

    commit: str
    author: str
    subject: str
    time: datetime
    source: str
    data: bytes | None
    first: bool = False


def file_log(repository: Repository, commit: str, paths: Iterable[str]) -> Iterator[Version]:
    """Yield the versions of a file, which lay at one of these paths at a time, the oldest first."""
    named = [f":(top,literal){path}" for path in paths]
    words = iter(repository.git.output(*_LOG, commit, "--", *named).split(b"\0"))
    cut_off = cut_off_at(repository)
    with closing(Objects(repository.git)) as objects:
        header, oid = b"", b""
        for word in words:
            text = word.removeprefix(b"\n")
            if text.startswith(_START):
                if header:
                    yield _version(objects, header, oid, cut_off)
                header, oid = text[1:], b""
            elif text.startswith(b":"):
                _, mode, _, changed, _ = text.split()
                next(words)
                if mode != _GONE:
                    oid = changed
        if header:
            yield _version(objects, header, oid, cut_off)


def _version(objects: Objects, header: bytes, oid: bytes, cut_off: frozenset[str]) -> Version:
    commit, seconds, now, source, author, subject = header.decode(errors="replace").split(_NEXT.decode(), 5)
    decided = next((found for text in reversed(now.split()) if (found := try_time(text)) is not None), None)
    try:
        data = objects.blob(oid.decode()) if oid else None
    except UnreadableError:
        data = None
    time = decided or datetime.fromtimestamp(int(seconds), UTC)
    return Version(commit, author, subject, time.replace(microsecond=0), source.strip(), data, commit in cut_off)
