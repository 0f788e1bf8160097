"""`muster detect`: probes something in a cluster repeatedly, and reports its condition."""

import os
import socket
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Self

import click

from muster.agents.detect.detector import Detector, Thresholds
from muster.agents.detect.election import RENEWALS
from muster.agents.detect.probes import BoundedProbe, Probe, probe_of, probe_target
from muster.agents.detect.report import Subject
from muster.agents.detect.reporters import FileReporter, RefReporter, Reporter
from muster.agents.hub.pushed_ref import PushedRef
from muster.agents.hub.relayed_ref import Credentials, RelayedRef
from muster.agents.identity.options import identity_option, seal_of
from muster.cli.options import FILE, FILE_THERE, SECONDS, present
from muster.cli.outcome import report, say
from muster.cli.stopping import until_stopped
from muster.data.agentref import is_cluster_name
from muster.data.extras import install_command
from muster.data.kinds import BY_NAME, CLUSTERS
from muster.dataclass import dataclass
from muster.fleet.leases import LONGEST_SECONDS
from muster.git.push import absolute_remote
from muster.regex import Regex

if TYPE_CHECKING:
    from muster.agents.detect.table import TableRow
    from muster.agents.identity.store import AgentSeal

_DEFAULT_COMMAND = "nslookup kubernetes.default"
_CONDITION = Regex(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_REMOTE_SECONDS = 30.0  # for one exchange with the remote: a ref of a few files


#: Options that go with --table; its rows have the others.
_OF_TABLES = frozenset(("table", "threads", "remote", "relay", "token_file", "relay_ca", "identity", "instance"))


@click.command()
@click.option("--cluster", metavar="NAME", help="The cluster to report on.")
@click.option(
    "--table",
    type=FILE,
    metavar="FILE",
    help="Probe what this file lists: many clusters and conditions. It may change meanwhile.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 1024),
    default=32,
    show_default=True,
    metavar="N",
    help="With --table: how many probes run at once.",
)
@click.option(
    "--kind",
    type=click.Choice([kind.name for kind in CLUSTERS]),
    default="Cluster",
    show_default=True,
    help="The kind of the cluster's object.",
)
@click.option(
    "--condition",
    "type_",
    default="ServiceDomainNameResolutionReady",
    show_default=True,
    metavar="TYPE",
    help="The condition to report.",
)
@identity_option
@click.option("--remote", metavar="URL", help="Report to the branch agents/NAME of this repository, a URL or a path.")
@click.option("--relay", metavar="URL", help="Report to this relay over HTTP instead.")
@click.option(
    "--token-file", type=FILE, help="The file with the cluster's token for the relay. Its path may have {cluster}."
)
@click.option(
    "--relay-ca",
    type=FILE_THERE,
    help="The authority that signed the relay's certificate.  [default: those of the system]",
)
@click.option("--file", type=FILE, help="Report to this file instead, as its only writer.")
@click.option(
    "--command",
    "command_",
    metavar="COMMAND",
    help=f"Probe: run a command, which must succeed.  [default: {_DEFAULT_COMMAND}]",
)
@click.option("--http", metavar="URL", help="Probe: get a URL, which must answer 2xx or 3xx.")
@click.option("--tcp", metavar="HOST:PORT", help="Probe: connect.")
@click.option("--dns", metavar="HOST", help="Probe: resolve a name to an address (needs dnspython).")
@click.option("--dns-server", metavar="IP[:PORT]", help="The DNS server to ask.  [default: those of the system]")
@click.option("--probe-timeout", type=SECONDS, default="5s", show_default=True, help="The time limit of a probe.")
@click.option("--detect-period", type=SECONDS, default="5s", show_default=True, help="The time between probes.")
@click.option(
    "--detect-failure-threshold",
    type=SECONDS,
    default="30s",
    show_default=True,
    help="How long failures must last to be reported.",
)
@click.option(
    "--detect-success-threshold",
    type=SECONDS,
    default="30s",
    show_default=True,
    help="How long successes must last to be reported after a failure.",
)
@click.option(
    "--lease-duration",
    type=click.IntRange(1, LONGEST_SECONDS),
    default=45,
    show_default=True,
    metavar="SECONDS",
    help="After this silence, another instance reports. This one renews three times as often.",
)
@click.option(
    "--instance", metavar="NAME", help="The name of this instance, which must be unique.  [default: the host's name]"
)
def command(
    cluster: str | None,
    table: Path | None,
    threads: int,
    kind: str,
    type_: str,
    identity: Path | None,
    remote: str | None,
    relay: str | None,
    token_file: Path | None,
    relay_ca: Path | None,
    file: Path | None,
    command_: str | None,
    http: str | None,
    tcp: str | None,
    dns: str | None,
    dns_server: str | None,
    probe_timeout: float,
    detect_period: float,
    detect_failure_threshold: float,
    detect_success_threshold: float,
    lease_duration: int,
    instance: str | None,
) -> int:
    """Probe something in a cluster repeatedly and report its condition, until stopped by SIGTERM or Ctrl-C.

    Of several instances with the same --remote or --relay, one reports; another takes over if it falls silent. Only
    transitions and renewals are written. If the probe itself cannot run, nothing is reported, and the last report ages.

    \b
    Examples:
      muster detect --cluster c1 --remote ssh://git.example.com/fleet
      muster detect --cluster c1 --condition ApiUp --tcp 10.0.0.1:6443 \\
        --file report.yaml
      muster detect --table probes.yaml --relay https://relay.example.com \\
        --token-file 'tokens/{cluster}'
    """
    me = instance or socket.gethostname()
    if table is not None:
        context = click.get_current_context()
        for name in sorted(context.params.keys() - _OF_TABLES):
            if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                option = next(parameter.opts[0] for parameter in context.command.params if parameter.name == name)
                raise click.UsageError(f"{option} does not go with --table: its probes say that.")
        if remote is None and relay is None:
            raise click.UsageError("--table needs --remote or --relay.")
        if not table.is_file():
            raise click.UsageError(f"--table: there is no file {table}.")
        return _detect_table(table, ReportTarget.of(remote, relay, token_file, relay_ca, identity), me, threads)
    if cluster is None:
        raise click.UsageError("Give --cluster or --table.")
    if detect_period <= 0 or probe_timeout <= 0:
        raise click.UsageError("--detect-period and --probe-timeout must be positive.")
    if detect_period * RENEWALS > lease_duration:
        raise click.UsageError(f"--lease-duration must be at least {RENEWALS} times --detect-period, to be renewed.")
    if not is_cluster_name(cluster):
        raise click.UsageError(f"{cluster!r} is not a valid name of a cluster: use lower case letters, digits and '-'.")
    if not _CONDITION.fullmatch(type_):
        raise click.UsageError(f"{type_!r} is not a valid type of a condition.")
    probe = _probe({"command": command_, "http": http, "tcp": tcp, "dns": dns}, dns_server, probe_timeout)
    subject = Subject(BY_NAME[kind], cluster, type_)
    if sum(choice is not None for choice in (remote, relay, file)) != 1:
        raise click.UsageError("Give one of --remote, --relay and --file.")
    target = ReportTarget.of(remote, relay, token_file, relay_ca, identity) if file is None else None
    reporter: Reporter
    if target is None:
        assert file is not None
        reporter = FileReporter(file, subject, lease_duration / RENEWALS)
    else:
        reporter = RefReporter(target.ref(cluster), subject, me, lease_duration)
    detector = Detector(
        BoundedProbe(probe, probe_timeout),
        detect_period,
        Thresholds(detect_failure_threshold, detect_success_threshold),
        reporter,
        _say,
    )
    stop = Event()
    _say(f"detecting {type_} of {cluster}")
    with until_stopped(stop) as stopped:
        detector.run(stop)
    _say("stopped")
    return stopped.code


def _probe(texts: dict[str, str | None], server: str | None, limit: float) -> Probe:
    """The probe that the options name: `texts` are those of each sort. click.UsageError."""
    given = {sort: text for sort, text in texts.items() if text is not None}
    if len(given) > 1:
        raise click.UsageError("--command, --http, --tcp and --dns exclude each other.")
    if server is not None and "dns" not in given:
        raise click.UsageError("--dns-server goes with --dns.")
    if "dns" in given and find_spec("dns") is None:
        raise click.UsageError(f"--dns needs an extra, unlike other probes: {install_command('detect')}")
    ((sort, text),) = given.items() or (("command", _DEFAULT_COMMAND),)
    try:
        return probe_of(sort, probe_target(sort, text, server or ""), limit)
    except ValueError as error:
        raise click.UsageError(f"--{sort}{'-server' if server else ''} {error}.") from error


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
        cls,
        remote: str | None,
        relay: str | None,
        token_file: Path | None,
        relay_ca: Path | None,
        identity: Path | None,
    ) -> Self:
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


