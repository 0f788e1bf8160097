"""`muster deny`: put clusters out of the fleet, or keep them out, as one commit that changes one field each."""

from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.features.edits.options import Destination, clusters_option, edit_options, names

if TYPE_CHECKING:
    from muster.features.edits.editing import Draft


@click.command()
@options.repo_option
@clusters_option(required=False)
@click.option("--request", "requests", multiple=True, callback=names, metavar="NAME",
              help="Deny this request for a certificate, or revoke what was signed. May be repeated.")  # fmt: skip
@edit_options
def command(into: Destination, clusters: tuple[str, ...], requests: tuple[str, ...]) -> int:
    """Put clusters out of the fleet, or keep them out: set hubAcceptsClient in their files, and commit that.

    It leaves sets, placements, pools and remedies with the next reconcile; its file, and what its agent reports, stay.
    Its certificates end. With --request a single certificate does, and its agent has to be let in again.
    """
    from muster.features.edits.accepting import deny, revoke

    if not clusters and not requests:
        raise click.UsageError("name --clusters or a --request.")

    def change(draft: "Draft") -> None:
        deny(draft, clusters)
        revoke(draft, requests)

    subject = f"Deny {', '.join((*clusters, *requests))}"
    return into.commit(change, subject)
