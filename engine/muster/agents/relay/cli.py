"""`muster relay`: forwards the reports of many agents as one commit."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic

import click

from muster.agents.hub.local import LocalHub
from muster.agents.identity.options import identity_errors
from muster.agents.kube.plugin import AccessError
from muster.agents.relay.alerts import read_rules
from muster.agents.relay.authentication import Authentication, ClientCertificates, RateLimit, TokenFile
from muster.agents.relay.branch import RelayBranch
from muster.agents.relay.collectors import Collectors
from muster.agents.relay.from_hub import (
    fleet_settings,
    following,
    hub_server,
    list_all,
    summary,
    why_unheard,
    why_unnamed,
)
from muster.agents.relay.hub_objects import rbac
from muster.agents.relay.mirror import HubMirror
from muster.agents.relay.relay import Relay
from muster.agents.relay.server import BURST_SECONDS, DEFAULT_RATE, RelayServer
from muster.cli.documents import yaml_stream
from muster.cli.options import FILE_THERE, INTERVAL, log_format_option, present
from muster.cli.outcome import log_writer
from muster.cli.stopping import until_stopped
from muster.data.agentref import Mandate
from muster.data.printable import counted
from muster.git.agents.settings import AgentSettings, agent_settings, fleet_spec, is_valid_name
from muster.git.errors import RepositoryError
from muster.git.push import absolute_remote, scratch_repository
from muster.git.repository import Repository, open_repository
from muster.git.upkeep import run_maintenance
from muster.net.serving.server import AddressError, parse_address, served, server_context

#: How often the hub's branch is fetched.
_FETCH_SECONDS = 10.0
#: The longest pause after failures.
_LAST_PAUSE_SECONDS = 30.0
#: When replaced objects are removed from the relay's own repository, into which only agents push.
_EXPIRY = "1.hour.ago"


def _print_rbac(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print the rights and end, whatever else is required."""
    if asked:
        click.echo(yaml_stream(rbac()), nl=False)
        ctx.exit()


