"""The rows of a record: what each ref of a run holds, without its renewals.

Contents are read as the run read them (`AgentFiles`), so a record has exactly what counted: files that were left out,
and why, included. Most refs are where they were at the last record. Their rows are kept in a file next to the journal,
which may be lost: it saves reading them again, and the same refs give the same rows with and without it.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from muster.data.codec import MalformedError, decode, encode
from muster.data.snapshot import AgentLimits, Skipped
from muster.dataclass import dataclass
from muster.git.agents.refs import AgentFiles, AgentRef
from muster.git.errors import UnreadableError
from muster.git.record.form import VERSION, Content, RefRow, row_content, row_line
from muster.git.record.renewals import RenewTime, fits, has_renewal
from muster.git.repository import Repository, common_directory
from muster.version import __version__

_FILE: Final = "muster/heard"
#: Fewer rows are made again.
_FEWEST: Final = 16
_MAX_BYTES: Final = 512 << 20


class DraftedRow(NamedTuple):
    """A row as a line, and its renewals."""

    line: bytes
    renewals: Sequence[RenewTime]


class _KeptRow(NamedTuple):
    """A row that holds while its ref stands at `key`, and its renewals fit in."""

    key: str
    line: bytes
    renewals: tuple[RenewTime, ...]


@dataclass(frozen=True, slots=True)
class _KeptRows:
    made_by: tuple[int, str, int, int]
    rows: dict[str, _KeptRow]


def drafted_rows(
    repository: Repository, refs: Sequence[AgentRef], limits: AgentLimits, second: int
) -> dict[str, DraftedRow]:
    """Return the row of each ref by its full name, for a run at a second. Only refs that moved since the last record
    are read."""
    made_by = VERSION, __version__, limits.max_bytes, limits.max_files
    path = common_directory(repository) / _FILE
    kept = _load(path, made_by) if len(refs) >= _FEWEST else {}
    rows, moved = dict[str, DraftedRow](), list[AgentRef]()
    for ref in refs:
        same = kept.get(ref.name)
        if same is not None and same.key == _key(ref) and all(fits(renewal, second) for renewal in same.renewals):
            rows[ref.name] = DraftedRow(same.line, same.renewals)
        else:
            moved.append(ref)
    lasting = {ref.name: kept[ref.name] for ref in refs if ref.name in rows}
    for ref, row, is_lasting in _read_rows(repository, moved, limits, second):
        rows[ref.name] = row
        if is_lasting:
            lasting[ref.name] = _KeptRow(_key(ref), row.line, tuple(row.renewals))
    if len(lasting) >= _FEWEST and lasting != kept:
        _store(path, _KeptRows(made_by, lasting))
    return rows


def _key(ref: AgentRef) -> str:
    if not (ref.unread or ref.identity):
        return ref.commit
    return f"{ref.commit} {ref.unread!r} {ref.identity!r}"


def _read_rows(
    repository: Repository, refs: Sequence[AgentRef], limits: AgentLimits, second: int
) -> Iterator[tuple[AgentRef, DraftedRow, bool]]:
    """Yield refs with their rows, made anew, and whether these stay the same while their refs do."""
    contents = _read_contents(repository, refs, limits)
    for ref in refs:
        renewals = list[RenewTime]()
        plain = RefRow(ref.name, ref.refused or None, ref.unread, ref.identity)
        if ref.refused or not ref.commit:
            yield ref, DraftedRow(row_line(plain), ()), False
            continue
        held = contents.files.get(ref.short, {})
        files: dict[str, Content] = {
            path: {"error": str(data)} if isinstance(data, UnreadableError) else row_content(data, second, renewals)
            for path, data in held.items()
        }
        skipped = tuple((skip.path, skip.reason, skip.detail) for skip in contents.skipped.get(ref.short, ()))
        digits = tuple(len(renewal.fraction) for renewal in renewals)
        row = replace(plain, files=files, digits=digits, skipped=skipped)
        # One that is too old or too new for now may fit in later; what cannot be read may be there again.
        is_lasting = not skipped and not any(map(_may_change, files.values()))
        yield ref, DraftedRow(row_line(row), renewals), is_lasting


def _may_change(content: Content) -> bool:
    """Can a file have another form in the record of a later run?"""
    if isinstance(content, list):
        return any(isinstance(piece, str) and has_renewal(piece) for piece in content)
    return isinstance(content, dict)


@dataclass(frozen=True, slots=True)
class _RefContents:
    """What was read of refs, by their short names."""

    files: Mapping[str, Mapping[str, bytes | UnreadableError]]
    skipped: Mapping[str, Sequence[Skipped]]


def _read_contents(repository: Repository, refs: Sequence[AgentRef], limits: AgentLimits) -> _RefContents:
    """Read the refs that count, as a run does. What it says of the others, their fields say."""
    read = [replace(ref, unread="") if ref.unread else ref for ref in refs if ref.commit and not ref.refused]
    listed = AgentFiles(repository.objects, read, limits)
    files = dict[str, dict[str, bytes | UnreadableError]]()
    for file in listed.files():
        try:
            content: bytes | UnreadableError = file.read()
        except UnreadableError as error:
            content = error
        files.setdefault(file.ref, {})[file.path] = content
    skipped = {ref: list(several) for ref, several in groupby(listed.skipped, lambda skip: skip.ref)}
    return _RefContents(files, skipped)


def _load(path: Path, made_by: tuple[int, str, int, int]) -> dict[str, _KeptRow]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            return {}
        kept = decode(_KeptRows, path.read_bytes())
    except (OSError, MalformedError):
        return {}
    return kept.rows if kept.made_by == made_by else {}


def _store(path: Path, kept: _KeptRows) -> None:
    """Keep rows for the next record. If that is not possible, it reads all refs."""
    with suppress(OSError, ValueError):
        data = encode(kept)
        path.parent.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix="heard-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(path)
