"""`muster validate`: check the files, staged or not, that muster would evaluate."""

import sys
from pathlib import Path

import click

from muster.cli import options
from muster.cli.outcome import report
from muster.data.printable import counted


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--rev", metavar="REV", help="Validate this revision.  [default: the files as they are]")
@click.option("--staged", is_flag=True, help="Validate the staged files: the content of the next commit.")
@click.option("--touched", is_flag=True, help="With --staged: show only findings that the next commit brings about.")
@click.option("--base", metavar="REV", help="The revision to compare with.  [default: HEAD, or the parent of --rev]")
@options.report_option
@options.repo_option
def command(
    files: tuple[str, ...], repo: Path, rev: str | None, staged: bool, touched: bool, base: str | None, output: str
) -> int:
    """Check syntax, schema, references, expressions and admission policies.

    With FILES, only these findings are shown: those in these files or folders, about objects that have a part in them,
    and about policies that they change.

    \b
    Examples:
      muster validate
      muster validate clusters/prod-eu-1
      muster validate --staged --touched
    """
    if staged and rev:
        raise click.UsageError("--staged and --rev exclude each other.")
    if touched and not staged:
        raise click.UsageError("--touched goes with --staged.")
    if touched and base:
        raise click.UsageError("--touched compares with HEAD, so it excludes --base.")
    from muster.features.validate.checking import check

    checked = check(files, repo, rev, base, staged=staged, touched=touched)
    if checked is None:
        return 0
    findings, count = checked
    if not count and not findings:
        from muster.cli.reading import require_repository

        require_repository(repo)
    if output != "text":
        from muster.cli.reports import REPORTS

        sys.stdout.write(REPORTS[output](findings))
        return report(findings, quiet=True)
    if not findings:
        click.echo(f"{counted(count, 'object')}, no findings")
        if not count:
            click.echo(
                "no file here declares an object: run it in a fleet's repository, or name one with --repo", err=True
            )
    return report(findings, err=False)
