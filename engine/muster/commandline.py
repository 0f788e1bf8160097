"""The command line: finds the command of a verb, and turns errors into exit codes.

A verb is one module with a click command named `command`, and one line in `VERBS`. A module is imported when its verb
is called, so that the hook imports only what it uses, and what verbs and errors need is not imported for a help text.
"""

import codecs
import errno
import gc
import io
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple, NoReturn

import click

from muster.cli.exits import FAULT, FINE, INTERRUPTED, REPOSITORY, TERMINATED, USAGE
from muster.version import __version__


class Verb(NamedTuple):
    """A verb: its home, `module` or `module:command` below `muster`, and a summary."""

    home: str
    summary: str


#: The verbs, grouped by what a person wants to do, in the order of `muster --help`.
GROUPS: dict[str, dict[str, Verb]] = {
    "Most used": {
        "init": Verb("features.init.cli", "Create a fleet repository with a hook and CI jobs."),
        "validate": Verb("features.validate.cli", "Check files: syntax, schema, references, expressions."),
        "plan": Verb("features.plan.cli:plan", "Show what a reconcile would change."),
        "reconcile": Verb("features.reconcile.cli", "Evaluate the fleet and commit what follows."),
        "watch": Verb("features.watch.cli", "Reconcile on every change and whenever a decision is due."),
        "get": Verb("features.get.cli:get", "Show the fleet as a table, YAML or JSON."),
        "describe": Verb("features.explain.cli:describe", "Show everything known about an object."),
        "explain": Verb("features.explain.cli:explain", "Explain why a field has its value, and until when."),
        "accept": Verb("features.edits.cli:accept", "Accept clusters into the fleet."),
        "site": Verb("features.page.cli", "Write the fleet as a web page."),
    },
    "Start": {
        "demo": Verb("features.demo.cli", "See it work: an example fleet in a temporary repository."),
        "import": Verb("features.importing.cli", "Import the objects of a live hub from a dump."),
        "version": Verb("features.about.cli:version", "Show versions, installed extras, and where data is kept."),
        "completion": Verb("features.about.cli:completion", "Let a shell complete commands and names."),
        "api-resources": Verb("features.about.cli:api_resources", "List the kinds, and who writes them."),
    },
    "Look": {
        "history": Verb("features.history.cli", "Show the transitions of an object over time."),
        "wait": Verb("features.get.wait_cli", "Wait until an object has a condition."),
    },
    "Ask": {
        "forecast": Verb("features.forecast.cli", "Show what happens next without new input."),
        "drill": Verb("features.drill.cli", "Rehearse the loss of failure domains."),
        "replay": Verb("features.replay.cli", "Repeat past runs from their records, or with other policies."),
    },
    "Change": {
        "deny": Verb("features.edits.cli:deny", "Remove clusters from the fleet, or keep them out."),
        "taint": Verb("features.edits.cli:taint", "Taint clusters by hand."),
        "label": Verb("features.edits.cli:label", "Label clusters."),
        "cordon": Verb("features.edits.cli:cordon", "Keep new work off clusters."),
        "uncordon": Verb("features.edits.cli:uncordon", "Let work onto clusters again."),
        "drain": Verb("features.edits.cli:drain", "Move work away from clusters, and wait until it has left."),
        "claim": Verb("features.edits.cli:claim", "Claim a cluster of a pool, as one commit."),
        "release": Verb("features.edits.cli:release", "Give a claim's cluster back, as one commit."),
        "waive": Verb("features.edits.cli:waive", "Silence a finding until a date."),
    },
    "Run": {
        "sign": Verb("features.sign.cli", "Sign approved certificate requests."),
        "sync": Verb("features.sync.cli", "Write what the fleet decides to a live hub."),
    },
    "Connect": {
        "join": Verb("features.join.cli", "Print what runs an agent in a cluster, or agents of many."),
        "heartbeat": Verb("agents.heartbeat.cli", "Renew a cluster's lease and report its status."),
        "report": Verb("agents.report.cli", "Report on an object as one of its adapters."),
        "detect": Verb("agents.detect.cli", "Probe something in a cluster, and report its condition."),
        "relay": Verb("agents.relay.cli", "Forward the reports of many agents as one commit."),
        "mcp": Verb("features.api.cli", "Let an assistant ask about the fleet."),
        "export": Verb("features.export.cli", "Print objects for a load balancer or a live hub."),
    },
    "Policies": {
        "lint": Verb("features.lint.cli", "Find things that are valid but probably unintended."),
        "test": Verb("features.test.cli", "Run PolicyTests."),
        "cel": Verb("features.cel.cli", "Evaluate and explain one expression."),
    },
}
VERBS = {name: verb for verbs in GROUPS.values() for name, verb in verbs.items()}


