"""How commands end: findings on standard error, and the exit code that they mean."""

from collections.abc import Sequence

import click

from muster.model.finding import Finding, Severity


def report(findings: Sequence[Finding], *, quiet: bool = False) -> int:
    """Print findings on standard error unless `quiet`; return 1 where any is an error, else 0."""
    from muster.output.findings import findings_text, tally

    if findings and not quiet:
        click.echo(findings_text(findings), err=True)
        click.echo(tally(findings), err=True)
    return int(any(found.severity is Severity.ERROR for found in findings))
