"""`muster deny`: put clusters out of the fleet, or keep them out, as one commit that changes one field each."""

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
    """Put clusters out of the fleet, or keep them out: set hubAcceptsClient in their files, and commit that.

    It leaves sets, placements, pools and remedies with the next reconcile; its file, and what its agent reports, stay.
    """
    from muster.acts.accepting import deny

    change = partial(deny, clusters=clusters)
    return edit_once(repo, change, f"Deny {', '.join(clusters)}", branch=branch, push=push, remote=remote)
