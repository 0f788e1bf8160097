"""`muster heartbeat`: what an agent runs beside its cluster."""

import os
import signal
import socket
import time
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from muster.commands.options import present
from muster.model.agentref import is_cluster_name
from muster.model.tree import Tree

if TYPE_CHECKING:
    from muster.agent.apiserver import ApiServer
    from muster.agent.heartbeat import Heart

_LIMIT_SECONDS = 30.0


@click.command()
@click.option("--cluster", required=True, envvar="MUSTER_CLUSTER", show_envvar=True, metavar="NAME",
              help="The cluster that this speaks for.")  # fmt: skip
@click.option("--remote", required=True, metavar="URL", help="The fleet repository, a URL or a path.")
@click.option("--branch", default="main", show_default=True, help="The branch that muster reconciles.")
@click.option("--kubeconfig", type=click.Path(path_type=Path, dir_okay=False),
              help="How to reach the API server.  [default: as inside the cluster]")  # fmt: skip
@click.option("--api-server", metavar="URL", help="The API server, where it needs no credentials.")
@click.option("--status", "status_file", type=click.Path(path_type=Path, dir_okay=False),
              help="Report the version, capacity, allocatable and clusterClaims of this file.")  # fmt: skip
@click.option("--csr", type=click.Path(path_type=Path, dir_okay=False, exists=True),
              help="Send this CertificateSigningRequest along.")  # fmt: skip
@click.option("--deployment", metavar="NAMESPACE/NAME", help="The agent's own deployment, which must be available.")
@click.option("--minimum-replicas", type=click.IntRange(min=1), default=1, show_default=True,
              help="How many of its replicas must be.")  # fmt: skip
@click.option("--lease-duration", type=click.IntRange(min=1), default=60, show_default=True, metavar="SECONDS",
              help="How often to renew, unless the hub asks for less.")  # fmt: skip
@click.option("--every", "again", is_flag=True, help="Go on, once in a lease's duration, until stopped.")
def command(
    cluster: str, remote: str, branch: str, kubeconfig: Path | None, api_server: str | None,
    status_file: Path | None, csr: Path | None, deployment: str | None, minimum_replicas: int,
    lease_duration: int, again: bool,
) -> int:  # fmt: skip
    """Renew the cluster's Lease and report how it is, on the branch agents/NAME.

    Until the hub accepts the cluster, this asks to be let in. The API server is asked /livez, or /healthz where there
    is no such path; a failure must last 20 seconds to be reported.
    """
    from muster.gitio.errors import RepositoryError

    if not is_cluster_name(cluster):
        raise click.UsageError(f"{cluster!r} is no name of a cluster.")
    stop = Event()
    heart = _heart(cluster, remote, branch, _server(kubeconfig, api_server), stop, lease_duration,
                   (deployment, minimum_replicas), _mapping(status_file), csr)  # fmt: skip
    if not again:
        click.echo(f"{cluster}: {heart.beat()}")
        return 0
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    pause = 0.0
    while not stop.wait(pause):
        try:
            click.echo(f"{cluster}: {heart.beat()}")
            pause = heart.period()
        except RepositoryError as error:
            # The lease ages meanwhile, which is just what the hub should see.
            click.echo(f"{cluster}: {error.message}", err=True)
            pause = min(max(pause, 1.0) * 2, float(lease_duration))
    return 0


def _server(kubeconfig: Path | None, url: str | None) -> "ApiServer":
    from muster.agent.apiserver import AccessError, ApiServer, from_inside, from_kubeconfig

    if kubeconfig and url:
        raise click.UsageError("--kubeconfig and --api-server exclude each other.")
    try:
        server = from_kubeconfig(kubeconfig) if kubeconfig else ApiServer(url) if url else from_inside()
    except AccessError as error:
        raise click.UsageError(f"{error}.") from error
    if server is None:
        raise click.UsageError("This runs in no cluster: give --kubeconfig or --api-server.")
    return server


def _heart(
    cluster: str, remote: str, branch: str, server: "ApiServer", stop: Event, lease_seconds: int,
    own: tuple[str | None, int], status: Tree, csr: Path | None,
) -> "Heart":  # fmt: skip
    from muster.agent.agent_ref import AgentRef
    from muster.agent.facts import observed
    from muster.agent.health import Verdict, deployed, probe
    from muster.agent.heartbeat import Heart
    from muster.agent.hub import view

    # Exchanges run in a directory of their own, where a relative path would mean something else.
    where = str(Path(remote).absolute()) if Path(remote).exists() else remote

    def look() -> Verdict:
        verdict = probe(server.get)
        deployment, minimum = own
        return deployed(server.get_json, deployment, minimum) if deployment and verdict.status == "True" else verdict

    return Heart(
        AgentRef(where, cluster, _LIMIT_SECONDS, os.environ), socket.gethostname(), look,
        lambda: {**observed(server.get_json), **status}, lambda: view(where, branch, cluster, os.environ),
        present, time.monotonic, stop.wait, lease_seconds, {"csr.yaml": csr.read_bytes()} if csr else {},
    )  # fmt: skip


def _mapping(path: Path | None) -> Tree:
    """The facts of a file; those that are not given are asked of the API server."""
    import yaml

    if path is None:
        return {}
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise click.UsageError(f"--status {path} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise click.UsageError(f"--status {path} is no mapping.")
    return {name: value[name] for name in ("version", "capacity", "allocatable", "clusterClaims") if name in value}
