"""Drafts the record of a run: what agents' refs held for it, and what it remembered."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from muster.data.decision import Memory
from muster.data.times import format_time
from muster.dataclass import dataclass
from muster.git.agents.listing import AgentRefs
from muster.git.agents.relays import agent_commits
from muster.git.errors import UnreadableError
from muster.git.fastimport import keep_command, write_command
from muster.git.memory.pulses import PulseMemory, encoded
from muster.git.record.form import (
    AGES,
    COMMITS,
    LATE,
    MAX_BYTES,
    MAX_FILE_BYTES,
    PULSES,
    RUN,
    VERSION,
    LateRenewal,
    RunFacts,
    SilentRemote,
    ages_bytes,
    commits_bytes,
    facts_bytes,
    late_bytes,
    shard_of,
)
from muster.git.record.renewals import RenewTime
from muster.git.record.rows import drafted_rows
from muster.git.repository import Repository
from muster.git.store.objects import object_id, tree_of
from muster.version import __version__

_MODE: Final = b"100644"


class RecordTooLargeError(Exception):
    """A record would be larger than may be read."""


@dataclass(frozen=True, slots=True)
class HeardNow:
    """What a run is given that the commit does not tell: agents' refs, the memory of pulses and its version, and the
    renewals that came `late` since the last record, all of them if it was `watched` since before that. `now` and
    `source` are those of its commit; `notes` are lines of the message about the run itself; `decided` are the clusters
    that it decides anew."""

    refs: AgentRefs
    memory: Memory
    memory_version: str
    now: datetime
    source: str
    notes: tuple[str, ...] = ()
    decided: frozenset[str] = frozenset()
    late: Sequence[LateRenewal] = ()
    watched: datetime | None = None


@dataclass(frozen=True, slots=True)
class RecordDraft:
    """A record that is not stored yet: its files, and the id of their tree."""

    tree: str
    files: Mapping[str, bytes]

    def commands(self, blobs: Mapping[str, str]) -> Iterator[bytes]:
        """Yield the commands for fast-import that write it; `blobs` are those of the record before, by path."""
        yield b"deleteall\n"
        for path, content in sorted(self.files.items()):
            oid = blobs.get(path, "")
            same = oid and object_id("blob", content, "sha256" if len(oid) == 64 else "sha1") == oid
            yield keep_command(path, _MODE, oid) if same else write_command(path, content)


def draft_record(repository: Repository, heard: HeardNow) -> RecordDraft:
    """Draft the record of a run. RecordTooLargeError if it would not be read again."""
    second = int(heard.now.timestamp())
    rows = drafted_rows(repository, heard.refs.refs, heard.refs.agents.limits, second)
    shards, renewals = dict[str, list[bytes]](), list[Sequence[RenewTime]]()
    for path, name in sorted((shard_of(_digest(name), len(rows)), name) for name in rows):
        shards.setdefault(path, []).append(rows[name].line)
        renewals.append(rows[name].renewals)
    files = {path: b"".join(lines) for path, lines in shards.items()}
    files[RUN] = facts_bytes(_facts_of(heard))
    files[AGES] = ages_bytes(renewals, second)
    if heard.memory:
        pulses = encoded(PulseMemory(dict(heard.memory)))
        files.update((f"{PULSES}/{path}", data) for path, data in pulses.items())
    newest = {name: max(row.renewals).text for name, row in rows.items() if row.renewals}
    if commits := commits_bytes(_commits(repository, heard), newest):
        files[COMMITS] = commits
    if heard.late:
        files[LATE] = late_bytes(heard.late)
    if sum(map(len, files.values())) > MAX_BYTES or max(map(len, files.values())) > MAX_FILE_BYTES:
        raise RecordTooLargeError(f"what agents' refs hold takes more than {MAX_BYTES >> 20} MiB together")
    blobs = {path: (_MODE, object_id("blob", data, repository.object_format)) for path, data in files.items()}
    return RecordDraft(tree_of(blobs, repository.object_format), files)


def _digest(ref: str) -> str:
    return hashlib.sha256(os.fsencode(ref)).hexdigest()


def _facts_of(heard: HeardNow) -> RunFacts:
    agents = heard.refs.agents
    return RunFacts(
        VERSION,
        __version__,
        format_time(heard.now),
        heard.source,
        heard.memory_version,
        agents.asked,
        agents.identities is not None,
        (agents.limits.max_bytes, agents.limits.max_files),
        tuple(sorted(agents.gone)),
        tuple(sorted(agents.retired)),
        tuple(SilentRemote(silent.remote, silent.why, tuple(sorted(silent.clusters))) for silent in agents.withheld),
        heard.notes,
        format_time(heard.watched) if heard.watched else "",
    )


def _commits(repository: Repository, heard: HeardNow) -> dict[str, bytes]:
    """The commits of the refs of clusters that are decided anew: they show which heartbeat decided, and who signed
    it."""
    refs = [ref for ref in heard.refs.refs if ref.cluster in heard.decided and ref.commit and not ref.refused]
    answers = list(repository.objects.read([ref.commit for ref in refs]))
    stored = {
        ref.name: answer for ref, answer in zip(refs, answers, strict=True) if not isinstance(answer, UnreadableError)
    }
    folders = [(answer.oid, answer.content) for answer in stored.values() if answer.kind == "tree"]
    relayed = agent_commits(repository.objects, folders)
    texts = {
        name: answer.content if answer.kind == "commit" else relayed.get(answer.oid, b"")
        for name, answer in stored.items()
    }
    return {name: text for name, text in texts.items() if text}
