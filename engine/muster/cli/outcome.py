"""What commands say, and how they end: with findings, and the exit code that they mean.

A fault of ours that was caught on the way exits like one that was not: with 3. What it did not touch is done.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import click

from muster.cli.exits import FAULT
from muster.data.finding import Finding
from muster.data.printable import printable

if TYPE_CHECKING:
    from muster.run.run import Run


class LandedCommit(Protocol):
    """A commit that landed: `left_behind` says why the local branch does not have it, empty where it has; `followed`
    that a rewritten history was followed."""

    @property
    def left_behind(self) -> str: ...

    @property
    def followed(self) -> str: ...


def told_of(run: "Run") -> list[Finding]:
    """Return what people are told of what a run found: waivers are applied as of its instant."""
    from muster.rules.checks.waivers import shown

    return shown(run.findings, run.now)


def say(*lines: str, err: bool = False) -> None:
    """Print lines that may hold anybody's words."""
    for line in lines:
        click.echo(printable(line), err=err)


def say_behind(done: LandedCommit) -> None:
    """Say where a commit is not, and what became of the local branch."""
    if done.followed:
        say(done.followed, err=True)
    if done.left_behind:
        say(f"the local branch stays behind: {done.left_behind}", err=True)


def report(findings: Sequence[Finding], *, quiet: bool = False, err: bool = True) -> int:
    """Print findings unless `quiet`, on standard error or (not `err`) output; return 3 for a fault of ours, 1 for any
    other error, else 0."""
    if not findings:
        return 0
    from muster.cli.findings import findings_text, tally
    from muster.fleet.faults import is_any_fault

    if not quiet:
        if text := findings_text(findings):
            click.echo(text, err=err)
        click.echo(tally(findings), err=err)
    if any(map(is_any_fault, findings)):
        return FAULT
    return int(any(found.fails for found in findings))
