"""`muster heartbeat`: the command that an agent runs beside its cluster."""

import contextlib
import os
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from muster.agents.heartbeat.availability import Availability, ClusterObserver, check_api_server, check_deployment
from muster.agents.heartbeat.facts import (
    ADD_ON_NAMESPACE,
    WORKS,
    ClusterFacts,
    read_facts,
    read_objects,
    reported_works,
    work_file,
)
from muster.agents.heartbeat.given import GivenFacts
from muster.agents.heartbeat.heartbeat import Heartbeat
from muster.agents.hub.pushed_ref import PushedRef
from muster.agents.hub.relayed_ref import Credentials, RelayedRef
from muster.agents.hub.remote import RemoteHub
from muster.agents.hub.view import HubView
from muster.agents.identity.options import identity_errors
from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.kube.kubeconfig import from_inside, from_kubeconfig
from muster.agents.kube.plugin import AccessError
from muster.cli.options import FILE, FILE_THERE, FOLDER, present
from muster.cli.outcome import say
from muster.cli.stopping import until_stopped
from muster.data.agentref import is_cluster_name
from muster.fleet.agents import LONGEST_PROPOSED_SECONDS
from muster.fleet.leases import LEASE_NAME
from muster.git.push import absolute_remote
from muster.net.deadline import Deadline

if TYPE_CHECKING:
    from muster.agents.identity.rotation import Rotation
    from muster.agents.identity.store import AgentSeal
    from muster.agents.works.agent import WorkAgent

_LIMIT_SECONDS = 30.0
_FACTS_SECONDS = 30.0  # for all facts of the cluster
_FIRST_CHECK_SECONDS = 2.0  # the first heartbeat waits this long for the first check of the cluster


