"""The verbs that edit a fleet as one commit: accept, deny, taint, claim, release and waive."""

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from muster.cli import completion, options
from muster.data.times import try_duration

if TYPE_CHECKING:
    from muster.features.edits.editing import Draft
from muster.features.edits.options import Destination, clusters_option, edit_options, names


@click.command()
@click.argument("code", shell_complete=completion.codes)
@click.argument("object_", metavar="OBJECT", shell_complete=completion.targets)
@click.option("--reason", required=True, metavar="TEXT", help="Why it is left as it is.")
@click.option("--owner", required=True, metavar="WHO", help="Who answers for it.")
@click.option("--until", required=True, metavar="DAY", help="First day on which it counts again: 2026-03-01, in UTC.")
@click.option("--name", default="", metavar="NAME", help="Name of the Waiver.  [default: after code and object]")
@options.repo_option
@options.now_option
@edit_options
def waive(
    code: str, object_: str, reason: str, owner: str, until: str, name: str, now: datetime, into: Destination
) -> int:
    """Waive what CODE says of OBJECT (KIND/[NAMESPACE/]NAME, or a file), as it is found now.

    A warning, a note and advice are not told any more until that day; an error is, but no exit code counts it, and its
    object goes without its change as before. Another problem of the object counts. What stands already is extended.
    """
    from muster.features.edits.waiving import waive

    change = partial(waive, code=code, about=object_, reason=reason, owner=owner, until=until, now=now, name=name)
    return into.commit(change, f"Waive {code} of {object_}")


@click.command()
@click.argument("name", shell_complete=completion.claims)
@click.option(
    "--namespace", default="", metavar="NS", help="The claim's namespace, where several have one of the name."
)
@options.repo_option
@edit_options
def release(name: str, namespace: str, into: Destination) -> int:
    """Release the claim NAME, as one commit. The next reconcile has its cluster deleted, within the pool's budget."""
    from muster.features.edits.claiming import release

    change = partial(release, name=name, namespace=namespace)
    return into.commit(change, f"Release claim {name}")


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
def claim(
    name: str, pool: str, namespace: str, lifetime: str, subjects: tuple[str, ...], now: datetime, into: Destination
) -> int:
    """Claim a cluster of a pool under NAME, as one commit. The next reconcile assigns one, or resumes one for it."""
    from muster.features.edits.claiming import claim

    if lifetime and try_duration(lifetime) is None:
        raise click.UsageError(f"{lifetime!r} is not a duration such as 90m or 8h.")
    change = partial(claim, name=name, pool=pool, now=now, namespace=namespace, lifetime=lifetime, subjects=subjects)
    subject = f"Claim a cluster of pool {pool} as {name}"
    return into.commit(change, subject)


def _parsed(text: str) -> object:
    """`KEY[=VALUE]:EFFECT`, or with `-` behind it to remove."""
    from muster.features.edits.tainting import TaintEdit

    return TaintEdit.parse(text)


@click.command()
@click.argument("taints", nargs=-1, required=True, type=options.ParsedType("taint", _parsed), metavar="TAINT...")
@options.repo_option
@clusters_option()
@edit_options
def taint(taints: tuple[Any, ...], clusters: tuple[str, ...], into: Destination) -> int:
    """Add taints to clusters, or remove them, and commit that.

    A TAINT is KEY[=VALUE]:EFFECT, which adds it or changes its value; KEY:EFFECT- removes it, and KEY- every taint of
    that key. Since when a taint stands is for muster to say.
    """
    from muster.features.edits.tainting import taint

    subject = f"Taint {', '.join(clusters)}: {' '.join(f'{one}-' if one.removed else str(one) for one in taints)}"
    change = partial(taint, clusters=clusters, edits=taints)
    return into.commit(change, subject)


@click.command()
@options.repo_option
@clusters_option(required=False)
@click.option("--request", "requests", multiple=True, callback=names, metavar="NAME",
              help="Deny this request for a certificate, or revoke what was signed. May be repeated.")  # fmt: skip
@edit_options
def deny(into: Destination, clusters: tuple[str, ...], requests: tuple[str, ...]) -> int:
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


@click.command()
@options.repo_option
@clusters_option()
@click.option("--label", "labels", multiple=True, callback=names, metavar="KEY",
              help="Take over this label, for which the agent asks. May be repeated.")  # fmt: skip
@click.option("--with-labels", is_flag=True, help="Take over all labels for which the agents ask.")
@edit_options
def accept(into: Destination, clusters: tuple[str, ...], labels: tuple[str, ...], with_labels: bool) -> int:
    """Let clusters into the fleet: set hubAcceptsClient in their files, and commit that.

    A cluster that only its agent has spoken of gets a file, with the lease duration and the client configs that the
    agent proposed. Labels that it asks for decide what runs on it, so they are named, and taken over only with --label
    or --with-labels; taints are never. A cluster that is accepted already stays as it is.
    """
    from muster.features.edits.accepting import Labels, accept

    change = partial(accept, clusters=clusters, labels=Labels(with_labels, labels))
    return into.commit(change, f"Accept {', '.join(clusters)}")
