"""The verbs that edit a fleet in one commit: accept, deny, taint, label, cordon, drain, claim, release and waive."""

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import click

from muster.cli import completion, options
from muster.cli.exits import FINDINGS, FINE
from muster.data.times import try_duration
from muster.features.edits.options import Destination, clusters_and_words, clusters_named, edit_options, names

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


def _is_taint(word: str) -> bool:
    return ":" in word or "=" in word or word.endswith("-")


@click.command()
@clusters_and_words(_is_taint)
@options.repo_option
@edit_options
def taint(clusters: tuple[str, ...], words: tuple[str, ...], into: Destination) -> int:
    """Add taints to clusters, or remove them, in one commit.

    KEY[=VALUE]:EFFECT adds a taint or changes its value; KEY:EFFECT- removes it, and KEY- removes every taint with
    that key, as in `muster taint prod-eu-1 disk=old:NoSelect`. The time since which a taint is set is written by
    muster.
    """
    from muster.features.edits.tainting import TaintEdit, taint

    if not words:
        raise click.UsageError("name a taint: KEY[=VALUE]:EFFECT, KEY:EFFECT- or KEY-.")
    with options.usage_errors(ValueError):
        taints = [TaintEdit.parse(word) for word in words]
    subject = f"Taint {', '.join(clusters)}: {' '.join(f'{one}-' if one.removed else str(one) for one in taints)}"
    return into.commit(partial(taint, clusters=clusters, edits=taints), subject)


def _is_label(word: str) -> bool:
    return "=" in word or word.endswith("-")


@click.command()
@clusters_and_words(_is_label)
@options.repo_option
@click.option("--overwrite", is_flag=True, help="Change labels that have another value.")
@edit_options
def label(clusters: tuple[str, ...], words: tuple[str, ...], overwrite: bool, into: Destination) -> int:
    """Set labels of clusters, or remove them, in one commit.

    KEY=VALUE sets a label and KEY- removes it, as in `muster label prod-eu-1 tier=gold canary-`.
    """
    from muster.features.edits.labelling import label, parse

    if not words:
        raise click.UsageError("name a label: KEY=VALUE or KEY-.")
    change = partial(label, clusters=clusters, labels=dict(map(parse, words)), overwrite=overwrite)
    return into.commit(change, f"Label {', '.join(clusters)}: {' '.join(words)}")


@click.command()
@clusters_named()
@options.repo_option
@edit_options
def cordon(clusters: tuple[str, ...], into: Destination) -> int:
    """Keep new work off clusters, in one commit: what runs there stays.

    It adds the taint muster.dev/cordoned; `muster uncordon` removes it.
    """
    from muster.features.edits.tainting import CORDONED, mark

    return into.commit(partial(mark, clusters=clusters, key=CORDONED), f"Cordon {', '.join(clusters)}")


@click.command()
@clusters_named()
@options.repo_option
@edit_options
def uncordon(clusters: tuple[str, ...], into: Destination) -> int:
    """Let work onto clusters again that were cordoned or drained, in one commit."""
    from muster.features.edits.tainting import unmark

    return into.commit(partial(unmark, clusters=clusters), f"Uncordon {', '.join(clusters)}")


@click.command()
@clusters_named()
@options.repo_option
@options.now_option
@click.option("--timeout", type=options.DurationType(), default="5m", show_default=True, metavar="DURATION",
              help="How long to wait until no placement chooses them; 0s looks once.")  # fmt: skip
@edit_options
def drain(clusters: tuple[str, ...], now: datetime, timeout: timedelta, into: Destination) -> int:
    """Move work away from clusters: taint them in one commit, and wait until no placement chooses them.

    It adds the taint muster.dev/drained; `muster uncordon` removes it. A reconcile or watch elsewhere moves the
    decisions. Exits with 1 if some have not left in time, or tolerate the taint.
    """
    from muster.features.edits.draining import left_in_time
    from muster.features.edits.tainting import DRAINED, mark

    code = into.commit(partial(mark, clusters=clusters, key=DRAINED), f"Drain {', '.join(clusters)}")
    if code:
        return code
    source = options.Source(into.repo, into.branch, worktree=False, offline=False, now=now)
    return FINE if left_in_time(source, clusters, into.remote if into.push else None, timeout) else FINDINGS


@click.command()
@clusters_named(required=False)
@options.repo_option
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
        raise click.UsageError("name a cluster or a --request.")

    def change(draft: "Draft") -> None:
        deny(draft, clusters)
        revoke(draft, requests)

    return into.commit(change, f"Deny {', '.join((*clusters, *requests))}")


@click.command()
@clusters_named()
@options.repo_option
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
