"""Stores records: a branch for each day, `refs/muster/heard/<YYYY-MM-DD>`, with a commit for each record.

Each record lists all refs, and nearly all of it is in the one before: git stores what differs. A branch for each day
keeps what a job has to fetch before it adds to it small, and old days are removed by deleting their branches; no
history is rewritten, and none is forced over another one. Where two machines have recorded, a commit has both tips as
parents.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from muster.git.errors import Pushed, RepositoryError, UnreadableError, complaint
from muster.git.fastimport import CommitDraft, build_merge
from muster.git.journal import JournalNote, noted
from muster.git.push import (
    AFTERWARDS_SECONDS,
    LIMIT_SECONDS,
    RefUpdate,
    fetch_matching,
    list_remote_refs,
    push_ref,
    push_updates,
    remote_tip,
    tracking,
)
from muster.git.record.draft import RecordDraft
from muster.git.record.form import PULSES, REFS
from muster.git.repository import Repository, list_refs
from muster.git.store.objects import raw_entries

#: The prefix of the branches with records.
HEARD_REFS: Final = "refs/muster/heard/"
_MESSAGE: Final = "What muster heard\n"
_DAY: Final = "%Y-%m-%d"


def heard_ref(now: datetime) -> str:
    """Return the full name of the branch with the records of an instant's day, in UTC."""
    return f"{HEARD_REFS}{now.astimezone(UTC).strftime(_DAY)}"


class RecordTips(NamedTuple):
    """Where the branch of a day's records is: its full name, and its commits here and, as far as is known, on the
    remote."""

    ref: str
    local: str | None
    theirs: str | None = None
    tracking: str = ""


def record_tips(repository: Repository, now: datetime, remote: str | None) -> RecordTips:
    """Return where an instant's records go. The remote is asked if nothing of that day is here."""
    ref = heard_ref(now)
    local = repository.objects.id_of(ref)
    if remote is None:
        return RecordTips(ref, local)
    kept = tracked(repository, remote, ref)
    theirs = repository.objects.id_of(kept)
    if local is None and theirs is None:
        fetch_records(repository, remote, ref)
        theirs = repository.objects.id_of(kept)
    return RecordTips(ref, local, theirs, kept)


def tracked(repository: Repository, remote: str, ref: str) -> str:
    """Return the name under which a remote's branch of records is kept here."""
    return f"{tracking(repository, remote)}{ref.removeprefix('refs/')}"


def fetch_records(repository: Repository, remote: str, ref: str) -> str:
    """Fetch a day's records, or with a name that ends in a slash those of all days, if the remote has any. Return why
    that failed, or nothing: no run needs a record."""
    try:
        fetch_matching(repository, remote=remote, ref=f"{ref}*", into=f"{tracked(repository, remote, ref)}*")
    except RepositoryError as error:
        return error.message
    return ""


def push_beside(repository: Repository, remote: str, tips: RecordTips, commit: str) -> tuple[RecordTips, str, str]:
    """Push a record that the remote refused because its branch has moved meanwhile: over both, if it is another
    machine's; or anew, if it is gone or no record's. Return the new tips and commit, and why that failed, or
    nothing."""
    try:
        theirs = remote_tip(repository, remote=remote, ref=tips.ref)
        failed = fetch_records(repository, remote, tips.ref) if theirs else ""
        if failed or theirs == tips.theirs:
            return tips, commit, failed or "it does not take the branch"
        tips = tips._replace(theirs=theirs)
        for other in _commits(repository, (theirs,)):
            commit = build_merge(repository, commit, other, _MESSAGE)
        done = push_ref(repository, remote=remote, ref=tips.ref, new=commit, expected=theirs)
    except RepositoryError as error:
        return tips, commit, error.message
    return tips, commit, "" if isinstance(done, Pushed) else "another machine records at the same time"


def keep_record(repository: Repository, tips: RecordTips, commit: str, *, pushed: bool) -> str:
    """Move the branch to a record's commit here, and what is known of the remote's if it was `pushed`. Return why that
    failed, or nothing."""
    lines = f"update {tips.ref}\0{commit}\0{tips.local or repository.null_id}\0"
    if pushed:
        lines += f"update {tips.tracking}\0{commit}\0\0"
    with noted(repository, JournalNote(HEARD_REFS, seconds=AFTERWARDS_SECONDS)) as journal:
        done = journal.after(
            journal.holding(repository.git).run("update-ref", "--stdin", "-z", stdin=os.fsencode(lines))
        )
    return complaint(done.stderr, done.status) if done.status else ""


def end_records(repository: Repository, before: datetime | None, remote: str | None) -> None:
    """Delete the branches of records of days that end before an instant (None: of no day), here and on the remote. If
    that fails they stay, until it is tried again on the next day."""
    if before is None:
        return
    spaces = (HEARD_REFS, *([tracked(repository, remote, HEARD_REFS)] if remote is not None else []))
    old = {ref: oid for ref, oid in list_refs(repository, *spaces).items() if _is_before(ref, before)}
    lines = "".join(f"delete {ref}\0{oid}\0" for ref, oid in old.items())
    if old:
        repository.git.run("update-ref", "--stdin", "-z", stdin=os.fsencode(lines))
    if remote is not None:
        with suppress(RepositoryError):
            listed = list_remote_refs(repository, remote, (f"{HEARD_REFS}*",), LIMIT_SECONDS)
            theirs = [RefUpdate(ref, "", oid) for ref, oid in listed if _is_before(ref, before)]
            if theirs:
                push_updates(repository, remote, theirs, (), LIMIT_SECONDS)


def _is_before(ref: str, before: datetime) -> bool:
    """Is a branch of records of a day that ends before an instant?"""
    try:
        day = datetime.strptime(ref.rpartition("/")[2], _DAY).replace(tzinfo=UTC)
    except ValueError:
        return False
    return day + timedelta(days=1) <= before


def record_commit(repository: Repository, draft: RecordDraft, tips: RecordTips) -> CommitDraft:
    """Return the commit of a record over the tips of its branch. A tip that is no commit is left out, and one that
    holds something else than a record does no harm."""
    parents = _commits(repository, (tips.theirs, tips.local))
    blobs = _blobs(repository, parents[0]) if parents else {}
    return CommitDraft(draft.commands(blobs), _MESSAGE, parents)


def _commits(repository: Repository, tips: Iterable[str | None]) -> list[str]:
    """The tips that are commits, each once."""
    named = list(dict.fromkeys(filter(None, tips)))
    answers = zip(named, repository.objects.read(named), strict=True)
    return [tip for tip, answer in answers if not isinstance(answer, UnreadableError) and answer.kind == "commit"]


def _blobs(repository: Repository, commit: str) -> Mapping[str, str]:
    """The blobs of the record in a commit, by path."""
    return {
        f"{folder}{name.decode(errors='replace')}": oid
        for folder in ("", f"{REFS}/", f"{PULSES}/")
        for name, oid in _tree(repository, f"{commit}:{folder}")
    }


def _tree(repository: Repository, tree: str) -> Iterator[tuple[bytes, str]]:
    (answer,) = repository.objects.read((tree,))
    if not isinstance(answer, UnreadableError) and answer.kind == "tree":
        try:
            yield from ((name, oid) for _, name, oid in list(raw_entries(answer.content, repository.id_bytes)))
        except ValueError:
            return
