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
@edit_options
@options.now_option
def waive(
    code: str, object_: str, reason: str, owner: str, until: str, name: str, now: datetime, into: Destination
) -> int:
    """Waive the findings with CODE about OBJECT (KIND/[NAMESPACE/]NAME, or a file) that exist now, in one commit.

    Until that day, a warning, a note or advice is not shown. An error is still shown, and its object still does not
    change, but exit codes ignore it. Other findings about the object still count. If there is such a Waiver already, it
    is extended.

    \b
    Example:
      muster waive MUS222 cluster/a \\
        --reason 'in repair' --owner ops --until 2026-03-01
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
    """Give back the cluster of the claim NAME, in one commit. The next reconcile has the cluster deleted, within the
    pool's budget.

    \b
    Example:
      muster release ci-4711
    """
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
@click.option("--subject", "subjects", multiple=True, metavar="KIND/NAME", help="Who may use the cluster. Repeatable.")
@options.repo_option
@edit_options
@options.now_option
def claim(
    name: str, pool: str, namespace: str, lifetime: str, subjects: tuple[str, ...], now: datetime, into: Destination
) -> int:
    """Claim a cluster of a pool under NAME, in one commit. The next reconcile assigns one, or resumes one for the
    claim.

    \b
    Example:
      muster claim ci-4711 --pool small --lifetime 8h
    """
    from muster.features.edits.claiming import claim

    if lifetime and try_duration(lifetime) is None:
        raise click.UsageError(f"{lifetime!r} is not a duration such as 90m or 8h.")
    change = partial(claim, name=name, pool=pool, now=now, namespace=namespace, lifetime=lifetime, subjects=subjects)
    return into.commit(change, f"Claim a cluster of pool {pool} as {name}")


def _is_taint(word: str) -> bool:
    return ":" in word or "=" in word or word.endswith("-")


@click.command()
@clusters_and_words("TAINT", _is_taint)
@options.repo_option
@edit_options
def taint(clusters: tuple[str, ...], words: tuple[str, ...], into: Destination) -> int:
    """Add taints to clusters, or remove them, in one commit.

    \b
    TAINT is one of these:
      KEY[=VALUE]:EFFECT   add the taint, or change its value
      KEY:EFFECT-          remove it
      KEY-                 remove every taint with this key
    EFFECT is NoSelect, NoSelectIfNew or PreferNoSelect; for a Cluster of
    Karmada NoSchedule or NoExecute.

    \b
    Examples:
      muster taint prod-eu-1 disk=old:NoSelect
      muster taint prod-eu-1 prod-eu-2 disk-
    """
    from muster.features.edits.tainting import TaintEdit, taint

    if not words:
        raise click.UsageError("name a taint: KEY[=VALUE]:EFFECT, KEY:EFFECT- or KEY-.")
    with options.usage_errors(ValueError):
        taints = [TaintEdit.parse(word) for word in words]
    subject = f"Taint {', '.join(clusters)}: {' '.join(f'{edit}-' if edit.removed else str(edit) for edit in taints)}"
    return into.commit(partial(taint, clusters=clusters, edits=taints), subject)


def _is_label(word: str) -> bool:
    return "=" in word or word.endswith("-")


@click.command()
@clusters_and_words("LABEL", _is_label)
@click.option("--overwrite", is_flag=True, help="Change labels that have another value.")
@options.repo_option
@edit_options
def label(clusters: tuple[str, ...], words: tuple[str, ...], overwrite: bool, into: Destination) -> int:
    """Set labels of clusters, or remove them, in one commit.

    LABEL is KEY=VALUE to set a label, or KEY- to remove it.

    \b
    Example:
      muster label prod-eu-1 tier=gold canary-
    """
    from muster.features.edits.labelling import label, parse

    if not words:
        raise click.UsageError("name a label: KEY=VALUE or KEY-.")
    labels = dict(map(parse, words))
    if len(labels) < len(words):
        raise click.UsageError("name each label once.")
    change = partial(label, clusters=clusters, labels=labels, overwrite=overwrite)
    return into.commit(change, f"Label {', '.join(clusters)}: {' '.join(words)}")


@click.command()
@clusters_named()
@options.repo_option
@edit_options
def cordon(clusters: tuple[str, ...], into: Destination) -> int:
    """Keep new work off clusters, in one commit. Work that runs there stays.

    This adds the taint muster.dev/cordoned; `muster uncordon` removes it.

    \b
    Example:
      muster cordon prod-eu-1
    """
    from muster.features.edits.tainting import CORDONED, mark

    return into.commit(partial(mark, clusters=clusters, key=CORDONED), f"Cordon {', '.join(clusters)}")


@click.command()
@clusters_named()
@options.repo_option
@edit_options
def uncordon(clusters: tuple[str, ...], into: Destination) -> int:
    """Let work onto clusters again that were cordoned or drained, in one commit.

    \b
    Example:
      muster uncordon prod-eu-1
    """
    from muster.features.edits.tainting import unmark

    return into.commit(partial(unmark, clusters=clusters), f"Uncordon {', '.join(clusters)}")


@click.command()
@clusters_named()
@click.option(
    "--timeout",
    type=options.DurationType(),
    default="5m",
    show_default=True,
    metavar="DURATION",
    help="How long to wait until no placement chooses them; 0s looks once.",
)
@options.repo_option
@edit_options
@options.now_option
def drain(clusters: tuple[str, ...], now: datetime, timeout: timedelta, into: Destination) -> int:
    """Move work away from clusters: taint them in one commit, and wait until no Placement chooses them.

    This adds the taint muster.dev/drained; `muster uncordon` removes it. The next reconcile, here or elsewhere, moves
    the decisions. Exits with 1 if some Placement still chooses a cluster after the timeout, or tolerates the taint.

    \b
    Example:
      muster drain prod-eu-1 --push --timeout 30m
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
@click.option(
    "--request",
    "requests",
    multiple=True,
    callback=names,
    metavar="NAME",
    help="Deny this certificate request, or revoke its certificate. Repeatable.",
)
@options.repo_option
@edit_options
def deny(into: Destination, clusters: tuple[str, ...], requests: tuple[str, ...]) -> int:
    """Remove clusters from the fleet, or keep them out: set hubAcceptsClient to false in their files, in one commit.

    With the next reconcile, a denied cluster leaves sets, placements, pools and remedies, and its certificates are
    revoked. Its file and its agent's reports stay. With --request, a single certificate is revoked; its agent must then
    be accepted again.

    \b
    Examples:
      muster deny prod-eu-1
      muster deny --request prod-eu-1-x7k2p
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
@click.option(
    "--label",
    "labels",
    multiple=True,
    callback=names,
    metavar="KEY",
    help="Adopt this label, which the agent requests. Repeatable.",
)
@click.option("--with-labels", is_flag=True, help="Adopt all labels that the agents request.")
@options.repo_option
@edit_options
def accept(into: Destination, clusters: tuple[str, ...], labels: tuple[str, ...], with_labels: bool) -> int:
    """Accept clusters into the fleet: set hubAcceptsClient to true in their files, in one commit.

    A cluster that only its agent knows gets a file with the lease duration and the client configs that the agent asks
    for. Labels decide what runs on a cluster, so those that the agent asks for are listed, and adopted only with
    --label or --with-labels. Taints are never adopted.

    \b
    Examples:
      muster accept prod-eu-1 prod-eu-2
      muster accept prod-eu-1 --label region,tier
    """
    from muster.features.edits.accepting import Labels, accept

    change = partial(accept, clusters=clusters, labels=Labels(with_labels, labels))
    return into.commit(change, f"Accept {', '.join(clusters)}")
