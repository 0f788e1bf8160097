"""`muster detect`: probes something in a cluster repeatedly, and reports its condition."""

import ipaddress
import os
import re
import shlex
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self

import click
import yaml
from click.core import ParameterSource

from muster.agents.detect.detector import Detector, Thresholds
from muster.agents.detect.election import RENEWALS
from muster.agents.detect.probes import BoundedProbe, CommandProbe, DnsProbe, HttpProbe, Probe, TcpProbe
from muster.agents.detect.report import Subject
from muster.agents.detect.reporters import FileReporter, RefReporter, Reporter
from muster.agents.hub.pushed_ref import PushedRef
from muster.agents.hub.relayed_ref import Credentials, RelayedRef
from muster.agents.identity.options import identity_option, seal_of
from muster.cli.options import FILE, FILE_THERE, ParsedType, present
from muster.cli.outcome import say
from muster.cli.stopping import until_stopped
from muster.data.agentref import is_cluster_name
from muster.data.extras import install_command
from muster.data.kinds import BY_NAME, CLUSTERS
from muster.data.times import parse_duration
from muster.fleet.leases import LONGEST_SECONDS
from muster.git.push import absolute_remote

if TYPE_CHECKING:
    from muster.agents.identity.store import AgentSeal

_DEFAULT_COMMAND = "nslookup kubernetes.default"
_CONDITION = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_REMOTE_SECONDS = 30.0  # for one exchange with the remote: a ref of a few files


def _seconds(text: str) -> float:
    """Parse a duration such as `30s`, `1m30s` or `0.2s`; a bare number counts seconds."""
    try:
        seconds = float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else parse_duration(text).total_seconds()
    except ValueError:
        raise ValueError(f"{text!r} is not a duration such as 30s or 1m30s") from None
    if seconds < 0:
        raise ValueError(f"{text!r} is negative")
    return seconds


_SECONDS = ParsedType("duration", _seconds)


@click.command()
@click.option("--cluster", metavar="NAME", help="The cluster to report on.")
@click.option("--table", type=FILE, help="Detect each row of this file: a list in YAML, of these options by name.")
@click.option("--kind", type=click.Choice([kind.name for kind in CLUSTERS]), default="Cluster", show_default=True,
              help="The kind of the cluster's object.")  # fmt: skip
@click.option("--condition", "type_", default="ServiceDomainNameResolutionReady", show_default=True, metavar="TYPE",
              help="The condition to report.")  # fmt: skip
@identity_option
@click.option("--remote", metavar="URL", help="Report to the branch agents/NAME of this repository, a URL or a path.")
@click.option("--relay", metavar="URL", help="Report to this relay over HTTP instead.")
@click.option("--token-file", type=FILE, help="The file with the cluster's token for the relay.")
@click.option("--relay-ca", type=FILE_THERE,
              help="The authority that signed the relay's certificate.  [default: those of the system]")  # fmt: skip
@click.option("--file", type=FILE, help="Report to this file instead, as its only writer.")
@click.option("--command", "command_", metavar="COMMAND",
              help=f"Probe: run a command, which must succeed.  [default: {_DEFAULT_COMMAND}]")  # fmt: skip
@click.option("--http", metavar="URL", help="Probe: get a URL, which must answer 2xx or 3xx.")
@click.option("--tcp", metavar="HOST:PORT", help="Probe: connect.")
@click.option("--dns", metavar="HOST", help="Probe: resolve a name to an address (needs dnspython).")
@click.option("--dns-server", metavar="IP[:PORT]", help="The DNS server to ask.  [default: those of the system]")
@click.option("--probe-timeout", type=_SECONDS, default="5s", show_default=True, help="The time limit of a probe.")
@click.option("--detect-period", type=_SECONDS, default="5s", show_default=True, help="The time between probes.")
@click.option("--detect-failure-threshold", type=_SECONDS, default="30s", show_default=True,
              help="How long failures must last to be reported.")  # fmt: skip
