"""`muster report`: what an adapter calls to say how its work on an object stands."""

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from muster.agents.identity.options import identity_option, seal_of
from muster.cli import options
from muster.data.tree import Tree, dig, read_json


def _condition(text: str) -> object:
    """`TYPE=STATUS[:REASON[:MESSAGE]]`."""
    from muster.agents.report.report import Condition

    return Condition.parse(text)


@click.command()
@options.repo_option
@options.now_option
@click.option("--adapter", required=True, metavar="NAME", help="Which adapter reports.")
@click.option("--cluster", envvar="MUSTER_CLUSTER", metavar="NAME", show_envvar=True,
              help="The cluster that is reported on, or that the object belongs to.")  # fmt: skip
@click.option("--object", "target", metavar="KIND/NAME", help="The object.  [default: ManagedCluster/<cluster>]")
@click.option("--observed-generation", type=click.IntRange(min=1), metavar="N",
              help="The generation that the adapter worked on.  [default: the event's, else the Job's]")  # fmt: skip
@click.option("--event", type=click.File("r"), metavar="FILE",
              help="Take object and generation from the CloudEvent that asked; - is standard input.")  # fmt: skip
@click.option("--condition", "conditions", type=options.ParsedType("condition", _condition), multiple=True,
              metavar="TYPE=STATUS[:REASON[:MESSAGE]]",
              help="A condition; Applied and Health are True unless given.")  # fmt: skip
@click.option("--job", type=click.File("r"), metavar="FILE",
              help="Conclude Available from this Kubernetes Job (JSON or YAML); - is standard input.")  # fmt: skip
@click.option("--data", metavar="JSON", help="Whatever else the adapter has to say, as a JSON object.")
@identity_option
@click.option("--remote", default="origin", show_default=True, help="The remote to push to: a name, a URL or a path.")
@click.option("--local", is_flag=True, help="Write the ref of this repository, and push nothing.")
@click.option("--even-unknown", is_flag=True, help="Send a report whose Available is Unknown, too.")
def command(
    repo: Path, now: datetime, adapter: str, cluster: str | None, target: str | None, observed_generation: int | None,
    event: Any, conditions: tuple[Any, ...], job: Any, data: str | None, identity: Path | None, remote: str,
    local: bool, even_unknown: bool,
) -> int:  # fmt: skip
    """Report on an object as one of its adapters, by pushing to the agent ref of its cluster.

    While Available is Unknown, nothing is sent: the work is under way, and what was reported before stands.
    """
    from muster.agents.report.job import assess
    from muster.agents.report.report import Condition, report_object, send, withheld

    asked = _json(event.read(), "--event") if event else None
    task = None if job is None else _job(job.read())
    generation = observed_generation or dig(asked, "data", "generation") or _generation(task)
    if not isinstance(generation, int):
        raise click.UsageError("--observed-generation is missing.")
    id_, cluster = _target(target, cluster, asked)
    said = list(conditions)
    if task is not None:
        if any(condition.type == "Available" for condition in said):
            raise click.UsageError("--job and --condition both say what Available is.")
        said.append(Condition("Available", assess(task, generation).available))
    if not any(condition.type == "Available" for condition in said):
        raise click.UsageError("--condition Available=... is missing: without it no report is accepted.")
    if withheld(said) and not even_unknown:
        of = _generation(task)
        why = "Available is Unknown" if of in (None, generation) else f"the Job is of generation {of}, not {generation}"
        click.echo(f"not sent: {why}, so what was reported before stands")
        return 0
    extra = None if data is None else _json(data, "--data")
    body = report_object(id_, cluster, adapter, generation, now, said, extra)
    _refuse_unsound(body)
    if local:
        from muster.git.repository import open_repository

        commit = send(open_repository(repo, os.environ), cluster, body, None, seal=seal_of(identity))
    else:
        commit = _pushed(repo, cluster, body, remote, identity)
    click.echo(f"{commit[:12]} {adapter} reported on {id_} at generation {generation}")
    return 0


def _pushed(repo: Path, cluster: str, body: Tree, remote: str, identity: Path | None) -> str:
    """Push from the repository where there is one, else from one that is made for it."""
    from muster.agents.report.report import send
    from muster.git.errors import RepositoryError
    from muster.git.push import absolute_remote, scratch_repository
    from muster.git.repository import open_repository

    seal = seal_of(identity)
    try:
        repository = open_repository(repo, os.environ)
    except RepositoryError:
        where = absolute_remote(remote)
        with scratch_repository(os.environ, where) as scratch:
            return send(scratch, cluster, body, where, seal=seal)
    return send(repository, cluster, body, remote, seal=seal)


def _target(target: str | None, cluster: str | None, asked: Tree) -> tuple[Any, str]:
    """The object and its cluster: as given, else as the event says."""
    from muster.data.kinds import TARGETS
    from muster.data.names import did_you_mean

    kind_name, _, name = (target or "").partition("/")
    if not target and asked is not None:
        kind_name, name = str(dig(asked, "data", "kind")), str(dig(asked, "data", "name"))
        cluster = cluster or dig(asked, "data", "namespace") or name
    if not kind_name:
        if not cluster:
            raise click.UsageError("--cluster is missing.")
        kind_name, name = "ManagedCluster", cluster
    if kind_name not in TARGETS:
        hint = did_you_mean(kind_name, TARGETS)
        raise click.UsageError(f"adapters report on {', '.join(sorted(TARGETS))}, not on {kind_name!r}. {hint}".strip())
    kind = TARGETS[kind_name]
    owner = cluster or ("" if kind.namespaced else name)
    if not name or not owner:
        raise click.UsageError("--object needs KIND/NAME, and a NodePool --cluster, too.")
    return kind.id(name, owner if kind.namespaced else ""), owner


def _job(text: str) -> Tree:
    """The Job, as `kubectl get job -o yaml` or `-o json` prints it."""
    import yaml

    from muster.agents.report.job import generation_of, only_job

    try:
        job = only_job(yaml.safe_load(text))
        generation_of(job)
    except yaml.YAMLError as error:
        raise click.UsageError(f"--job is neither JSON nor YAML: {error}") from error
    except ValueError as error:
        raise click.UsageError(f"--job cannot be used: {error}.") from error
    return job


def _generation(task: Tree) -> int | None:
    from muster.agents.report.job import generation_of

    return None if task is None else generation_of(task)


def _json(text: str, name: str) -> Tree:
    try:
        value = read_json(text)
    except ValueError as error:
        raise click.UsageError(f"{name} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise click.UsageError(f"{name} is not a JSON object.")
    return value


def _refuse_unsound(body: Tree) -> None:
    """A report that the fleet's schema would refuse is not sent: the adapter is there to mend it, the fleet is not."""
    from muster.data.kinds import ADAPTER_REPORT
    from muster.data.source import Layer, Part, SourceFile
    from muster.data.yaml.emitter import UnwritableError, file_text
    from muster.fleet.objects import Object
    from muster.fleet.schema_findings import schema_findings

    id_ = ADAPTER_REPORT.id(body["metadata"]["name"], body["metadata"]["namespace"])
    try:
        data = file_text(body).encode()
    except UnwritableError as error:
        raise click.UsageError(f"the fleet could not read the report: {error}. Send less.") from error
    source = SourceFile("report", "", lambda: data)
    part = Part(id_, ADAPTER_REPORT.versions[0], body, Layer.INPUT, source)
    for found in schema_findings(Object(id_, body, (part,))):
        raise click.UsageError(f"the report is not sound: {found.message}. {found.hint}".strip())
