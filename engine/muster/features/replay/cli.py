"""`muster replay`: what policies would have decided over past commits."""

import os
import sys
from pathlib import Path

import click

from muster.cli import options
from muster.cli.progress import working


@click.command()
@click.argument("commits", metavar="A..B")
@click.option(
    "--policies",
    metavar="REV|FILE",
    multiple=True,
    help="Use the policies of this revision, or today's with this file; FILE may be repeated, and may instead have "
    "Rollouts with other strategies.  [default: HEAD]",
)
@options.output_option("table", "json")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything would have been decided differently.")
@options.repo_option
def command(commits: str, repo: Path, policies: tuple[str, ...], output: str, exit_code: bool) -> int:
    """Repeat the runs of A..B with today's policies, or others, and show how the results differ from the commits.

    Each run that committed something is repeated at its own time, with the inputs of that time and with the state that
    the replay itself has derived. Nothing is written.

    A Rollout in FILE rolls out the revisions of the past by its own stages: the output says when each cluster would
    have got them. With a revision that it really had, a cluster goes through the same states after the same times.

    \b
    Examples:
      muster replay main~50..main
      muster replay v1..main --policies new-policy.yaml
    """
    from muster.cli.documents import json_text
    from muster.features.replay.replay import replay, replay_document, replay_text
    from muster.features.whatif.supposing import NotSupposable
    from muster.git.repository import open_repository, resolve

    start, dots, end = commits.partition("..")
    if not dots or not start:
        raise click.UsageError(f"{commits!r} is not a range of commits such as HEAD~100..HEAD.")
    repository = open_repository(repo, os.environ)
    revision, files = _policies(policies)
    first, last, policy_commit = (resolve(repository, name) for name in (start, end or "HEAD", revision))
    with working("replaying"), options.usage_errors(NotSupposable):
        found = replay(repository, first, last, policy_commit, files)
    sys.stdout.write(json_text(replay_document(found)) if output == "json" else replay_text(found))
    if found.unheard:
        click.echo("clusters with agent refs were not replayed: the refs have no history", err=True)
    return int(exit_code and (bool(found.differences) or any(one.rows for one in found.rollouts)))


def _policies(given: tuple[str, ...]) -> tuple[str, dict[str, bytes]]:
    """The revision of the policies, and the files that replace some of them."""
    files = {Path(name).name: Path(name).read_bytes() for name in given if Path(name).is_file()}
    revisions = [name for name in given if not Path(name).is_file()]
    if len(revisions) > 1:
        raise click.UsageError("give one revision for the policies.")
    return (revisions[0] if revisions else "HEAD"), files