@click.option("--detect-success-threshold", type=_SECONDS, default="30s", show_default=True,
              help="How long successes must last to be reported after a failure.")  # fmt: skip
@click.option("--lease-duration", type=click.IntRange(1, LONGEST_SECONDS), default=45, show_default=True,
              metavar="SECONDS",
              help="After this long a silence another instance reports. Renewed three times as often.")  # fmt: skip
@click.option("--instance", metavar="NAME",
              help="The name of this instance, which must be unique.  [default: the host's name]")  # fmt: skip
@click.pass_context
def command(ctx: click.Context, /, table: Path | None, **options: Any) -> int:
    """Probe every period and report a condition of a cluster, until stopped by SIGTERM or Ctrl-C.

    Of several instances with one --remote or --relay, one reports; another takes over if it falls silent. Only
    transitions and renewals are written. If a probe cannot be made, nothing is reported, and the last report ages.

    With --table one process probes many clusters; options beside it count for every row that does not give them.
    """
    detectors = [_detector(_say, **options)] if table is None else _of_table(ctx, table)
    stop = Event()
    threads = [Thread(target=one.run, args=(stop,), name="muster-detector") for one in detectors]
    with until_stopped(stop):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    _say("stopped")
    return 0


def _detector(
    say_: Callable[[str], None], cluster: str | None, kind: str, type_: str, identity: Path | None, remote: str | None,
    relay: str | None, token_file: Path | None, relay_ca: Path | None, file: Path | None, command_: str | None,
    http: str | None, tcp: str | None, dns: str | None, dns_server: str | None,
    probe_timeout: float, detect_period: float, detect_failure_threshold: float, detect_success_threshold: float,
    lease_duration: int, instance: str | None,
) -> Detector:  # fmt: skip
    """The detector that options describe. UsageError if they do not go together."""
    if cluster is None:
        raise click.UsageError("Missing option '--cluster', or --table.")
    if detect_period <= 0 or probe_timeout <= 0:
        raise click.UsageError("--detect-period and --probe-timeout must be positive.")
    if detect_period * RENEWALS > lease_duration:
        raise click.UsageError(f"--lease-duration must be at least {RENEWALS} times --detect-period, to be renewed.")
    if not is_cluster_name(cluster):
        raise click.UsageError(f"{cluster!r} is not a valid name of a cluster.")
    if not _CONDITION.fullmatch(type_):
        raise click.UsageError(f"{type_!r} is not a valid type of a condition.")
    probe = _probe(command_, http, tcp, dns, dns_server, probe_timeout)
    subject = Subject(BY_NAME[kind], cluster, type_)
    if sum(choice is not None for choice in (remote, relay, file)) != 1:
        raise click.UsageError("Give one of --remote, --relay and --file.")
    target = ReportTarget.of(remote, relay, token_file, relay_ca, identity) if file is None else None
    reporter: Reporter
    if target is None:
        assert file is not None
        reporter = FileReporter(file, subject, lease_duration / RENEWALS)
    else:
        reporter = RefReporter(target.ref(cluster), subject, instance or socket.gethostname(), lease_duration)
    thresholds = Thresholds(detect_failure_threshold, detect_success_threshold)
    _say(f"detecting {type_} of {cluster}")
    return Detector(BoundedProbe(probe, probe_timeout), detect_period, thresholds, reporter, say_)


