"""`muster export`: what others need of the fleet: a load balancer, a live hub, or an editor."""

import os
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.agents.identity.options import identity_errors
from muster.cli import options
from muster.cli.exits import FINDINGS
from muster.cli.outcome import report, reported_findings, say

if TYPE_CHECKING:
    from muster.data.tree import Tree
    from muster.features.export.endpoints import Routing
    from muster.fleet.fleet import Fleet
    from muster.fleet.objects import Object
    from muster.run.run import Run


@click.group()
def command() -> None:
    """Print the fleet for other programs."""


@command.command(short_help="Print the configuration of a load balancer.")
@click.argument("ingress", metavar="[[NAMESPACE/]NAME]", required=False)
@click.option(
    "--format",
    "format_",
    default="nginx",
    show_default=True,
    metavar="NAME",
    help="For which load balancer: nginx, or what a plug-in adds.",
)
@click.option(
    "--listen",
    type=click.IntRange(1, 65535),
    default=80,
    show_default=True,
    metavar="PORT",
    help="Where the load balancer listens.",
)
@click.option("--out", type=options.FILE, metavar="FILE", help="Write FILE instead of standard output.")
@click.option("--reload", "reload_", default="", metavar="COMMAND", help="With --out: run this after FILE has changed.")
@click.option("--follow", is_flag=True, help="With --out: go on until stopped, and write FILE when it changes.")
@click.option("--remote", metavar="NAME", help="With --follow: follow the branch of this remote.")
@options.follow_interval_option
@options.source_options
def endpoints(
    ingress: str | None,
    source: options.Source,
    format_: str,
    listen: int,
    out: Path | None,
    reload_: str,
    follow: bool,
    remote: str | None,
    interval: float,
) -> int:
    """Print the configuration of a load balancer for one MultiClusterIngress, or for all.

    Addresses come from EndpointSlices in the clusters of status.serviceLocations. Those in status.trafficBlockClusters
    get no requests.

    With --follow, FILE is replaced whenever the fleet changes it, and COMMAND is run, again and again until it
    succeeds.

    \b
    Examples:
      muster export endpoints default/web
      muster export endpoints --out nginx.conf --reload 'nginx -s reload' --follow
    """
    from muster.cli.following import TryAgainError
    from muster.data.names import did_you_mean
    from muster.features.export.configfile import ConfigFile
    from muster.features.export.endpoints import load_balancer, load_balancers

    if format_ not in load_balancers():
        hint = did_you_mean(format_, load_balancers()) or f"there is {', '.join(sorted(load_balancers()))}"
        raise click.UsageError(f"no load balancer is called {format_!r}; {hint}".rstrip("; "))
    if out is None and (follow or reload_):
        raise click.UsageError("--follow and --reload need --out FILE.")
    if follow and (source.rev or source.worktree):
        raise click.UsageError("--follow follows the branch that is checked out: not with --rev or --worktree.")
    file = None if out is None else ConfigFile(out, reload_)

    def rendered(run: "Run") -> str:
        routing = _routing(run, ingress)
        for problem in routing.problems:
            click.echo(f"warning: {problem}", err=True)
        return load_balancer(format_)(routing, listen)

    if follow and file is not None:
        _follow(source, remote, interval, lambda run: file.put(rendered(run)), out)
        return 0
    reading, run = source.evaluated()
    reading.print_age(source.now, err=True)
    try:
        text = rendered(run)
        if file is None:
            sys.stdout.write(text)
        else:
            file.put(text)
    except TryAgainError as error:
        report(reported_findings(run))
        click.echo(str(error), err=True)
        return FINDINGS
    return report(reported_findings(run))


def _routing(run: "Run", ingress: str | None) -> "Routing":
    """The routes of a run. TryAgainError if some of their objects cannot be read."""
    from muster.cli.following import TryAgainError
    from muster.data.kinds import ENDPOINT_SLICE, MULTI_CLUSTER_INGRESS
    from muster.features.export.endpoints import routing

    if doubtful := [kind.plural for kind in (MULTI_CLUSTER_INGRESS, ENDPOINT_SLICE) if run.fleet.uncertain(kind)]:
        raise TryAgainError(
            f"error: some {' and '.join(doubtful)} cannot be read, and their requests would be lost: nothing is printed"
        )
    return routing(run.fleet, _ingresses(run.fleet, ingress))


def _follow(
    source: options.Source, remote: str | None, interval: float, put: "Callable[[Run], bool]", out: Path | None
) -> None:
    """Call `put` with each run of the branch, and say when it did something."""
    from muster.cli.following import FollowedFleet, follow

    fleet = FollowedFleet(source, None, remote, timedelta(seconds=interval))

    def show(run: "Run") -> None:
        if put(run):
            say(f"{(run.commit or '')[:12]}: wrote {out}")

    follow(fleet, show)


