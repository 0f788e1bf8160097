"""`muster replay`: repeat past runs from their records, or make them again with other policies or settings."""

import os
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.outcome import say
from muster.cli.progress import working
from muster.cli.stopping import until_stopped
from muster.data.tree import Tree

if TYPE_CHECKING:
    from muster.git.repository import Repository

#: An answer: its text, its JSON data, and whether anything differs.
_Answer = tuple[str, "Tree", bool]


@click.command()
@click.argument("commits", metavar="A..B")
@click.option(
    "--policies",
    metavar="REV|FILE",
    multiple=True,
    help="Make the runs again with the policies of this revision, or with HEAD's and this file; FILE may be repeated.",
)
@click.option(
    "--set",
    "sweep",
    metavar="TARGET=VALUES",
    help="Make the runs again with each of these values (2..8, or 1m,5m) of POLICY.PARAMETER, fleet.spec.FIELD, or "
    "KIND/[NAMESPACE/]NAME.FIELD.",
)
@click.option(
    "--false-alarm",
    metavar="DURATION",
    type=options.DurationType(),
    default="10m",
    show_default=True,
    help="With --set: an outage that ended by news within this time was a false alarm.",
)
@options.output_option("table", "json")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything differs, or a run cannot be repeated.")
@options.repo_option
def command(
    commits: str,
    repo: Path,
    policies: tuple[str, ...],
    sweep: str | None,
    false_alarm: timedelta,
    output: str,
    exit_code: bool,
) -> int:
    """Repeat the runs of A..B from their records, and show what differs from their commits.

    A run that is repeated has the same commit, the same reports of agents, and the same instant, so it gives the same
    files and the same message. A difference means that somebody changed them, or that another version of muster
    decided. Runs without a record are counted.

    With --policies or --set, the runs are made again over the state that they themselves derive, as the fleet would
    have developed. Nothing is written.

    \b
    Examples:
      muster replay v1..main --exit-code
      muster replay main~50..main --policies new-policy.yaml
      muster replay v1..main --set managed-cluster-available.graceFactor=2..8
    """
    from muster.cli.documents import json_text
    from muster.data.kinds import UnknownKind
    from muster.features.replay.past import ends_of
    from muster.features.whatif.supposing import NotSupposable
    from muster.git.repository import open_repository

    if policies and sweep:
        raise click.UsageError("give --policies or --set, not both.")
    repository = open_repository(repo, os.environ)
    with options.usage_errors(ValueError):
        first, last = ends_of(repository, commits)
    stop = Event()
    answers: list[_Answer] = []
    with until_stopped(stop) as stopped, working("repeating runs"), options.usage_errors(NotSupposable, UnknownKind):
        answers.append(_answer(repository, first, last, policies, sweep, false_alarm, stop.is_set))
    if not answers:  # interrupted in the middle of a run
        return stopped.code
    text, document, differs = answers[0]
    sys.stdout.write(json_text(document) if output == "json" else text)
    return stopped.code if stop.is_set() else int(exit_code and differs)


def _answer(
    repository: "Repository",
    first: str,
    last: str,
    policies: tuple[str, ...],
    sweep: str | None,
    false_alarm: timedelta,
    stopped: Callable[[], bool],
) -> _Answer:
    if sweep:
        from muster.features.replay.answers import swept_document, swept_text
        from muster.features.replay.sweep import sweep as swept

        rows = swept(repository, first, last, sweep, false_alarm, stopped)
        return swept_text(rows), swept_document(rows), False
    if policies:
        from muster.features.replay.replay import replay, replay_document, replay_text
        from muster.git.repository import resolve

        revision, files = _policies(policies)
        replayed = replay(repository, first, last, resolve(repository, revision), files, stopped)
        if replayed.unrecorded:
            say("clusters with agent refs were not replayed in runs without a record", err=True)
        return replay_text(replayed), replay_document(replayed), bool(replayed.differences)
    from muster.features.replay.answers import repeat, repeated_document, repeated_text

    repeated = repeat(repository, first, last, stopped)
    return repeated_text(repeated), repeated_document(repeated), not repeated.is_proved


def _policies(given: tuple[str, ...]) -> tuple[str, dict[str, bytes]]:
    """The revision of the policies, and the files that replace some of them."""
    files = {Path(name).name: Path(name).read_bytes() for name in given if Path(name).is_file()}
    revisions = [name for name in given if not Path(name).is_file()]
    if len(revisions) > 1:
        raise click.UsageError("give one revision for the policies.")
    return (revisions[0] if revisions else "HEAD"), files
