"""`muster describe`: an object, with why beside what muster decided."""

import sys
from datetime import datetime
from pathlib import Path

import click

from muster.commands import options
from muster.commands.outcome import report, told_of


@click.command()
@click.argument("target", metavar="KIND/NAME")
@options.repo_option
@options.snapshot_options
@options.offline_option
@options.now_option
def command(target: str, repo: Path, rev: str | None, worktree: bool, offline: bool, now: datetime) -> int:
    """Print an object as YAML; beside each field that was decided the rule that did it, and until when it holds."""
    from muster.answers.described import described
    from muster.commands.reading import evaluated

    is_named = options.one_object(target)
    _, run = evaluated(repo, rev, now, worktree=worktree, offline=offline, wanted=options.wanted(target))
    id_ = options.the_one(run, target, is_named)
    sys.stdout.write(described(run, id_))
    return report([one for one in told_of(run) if one.object == id_])
