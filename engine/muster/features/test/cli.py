"""`muster test`: run the repository's PolicyTests and Drills."""

import sys
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.outcome import report, say
from muster.cli.progress import working
from muster.cli.reading import snapshot_of, worktree_root
from muster.cli.stopping import until_stopped
from muster.data.ids import ObjectId
from muster.data.kinds import DRILL, of_kinds
from muster.data.locations import FOLDER, SUFFIXES
from muster.data.source import Place
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.rules.policies.in_force import FleetWithPolicies

if TYPE_CHECKING:
    from muster.features.test.coverage import Coverage
    from muster.features.test.policytest import CaseResult


@dataclass(frozen=True, slots=True)
class _TestQuery:
    """Which tests to run, and how to print the results."""

    builtin: bool
    only: str
    coverage: bool
    required: float | None
    output: str


@click.command()
@click.option("--rev", metavar="REV", help="Test this revision.  [default: the files as they are]")
@click.option("--builtin", is_flag=True, help="Also run the tests of the built-in policies.")
@click.option("-k", "only", metavar="TEXT", default="", help="Run only tests and cases with this in their names.")
@click.option("--coverage", is_flag=True, help="Show the branches of each policy that no case has taken.")
@click.option(
    "--require-coverage",
    "required",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Fail if a smaller share of branches is covered. Implies --coverage.",
)
@click.option("--watch", is_flag=True, help="Run affected tests again whenever a file changes, until Ctrl-C.")
@options.output_option("text", "json", "junit")
@options.repo_option
@options.now_option
def command(
    repo: Path,
    rev: str | None,
    builtin: bool,
    only: str,
    coverage: bool,
    required: float | None,
    watch: bool,
    output: str,
    now: datetime,
) -> int:
    """Run PolicyTests, which state objects and the expected results of policies, and rehearse the Drills.

    A Drill begins at --now, and is a test with a case for each domain; agents' branches are fetched for it.

    Coverage counts rules and branches of expressions: a rule that holds and that does not, an operand that is true and
    that is false. A case covers only the policies that its test names. The exit code is 1 if a test fails, if there is
    none, or if too little is covered.

    With --watch, a change of a test runs that test again, and a change of a policy runs all of them; Drills are left
    out.

    \b
    Examples:
      muster test
      muster test -k quarantine --watch
      muster test --require-coverage 90
    """
    query = _TestQuery(builtin, only, coverage or required is not None, required, output)
    if watch:
        if rev or output != "text":
            raise click.UsageError("--watch is for the work tree and for text: not with --rev or --output.")
        return _watch(repo, query)
    fleet = _fleet(repo, rev)
    return _run(fleet, query, drills=_drills(repo, rev, fleet, query, now))


def _drills(
    repo: Path, rev: str | None, fleet: FleetWithPolicies, query: _TestQuery, now: datetime
) -> "list[CaseResult]":
    """Rehearse the Drills whose names have the text that is asked for, as tests."""
    names = tuple(
        id_.name
        for id_ in of_kinds({*fleet.objects, *fleet.broken}, DRILL)
        if query.only.casefold() in id_.name.casefold()
    )
    if not names:
        return []
    from muster.cli.listening import READER
    from muster.cli.reading import open_reading
    from muster.features.drill.cli import drilled
    from muster.features.test.policytest import CaseResult

    with working("rehearsing drills"):
        reading = open_reading(repo, rev, worktree=rev is None, freshness=READER)
        if reading.repository is None or reading.base is None:
            click.echo(f"{len(names)} Drills are not rehearsed: that needs a repository with a commit", err=True)
            return []
        results, unsound = drilled(reading, now, names)
    return [
        *(
            CaseResult(str(finding.object), "", Place(finding.file, finding.line, finding.column), (finding.message,))
            for finding in unsound
        ),
        *(
            CaseResult(str(result.drill.id), name, place, failures)
            for result in results
            for name, place, failures in result.cases()
        ),
    ]