def _add_ons(_ctx: click.Context, _param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not is_cluster_name(name) or name == LEASE_NAME:
            raise click.BadParameter(f"{name!r} is not a valid name of an add-on.")
    return names


@click.command()
@click.option(
    "--cluster", required=True, envvar="MUSTER_CLUSTER", show_envvar=True, metavar="NAME", help="The agent's cluster."
)
@click.option("--remote", metavar="URL", help="The repository of the fleet or of a relay: a URL or a path.")
@click.option("--relay", metavar="URL", help="Send heartbeats to this relay over HTTP instead.")
@click.option("--token-file", type=FILE, help="The file with the token for the relay.")
@click.option(
    "--relay-ca",
    type=FILE_THERE,
    help="The authority that signed the relay's certificate.  [default: those of the system]",
)
@click.option("--branch", default="main", show_default=True, metavar="NAME", help="The branch that muster reconciles.")
@click.option("--kubeconfig", type=FILE, help="How to reach the API server.  [default: as inside the cluster]")
@click.option("--context", metavar="NAME", help="The kubeconfig's context.  [default: the current one]")
@click.option("--api-server", metavar="URL", help="The API server, if it needs no credentials.")
@click.option(
    "--status",
    "status_file",
    type=FILE,
    help="Report the version, capacity, allocatable and clusterClaims of this file, which may change.",
)
@click.option("--csr", type=FILE_THERE, help="Also push this CertificateSigningRequest.")
@click.option(
    "--identity",
    type=FOLDER,
    metavar="DIR",
    help="Ask for a certificate, keep it with its key in this directory, and renew it in time.",
)
@click.option(
    "--sign",
    "signs",
    is_flag=True,
    help="Sign pushed commits with it, and drop files on the branch that are not signed so.",
)
@click.option(
    "--signer",
    default="kubernetes.io/kube-apiserver-client",
    show_default=True,
    metavar="NAME",
    help="The signer to ask for the certificate.",
)
@click.option(
    "--certificate-lifetime",
    type=click.IntRange(min=600),
    metavar="SECONDS",
    help="The lifetime to ask for.  [default: the longest that the signer allows]",
)
@click.option("--deployment", metavar="NAMESPACE/NAME", help="The agent's own deployment, which must be available.")
@click.option(
    "--minimum-replicas",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many of its replicas must be available.",
)
@click.option(
    "--lease-duration",
    type=click.IntRange(1, LONGEST_PROPOSED_SECONDS),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="The lease duration to propose. Once accepted, the hub decides.",
)
@click.option(
    "--addon",
    "add_ons",
    multiple=True,
    metavar="NAME",
    callback=_add_ons,
    help="Also renew the Lease of this add-on. Repeatable.",
)
@click.option(
    "--addon-namespace",
    "add_on_namespaces",
    multiple=True,
    metavar="NAME",
    default=(ADD_ON_NAMESPACE,),
    show_default=True,
    help="Report the Leases of the add-ons in this namespace. Repeatable.",
)
@click.option("--works", "applies", is_flag=True, help="Apply the ManifestWorks that the fleet has for the cluster.")
@click.option(
    "--works-namespace",
    default="muster-agent",
    show_default=True,
    metavar="NAME",
    help="Where --works remembers what it applied, in ConfigMaps.",
)
@click.option("--every", "repeat", is_flag=True, help="Keep renewing, as often as the hub says, until stopped.")
def command(
    cluster: str,
    remote: str | None,
    relay: str | None,
    token_file: Path | None,
    relay_ca: Path | None,
    branch: str,
    kubeconfig: Path | None,
    context: str | None,
    api_server: str | None,
    status_file: Path | None,
    csr: Path | None,
    identity: Path | None,
    signs: bool,
    signer: str,
    certificate_lifetime: int | None,
    deployment: str | None,
    minimum_replicas: int,
    lease_duration: int,
    add_ons: tuple[str, ...],
    add_on_namespaces: tuple[str, ...],
    applies: bool,
    works_namespace: str,
    repeat: bool,
) -> int:
    """Renew the cluster's Lease and report its status, on the branch agents/NAME.

    The status is what the API server knows: version, capacity, allocatable and ClusterClaims. Leases of add-ons, and
    the status of ManifestWorks in the namespace with the cluster's name, are reported, too.

    With --works, it also applies the ManifestWorks that the fleet has for the cluster, and reports their status.

    Until the hub accepts the cluster, the heartbeat asks to join. It checks the API server at /livez, or at /healthz if
    there is no /livez, and reports a failure after 20 seconds.

    \b
    Examples:
      muster heartbeat --cluster c1 --remote ssh://git.example.com/fleet --every
      muster heartbeat --cluster c1 --relay https://relay.example.com \\
        --token-file token
    """
    if not is_cluster_name(cluster):
        raise click.UsageError(f"{cluster!r} is not a valid name of a cluster: use lower case letters, digits and '-'.")
    if (remote is None) == (relay is None) or (relay is None and (token_file or relay_ca)):
        raise click.UsageError("Give --remote, or --relay with --token-file, --identity or both.")
    if relay and not token_file and not identity:
        raise click.UsageError("--relay needs --token-file, or --identity with a certificate in it.")
    server, given = _server(kubeconfig, context, api_server), _given(status_file)
    rotation = _rotation(cluster, identity, signer, certificate_lifetime) if identity else None
    if signs and rotation is None:
        raise click.UsageError("--sign needs --identity.")
    seal = _seal(rotation) if signs and rotation else None
    requests = rotation.request_names if rotation else tuple
    ref: PushedRef | RelayedRef
    read_hub: Callable[[], HubView]
    end = contextlib.ExitStack()
    if relay:
        certificate = rotation.store.current_file if rotation else None
        credentials = Credentials(token_file, certificate, relay_ca)
        ref = RelayedRef(relay, cluster, _LIMIT_SECONDS, credentials, present, seal, requests, applies)
        read_hub = ref.view
    else:
        where = absolute_remote(remote or "")
        ref = PushedRef(where, cluster, _LIMIT_SECONDS, os.environ, seal)
        hub = RemoteHub(where, branch, cluster, os.environ, _LIMIT_SECONDS, requests, applies)
        end.callback(hub.close)
        read_hub = hub.look
    heartbeat = Heartbeat(
        ref,
        socket.gethostname(),
        partial(_check, server, deployment, minimum_replicas),
        partial(_facts, server, cluster, add_on_namespaces, given),
        read_hub,
        present,
        time.monotonic,
        _sleep,
        lease_duration,
        {"csr.yaml": csr.read_bytes()} if csr else {},
        rotation,
        add_ons,
    )
    works = _work_agent(heartbeat, server, cluster, works_namespace) if applies else None
    with end:
        if repeat:
            return _run(heartbeat, cluster, works)
        if works is not None:
            heartbeat.facts = partial(_facts_and_applied_works, heartbeat.facts, works)
        say(f"{cluster}: {heartbeat.beat()}")
    return 0


def _work_agent(heartbeat: Heartbeat, server: ApiServer, cluster: str, namespace: str) -> "WorkAgent":
    """The agent that applies what the heartbeat reads at the hub."""
    from muster.agents.works.agent import WorkAgent

    works = WorkAgent(server, cluster, namespace, lambda: reported_works(heartbeat.ref.look().files), present)
    read_hub = heartbeat.read_hub

    def read() -> HubView:
        view = read_hub()
        works.take(view)
        return view

    heartbeat.read_hub = read
    return works


def _facts_and_applied_works(facts: Callable[[], ClusterFacts], works: "WorkAgent") -> ClusterFacts:
    try:
        problems = works.step()
    except ApiError as error:  # the Lease is renewed whatever the API server does
        problems = [f"works cannot be applied now: {error}"]
    for problem in problems:
        say(problem, err=True)
    return _facts_and_works(facts, works)


def _facts_and_works(facts: Callable[[], ClusterFacts], works: "WorkAgent") -> ClusterFacts:
    """The facts, with what the agent itself says about the works."""
    observed, status = facts(), works.status()
    if status is None:
        return replace(observed, folders={name: folder for name, folder in observed.folders.items() if name != WORKS})
    bodies = [{"metadata": {"name": name}, "status": status[name]} for name in sorted(status)]
    files = dict(work_file(body, works.cluster) for body in bodies)
    return replace(observed, folders={**observed.folders, WORKS: {**observed.folders.get(WORKS, {}), **files}})


def _run(heartbeat: Heartbeat, cluster: str, works: "WorkAgent | None") -> int:
    """Run until stopped; return the exit code. An observer checks the cluster meanwhile, and a changed status is
    reported at once."""
    stop, wake = Event(), Event()

    def wait(seconds: float) -> bool:
        wake.wait(seconds)
        wake.clear()
        return stop.is_set()

    def tell(line: str, *, err: bool = False) -> None:
        with contextlib.suppress(OSError):  # a closed pipe must not end the heartbeat
            say(f"{cluster}: {line}", err=err)

    observer = ClusterObserver(heartbeat.check, heartbeat.facts, wake.set)
    with until_stopped(stop, wake=wake.set) as stopped:
        observer.start()
        if not wait(_FIRST_CHECK_SECONDS):
            heartbeat.check, heartbeat.facts, heartbeat.wait = observer.verdict, observer.facts, wait
            if works is not None:
                heartbeat.facts = partial(_facts_and_works, observer.facts, works)
                works.start(wake.set, partial(tell, err=True))
            heartbeat.run(tell, partial(tell, err=True))
    observer.stop()
    if works is not None:
        works.stop()
    with contextlib.suppress(OSError):
        click.echo("stopped")
    return stopped.code


def _seal(rotation: "Rotation") -> "AgentSeal":
    from muster.agents.identity.store import AgentSeal  # needs the extra `identity`

    return AgentSeal(rotation.store)


def _rotation(cluster: str, folder: Path, signer: str, seconds: int | None) -> "Rotation":
    with identity_errors():
        from muster.agents.identity.rotation import Rotation  # needs the extra `identity`
        from muster.agents.identity.store import Store

        return Rotation(cluster, Store(folder), signer, seconds)


def _server(kubeconfig: Path | None, context: str | None, url: str | None) -> ApiServer:
    if kubeconfig and url:
        raise click.UsageError("--kubeconfig and --api-server exclude each other.")
    if context and not kubeconfig:
        raise click.UsageError("--context needs --kubeconfig.")
    try:
        server = from_kubeconfig(kubeconfig, context) if kubeconfig else ApiServer(url) if url else from_inside()
    except AccessError as error:
        raise click.UsageError(f"{error}.") from error
    if server is None:
        raise click.UsageError("This runs outside of a cluster: give --kubeconfig or --api-server.")
    return server


def _check(server: ApiServer, deployment: str | None, minimum: int) -> Availability:
    """Check the API server and, if that is healthy, the agent's own deployment."""
    verdict = check_api_server(server.get)
    return (
        check_deployment(server.get_json, deployment, minimum) if deployment and verdict.status == "True" else verdict
    )


def _facts(
    server: ApiServer, cluster: str, add_on_namespaces: tuple[str, ...], given: GivenFacts | None
) -> ClusterFacts:
    """Read the facts within one deadline: what cannot be read by then keeps its value."""
    get_json = partial(server.get_json, deadline=Deadline.after(_FACTS_SECONDS))
    facts = {**read_facts(get_json), **(given.read() if given else {})}
    return ClusterFacts(facts, read_objects(get_json, cluster, add_on_namespaces))


def _given(path: Path | None) -> GivenFacts | None:
    def tell(line: str) -> None:
        with contextlib.suppress(OSError):  # a closed pipe must not end the heartbeat
            say(line, err=True)

    try:
        return GivenFacts(path, tell) if path else None
    except ValueError as error:
        raise click.UsageError(f"{error}.") from error


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False
