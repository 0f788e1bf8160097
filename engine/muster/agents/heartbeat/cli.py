"""`muster heartbeat`: what an agent runs beside its cluster."""

import contextlib
import os
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from muster.agents.identity.options import identities
from muster.cli.options import FILE, FILE_THERE, FOLDER, present
from muster.cli.outcome import say
from muster.cli.stopping import until_stopped
from muster.data.agentref import is_cluster_name
from muster.data.tree import Tree
from muster.fleet.agents import LONGEST_PROPOSED_SECONDS
from muster.fleet.leases import LEASE_NAME

if TYPE_CHECKING:
    from muster.agents.heartbeat.apiserver import ApiServer
    from muster.agents.heartbeat.availability import Availability
    from muster.agents.heartbeat.heartbeat import Heart
    from muster.agents.hub.pushed_ref import OwnRef
    from muster.agents.hub.view import HubView
    from muster.agents.identity.rotation import Rotation
    from muster.agents.identity.seal import AgentSeal
    from muster.agents.relay.relayed_ref import RelayedRef

_LIMIT_SECONDS = 30.0
_FIRST_LOOK_SECONDS = 2.0  # for which the first heartbeat waits for the first look at the cluster


def _add_ons(_ctx: click.Context, _param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as they are given. click.UsageError for one that no add-on has."""
    for name in names:
        if not is_cluster_name(name) or name == LEASE_NAME:
            raise click.BadParameter(f"{name!r} is no name of an add-on.")
    return names


@click.command()
@click.option("--cluster", required=True, envvar="MUSTER_CLUSTER", show_envvar=True, metavar="NAME",
              help="The cluster that this speaks for.")  # fmt: skip
@click.option("--remote", metavar="URL", help="The fleet repository, or a relay's, a URL or a path.")
@click.option("--relay", metavar="URL", help="A relay that takes heartbeats over HTTP, in its place.")
@click.option("--token-file", type=FILE, help="The token for the relay.")
@click.option("--relay-ca", type=FILE_THERE,
              help="Who signed the relay's certificate, where the system does not know.")  # fmt: skip
@click.option("--branch", default="main", show_default=True, help="The branch that muster reconciles.")
@click.option("--kubeconfig", type=FILE,
              help="How to reach the API server.  [default: as inside the cluster]")  # fmt: skip
@click.option("--api-server", metavar="URL", help="The API server, where it needs no credentials.")
@click.option("--status", "status_file", type=FILE,
              help="Report the version, capacity, allocatable and clusterClaims of this file.")  # fmt: skip
@click.option("--csr", type=FILE_THERE,
              help="Send this CertificateSigningRequest along.")  # fmt: skip
@click.option("--identity", type=FOLDER, metavar="DIR",
              help="Ask for a certificate, keep it and its key here, and ask anew in time.")  # fmt: skip
@click.option("--sign", "signs", is_flag=True,
              help="Sign what is pushed with it, and keep nothing on the branch that is not signed so.")  # fmt: skip
@click.option("--signer", default="kubernetes.io/kube-apiserver-client", show_default=True, metavar="NAME",
              help="Whom to ask for it.")  # fmt: skip
@click.option("--certificate-lifetime", type=click.IntRange(min=600), metavar="SECONDS",
              help="How long it is to last.  [default: as long as the signer lets it]")  # fmt: skip
@click.option("--deployment", metavar="NAMESPACE/NAME", help="The agent's own deployment, which must be available.")
@click.option("--minimum-replicas", type=click.IntRange(min=1), default=1, show_default=True,
              help="How many of its replicas must be.")  # fmt: skip
@click.option("--lease-duration", type=click.IntRange(1, LONGEST_PROPOSED_SECONDS), default=60, show_default=True,
              metavar="SECONDS",
              help="The lease's duration to ask for. Once accepted, the hub's word counts.")  # fmt: skip
@click.option("--addon", "add_ons", multiple=True, metavar="NAME", callback=_add_ons,
              help="Renew the Lease of this add-on, too. Repeatable.")  # fmt: skip
@click.option("--every", "again", is_flag=True, help="Go on, renewing as often as the hub says, until stopped.")
def command(
    cluster: str, remote: str | None, relay: str | None, token_file: Path | None, relay_ca: Path | None, branch: str,
    kubeconfig: Path | None,
    api_server: str | None, status_file: Path | None, csr: Path | None, identity: Path | None, signs: bool, signer: str,
    certificate_lifetime: int | None, deployment: str | None, minimum_replicas: int, lease_duration: int,
    add_ons: tuple[str, ...], again: bool,
) -> int:  # fmt: skip
    """Renew the cluster's Lease and report how it is, on the branch agents/NAME.

    Until the hub accepts the cluster, this asks to be let in. The API server is asked /livez, or /healthz where there
    is no such path; a failure must last 20 seconds to be reported.
    """
    from muster.agents.heartbeat.facts import observed
    from muster.agents.heartbeat.heartbeat import Heart

    if not is_cluster_name(cluster):
        raise click.UsageError(f"{cluster!r} is no name of a cluster.")
    if (remote is None) == (relay is None) or (relay is None and (token_file or relay_ca)):
        raise click.UsageError("Give --remote, or --relay with --token-file, --identity or both.")
    if relay and not token_file and not identity:
        raise click.UsageError("--relay needs --token-file, or --identity with a certificate in it.")
    server, status = _server(kubeconfig, api_server), _mapping(status_file)
    rotation = _rotation(cluster, identity, signer, certificate_lifetime) if identity else None
    if signs and rotation is None:
        raise click.UsageError("--sign needs --identity.")
    seal = _seal(rotation) if signs else None
    ref, view = (
        _by_relay(cluster, relay, token_file, relay_ca, rotation, seal) if relay
        else _by_git(cluster, remote or "", branch, rotation, seal)
    )  # fmt: skip
    heart = Heart(
        ref, socket.gethostname(),
        partial(_look, server, deployment, minimum_replicas), lambda: {**observed(server.get_json), **status},
        view, present, time.monotonic, _sleep, lease_duration,
        {"csr.yaml": csr.read_bytes()} if csr else {}, rotation, add_ons,
    )  # fmt: skip
    if again:
        _go_on(heart, cluster)
    else:
        say(f"{cluster}: {heart.beat()}")
    return 0


def _go_on(heart: "Heart", cluster: str) -> None:
    """Beat until stopped; the cluster is looked at beside that, and news of it is told at once."""
    from muster.agents.heartbeat.availability import ClusterObserver

    stop, wake = Event(), Event()

    def wait(seconds: float) -> bool:
        wake.wait(seconds)
        wake.clear()
        return stop.is_set()

    def tell(line: str, *, err: bool = False) -> None:
        with contextlib.suppress(OSError):  # that nobody reads any more must not end the heartbeat
            say(f"{cluster}: {line}", err=err)

    observer = ClusterObserver(heart.look, heart.facts, wake.set)
    with until_stopped(stop, wake=wake.set):
        observer.start()
        if not wait(_FIRST_LOOK_SECONDS):
            heart.look, heart.facts, heart.wait = observer.verdict, observer.facts, wait
            heart.run(tell, partial(tell, err=True))
    observer.stop()
    with contextlib.suppress(OSError):
        click.echo("stopped")


def _by_git(
    cluster: str, remote: str, branch: str, rotation: "Rotation | None", seal: "AgentSeal | None"
) -> "tuple[OwnRef | RelayedRef, Callable[[], HubView]]":
    """Where the cluster's word goes, and what tells what the hub says of it."""
    from muster.agents.hub.pushed_ref import OwnRef
    from muster.agents.hub.remote import Hub
    from muster.git.push import absolute_remote

    where = absolute_remote(remote)
    hub = Hub(where, branch, cluster, os.environ, _LIMIT_SECONDS, rotation.names if rotation else tuple)
    return OwnRef(where, cluster, _LIMIT_SECONDS, os.environ, seal), hub.look


def _by_relay(
    cluster: str, relay: str, token_file: Path | None, authority: Path | None, rotation: "Rotation | None",
    seal: "AgentSeal | None",
) -> "tuple[OwnRef | RelayedRef, Callable[[], HubView]]":  # fmt: skip
    """The same over HTTP."""
    from muster.agents.relay.relayed_ref import Credentials, RelayedRef

    shown = rotation.store.current_file if rotation else None
    relayed = RelayedRef(
        relay, cluster, _LIMIT_SECONDS, Credentials(token_file, shown, authority), present, seal,
        rotation.names if rotation else tuple,
    )  # fmt: skip
    return relayed, relayed.view


def _seal(rotation: "Rotation | None") -> "AgentSeal | None":
    from muster.agents.identity.seal import AgentSeal

    return AgentSeal(rotation.store) if rotation else None


def _rotation(cluster: str, folder: Path, signer: str, seconds: int | None) -> "Rotation":
    with identities():
        from muster.agents.identity.rotation import Rotation
        from muster.agents.identity.store import Store

        return Rotation(cluster, Store(folder), signer, seconds)


def _server(kubeconfig: Path | None, url: str | None) -> "ApiServer":
    from muster.agents.heartbeat.apiserver import AccessError, ApiServer, from_inside, from_kubeconfig

    if kubeconfig and url:
        raise click.UsageError("--kubeconfig and --api-server exclude each other.")
    try:
        server = from_kubeconfig(kubeconfig) if kubeconfig else ApiServer(url) if url else from_inside()
    except AccessError as error:
        raise click.UsageError(f"{error}.") from error
    if server is None:
        raise click.UsageError("This runs in no cluster: give --kubeconfig or --api-server.")
    return server


def _look(server: "ApiServer", deployment: str | None, minimum: int) -> "Availability":
    """Ask the API server, and where it is well for the agent's own deployment."""
    from muster.agents.heartbeat.availability import deployed, probe

    verdict = probe(server.get)
    return deployed(server.get_json, deployment, minimum) if deployment and verdict.status == "True" else verdict


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


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