def _fleet(repo: Path, rev: str | None) -> FleetWithPolicies:
    from muster.run.checking import check_snapshot

    with working("reading the fleet"):
        return check_snapshot(snapshot_of(repo, rev, worktree=rev is None))


def _watch(repo: Path, query: _TestQuery) -> int:
    """Run all tests, and then those that a change affects, until stopped."""
    import gc

    from watchfiles import watch as changes

    from muster.features.test.policytest import affected_tests

    gc.enable()  # off in commands that end soon
    root, stop = worktree_root(repo).resolve(), Event()
    fleet: FleetWithPolicies | None = None
    with until_stopped(stop) as stopped:
        # The first event is empty, and means that changes are reported from now on.
        for events in changes(
            root,
            watch_filter=lambda _, path: _is_read(Path(path).relative_to(root)),
            stop_event=stop,
            debounce=200,
            step=50,
            rust_timeout=500,
            raise_interrupt=False,
            yield_on_timeout=True,
        ):
            if fleet is not None and not events:
                continue
            before, fleet = fleet, _fleet(repo, None)
            paths = {Path(name).relative_to(root).as_posix() for _, name in events}
            tests = None if before is None else affected_tests(before, fleet, paths)
            if tests is None or tests or any(finding.file in paths for finding in fleet.findings):
                click.clear()
                _run(fleet, query, None if query.coverage else tests)
                click.echo(f"watching {root}")
                sys.stdout.flush()
    click.echo("stopped")
    return stopped.code


def _is_read(path: Path) -> bool:
    """Whether what a file below the repository holds may concern a test."""
    return path.suffix in SUFFIXES and ".git" not in path.parts and not path.as_posix().startswith(FOLDER)


def _run(
    fleet: FleetWithPolicies,
    query: _TestQuery,
    tests: Collection[ObjectId] | None = None,
    drills: "Sequence[CaseResult]" = (),
) -> int:
    """Run tests (None: all), tell how it went with them and with `drills`, and return the exit code."""
    from muster.features.test.coverage import Coverage
    from muster.features.test.policytest import run_tests

    required, output = query.required, query.output
    with working("running policy tests"):
        covered = Coverage() if query.coverage else None
        tested = run_tests(fleet, builtin=query.builtin, only=query.only, coverage=covered, tests=tests)
    results = [*tested, *drills]
    lacking = covered is not None and required is not None and covered.percent < required
    bad = [result for result in results if result.failures]
    if output == "junit":
        from muster.cli.reports import Case, junit_text

        reported = [Case(o.test, o.case or o.test, o.place, "\n".join(o.failures)) for o in results]
        for policy in covered.policies if covered is not None else ():
            text = "\n".join(f"{branch.place}: {branch}" for branch in policy.missing)
            place = policy.missing[0].place if policy.missing else Place("")
            reported.append(
                Case("coverage", str(policy.policy), place, text if lacking else "", "" if lacking else text)
            )
        sys.stdout.write(junit_text("muster test", reported))
        return int(bool(bad) or not results or lacking)
    if output == "json":
        from muster.cli.documents import json_text

        cases = [{"test": o.test, "case": o.case, "place": str(o.place), "failures": list(o.failures)} for o in results]
        document = cases if covered is None else {"cases": cases, "coverage": _document(covered)}
        sys.stdout.write(json_text(document))
        return int(bool(bad) or not results or lacking)
    for result in results:
        name = f"{result.test}: {result.case}" if result.case else result.test
        say(f"{'FAILED' if result.failures else 'passed'}  {name}")
        for failure in result.failures:
            say(f"  {result.place}: {failure}")
    unsound = [finding for finding in fleet.sorted_findings() if finding.object and finding.object.kind == "PolicyTest"]
    code = report(unsound, err=False)
    if not results and tests is None:
        those = f" whose name, or that of a case, has {query.only!r}" if query.only else ""
        click.echo(f"no PolicyTest and no Drill here{those}; --builtin runs those of the built-in policies", err=True)
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


def _document(covered: "Coverage") -> Tree:
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
