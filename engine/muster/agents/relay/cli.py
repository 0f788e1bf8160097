"""`muster relay`: what many agents say, as one commit on one branch of the fleet's repository."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING

import click

from muster.cli.options import present
from muster.cli.outcome import say
from muster.cli.stopping import until_stopped

if TYPE_CHECKING:
    from muster.agents.hub.local import HubCopy
    from muster.agents.relay.relay import Relay
    from muster.agents.relay.server import Doors, RelayServer

#: How often the hub's branch is looked at.
_FOLLOW_SECONDS = 10.0
#: The longest pause after failures.
_LAST_PAUSE_SECONDS = 30.0
#: When what is replaced goes from the relay's own repository, into which nobody but agents pushes.
_EXPIRY = "1.hour.ago"
_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command()
@click.option("--repo", type=click.Path(path_type=Path, file_okay=False, exists=True), default=".", show_default=True,
              help="The bare repository that agents push to.")  # fmt: skip
@click.option("--remote", required=True, metavar="URL", help="The fleet repository, a URL or a path.")
@click.option("--name", required=True, metavar="NAME", help="The relay's name in Fleet.spec.agents.relays.")
@click.option("--branch", default="main", show_default=True, help="The branch that muster reconciles.")
@click.option("--every", type=click.FloatRange(min=0.1), default=1.0, show_default=True, metavar="SECONDS",
              help="How often to look for news.")  # fmt: skip
@click.option("--once", is_flag=True, help="Send what is new and end, as a hook does.")
@click.option("--listen", metavar="HOST:PORT", help="Take what agents say over HTTP, too.")
@click.option("--tokens", type=_FILE,
              help="Whose bearer tokens are whose: lines of `<cluster> <SHA-256 of the token>`.")  # fmt: skip
@click.option("--tls-cert", type=_FILE, help="Speak TLS, with this certificate (PEM).")
@click.option("--tls-key", type=_FILE, help="Its key.")
@click.option("--client-ca", type=_FILE,
              help="Let agents in by their certificates, which this authority signed and the hub has.")  # fmt: skip
def command(
    repo: Path, remote: str, name: str, branch: str, every: float, once: bool, listen: str | None,
    tokens: Path | None, tls_cert: Path | None, tls_key: Path | None, client_ca: Path | None,
) -> int:  # fmt: skip
    """Send what many agents say to the fleet's repository, as one commit on the branch relays/NAME.

    Agents push to a repository of the relay's (agents/CLUSTER), which also has the fleet's branch for them to read; or,
    with --listen, they send what they say over HTTP, each with a bearer token or its certificate. The Fleet says for
    which clusters the relay may speak.
    """
    from muster.agents.relay.relay import Relay
    from muster.git.agentsettings import agent_settings, is_name
    from muster.git.push import absolute_remote
    from muster.git.repository import open_repository

    if not is_name(name):
        raise click.UsageError(f"{name!r} is no name of a relay: lower-case letters, digits and dashes.")
    if (listen is None) != (tokens is None and client_ca is None):
        raise click.UsageError("--listen goes with --tokens, --client-ca or both.")
    if (tls_cert is None) != (tls_key is None) or (client_ca and not tls_cert):
        raise click.UsageError("--tls-cert and --tls-key go together, and --client-ca needs them.")
    if listen and once:
        raise click.UsageError("--once and --listen exclude each other.")
    repository = open_repository(repo, os.environ)
    relay = Relay(repository, name, absolute_remote(remote), branch, present)
    with _alone(repository.git_dir / "muster", wait=once):
        relay.follow()
        relay.limits = agent_settings(repository, f"refs/heads/{branch}").limits
        if once:
            _tell(relay, relay.step())
            return 0
        stop = Event()
        with until_stopped(stop), _serving(relay, listen, partial(_doors, tokens, tls_cert, tls_key, client_ca)):
            _go_on(relay, every, stop)
    say("stopped")
    return 0


def _go_on(relay: "Relay", every: float, stop: Event) -> None:
    from muster.git.agentsettings import agent_settings
    from muster.git.errors import RepositoryError
    from muster.git.upkeep import tidy

    say(f"relaying as {relay.ref.removeprefix('refs/heads/')}")
    failures, trouble, followed = 0, "", monotonic()
    while not stop.is_set():
        began = monotonic()
        try:
            if began - followed >= _FOLLOW_SECONDS:
                followed = began
                relay.follow()
                relay.limits = agent_settings(relay.repository, f"refs/heads/{relay.branch}").limits
            _tell(relay, relay.step())
            tidy(relay.repository, expiry=_EXPIRY, aside=True)
            failures, trouble = 0, ""
        except RepositoryError as error:
            failures += 1
            if error.message != trouble:
                say(error.message + (f" ({error.hint})" if error.hint else ""), err=True)
            trouble = error.message
        pause = min(every * (1 << min(failures, 10)), _LAST_PAUSE_SECONDS) if failures else every
        stop.wait(max(0.0, began + pause - monotonic()))


def _tell(relay: "Relay", count: int) -> None:
    for line in relay.news():
        say(line, err=True)
    if count:
        say(f"{count} agents" if count != 1 else "1 agent")


@contextmanager
def _alone(folder: Path, *, wait: bool) -> Iterator[None]:
    """Hold the relay's lock of its repository: two would take turns in undoing each other's commits."""
    folder.mkdir(exist_ok=True)
    with (folder / "relay.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            raise click.UsageError("Another relay is at work in this repository.") from error
        yield


@contextmanager
def _serving(relay: "Relay", listen: str | None, doors: "Callable[[HubCopy], Doors]") -> Iterator[None]:
    if listen is None:
        yield
        return
    from muster.agents.serving.server import served

    server = _server(relay, listen, doors)
    with served(server, "muster-relay"):
        say(f"listening on {server.url}")
        yield


def _server(relay: "Relay", listen: str, doors: "Callable[[HubCopy], Doors]") -> "RelayServer":
    from muster.agents.hub.local import HubCopy
    from muster.agents.relay.server import RelayServer
    from muster.agents.serving.server import AddressError, address_of

    hub = HubCopy(relay.repository, relay.branch)
    try:
        return RelayServer(address_of(listen), relay, doors(hub), hub)
    except (OSError, AddressError) as error:
        raise click.UsageError(f"--listen {listen}: {error}.") from error


def _doors(
    tokens: Path | None, certificate: Path | None, key: Path | None, client_authority: Path | None, hub: "HubCopy"
) -> "Doors":
    from muster.agents.relay.server import Certificates, Doors, Tokens
    from muster.agents.serving.server import server_context
    from muster.git.signatures.errors import IdentityError, require_library

    context = None
    if certificate is not None and key is not None:
        try:
            context = server_context(certificate, key, client_authority, optional=tokens is not None)
        except OSError as error:
            raise click.UsageError(f"--tls-cert, --tls-key or --client-ca: {error}.") from error
    if client_authority is not None:
        try:
            require_library()
        except IdentityError as error:
            raise click.UsageError(f"{error}.") from error
    certificates = Certificates(hub, present) if client_authority is not None else None
    return Doors(Tokens(tokens) if tokens else None, certificates, context)