def _detect_table(path: Path, target: ReportTarget, me: str, threads: int) -> int:
    """Detect what a table says, until stopped."""
    from muster.agents.detect.many import TableDetector
    from muster.agents.detect.table import TableFile

    file = TableFile(path)
    rows = file.changed()
    if file.findings:
        return report(file.findings)
    if find_spec("dns") is None and any(row.sort == "dns" for row in rows or ()):
        raise click.UsageError(f"A probe with dns needs an extra, unlike others: {install_command('detect')}")
    first = [rows]

    def changed() -> "list[TableRow] | None":
        if first:
            return first.pop()
        rows = file.changed()
        if rows is None and file.findings:
            report(file.findings)
            _say("the table has errors, so the last one that had none still holds")
            file.findings.clear()
        return rows

    def reporter(row: "TableRow") -> Reporter:
        where = replace(target, remote=absolute_remote(row.remote), relay="") if row.remote else target
        return RefReporter(where.ref(row.subject.cluster), row.subject, me, row.lease_seconds)

    stop, wake = Event(), Event()
    with until_stopped(stop, wake=wake.set) as stopped:
        TableDetector(changed, reporter, _say, threads).run(stop, wake)
    _say("stopped")
    return stopped.code


def _say(line: str) -> None:
    say(line)
    sys.stdout.flush()
