"""`muster get pulses`: the pulses that are due, or each one as it becomes due, for adapters that pull."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final, TypeAlias

from muster.cli.outcome import report, reported_findings
from muster.cli.stopping import until_stopped
from muster.cli.table import GrowingTable, print_table
from muster.data.kinds import kinds_named
from muster.data.times import format_time
from muster.data.tree import Tree, dig
from muster.features.pulses.follow import follow
from muster.features.pulses.lines import line

if TYPE_CHECKING:
    from muster.cli.options import Source

_COLUMNS: Final = ("OBJECT", "GENERATION", "REASON", "TYPE")
#: Is an event about an object that the person asked for?
Matches: TypeAlias = Callable[[Tree], bool]


def matcher(targets: Sequence[str]) -> Matches:
    """Return a test for the events about objects that `KIND[/[NAMESPACE/]NAME]` names; any event without targets.

    UnknownKind for an unknown kind.
    """
    wanted: list[tuple[frozenset[str], str]] = []
    for target in targets:
        word, _, name = target.partition("/")
        wanted.append((frozenset(kind.name for kind in kinds_named(word)), name))

    def matches(event: Tree) -> bool:
        kind, _, name = str(event["subject"]).partition("/")
        return not wanted or any(kind in kinds and wanted_name in ("", name) for kinds, wanted_name in wanted)

    return matches


def print_due(
    source: "Source", matches: Matches, print_events: Callable[[Sequence[Tree], datetime], None] | None
) -> int:
    """Print the pulses that are due with a function, or as a table."""
    from muster.git.memory.pulses import read_memory
    from muster.run.evaluate import evaluate_snapshot

    reading = source.reading()
    memory = reading.published
    if reading.past is None and reading.repository is not None:
        memory = read_memory(reading.repository).published
    run = evaluate_snapshot(reading.snapshot, source.now, memory)
    reading.require_heard(run)
    events = [event for event in run.pulses if matches(event)]
    if print_events is not None:
        print_events(events, run.now)
    elif events:
        print_table(_COLUMNS, _rows(events))
    else:
        sys.stderr.write("no pulse is due\n")
    if print_events is None and run.horizon is not None:
        sys.stderr.write(f"next change without new input: {format_time(run.horizon)}\n")
    reading.print_age(source.now, err=True)
    return report(reported_findings(run))


def print_followed(
    repo: Path, remote: str | None, interval: timedelta, matches: Matches, now: Callable[[], datetime], *, lines: bool
) -> int:
    """Print each pulse when it becomes due, as a row or as a line of JSON, until stopped."""
    from muster.git.repository import open_repository

    stop, table = Event(), GrowingTable(_COLUMNS)

    def say(event: Tree) -> None:
        if matches(event):
            if lines:
                sys.stdout.write(line(event))
            else:
                table.print(_rows([event]))
            sys.stdout.flush()

    with until_stopped(stop) as stopped:
        follow(open_repository(repo, os.environ), remote, interval, stop, now, say)
    return stopped.code


def _rows(events: Iterable[Tree]) -> list[list[str]]:
    return [[event["subject"], _text(event, "generation"), _text(event, "reason"), event["type"]] for event in events]


def _text(event: Tree, name: str) -> str:
    value = dig(event, "data", name)
    return "-" if value is None else str(value)
