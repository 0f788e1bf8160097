"""`muster release`: give a claim's cluster back, as one commit."""

from functools import partial

import click

from muster.cli import completion, options
from muster.features.edits.options import Destination, edit_options


@click.command()
@click.argument("name", shell_complete=completion.claims)
@click.option(
    "--namespace", default="", metavar="NS", help="The claim's namespace, where several have one of the name."
)
@options.repo_option
@edit_options
def command(name: str, namespace: str, into: Destination) -> int:
    """Release the claim NAME, as one commit. The next reconcile has its cluster deleted, within the pool's budget."""
    from muster.features.edits.claiming import release

    change = partial(release, name=name, namespace=namespace)
    return into.commit(change, f"Release claim {name}")
