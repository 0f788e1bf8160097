"""The heartbeats that decided: the commits of agents whose clusters a run decided anew, as its record has them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from muster.data.agentref import is_collected, short_name, speaks_for
from muster.data.codec import MalformedError
from muster.git.enginecommits import EngineCommit
from muster.git.errors import UnreadableError
from muster.git.record.form import COMMITS, MAX_FILE_BYTES, parse_commits
from muster.git.repository import Repository
from muster.git.store.objects import commit_header, committer_seconds, format_of, object_id


class DecidingHeartbeat(NamedTuple):
    """What a run last heard of a cluster's agent: the short name of the ref, its commit, who committed it and when; and
    the renewal as it is written there, empty if there is none."""

    ref: str
    commit: str
    author: str
    at: datetime | None
    renewed: str


def heartbeats_of(repository: Repository, run: EngineCommit, cluster: str) -> tuple[DecidingHeartbeat, ...] | None:
    """Return the heartbeats of a cluster that a run decided anew; none if it decided nothing about it, or agents do not
    report on refs. None if the record is not in this clone, or does not count."""
    if not run.heard:
        return ()
    if repository.objects.id_of(run.heard) is None:
        return None
    (answer,) = repository.objects.read((f"{run.heard}:{COMMITS}",), MAX_FILE_BYTES)
    try:
        return () if isinstance(answer, UnreadableError) else tuple(_heartbeats(answer.content, run, cluster))
    except MalformedError:
        return None


def heartbeat_of(ref: str, commit: bytes, renewed: str, form: str) -> DecidingHeartbeat:
    """Return the heartbeat of a commit, given as git stores it, that a ref was at."""
    who = next((value for name, value in commit_header(commit) if name == b"committer"), "")
    seconds = committer_seconds(commit)
    try:
        at = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        at = None
    return DecidingHeartbeat(short_name(ref), object_id("commit", commit, form), who.partition(" <")[0], at, renewed)


def _heartbeats(data: bytes, run: EngineCommit, cluster: str) -> Iterator[DecidingHeartbeat]:
    for ref, (commit, renewed) in parse_commits(data).items():
        if speaks_for(ref) == cluster and not is_collected(ref):
            yield heartbeat_of(ref, commit, renewed, format_of(run.heard))
