"""The verbs that edit a fleet in one commit: accept, deny, taint, claim, release and waive."""

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from muster.cli import completion, options
from muster.data.times import try_duration
from muster.features.edits.options import Destination, clusters_option, edit_options, names

if TYPE_CHECKING:
    from muster.features.edits.editing import Draft


@click.command()
@click.argument("code", shell_complete=completion.codes)
@click.argument("object_", metavar="OBJECT", shell_complete=completion.targets)
@click.option("--reason", required=True, metavar="TEXT", help="Why the finding is acceptable.")
@click.option("--owner", required=True, metavar="WHO", help="Who is responsible for it.")
@click.option("--until", required=True, metavar="DAY", help="First day on which it counts again: 2026-03-01, in UTC.")
@click.option("--name", default="", metavar="NAME", help="Name of the Waiver.  [default: from code and object]")
@options.repo_option
@options.now_option
@edit_options
def waive(
    code: str, object_: str, reason: str, owner: str, until: str, name: str, now: datetime, into: Destination
) -> int:
    """Waive the findings with CODE about OBJECT (KIND/[NAMESPACE/]NAME, or a file) that exist now, in one commit.

    Until that day a warning, a note and advice are no longer shown. An error is still shown and its object still does
    not change, but exit codes ignore it. Other findings about the object still count. An existing Waiver is extended.
    """
    from muster.features.edits.waiving import waive

    change = partial(waive, code=code, about=object_, reason=reason, owner=owner, until=until, now=now, name=name)
    return into.commit(change, f"Waive {code} of {object_}")


@click.command()
@click.argument("name", shell_complete=completion.claims)
@click.option("--namespace", default="", metavar="NS", help="The claim's namespace, if several have such a claim.")
@options.repo_option
@edit_options
def release(name: str, namespace: str, into: Destination) -> int:
    """Release the claim NAME, in one commit. The next reconcile has its cluster deleted, within the pool's budget."""
    from muster.features.edits.claiming import release

    change = partial(release, name=name, namespace=namespace)
    return into.commit(change, f"Release claim {name}")


@click.command()
@click.argument("name")
@click.option(
    "--pool", required=True, metavar="P", shell_complete=completion.pools, help="The ClusterPool to claim from."
)
@click.option("--namespace", default="", metavar="NS", help="The pool's namespace, if several have such a pool.")
@click.option("--lifetime", default="", metavar="DURATION", help="How long the claim lives once it has a cluster.")
@click.option("--subject", "subjects", multiple=True, metavar="KIND/NAME", help="Who may use the cluster; repeatable.")
@options.repo_option
@options.now_option
@edit_options
def claim(
    name: str, pool: str, namespace: str, lifetime: str, subjects: tuple[str, ...], now: datetime, into: Destination
) -> int:
    """Claim a cluster of a pool under NAME, in one commit. The next reconcile assigns one, or resumes one for it."""
    from muster.features.edits.claiming import claim

    if lifetime and try_duration(lifetime) is None:
        raise click.UsageError(f"{lifetime!r} is not a duration such as 90m or 8h.")
    change = partial(claim, name=name, pool=pool, now=now, namespace=namespace, lifetime=lifetime, subjects=subjects)
    return into.commit(change, f"Claim a cluster of pool {pool} as {name}")


def _parsed_taint(text: str) -> object:
    from muster.features.edits.tainting import TaintEdit

    return TaintEdit.parse(text)


@click.command()
@click.argument("taints", nargs=-1, required=True, type=options.ParsedType("taint", _parsed_taint), metavar="TAINT...")
@options.repo_option
@clusters_option()
@edit_options
def taint(taints: tuple[Any, ...], clusters: tuple[str, ...], into: Destination) -> int:
    """Add taints to clusters, or remove them, in one commit.

    KEY[=VALUE]:EFFECT adds a taint or changes its value; KEY:EFFECT- removes it, and KEY- removes every taint with
    that key. The time since which a taint is set is written by muster.
    """
    from muster.features.edits.tainting import taint

    subject = f"Taint {', '.join(clusters)}: {' '.join(f'{one}-' if one.removed else str(one) for one in taints)}"
    change = partial(taint, clusters=clusters, edits=taints)
    return into.commit(change, subject)


@click.command()
@options.repo_option
@clusters_option(required=False)
@click.option("--request", "requests", multiple=True, callback=names, metavar="NAME",
              help="Deny this certificate request, or revoke its certificate. May be repeated.")  # fmt: skip
@edit_options
def deny(into: Destination, clusters: tuple[str, ...], requests: tuple[str, ...]) -> int:
    """Remove clusters from the fleet, or keep them out: set hubAcceptsClient to false in their files, in one commit.

    With the next reconcile a denied cluster leaves sets, placements, pools and remedies, and its certificates are
    revoked; its file and its agent's reports stay. --request revokes a single certificate; its agent must be accepted
    again.
    """
    from muster.features.edits.accepting import deny, revoke

    if not clusters and not requests:
        raise click.UsageError("name --clusters or a --request.")

    def change(draft: "Draft") -> None:
        deny(draft, clusters)
        revoke(draft, requests)

    return into.commit(change, f"Deny {', '.join((*clusters, *requests))}")


@click.command()
@options.repo_option
@clusters_option()
@click.option("--label", "labels", multiple=True, callback=names, metavar="KEY",
              help="Adopt this label, which the agent requests. May be repeated.")  # fmt: skip
@click.option("--with-labels", is_flag=True, help="Adopt all labels that the agents request.")
@edit_options
def accept(into: Destination, clusters: tuple[str, ...], labels: tuple[str, ...], with_labels: bool) -> int:
    """Accept clusters into the fleet: set hubAcceptsClient to true in their files, in one commit.

    A cluster that only its agent declares gets a file with the lease duration and the client configs that the agent
    proposed. Requested labels decide what runs on a cluster, so they are listed, and adopted only with --label or
    --with-labels; requested taints never are. A cluster that is already accepted stays as it is.
    """
    from muster.features.edits.accepting import Labels, accept

    change = partial(accept, clusters=clusters, labels=Labels(with_labels, labels))
    return into.commit(change, f"Accept {', '.join(clusters)}")
