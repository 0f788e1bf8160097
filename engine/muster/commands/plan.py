"""`muster plan`: what a reconcile would change."""

import os
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.commands import options
from muster.commands.disposable import open_state_of
from muster.commands.outcome import report
from muster.commands.progress import working
from muster.commands.reading import Reading, reading_of
from muster.model.tree import Tree

if TYPE_CHECKING:
    from muster.engine.settled import Settled
    from muster.engine.workers import Workers


@click.command()
@options.repo_option
@options.snapshot_options
@options.offline_option
@options.agents_gone_option
@options.now_option
@options.state_option
@options.workers_option
@options.output_option("table", "yaml", "json")
@click.option("--exit-code", is_flag=True, help="Exit with 1 where a reconcile would change anything.")
def command(
    repo: Path, rev: str | None, worktree: bool, offline: bool, agents_gone: bool, now: datetime, state: Path | None,
    workers: "Workers", output: str, exit_code: bool,
) -> int:  # fmt: skip
    """Show every transition that a reconcile would commit; commit nothing."""
    from muster.answers.listening import READER
    from muster.answers.plan import plan_document
    from muster.engine.changes import summary
    from muster.output.columns import short_label
    from muster.output.documents import json_text, yaml_stream
    from muster.output.plan import print_held, print_summary, print_transitions

    with working("evaluating the fleet"):
        reading = reading_of(repo, rev, worktree=worktree, ears=replace(READER, ask=not offline, gone=agents_gone))
        instant = reading.instant(now)
        settled = _settled(reading, instant.now, state, workers)
    reading.require_heard(settled.first)
    if output == "json":
        sys.stdout.write(json_text(plan_document(settled)))
    elif output == "yaml":
        sys.stdout.write(yaml_stream([plan_document(settled)]))
    else:
        if settled.changes:
            print_transitions(
                [
                    (str(c.object), short_label(c.field), c.before, c.after, c.note or c.source.partition("#")[0])
                    for c in settled.changes
                ]
            )
        print_held([(_label(held), short_label(held["effect"]), held["reason"]) for held in settled.last.held])
        print_summary(summary(settled.changes), len(settled.files), settled.last.horizon)
    reading.tell_age(instant.now, err=output != "table")
    if instant.note:
        click.echo(f"a reconcile would refuse: {instant.note}" if instant.refused else instant.note, err=True)
    code = report(settled.findings)
    return 1 if exit_code and settled.files else code


def _settled(reading: Reading, now: datetime, given: Path | None, workers: "Workers") -> "Settled":
    """What follows; of the commit that is checked out, from what reconciles left. Nothing is kept."""
    from muster.engine.question import Question
    from muster.engine.settle import settle
    from muster.engine.warm import answer
    from muster.gitio.pulse_memory import Remembered
    from muster.gitio.repository import branch_tip, current_branch

    repository, commit, heard = reading.repository, reading.base, reading.heard
    if repository is None:
        return settle(reading.snapshot, now)
    remembered, branch = Remembered(repository), current_branch(repository)
    if commit and heard and branch and branch_tip(repository, branch) == commit == reading.snapshot.commit:
        kept = open_state_of(os.environ, repository, branch, given)
        return answer(Question(repository, commit, heard, now, remembered), kept, workers).settled
    return settle(reading.snapshot, now, remembered.memory)


def _label(held: Tree) -> str:
    return "/".join(part for part in (held["kind"], held["namespace"], held["name"]) if part)
