"""`muster test`: runs the repository's PolicyTests."""

import json
import sys
from pathlib import Path

import click

from muster.commands import options
from muster.commands.outcome import report
from muster.commands.progress import working
from muster.commands.reading import snapshot_of


@click.command()
@options.repo_option
@click.option("--rev", metavar="REV", help="Test this revision.  [default: the files as they are]")
@click.option("--builtin", is_flag=True, help="Run the tests of the built-in policies too.")
@options.output_option("text", "json")
def command(repo: Path, rev: str | None, builtin: bool, output: str) -> int:
    """Run PolicyTests: what policies must say of objects that the tests state.

    Exit code 1: a test failed, or there is none.
    """
    from muster.answers.policytest import run_tests
    from muster.engine.checking import check_snapshot

    with working("running policy tests"):
        fleet = check_snapshot(snapshot_of(repo, rev, worktree=rev is None))
        results = run_tests(fleet, builtin=builtin)
    bad = [result for result in results if result.failures]
    if output == "json":
        document = [
            {"test": o.test, "case": o.case, "place": str(o.place), "failures": list(o.failures)} for o in results
        ]
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        return int(bool(bad) or not results)
    for result in results:
        name = f"{result.test}: {result.case}" if result.case else result.test
        click.echo(f"{'FAILED' if result.failures else 'passed'}  {name}")
        for failure in result.failures:
            click.echo(f"  {result.place}: {failure}")
    code = report([found for found in fleet.sorted_findings() if found.object and found.object.kind == "PolicyTest"])
    if not results:
        click.echo("no PolicyTest here; --builtin runs those of the built-in policies", err=True)
        return 1
    click.echo(f"{len(results) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else code
