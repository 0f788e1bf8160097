"""`--serve` and its options: the address of the HTTP server of a watch, and who may read."""

import ipaddress
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from muster.cli.options import combine_options
from muster.dataclass import dataclass
from muster.features.metrics.observers import fleet_name, missing_metrics

if TYPE_CHECKING:
    from ssl import SSLContext

    from muster.features.metrics.observers import RunObserver
    from muster.features.watch.http import Access
    from muster.features.watch.webhooks import Webhook
    from muster.git.repository import Repository
    from muster.run.memo.state import RunState

_F = TypeVar("_F", bound=Callable[..., Any])
_FILE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)
#: Host names that only reach this machine.
_OWN_NAMES: Final = frozenset(("localhost", "127.0.0.1", "[::1]"))


@dataclass(frozen=True, slots=True)
class Serving:
    """The address of the server, and who may read."""

    serve: str | None
    serve_token: Path | None
    serve_cert: Path | None
    serve_key: Path | None
    serve_client_ca: Path | None
    serve_webhook_secret: Path | None = None

    @contextmanager
    def observers(
        self,
        repository: "Repository",
        say: Callable[[str], None],
        kept: "Callable[[], RunState | None]",
        pushed: Callable[[], None] = lambda: None,
    ) -> "Iterator[tuple[RunObserver, ...]]":
        """Serve while the block runs, and yield the observers of runs that feed the server; none without --serve.
        `kept` opens the state that runs keep; `pushed` is called when a forge says that somebody pushed."""
        if self.serve is None:
            others = (self.serve_token, self.serve_cert, self.serve_key, self.serve_client_ca)
            if any((*others, self.serve_webhook_secret)):
                raise click.UsageError("--serve-token and the like go with --serve.")
            yield ()
            return
        from muster.features.watch.http import LiveServer
        from muster.features.watch.live import Live
        from muster.fleet.faults import listening_to_fallbacks
        from muster.net.serving.server import AddressError, parse_address, served

        try:
            address = parse_address(self.serve)
        except AddressError as error:
            raise click.UsageError(f"--serve {self.serve}: {error}.") from error
        access, context = self._access(address[0])
        webhook = self._webhook(pushed)
        name = fleet_name(repository.worktree or repository.git_dir)
        live, meter = Live(repository, name, None, kept), None
        if missing := missing_metrics():
            say(f"/metrics is not served: {missing}")
        else:
            from muster.features.metrics.metering import Meter

            meter = Meter(time.time, name)
        try:
            server = LiveServer(address, live, meter.values if meter else None, access, context, webhook)
        except OSError as error:
            raise click.UsageError(f"--serve {self.serve}: {error}.") from error
        with served(server, "muster-serve"), listening_to_fallbacks(meter.fell_back) if meter else nullcontext():
            say(f"serving {server.url}")
            yield (live, meter) if meter else (live,)

    def _webhook(self, pushed: Callable[[], None]) -> "Webhook | None":
        """The webhook; None without a secret. click.UsageError for a secret that cannot be used."""
        from muster.features.watch.webhooks import VARIABLE, Webhook, webhook_secret
        from muster.net.serving.tokens import ReloadedFile

        text = os.environ.get(VARIABLE)
        try:
            if self.serve_webhook_secret is not None:
                return Webhook(ReloadedFile(self.serve_webhook_secret, webhook_secret), pushed)
            if text is None:
                return None
            secret = webhook_secret(text)
        except (OSError, ValueError) as error:
            raise click.UsageError(f"--serve-webhook-secret or {VARIABLE}: {error}.") from error
        return Webhook(lambda: secret, pushed)

    def _access(self, host: str) -> "tuple[Access, SSLContext | None]":
        """Who may read. click.UsageError if that would be everybody, from anywhere."""
        from muster.features.watch.http import Access, token_of
        from muster.net.serving.server import server_context
        from muster.net.serving.tokens import ReloadedFile

        if (self.serve_cert is None) != (self.serve_key is None) or (self.serve_client_ca and not self.serve_cert):
            raise click.UsageError("--serve-cert and --serve-key go together, and --serve-client-ca needs them.")
        if not (_is_loopback(host) or self.serve_token or self.serve_client_ca):
            raise click.UsageError(
                f"--serve {self.serve}: other machines can reach this address, so it needs --serve-token, or"
                " --serve-cert, --serve-key and --serve-client-ca."
            )
        try:
            context = (
                server_context(self.serve_cert, self.serve_key, self.serve_client_ca, optional=False)
                if self.serve_cert and self.serve_key
                else None
            )
            tokens = ReloadedFile(self.serve_token, token_of) if self.serve_token else None
        except (OSError, ValueError) as error:
            raise click.UsageError(
                f"--serve-token, --serve-cert, --serve-key or --serve-client-ca: {error}."
            ) from error
        bracketed = f"[{host}]" if ":" in host else host.lower()
        return Access(tokens, _OWN_NAMES | {bracketed} if _is_loopback(host) else frozenset()), context


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def serving_options(function: _F) -> _F:
    """`--serve` and its like, as one parameter `serving`."""
    joined = combine_options(function, "serving", Serving, *Serving.__slots__)
    for option in (
        click.option(
            "--serve-webhook-secret",
            type=_FILE,
            metavar="FILE",
            help="Fetch at once when GitHub, GitLab or Gitea posts a push to /webhook with this secret"
            " (or that of MUSTER_WEBHOOK_SECRET).",
        ),
        click.option("--serve-client-ca", type=_FILE, help="Accept clients with certificates of this authority."),
        click.option("--serve-key", type=_FILE, help="The key of the certificate (PEM)."),
        click.option("--serve-cert", type=_FILE, help="Serve TLS with this certificate (PEM)."),
        click.option(
            "--serve-token",
            type=_FILE,
            metavar="FILE",
            help="Accept clients with the token in FILE: as a bearer, or in a browser as the password.",
        ),
        click.option(
            "--serve", metavar="HOST:PORT", help="Serve the live page there, with /metrics, /healthz and /readyz."
        ),
    ):
        joined = option(joined)
    return joined