class Verbs(click.Group):
    """A group that imports commands on first use, and suggests the nearest verb for a misspelt one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in their order."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb's module and return its command; None for an unknown verb."""
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name].home.partition(":")
        command = getattr(import_module(f"muster.{module}"), name or "command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; suggest the nearest one if it is unknown."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from muster.cli.kubectl import instead_of
            from muster.data.names import did_you_mean

            hint = instead_of(args[0]) or did_you_mean(args[0], VERBS)
            raise click.UsageError(f"No such command {args[0]!r}; {hint}".rstrip("; "), ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options before the verb; say so if one belongs after it."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            if verb := next((arg for arg in args if arg in VERBS), None):
                raise click.UsageError(f"{name} belongs after the command: muster {verb} {name} …", ctx) from None
            raise

    def invoke(self, ctx: click.Context) -> object:
        """Run the verb, and print a note when it falls back to a slower way."""
        from muster.fleet.faults import listening_to_fallbacks

        with listening_to_fallbacks(_Fallbacks()):
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing any."""
        width = max(map(len, VERBS))
        for title, verbs in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), verb.summary) for name, verb in verbs.items()])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="muster")
def cli() -> None:
    """Turns a git repository into the control plane of a fleet of clusters.

    \b
    Start with `muster init my-fleet`, or see it work with `muster demo`.

    Exit codes: 0 success; 1 findings; 2 wrong usage; 3 a fault in muster; 4 a problem with the repository or its
    remote; 130 interrupted.
    """


def main() -> None:
    """Run `muster` and exit with its code."""
    # Garbage collection takes a seventh of the time of a run over a large fleet, and most processes end soon. Commands
    # that run until they are stopped enable it again (`until_stopped`).
    gc.disable()
    signal.signal(signal.SIGTERM, _leave)
    _escape_what_an_encoding_lacks()
    code = run(sys.argv[1:])
    gc.freeze()  # or Python looks for garbage in all objects before it ends: a sixth of the time of the hook
    sys.exit(code)


def _escape_what_an_encoding_lacks() -> None:
    """Let standard output and error escape characters that their encoding does not have, as JSON and YAML do."""
    codecs.register_error("muster.escape", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="muster.escape")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""The characters of an error as `\u2026`, beyond the first plane as two of these."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)), error.end


def _leave(*_: object) -> NoReturn:
    """Exit on SIGTERM as after an error: git's processes are ended, and half-done work is undone."""
    sys.exit(TERMINATED)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code: the only boundary at which errors become exit codes."""
    try:
        result = cli.main(args=arguments, prog_name="muster", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        _complain(error.format_message())
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(f"See '{error.ctx.command_path} --help'.", err=True)
        return USAGE
    except SystemExit as stop:
        if stop.code == TERMINATED:
            raise
        return FINE  # click found the pipe closed, as below; its exit code would mean findings
    except BrokenPipeError:
        # The reader of our output has closed the pipe. Python would complain again when it flushes at exit.
        sys.stdout = None
        return FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the boundary
        return _report_error(error)
    return result if isinstance(result, int) else FINE


#: What the system refuses, without a fault of ours: permissions, read-only and full disks.
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
_REFUSED = _FULL | {errno.EACCES, errno.EPERM, errno.EROFS}


def _report_error(error: Exception) -> int:
    """Print what went wrong, and return the exit code."""
    from muster.data.printable import without_secrets
    from muster.git.errors import RepositoryError

    if isinstance(error, RepositoryError):
        _complain(error.message, error.hint)
        return REPOSITORY
    if isinstance(error, OSError) and (error.errno in _FULL or (error.errno in _REFUSED and error.filename)):
        path = without_secrets(os.fsdecode(error.filename or "the output or a file"), os.environ)
        _complain(
            f"{path} cannot be written or read: {error.strerror}", "check its permissions, and the space on its disk"
        )
        return REPOSITORY
    _write_fault(error)
    return FAULT


def _complain(message: str, hint: str = "") -> None:
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)


class _Fallbacks:
    """Prints a note when a fault of ours makes muster fall back to a slower way: once for each fault."""

    def __init__(self) -> None:
        self._printed = set[str]()

    def __call__(self, doing: str, error: Exception) -> None:
        from muster.fleet.faults import fault_text

        line = f"a fault in muster, not in your fleet, while {doing}, so it takes a longer way: {fault_text(error)}"
        if line not in self._printed:
            self._printed.add(line)
            with suppress(OSError):
                _complain(line, "Please report this line: there is nothing of your fleet in it.")


def _write_fault(error: Exception) -> None:
    """Print one sentence about a fault of ours, and write the traceback to a file for a report, without secrets."""
    import traceback
    from tempfile import NamedTemporaryFile

    from muster.data.printable import without_secrets

    whole = without_secrets("".join(traceback.format_exception(error)), os.environ)
    with NamedTemporaryFile("w", prefix="muster-fault-", suffix=".txt", delete=False, encoding="utf-8") as report:
        report.write(whole)
    text = without_secrets(f"{type(error).__name__}: {error}", os.environ)
    _complain(
        f"a fault in muster, not in your fleet: {text}",
        f"Nothing was written. Please report it with the file {report.name}.",
    )