def _of_table(ctx: click.Context, table: Path) -> list[Detector]:
    """The detectors of a table's rows, each of which is parsed as a command line is."""
    try:
        rows = yaml.safe_load(table.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise click.UsageError(f"--table {table} cannot be read: {error}") from error
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and "table" not in row for row in rows):
        raise click.UsageError(f"--table {table} is not a list of rows such as {{cluster: c1, http: https://...}}.")
    given = {str(option.name): option.opts[-1] for option in ctx.command.params
             if ctx.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE}  # fmt: skip
    common = [f"{option}={ctx.params[name]}" for name, option in given.items() if name != "table"]
    detectors = []
    for number, row in enumerate(rows, 1):
        try:
            found = command.make_context("detect", [*common, *(f"--{name}={value}" for name, value in row.items())])
            options = {name: value for name, value in found.params.items() if name != "table"}
            prefix = f"{options['cluster']} {options['type_']}"
            detectors.append(_detector(partial(_say_of, prefix), **options))
        except click.UsageError as error:
            raise click.UsageError(f"{table}, row {number}: {error.format_message()}") from error
    return detectors


def _probe(
    command_: str | None, http: str | None, tcp: str | None, dns: str | None, server: str | None, limit: float
) -> Probe:
    if sum(choice is not None for choice in (command_, http, tcp, dns)) > 1:
        raise click.UsageError("--command, --http, --tcp and --dns exclude each other.")
    if server is not None and dns is None:
        raise click.UsageError("--dns-server goes with --dns.")
    if http is not None:
        if not re.match(r"https?://[^/]", http, re.IGNORECASE):
            raise click.UsageError(f"--http {http!r} is not a URL such as http://10.0.0.1:8080/healthz.")
        return HttpProbe(http, limit)
    if tcp is not None:
        return TcpProbe(*_host_and_port(tcp, "--tcp"), limit)
    if dns is not None:
        if find_spec("dns") is None:
            raise click.UsageError(f"--dns needs an extra, unlike other probes: {install_command('detect')}")
        return DnsProbe(dns, None if server is None else _address(server), limit)
    try:
        arguments = shlex.split(_DEFAULT_COMMAND if command_ is None else command_)
    except ValueError as error:
        raise click.UsageError(f"--command {command_!r}: {error}.") from error
    if not arguments:
        raise click.UsageError("--command is empty.")
    return CommandProbe(arguments, limit)


@dataclass(frozen=True, slots=True)
class ReportTarget:
    """Where detectors report: a repository or a relay. `token_file` may name the cluster as `{cluster}`."""

    remote: str
    relay: str
    token_file: Path | None
    relay_ca: Path | None
    seal: "AgentSeal | None"

    @classmethod
    def of(
        cls, remote: str | None, relay: str | None, token_file: Path | None, relay_ca: Path | None,
        identity: Path | None,
    ) -> Self:  # fmt: skip
        """Check the options. click.UsageError if they do not fit together."""
        if relay is None and (token_file or relay_ca):
            raise click.UsageError("--token-file and --relay-ca go with --relay.")
        if relay is not None and token_file is None:
            raise click.UsageError("--relay needs --token-file.")
        return cls(absolute_remote(remote or ""), relay or "", token_file, relay_ca, seal_of(identity))

    def ref(self, cluster: str) -> PushedRef | RelayedRef:
        """Return the ref of a cluster there."""
        if not self.relay:
            return PushedRef(self.remote, cluster, _REMOTE_SECONDS, os.environ, self.seal)
        token_file = Path(str(self.token_file).replace("{cluster}", cluster))
        credentials = Credentials(token_file, self.seal.store.current_file if self.seal else None, self.relay_ca)
        return RelayedRef(self.relay, cluster, _REMOTE_SECONDS, credentials, present, self.seal)


def _host_and_port(text: str, option: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise click.UsageError(f"{option} {text!r} is not HOST:PORT.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _address(text: str) -> tuple[str, int]:
    host, port = (text, 53) if _is_address(text) else _host_and_port(text, "--dns-server")
    if not _is_address(host):
        raise click.UsageError(
            f"--dns-server {host!r} is not an IP address, and a name would need a server to be resolved."
        )
    return host, port


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _say_of(prefix: str, line: str) -> None:
    _say(f"{prefix}: {line}")


def _say(line: str) -> None:
    say(line)
    sys.stdout.flush()
