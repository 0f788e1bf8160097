"""`muster release`: give a claim's cluster back, as one commit."""

from pathlib import Path

import click

from muster.commands import options
from muster.commands.editing import commit_edit


@click.command()
@click.argument("name")
@click.option(
    "--namespace", default="", metavar="NS", help="The claim's namespace, where several have one of the name."
)
@options.repo_option
def command(name: str, namespace: str, repo: Path) -> int:
    """Release the claim NAME, as one commit. The next reconcile has its cluster deleted, within the pool's budget."""
    from muster.answers.claiming import release

    return commit_edit(repo, lambda fleet: release(fleet, name, namespace=namespace))
