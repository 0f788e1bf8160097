"""`muster replay`: what policies would have decided over past commits."""

import os
import sys
from pathlib import Path

import click

from muster.cli import options
from muster.cli.progress import working


@click.command()
@click.argument("commits", metavar="A..B")
@options.repo_option
@click.option(
    "--policies",
    metavar="REV|FILE",
    multiple=True,
    help="By the policies of this revision, or by this file over today's; FILE may be repeated.  [default: HEAD]",
)
@options.output_option("table", "json")
@click.option("--exit-code", is_flag=True, help="Exit with 1 where anything would have been decided otherwise.")
def command(commits: str, repo: Path, policies: tuple[str, ...], output: str, exit_code: bool) -> int:
    """Make the runs of A..B again by today's policies, or others, and show where that differs from what was committed.

    Each run that committed something is made again at its own instant, over what people had committed by then and what
    the replay itself has derived. Nothing is written.
    """
    from muster.cli.documents import json_text
    from muster.features.replay.replay import replay
    from muster.features.replay.text import replay_document, replay_text
    from muster.features.whatif.supposing import NotSupposable
    from muster.git.repository import open_repository, resolve

    start, dots, end = commits.partition("..")
    if not dots or not start:
        raise click.UsageError(f"{commits!r} is no range of commits such as HEAD~100..HEAD.")
    repository = open_repository(repo, os.environ)
    revision, files = _policies(policies)
    first, last, ruling = (resolve(repository, name) for name in (start, end or "HEAD", revision))
    with working("replaying"), options.usage_errors(NotSupposable):
        found = replay(repository, first, last, ruling, files)
    sys.stdout.write(json_text(replay_document(found)) if output == "json" else replay_text(found))
    if found.unheard:
        click.echo("clusters that speak through refs of their own stayed as they were: no history has that", err=True)
    return int(exit_code and bool(found.differences))


def _policies(given: tuple[str, ...]) -> tuple[str, dict[str, bytes]]:
    """The revision whose policies rule, and the files that lie over them."""
    files = {Path(name).name: Path(name).read_bytes() for name in given if Path(name).is_file()}
    revisions = [name for name in given if not Path(name).is_file()]
    if len(revisions) > 1:
        raise click.UsageError("give one revision whose policies are to rule.")
    return (revisions[0] if revisions else "HEAD"), files
