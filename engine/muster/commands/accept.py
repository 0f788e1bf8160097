"""`muster accept`: let clusters into the fleet, as one commit that changes one field each."""

from functools import partial
from pathlib import Path

import click

from muster.commands import options
from muster.commands.edits import clusters_option, edit_once, edit_options


@click.command()
@options.repo_option
@clusters_option
@edit_options
def command(repo: Path, clusters: tuple[str, ...], branch: str | None, push: bool, remote: str) -> int:
    """Let clusters into the fleet: set hubAcceptsClient in their files, and commit that.

    A cluster that only its agent has spoken of gets a file, with what the agent proposed. One that is accepted already
    stays as it is.
    """
    from muster.answers.accepting import accept

    change = partial(accept, clusters=clusters)
    return edit_once(repo, change, f"Accept {', '.join(clusters)}", branch=branch, push=push, remote=remote)
