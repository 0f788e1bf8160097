"""`muster sync`: have a live hub follow what the fleet's repository decides."""

import json
import os
import sys
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.exits import FINDINGS, REPOSITORY
from muster.cli.outcome import say

if TYPE_CHECKING:
    from muster.agents.kube.apiserver import ApiServer
    from muster.features.sync.sync import Synced
    from muster.git.repository import Repository

_LIMIT_SECONDS = 30.0  # of one request


@click.command()
@click.option(
    "--kubeconfig",
    type=options.FILE,
    metavar="FILE",
    envvar="KUBECONFIG",
    show_envvar=True,
    help="How to reach the hub.",
)
@click.option("--context", metavar="NAME", help="The kubeconfig's context.  [default: the current one]")
@click.option(
    "--namespace",
    default="default",
    show_default=True,
    metavar="NAME",
    help="Where the ConfigMap is that records what muster made on the hub.",
)
@click.option("--name", default="muster", show_default=True, metavar="NAME", help="What this ConfigMap is called.")
@click.option(
    "--repository", default="", metavar="ID", help="The repository that feeds the hub.  [default: its first commit]"
)
@click.option("--karmada", is_flag=True, help="Write Karmada's remedy actions and traffic blocks, too.")
@click.option("--hive", is_flag=True, help="Write Hive's ClusterDeployments and ClusterClaims, too.")
@options.projections_option
@click.option(
    "--take-over",
    is_flag=True,
    help="Take over what OCM's own scheduler or kubectl apply made, if the fleet decides it.",
)
@click.option("--watch", is_flag=True, help="Go on until stopped: after each commit, and at an interval.")
@click.option(
    "--interval",
    type=options.INTERVAL,
    default="30s",
    show_default=True,
    metavar="DURATION",
    help="With --watch: how often to look for changes made by hand.",
)
@click.option("--dry-run", is_flag=True, help="Let the hub check everything, and change nothing.")
@click.option("--print-rbac", is_flag=True, help="Print the rights that the command needs on the hub.")
@click.option("-v", "--verbose", is_flag=True, help="Also count the files of Projections that are not synced.")
@options.output_option("text", "json")
@options.repo_option
@options.rev_option
def command(
    repo: Path,
    rev: str | None,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str,
    name: str,
    repository: str,
    karmada: bool,
    hive: bool,
    projections: frozenset[str],
    take_over: bool,
    watch: bool,
    interval: float,
    dry_run: bool,
    print_rbac: bool,
    verbose: bool,
    output: str,
) -> int:
    """Write what the fleet's last reconcile decided to a live hub.

    \b
    What is written:
      always         PlacementDecisions with their status, and the annotation on
                     Placements that keeps OCM's own scheduler away
      --karmada      remedy actions and traffic blocks of Karmada
      --hive         ClusterDeployments and ClusterClaims of Hive
      --projections  the Kubernetes objects that Projections write
    Conditions, taints and Leases of clusters are never written.

    A change that someone makes by hand is repaired. Objects that muster made are deleted when their reason is gone, and
    no others. Objects of others are reported and stay. With --take-over they become muster's if the fleet decides them
    and no controller but OCM's scheduler has them; other decisions about its Placements go. With --dry-run, the list
    shows which of them differ. Each fleet on one hub needs a --namespace or --name of its own.

    \b
    Examples:
      muster sync --kubeconfig hub.kubeconfig --dry-run
      muster sync --watch --projections all
    """
    from muster.agents.kube.apiserver import ApiError
    from muster.cli.documents import yaml_stream
    from muster.features.sync.ownership import SyncParent
    from muster.git.repository import open_repository

    opened = open_repository(repo, os.environ)
    parent = SyncParent(namespace, name, repository or _first_commit(opened))
    systems = [system for system, asked in (("karmada", karmada), ("hive", hive)) if asked]
    if print_rbac:
        from muster.features.sync.following import projected_kinds
        from muster.features.sync.rbac import rbac

        hub = _hub(kubeconfig, context) if kubeconfig and projections else None
        try:
            kinds, unknown = projected_kinds(opened, rev, projections, hub)
        except ApiError as error:
            click.echo(f"error: {error}", err=True)
            return REPOSITORY
        for kind in unknown:
            click.echo(f"warning: {kind}", err=True)
        sys.stdout.write(yaml_stream(rbac(parent, systems, kinds)))
        return 0
    if kubeconfig is None:
        raise click.UsageError("--kubeconfig says how to reach the hub.")
    from muster.cli.stopping import until_stopped
    from muster.features.sync.following import Follower
    from muster.features.sync.sync import FedByAnotherError, Syncer

    syncer = Syncer(_hub(kubeconfig, context), parent, dry_run=dry_run, take_over=take_over)
    follower = Follower(opened, rev, syncer, systems, projections)
    tell = _json if output == "json" else partial(_text, verbose=verbose)
    if watch:
        stop, wake = Event(), Event()
        with until_stopped(stop, wake=wake.set) as stopped:
            follower.follow(stop, wake, interval, tell)
        say("stopped", err=True)
        return stopped.code
    try:
        commit, done = follower.synced()
    except (ApiError, FedByAnotherError) as error:
        click.echo(f"error: {error}", err=True)
        return REPOSITORY
    tell(commit, done)
    return FINDINGS if done.failed else 0


def _hub(kubeconfig: Path, context: str | None) -> "ApiServer":
    """How the hub is reached. click.UsageError if the kubeconfig does not say."""
    from muster.agents.kube.kubeconfig import from_kubeconfig
    from muster.agents.kube.plugin import AccessError

    try:
        hub = from_kubeconfig(kubeconfig, context)
    except AccessError as error:
        raise click.UsageError(f"{error}.") from error
    hub.limit_seconds = _LIMIT_SECONDS
    return hub


def _text(commit: str, done: "Synced", *, verbose: bool) -> None:
    from muster.features.sync.following import lines_of

    say(*lines_of(commit, done, verbose=verbose))


def _json(commit: str, done: "Synced") -> None:
    from muster.features.sync.following import document_of

    say(json.dumps(document_of(commit, done)))


def _first_commit(repository: "Repository") -> str:
    """The commit with which the history of HEAD begins: the same in every clone."""
    from muster.git.log import read_log

    if repository.git.output("rev-parse", "--is-shallow-repository").strip() == b"true":
        raise click.UsageError(
            "A shallow clone does not have the first commit: give --repository ID, or fetch all of it."
        )
    return max(commit.commit for commit in read_log(repository, "HEAD", roots=True))