@command.command(short_help="Print objects for kubectl apply.")
@click.argument("target", metavar="[KIND[/NAME]]", required=False)
@click.option("--deletes", is_flag=True, help="Print the objects that are being deleted, for kubectl delete.")
@click.option(
    "--status",
    is_flag=True,
    help="Print the status of each object, for kubectl apply --server-side --subresource=status.",
)
@options.projections_option
@options.output_option("yaml", "json")
@options.source_options
def objects(
    target: str | None, source: options.Source, output: str, projections: frozenset[str], *, deletes: bool, status: bool
) -> int:
    """Print objects as a live hub takes them, for kubectl apply --server-side.

    \b
    These are left out:
      objects that are being deleted (see --deletes)
      muster's own kinds, and kinds that agents and the hub's controllers write,
        such as Leases, unless KIND names them
      fields that upstream's schema does not have; standard error names them
      the status, which an apply does not touch (see --status)

    \b
    Examples:
      muster export objects | kubectl apply --server-side -f -
      muster export objects placements --status
    """
    from muster.cli.documents import json_text, yaml_stream
    from muster.cli.outcome import say
    from muster.features.export.objects import exported

    if deletes and status:
        raise click.UsageError("--deletes and --status print different things: give one.")
    reading, run = source.evaluated()
    reading.print_age(source.now, err=True)
    export = exported(options.selected(run, target), named=target is not None, status=status)
    if projections and not (deletes or status):
        export.bodies.extend(_projected(run, projections))
    bodies = export.deleted if deletes else export.bodies
    if status and output == "json":  # of a List, kubectl requires whole objects
        sys.stdout.write("".join(map(json_text, bodies)))
    elif output == "json" or deletes:  # kubectl delete takes an empty List, and no empty stream
        listed = {"apiVersion": "v1", "kind": "List", "items": bodies}
        sys.stdout.write(json_text(listed) if output == "json" else yaml_stream([listed]))
    else:
        sys.stdout.write(yaml_stream(bodies))
    if not deletes:
        say(*export.left_out(), err=True)
    return report(reported_findings(run))


@command.command(name="allowed-signers", short_help="Print the allowed signers, for git.")
@options.repo_option
@options.rev_option
def allowed_signers(repo: Path, rev: str | None) -> int:
    """Print the allowed signers of agents' branches, as git verify-commit reads them.

    This is one line for each certificate in the repository, for gpg.ssh.allowedSignersFile.

    \b
    Example:
      muster export allowed-signers > allowed-signers
    """
    from muster.git.agents.identities import certificates_at
    from muster.git.repository import open_repository

    with identity_errors():
        issued = certificates_at(open_repository(repo, os.environ), rev or "HEAD")
    for line in sorted(line for lines in issued.values() for line in lines):
        click.echo(line.allowed_signer())
    return 0


@command.command(short_help="Write JSON Schemas for editors.")
@click.argument("folder", type=options.FOLDER, default=".muster/schemas", metavar="[DIR]")
@click.option(
    "--url", default="", metavar="BASE", help="Where the folder is published; the catalog names its files there."
)
def schemas(folder: Path, url: str) -> int:
    """Write the JSON Schemas of all kinds into DIR, for editors.  [default: .muster/schemas, as muster init does]

    A catalog beside them, in the form of the JSON Schema Store, says which files have which kind.
    """
    from muster.features.init.cli import write_files
    from muster.fleet.schema_store import schema_store

    files = schema_store(url)
    write_files(folder, files)
    click.echo(f"wrote {len(files)} files into {folder}")
    return 0


def _projected(run: "Run", chosen: frozenset[str]) -> "Iterator[Tree]":
    """The objects of chosen Projections; those that are left out are named on standard error. click.UsageError if a
    name is of no Projection."""
    from muster.features.export.projected import projected_objects, unknown_projections

    for problem in unknown_projections(run.fleet, chosen):
        raise click.UsageError(problem)
    projected = projected_objects(run.fleet, chosen)
    for obj in projected.objects:
        if obj.fault:
            say(f"not exported: {obj.id} of Projection {obj.projection}: {obj.fault}", err=True)
        else:
            yield obj.body
    if projected.others:
        others = ", ".join(f"{number} of {name}" for name, number in sorted(projected.others.items()))
        say(f"not exported: files without Kubernetes objects: {others}", err=True)
    if projected.unsure:
        say(f"not exported: files that stay as they are: {', '.join(projected.unsure)}", err=True)


def _ingresses(fleet: "Fleet", target: str | None) -> list["Object"]:
    """The ingresses that a name means, sorted. click.UsageError where there is none of that name."""
    from muster.data.kinds import MULTI_CLUSTER_INGRESS
    from muster.data.names import did_you_mean

    ingresses = [obj for obj in fleet.of(MULTI_CLUSTER_INGRESS) if not obj.deleting]
    if target is None:
        return ingresses
    namespace, _, name = target.rpartition("/")
    chosen = [obj for obj in ingresses if obj.id.name == name and namespace in ("", obj.id.namespace)]
    if not chosen:
        hint = did_you_mean(name, [obj.id.name for obj in ingresses])
        raise click.UsageError(f"there is no MultiClusterIngress {target!r}; {hint}".rstrip("; "))
    return chosen
