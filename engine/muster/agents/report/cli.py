"""`muster report`: the command that an adapter calls to report its work on an object."""

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import yaml

from muster.agents.identity.options import identity_option, seal_of
from muster.agents.report.job import assess, generation_of, only_job
from muster.agents.report.report import ReportCondition, check_report, is_unknown, report_object, send
from muster.cli import options
from muster.data.ids import ObjectId
from muster.data.kinds import TARGETS
from muster.data.names import did_you_mean
from muster.data.tree import Tree, dig, read_json
from muster.git.errors import RepositoryError
from muster.git.memory.rootref import Seal
from muster.git.push import absolute_remote, scratch_repository
from muster.git.repository import open_repository


@click.command()
@click.option("--adapter", required=True, metavar="NAME", help="The adapter that reports.")
@click.option(
    "--cluster",
    envvar="MUSTER_CLUSTER",
    metavar="NAME",
    show_envvar=True,
    help="The cluster to report on, or to which the object belongs.",
)
@click.option("--object", "target", metavar="KIND/NAME", help="The object.  [default: ManagedCluster/<cluster>]")
@click.option(
    "--observed-generation",
    type=click.IntRange(min=1),
    metavar="N",
    help="The generation that the adapter worked on.  [default: the event's, else the Job's]",
)
@click.option(
    "--event",
    type=click.File("r"),
    metavar="FILE",
    help="Take object and generation from the CloudEvent that asked; - is standard input.",
)
@click.option(
    "--condition",
    "conditions",
    type=options.ParsedType("condition", ReportCondition.parse),
    multiple=True,
    metavar="TYPE=STATUS[:REASON[:MESSAGE]]",
    help="A condition; Applied and Health are True unless given.",
)
@click.option(
    "--job",
    type=click.File("r"),
    metavar="FILE",
    help="Derive Available from this Kubernetes Job (JSON or YAML); - is standard input.",
)
@click.option("--data", metavar="JSON", help="Further data of the adapter, as a JSON object.")
@identity_option
@click.option(
    "--remote",
    default="origin",
    show_default=True,
    metavar="NAME",
    help="The remote to push to: a name, a URL or a path.",
)
@click.option("--local", is_flag=True, help="Write the ref of this repository, and push nothing.")
@click.option("--even-unknown", is_flag=True, help="Also send a report whose Available is Unknown.")
@options.repo_option
@options.now_option
def command(
    repo: Path,
    now: datetime,
    adapter: str,
    cluster: str | None,
    target: str | None,
    observed_generation: int | None,
    event: Any,
    conditions: tuple[ReportCondition, ...],
    job: Any,
    data: str | None,
    identity: Path | None,
    remote: str,
    local: bool,
    even_unknown: bool,
) -> int:
    """Report on an object as one of its adapters, by a push to the agent's ref of its cluster.

    While Available is Unknown, nothing is sent: the work is in progress, and the previous report stays valid.

    \b
    Examples:
      muster report --adapter dns --cluster c1 --observed-generation 3 \\
        --condition Available=True
      muster report --adapter dns --event event.json --job job.yaml
    """
    cloud_event = _json(event.read(), "--event") if event else None
    task = None if job is None else _job(job.read())
    of_job = None if task is None else generation_of(task)
    generation = observed_generation or dig(cloud_event, "data", "generation") or of_job
    if not isinstance(generation, int):
        raise click.UsageError("--observed-generation is missing.")
    id_, cluster = _target(target, cluster, cloud_event)
    given = list(conditions)
    if task is not None:
        if any(condition.type == "Available" for condition in given):
            raise click.UsageError("--job and --condition both give Available.")
        given.append(ReportCondition("Available", assess(task, generation).available))
    if not any(condition.type == "Available" for condition in given):
        raise click.UsageError("--condition Available=... is missing: without it no report is accepted.")
    if is_unknown(given) and not even_unknown:
        same = of_job in (None, generation)
        why = "Available is Unknown" if same else f"the Job is of generation {of_job}, not {generation}"
        click.echo(f"not sent: {why}, so the previous report stays valid")
        return 0
    extra = None if data is None else _json(data, "--data")
    body = report_object(id_, cluster, adapter, generation, now, given, extra)
    try:
        check_report(body)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    seal = seal_of(identity)
    if local:
        commit = send(open_repository(repo, os.environ), cluster, body, None, seal=seal)
    else:
        commit = _push(repo, cluster, body, remote, seal)
    click.echo(f"{commit[:12]} {adapter} reported on {id_} at generation {generation}")
    return 0


def _push(repo: Path, cluster: str, body: Tree, remote: str, seal: Seal | None) -> str:
    """Push from the repository; outside of one, from a temporary repository."""
    try:
        repository = open_repository(repo, os.environ)
    except RepositoryError:
        where = absolute_remote(remote)
        with scratch_repository(os.environ, where) as scratch:
            return send(scratch, cluster, body, where, seal=seal)
    return send(repository, cluster, body, remote, seal=seal)


def _target(target: str | None, cluster: str | None, event: Tree) -> tuple[ObjectId, str]:
    """The object and its cluster, from the options or else from the event."""
    kind_name, _, name = (target or "").partition("/")
    if not target and event is not None:
        kind_name, name = str(dig(event, "data", "kind")), str(dig(event, "data", "name"))
        cluster = cluster or dig(event, "data", "namespace") or name
    if not kind_name:
        if not cluster:
            raise click.UsageError("--cluster is missing.")
        kind_name, name = "ManagedCluster", cluster
    if kind_name not in TARGETS:
        hint = did_you_mean(kind_name, TARGETS)
        raise click.UsageError(
            f"adapters report on {', '.join(sorted(TARGETS))}, not on {kind_name!r}; {hint}".rstrip("; ")
        )
    kind = TARGETS[kind_name]
    owner = cluster or ("" if kind.namespaced else name)
    if not name or not owner:
        raise click.UsageError("--object needs KIND/NAME, and for a NodePool also --cluster.")
    return kind.id(name, owner if kind.namespaced else ""), owner


def _job(text: str) -> Tree:
    """The Job, as `kubectl get job -o yaml` or `-o json` prints it."""
    try:
        job = only_job(yaml.safe_load(text))
        generation_of(job)
    except yaml.YAMLError as error:
        raise click.UsageError(f"--job is neither JSON nor YAML: {error}") from error
    except ValueError as error:
        raise click.UsageError(f"--job cannot be used: {error}.") from error
    return job


def _json(text: str, name: str) -> Tree:
    try:
        value = read_json(text)
    except ValueError as error:
        raise click.UsageError(f"{name} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise click.UsageError(f"{name} is not a JSON object.")
    return value