@click.command()
@click.option(
    "--repo",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The bare repository that agents push to.  [default: .; with --from-hub a temporary one]",
)
@click.option("--remote", required=True, metavar="URL", help="The fleet repository: a URL or a path.")
@click.option("--name", required=True, metavar="NAME", help="The relay's name in Fleet.spec.agents.relays.")
@click.option("--branch", default="main", show_default=True, metavar="NAME", help="The branch that muster reconciles.")
@click.option(
    "--every", type=INTERVAL, default="1s", show_default=True, metavar="DURATION", help="How often to send changes."
)
@click.option("--once", is_flag=True, help="Send changes once and end, for example in a hook.")
@click.option("--listen", metavar="HOST:PORT", help="Also receive reports over HTTP.")
@click.option(
    "--tokens",
    type=FILE_THERE,
    help="Bearer tokens: lines of `<cluster> <SHA-256 of the token>` for agents, and of"
    " `<name> <SHA-256 of the token> <clusters>` for collectors.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0.1),
    default=DEFAULT_RATE,
    show_default=True,
    metavar="NUMBER",
    help="How many requests per second each token may send.",
)
@click.option("--tls-cert", type=FILE_THERE, help="Use TLS, with this certificate (PEM).")
@click.option("--tls-key", type=FILE_THERE, help="The key of the certificate.")
@click.option(
    "--client-ca", type=FILE_THERE, help="Accept agents' certificates that this authority signed and that the hub has."
)
@click.option(
    "--from-hub",
    metavar="KUBECONFIG",
    help="Report what the agents of a live hub say. `in-cluster`: the hub around this process.",
)
@click.option("--context", metavar="NAME", help="The kubeconfig's context.  [default: the current one]")
@click.option(
    "--clusters",
    metavar="GLOB",
    default="*",
    show_default=True,
    help="With --from-hub: names and patterns of clusters, separated by commas.",
)
@click.option(
    "--print-rbac",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_rbac,
    help="Print the rights that --from-hub needs on the hub.",
)
@log_format_option
def command(
    repo: Path | None,
    remote: str,
    name: str,
    branch: str,
    every: float,
    once: bool,
    listen: str | None,
    tokens: Path | None,
    rate: float,
    tls_cert: Path | None,
    tls_key: Path | None,
    client_ca: Path | None,
    from_hub: str | None,
    context: str | None,
    clusters: str,
    log_format: str,
) -> int:
    """Forward the reports of many agents to the fleet's repository, as one commit on the branch relays/NAME.

    Agents push to the relay's repository (agents/CLUSTER), and read the fleet's branch there. With --listen, they send
    their reports over HTTP instead, with a bearer token or their certificate; so do Alertmanagers and other collectors.
    The Fleet defines the clusters for which the relay may report.

    With --from-hub, agents report to a live hub of Open Cluster Management, Karmada or Hive, and the relay reads their
    reports there: Leases, the status of clusters, add-ons and works, scores, certificate requests. It changes nothing
    on the hub, and copies nothing that the hub itself decided.

    \b
    Examples:
      muster relay --name edge --remote ssh://git.example.com/fleet \\
        --listen 0.0.0.0:8443 --tokens tokens
      muster relay --name hub --remote ssh://git.example.com/fleet \\
        --from-hub in-cluster
    """
    if not is_valid_name(name):
        raise click.UsageError(f"{name!r} is not a valid name of a relay: lower-case letters, digits and dashes.")
    if (listen is None) != (tokens is None and client_ca is None):
        raise click.UsageError("--listen goes with --tokens, --client-ca or both.")
    if (tls_cert is None) != (tls_key is None) or (client_ca and not tls_cert):
        raise click.UsageError("--tls-cert and --tls-key go together, and --client-ca needs them.")
    if listen and once:
        raise click.UsageError("--once and --listen exclude each other.")
    log = log_writer(log_format)
    if from_hub is not None:
        if listen:
            raise click.UsageError("--from-hub and --listen exclude each other: run two relays.")
        return _mirror(
            from_hub, context, Mandate(clusters.split(",")), repo, remote, branch, name, every, log, once=once
        )
    if context or clusters != "*":
        raise click.UsageError("--context and --clusters go with --from-hub.")
    repository = open_repository(repo or Path(), os.environ)
    relay = Relay(repository, name, absolute_remote(remote), branch, present)
    collectors = Collectors(relay.collected, LocalHub(repository, branch), present)
    with _locked(repository.git_dir / "muster", wait=once):
        if why := why_unnamed(_fetch_hub(relay, collectors), name):
            log(why, err=True)
        if once:
            _send(relay, log)
            return 0
        authenticate = partial(_authentication, log, tokens, tls_cert, tls_key, client_ca)
        stop, fetched = Event(), monotonic()
        limit = RateLimit(rate, rate * BURST_SECONDS)

        def step() -> None:
            nonlocal fetched
            if monotonic() - fetched >= _FETCH_SECONDS:
                fetched = monotonic()
                _fetch_hub(relay, collectors)
            _send(relay, log)

        serve = _serving(relay, listen, authenticate, collectors, limit, log) if listen else nullcontext()
        with until_stopped(stop) as stopped, serve:
            log(f"relaying as {relay.ref.removeprefix('refs/heads/')}")
            _repeat(step, repository, every, stop, log)
    log("stopped")
    return stopped.code


def _mirror(
    from_hub: str,
    context: str | None,
    clusters: Mandate,
    repo: Path | None,
    remote: str,
    branch: str,
    name: str,
    every: float,
    log: Callable[..., None],
    *,
    once: bool,
) -> int:
    """Relay what a live hub has of its agents."""
    try:
        server = hub_server(from_hub, context)
    except AccessError as error:
        raise click.UsageError(f"--from-hub: {error}.") from error
    remote, stop = absolute_remote(remote), Event()
    scratch = nullcontext(open_repository(repo, os.environ)) if repo else scratch_repository(os.environ, remote)
    with scratch as repository, _locked(repository.git_dir / "muster", wait=once):
        settings = fleet_settings(remote, branch, os.environ)
        if why := why_unheard(settings, name):
            log(why, err=True)
        relay_branch = RelayBranch(repository, name, remote, reports="cluster")
        mirror = HubMirror(relay_branch, clusters, present, limits=settings.limits)
        mirror.load()
        if once:
            readers = list_all(server, mirror)
            log(summary(mirror, readers))
            _send_clusters(mirror, log)
            return 0
        with until_stopped(stop) as stopped, following(server, mirror, log) as readers:
            log(f"relaying {server.url} as {mirror.branch.ref.removeprefix('refs/heads/')}")
            is_told = False

            def step() -> None:
                nonlocal is_told
                for reader in readers:
                    reader.check()
                if mirror.is_complete and not is_told:
                    is_told = True
                    log(summary(mirror, readers))
                _send_clusters(mirror, log)

            _repeat(step, repository, every, stop, log)
    log("stopped")
    return stopped.code


