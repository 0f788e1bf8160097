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
from muster.agents.relay.alerts import read_rules
from muster.agents.relay.authentication import Authentication, ClientCertificates, RateLimit, TokenFile
from muster.agents.relay.collectors import Collectors
from muster.agents.relay.relay import Relay, count_agents
from muster.agents.relay.server import BURST_SECONDS, DEFAULT_RATE, RelayServer
from muster.agents.serving.server import AddressError, parse_address, served, server_context
from muster.cli.options import FILE_THERE, log_format_option, present
from muster.cli.outcome import log_writer
from muster.cli.stopping import until_stopped
from muster.data.agentref import Mandate
from muster.git.agentsettings import agent_settings, fleet_spec, is_valid_name
from muster.git.errors import RepositoryError
from muster.git.push import absolute_remote
from muster.git.repository import open_repository
from muster.git.upkeep import run_maintenance

#: How often the hub's branch is fetched.
_FETCH_SECONDS = 10.0
#: The longest pause after failures.
_LAST_PAUSE_SECONDS = 30.0
#: When replaced objects are removed from the relay's own repository, into which only agents push.
_EXPIRY = "1.hour.ago"


@click.command()
@click.option("--repo", type=click.Path(path_type=Path, file_okay=False, exists=True), default=".", show_default=True,
              help="The bare repository that agents push to.")  # fmt: skip
@click.option("--remote", required=True, metavar="URL", help="The fleet repository: a URL or a path.")
@click.option("--name", required=True, metavar="NAME", help="The relay's name in Fleet.spec.agents.relays.")
@click.option("--branch", default="main", show_default=True, help="The branch that muster reconciles.")
@click.option("--every", type=click.FloatRange(min=0.1), default=1.0, show_default=True, metavar="SECONDS",
              help="How often to send changes.")  # fmt: skip
@click.option("--once", is_flag=True, help="Send changes once and end, for example in a hook.")
@click.option("--listen", metavar="HOST:PORT", help="Also receive reports over HTTP.")
@click.option("--tokens", type=FILE_THERE,
              help="Bearer tokens: lines of `<cluster> <SHA-256 of the token>` for agents, and of"
                   " `<name> <SHA-256 of the token> <clusters>` for collectors.")  # fmt: skip
@click.option("--rate", type=click.FloatRange(min=0.1), default=DEFAULT_RATE, show_default=True, metavar="NUMBER",
              help="How many requests per second each token may send.")  # fmt: skip
@click.option("--tls-cert", type=FILE_THERE, help="Use TLS, with this certificate (PEM).")
@click.option("--tls-key", type=FILE_THERE, help="The key of the certificate.")
@click.option("--client-ca", type=FILE_THERE,
              help="Accept agents' certificates that this authority signed and that the hub has.")  # fmt: skip
@log_format_option
def command(
    repo: Path, remote: str, name: str, branch: str, every: float, once: bool, listen: str | None,
    tokens: Path | None, rate: float, tls_cert: Path | None, tls_key: Path | None,
    client_ca: Path | None, log_format: str,
) -> int:  # fmt: skip
    """Forward the reports of many agents to the fleet's repository, as one commit on the branch relays/NAME.

    Agents push to the relay's repository (agents/CLUSTER), where they also read the fleet's branch; or, with --listen,
    they send their reports over HTTP, with a bearer token or their certificate. Alertmanagers and other collectors
    send theirs there, too. The Fleet defines for which clusters the relay may report.
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
    repository = open_repository(repo, os.environ)
    relay = Relay(repository, name, absolute_remote(remote), branch, present)
    collectors = Collectors(relay.collected, LocalHub(repository, branch), present)
    with _locked(repository.git_dir / "muster", wait=once):
        _fetch_hub(relay, collectors)
        if once:
            _send(relay, log)
            return 0
        authenticate = partial(_authentication, tokens, tls_cert, tls_key, client_ca)
        stop = Event()
        limit = RateLimit(rate, rate * BURST_SECONDS)
        serve = _serving(relay, listen, authenticate, collectors, limit, log) if listen else nullcontext()
        with until_stopped(stop), serve:
            _run(relay, collectors, every, stop, log)
    log("stopped")
    return 0


def _run(relay: Relay, collectors: Collectors, every: float, stop: Event, log: Callable[..., None]) -> None:
    log(f"relaying as {relay.ref.removeprefix('refs/heads/')}")
    failures, trouble, fetched = 0, "", monotonic()
    while not stop.is_set():
        began = monotonic()
        try:
            if began - fetched >= _FETCH_SECONDS:
                fetched = began
                _fetch_hub(relay, collectors)
            _send(relay, log)
            run_maintenance(relay.repository, expiry=_EXPIRY, in_thread=True)
            failures, trouble = 0, ""
        except RepositoryError as error:
            failures += 1
            if error.message != trouble:
                log(error.message + (f" ({error.hint})" if error.hint else ""), err=True)
            trouble = error.message
        pause = min(every * (1 << min(failures, 10)), _LAST_PAUSE_SECONDS) if failures else every
        stop.wait(max(0.0, began + pause - monotonic()))


def _fetch_hub(relay: Relay, collectors: Collectors) -> None:
    relay.fetch_hub()
    branch = f"refs/heads/{relay.branch}"
    settings = agent_settings(relay.repository, branch)
    relay.limits = relay.collected.limits = settings.limits
    collectors.mandate, collectors.signed = settings.relays.get(relay.name, Mandate()), settings.signed
    collectors.rules = read_rules(fleet_spec(relay.repository, branch))


def _send(relay: Relay, log: Callable[..., None]) -> None:
    sent = relay.step()
    for line in relay.new_exclusions():
        log(line, err=True)
    if sent:
        log(count_agents(sent))


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
    relay: Relay, listen: str, authenticate: Callable[[LocalHub], Authentication], collectors: Collectors,
    limit: RateLimit, log: Callable[..., None],
) -> Iterator[None]:  # fmt: skip
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
    tokens: Path | None, certificate: Path | None, key: Path | None, client_authority: Path | None, hub: LocalHub
) -> Authentication:
    context = None
    if certificate is not None and key is not None:
        try:
            context = server_context(certificate, key, client_authority, optional=tokens is not None)
        except OSError as error:
            raise click.UsageError(f"--tls-cert, --tls-key or --client-ca: {error}.") from error
    if client_authority is None:
        return Authentication(TokenFile(tokens) if tokens else None, context=context)
    with identity_errors():
        return Authentication(TokenFile(tokens) if tokens else None, ClientCertificates(hub, present), context)
