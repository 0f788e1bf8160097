"""`muster accept`: let clusters into the fleet, as one commit that changes one field each."""

from functools import partial

import click

from muster.cli import options
from muster.features.edits.options import Destination, clusters_option, edit_options, names


@click.command()
@options.repo_option
@clusters_option()
@click.option("--label", "labels", multiple=True, callback=names, metavar="KEY",
              help="Take over this label, for which the agent asks. May be repeated.")  # fmt: skip
@click.option("--with-labels", is_flag=True, help="Take over all labels for which the agents ask.")
@edit_options
def command(into: Destination, clusters: tuple[str, ...], labels: tuple[str, ...], with_labels: bool) -> int:
    """Let clusters into the fleet: set hubAcceptsClient in their files, and commit that.

    A cluster that only its agent has spoken of gets a file, with the lease duration and the client configs that the
    agent proposed. Labels that it asks for decide what runs on it, so they are named, and taken over only with --label
    or --with-labels; taints are never. A cluster that is accepted already stays as it is.
    """
    from muster.features.edits.accepting import Labels, accept

    change = partial(accept, clusters=clusters, labels=Labels(with_labels, labels))
    return into.commit(change, f"Accept {', '.join(clusters)}")
