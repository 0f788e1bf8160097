"""The command line: joins the verbs, turns errors into exit codes.

A verb is one module with one click command named `command`, and one line in `VERBS`. Modules are imported when
their verb is called, so that the hook pays for nothing it does not use.
"""

import gc
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple, NoReturn

import click

from muster.cli.exits import FAULT, FINE, INTERRUPTED, REPOSITORY, TERMINATED, USAGE
from muster.data.names import did_you_mean
from muster.version import __version__


class Verb(NamedTuple):
    """A verb: `module:command` below `muster`, the command being called `command` unless named; and what it does."""

    home: str
    summary: str


#: The verbs, in the order in which `muster --help` shows them.
VERBS: dict[str, Verb] = {
    "demo": Verb("features.demo.cli", "See it work: an example fleet in a temporary repository."),
    "init": Verb("features.init.cli", "Lay down a fleet repository with hook and CI."),
    "validate": Verb("features.validate.cli", "Check files: syntax, schema, references, expressions."),
    "render": Verb("features.get.cli:render", "Print objects as they would be derived; write nothing."),
    "plan": Verb("features.plan.cli", "Show what a reconcile would change."),
    "diff": Verb("features.plan.diff_cli", "Show what a reconcile would write, as a diff of files."),
    "comment": Verb("features.plan.comment_cli", "Comment on a pull request with a plan."),
    "reconcile": Verb("features.reconcile.cli", "Evaluate the fleet and commit what follows."),
    "watch": Verb("features.watch.cli", "Reconcile on every change and whenever time alone changes something."),
    "pulses": Verb("features.pulses.cli", "Show which pulses are due, or follow them."),
    "report": Verb("agents.report.cli", "Report on an object as one of its adapters."),
    "accept": Verb("features.edits.cli:accept", "Let clusters into the fleet."),
    "deny": Verb("features.edits.cli:deny", "Put clusters out of the fleet, or keep them out."),
    "sign": Verb("features.sign.cli", "Make the certificates of approved requests."),
    "taint": Verb("features.edits.cli:taint", "Taint clusters by hand."),
    "waive": Verb("features.edits.cli:waive", "Silence a finding until a date."),
    "heartbeat": Verb("agents.heartbeat.cli", "Renew a cluster's lease and report how it is."),
    "relay": Verb("agents.relay.cli", "Send what many agents say as one commit."),
    "get": Verb("features.get.cli:get", "Show the fleet as a table, YAML or JSON."),
    "claim": Verb("features.edits.cli:claim", "Claim a cluster of a pool, as one commit."),
    "release": Verb("features.edits.cli:release", "Give a claim's cluster back, as one commit."),
    "import": Verb("features.importing.cli", "Take over the objects of a live hub from a dump."),
    "export": Verb("features.export.cli", "Print what a load balancer or a live hub needs of the fleet."),
    "detect": Verb("agents.detect.cli", "Probe something in a cluster again and again, and report its condition."),
    "cache": Verb("features.cache.cli", "Show what is kept between runs, or drop it."),
    "site": Verb("features.page.cli", "Write the fleet as a page, for a browser."),
    "describe": Verb("features.explain.cli:describe", "Show everything known about an object."),
    "history": Verb("features.history.cli", "Show the transitions of an object, and how long it was available."),
    "replay": Verb("features.replay.cli", "Show what policies would have decided over past commits."),
    "forecast": Verb("features.forecast.cli", "Show what happens next without new input."),
    "explain": Verb(
        "features.explain.cli:explain", "Explain why a field is what it is, by which rule, and until when."
    ),
    "lint": Verb("features.lint.cli", "Find things that are valid but probably unintended."),
    "cel": Verb("features.cel.cli", "Evaluate and explain one expression."),
    "test": Verb("features.test.cli", "Run PolicyTests: what policies must say."),
}


class Verbs(click.Group):
    """A group whose commands are imported on first use, and that knows what a misspelt verb was meant to be."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the order of the register."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb's module; None for a verb that does not exist."""
        if cmd_name not in VERBS:
            return None

        module, _, name = VERBS[cmd_name].home.partition(":")
        command = getattr(import_module(f"muster.{module}"), name or "command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; for an unknown one name the nearest."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], VERBS)
            raise click.UsageError(f"No such command {args[0]!r}. {hint}".strip(), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs from the register, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="muster")
def cli() -> None:
    """Turns a git repository into the control plane of a fleet of clusters.

    Exit codes: 0 fine; 1 findings; 2 usage; 3 a fault of ours; 4 git remote or repository; 130 interrupt.
    """


#: Verbs that go on until they are told to stop.
_LASTING = frozenset(("watch", "heartbeat", "detect", "pulses"))


def main() -> None:
    """Run `muster` and exit with its code. The one boundary at which errors become codes."""
    if _LASTING.isdisjoint(sys.argv[1:2]):
        # A process that answers and ends has no garbage worth looking for, and over a large fleet that takes a seventh
        # of its time.
        gc.disable()
    signal.signal(signal.SIGTERM, _leave)
    sys.exit(run(sys.argv[1:]))


def _leave(*_: object) -> NoReturn:
    """Leave as after an error, on SIGTERM: git's processes are ended, and what was half done is undone."""
    sys.exit(TERMINATED)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    from muster.fleet.faults import listening_to_fallbacks
    from muster.git.errors import RepositoryError

    try:
        with listening_to_fallbacks(_Fallbacks()):
            result = cli.main(args=arguments, prog_name="muster", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return USAGE
    except RepositoryError as error:
        _complain(error.message, error.hint)
        return REPOSITORY
    except BrokenPipeError:
        # Whoever read our output has had enough. Python would complain again when it flushes at exit.
        sys.stdout = None
        return FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the boundary
        _fault(error)
        return FAULT
    return result if isinstance(result, int) else FINE


def _complain(message: str, hint: str = "") -> None:
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)


class _Fallbacks:
    """Says on the terminal where muster took a longer way because a shorter one failed: each fault once."""

    def __init__(self) -> None:
        self._said = set[str]()

    def __call__(self, doing: str, error: Exception) -> None:
        from muster.fleet.faults import fault_text

        line = f"a fault in muster, not in your fleet, while {doing}, so it takes a longer way: {fault_text(error)}"
        if line not in self._said:
            self._said.add(line)
            with suppress(OSError):
                _complain(line, "Please report this line: there is nothing of your fleet in it.")


def _fault(error: Exception) -> None:
    """A fault of ours: the traceback goes where a report can pick it up, the terminal gets the sentence.

    What an exception says may hold anything; passwords and tokens are left out of it.
    """
    import os
    import traceback
    from tempfile import NamedTemporaryFile

    from muster.data.printable import without_secrets

    whole = without_secrets("".join(traceback.format_exception(error)), os.environ)

    with NamedTemporaryFile("w", prefix="muster-fault-", suffix=".txt", delete=False, encoding="utf-8") as report:
        report.write(whole)
    said = without_secrets(f"{type(error).__name__}: {error}", os.environ)
    _complain(f"a fault in muster, not in your fleet: {said}",
              f"Nothing was written. Please report it with the file {report.name}.")  # fmt: skip


if __name__ == "__main__":
    main()