def _send_clusters(mirror: HubMirror, log: Callable[..., None]) -> None:
    sent = mirror.step()
    for line in mirror.new_notes():
        log(line, err=True)
    if sent:
        log(counted(sent, "cluster"))


def _repeat(
    step: Callable[[], None], repository: Repository, every: float, stop: Event, log: Callable[..., None]
) -> None:
    """Take a step every so many seconds until `stop` is set, after failures less often."""
    failures, trouble = 0, ""
    while not stop.is_set():
        began = monotonic()
        try:
            step()
            run_maintenance(repository, expiry=_EXPIRY, in_thread=True)
            failures, trouble = 0, ""
        except RepositoryError as error:
            failures += 1
            if error.message != trouble:
                log(error.message + (f" ({error.hint})" if error.hint else ""), err=True)
            trouble = error.message
        pause = min(every * (1 << min(failures, 10)), _LAST_PAUSE_SECONDS) if failures else every
        stop.wait(max(0.0, began + pause - monotonic()))


def _fetch_hub(relay: Relay, collectors: Collectors) -> AgentSettings:
    """Copy what the hub has, and return its settings of agents."""
    relay.fetch_hub()
    branch = f"refs/heads/{relay.branch}"
    settings = agent_settings(relay.repository, branch)
    relay.limits = relay.collected.limits = settings.limits
    collectors.mandate, collectors.signed = settings.relays.get(relay.name, Mandate()), settings.signed
    collectors.rules = read_rules(fleet_spec(relay.repository, branch))
    return settings


def _send(relay: Relay, log: Callable[..., None]) -> None:
    sent = relay.step()
    for line in relay.new_exclusions():
        log(line, err=True)
    if sent:
        log(counted(sent, "agent"))


@contextmanager
def _locked(folder: Path, *, wait: bool) -> Iterator[None]:
    """Hold the relay's lock of its repository: two relays would undo each other's commits."""
    folder.mkdir(exist_ok=True)
    with (folder / "relay.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            raise click.UsageError("Another relay uses this repository.") from error
        yield


@contextmanager
def _serving(
    relay: Relay,
    listen: str,
    authenticate: Callable[[LocalHub], Authentication],
    collectors: Collectors,
    limit: RateLimit,
    log: Callable[..., None],
) -> Iterator[None]:
    """Receive reports over HTTP while the block runs."""
    hub = collectors.hub
    try:
        server = RelayServer(parse_address(listen), relay, authenticate(hub), hub, collectors, limit)
    except (OSError, AddressError) as error:
        raise click.UsageError(f"--listen {listen}: {error}.") from error
    with served(server, "muster-relay"):
        log(f"listening on {server.url}")
        yield


def _authentication(
    log: Callable[..., None],
    tokens: Path | None,
    certificate: Path | None,
    key: Path | None,
    client_authority: Path | None,
    hub: LocalHub,
) -> Authentication:
    context = None
    if certificate is not None and key is not None:
        try:
            context = server_context(certificate, key, client_authority, optional=tokens is not None)
        except OSError as error:
            raise click.UsageError(f"--tls-cert, --tls-key or --client-ca: {error}.") from error
    token_file = TokenFile(tokens, log) if tokens else None
    if client_authority is None:
        return Authentication(token_file, context=context)
    with identity_errors():
        return Authentication(token_file, ClientCertificates(hub, present), context)
