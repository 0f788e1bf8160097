"""`muster test`: runs the repository's PolicyTests."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.commands import options
from muster.commands.outcome import report
from muster.commands.progress import working
from muster.commands.reading import snapshot_of

if TYPE_CHECKING:
    from muster.answers.policycoverage import Coverage
    from muster.model.tree import Tree


@click.command()
@options.repo_option
@click.option("--rev", metavar="REV", help="Test this revision.  [default: the files as they are]")
@click.option("--builtin", is_flag=True, help="Run the tests of the built-in policies too.")
@click.option("-k", "only", metavar="TEXT", default="", help="Run only tests and cases with this in their names.")
@click.option("--coverage", is_flag=True, help="Show what of each policy no case took; of one that no test names, all.")
@click.option(
    "--require-coverage",
    "required",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Fail where less of the branches is covered. Implies --coverage.",
)
@options.output_option("text", "json", "junit")
def command(
    repo: Path, rev: str | None, builtin: bool, only: str, coverage: bool, required: float | None, output: str
) -> int:
    """Run PolicyTests: what policies must say of objects that the tests state.

    Coverage counts rules and the branches of expressions: that a rule holds and that it does not, that an operand is
    true and that it is false. A case covers the policies that its test names; a policy that no test names is not
    covered. Exit code 1: a test failed, there is none, or too little is covered.
    """
    from muster.answers.policycoverage import Coverage
    from muster.answers.policytest import run_tests
    from muster.engine.checking import check_snapshot

    with working("running policy tests"):
        fleet = check_snapshot(snapshot_of(repo, rev, worktree=rev is None))
        covered = Coverage() if coverage or required is not None else None
        results = run_tests(fleet, builtin=builtin, only=only, coverage=covered)
    lacking = covered is not None and required is not None and covered.percent < required
    bad = [result for result in results if result.failures]
    if output == "junit":
        from muster.output.junit import Case, junit_text

        told = [Case(o.test, o.case or o.test, o.place, "\n".join(o.failures)) for o in results]
        sys.stdout.write(junit_text("muster test", told))
        return int(bool(bad) or not results or lacking)
    if output == "json":
        cases = [{"test": o.test, "case": o.case, "place": str(o.place), "failures": list(o.failures)} for o in results]
        document = cases if covered is None else {"cases": cases, "coverage": _document(covered)}
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        return int(bool(bad) or not results or lacking)
    for result in results:
        name = f"{result.test}: {result.case}" if result.case else result.test
        click.echo(f"{'FAILED' if result.failures else 'passed'}  {name}")
        for failure in result.failures:
            click.echo(f"  {result.place}: {failure}")
    unsound = [found for found in fleet.sorted_findings() if found.object and found.object.kind == "PolicyTest"]
    code = report(unsound, err=False)
    if not results:
        click.echo("no PolicyTest here; --builtin runs those of the built-in policies", err=True)
        return 1
    if covered is not None:
        _tell(covered)
    click.echo(f"{len(results) - len(bad)} passed, {len(bad)} failed")
    if lacking:
        click.echo(f"less than {required:g} % is covered", err=True)
    return 1 if bad or lacking else code


def _tell(covered: "Coverage") -> None:
    """What no case took, and then how much of each policy."""
    for policy in covered.policies:
        for branch in policy.missing if policy.named else ():
            click.echo(f"{branch.place}: {policy.policy}: {branch}")
    for policy in covered.policies:
        unnamed = "" if policy.named else ": no test names it"
        click.echo(f"{policy.percent:5.1f} % of {policy.total:3} branches  {policy.policy}{unnamed}")
    click.echo(f"{covered.percent:5.1f} % of {covered.total:3} branches covered")


def _document(covered: "Coverage") -> "Tree":
    return {
        "percent": covered.percent,
        "branches": covered.total,
        "policies": [
            {
                "policy": str(policy.policy),
                "percent": policy.percent,
                "branches": policy.total,
                "tested": policy.named,
                "missing": [
                    {"expression": b.expression, "part": b.part, "way": b.way, "place": str(b.place)}
                    for b in policy.missing
                ],
            }
            for policy in covered.policies
        ],
    }
