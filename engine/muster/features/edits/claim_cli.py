"""`muster claim`: ask a pool for a cluster, as one commit."""

from datetime import datetime
from functools import partial

import click

from muster.cli import completion, options
from muster.features.edits.options import Destination, edit_options


@click.command()
@click.argument("name")
@click.option(
    "--pool", required=True, metavar="P", shell_complete=completion.pools, help="The ClusterPool to claim from."
)
@click.option("--namespace", default="", metavar="NS", help="The pool's namespace, where several have one of the name.")
@click.option("--lifetime", default="", metavar="DURATION", help="How long the claim lives once it has a cluster.")
@click.option("--subject", "subjects", multiple=True, metavar="KIND/NAME", help="Who may use the cluster; repeatable.")
@options.repo_option
@options.now_option
@edit_options
def command(
    name: str, pool: str, namespace: str, lifetime: str, subjects: tuple[str, ...], now: datetime, into: Destination
) -> int:
    """Claim a cluster of a pool under NAME, as one commit. The next reconcile assigns one, or resumes one for it."""
    from muster.data.times import try_duration
    from muster.features.edits.claiming import claim

    if lifetime and try_duration(lifetime) is None:
        raise click.UsageError(f"{lifetime!r} is not a duration such as 90m or 8h.")
    change = partial(claim, name=name, pool=pool, now=now, namespace=namespace, lifetime=lifetime, subjects=subjects)
    subject = f"Claim a cluster of pool {pool} as {name}"
    return into.commit(change, subject)
