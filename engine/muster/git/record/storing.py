"""Stores records: a branch for each day, `refs/muster/heard/<YYYY-MM-DD>`, with a commit for each record.

Each record lists all refs, and nearly all of it is in the one before: git stores what differs. A branch for each day
keeps what a job has to fetch before it adds to it small, and old days are removed by deleting their branches; no
history is rewritten, and none is forced over another one. Where two machines have recorded, a commit has both tips as
parents.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from muster.git.errors import UnreadableError
from muster.git.fastimport import CommitDraft
from muster.git.objects import raw_entries
from muster.git.record.draft import RecordDraft
from muster.git.record.form import PULSES, REFS
from muster.git.repository import Repository

#: The prefix of the branches with records.
HEARD_REFS: Final = "refs/muster/heard/"
_MESSAGE: Final = "What muster heard\n"


def heard_ref(now: datetime) -> str:
    """Return the full name of the branch with the records of an instant's day, in UTC."""
    return f"{HEARD_REFS}{now.astimezone(UTC):%Y-%m-%d}"


def record_commit(repository: Repository, draft: RecordDraft, tips: tuple[str, ...]) -> CommitDraft:
    """Return the commit of a record over the `tips` of its branch, here and on the remote. A tip that is no commit is
    left out, and one that holds something else than a record does no harm."""
    answers = zip(tips, repository.objects.read(tips), strict=True)
    parents = [tip for tip, one in answers if not isinstance(one, UnreadableError) and one.kind == "commit"]
    known = _blobs(repository, parents[0]) if parents else {}
    return CommitDraft(draft.commands(known), _MESSAGE, parents)


def _blobs(repository: Repository, commit: str) -> Mapping[str, str]:
    """The blobs of the record in a commit, by path."""
    return {
        f"{folder}{name.decode(errors='replace')}": oid
        for folder in ("", f"{REFS}/", f"{PULSES}/") for name, oid in _tree(repository, f"{commit}:{folder}")
    }  # fmt: skip


def _tree(repository: Repository, tree: str) -> Iterator[tuple[bytes, str]]:
    (answer,) = repository.objects.read((tree,))
    if not isinstance(answer, UnreadableError) and answer.kind == "tree":
        try:
            yield from ((name, oid) for _, name, oid in list(raw_entries(answer.content, repository.id_bytes)))
        except ValueError:
            return
