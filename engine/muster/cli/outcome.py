"""What commands print: lines and findings; and their exit code.

A fault of ours that was caught exits like one that was not: with 3. The rest of the run is done nevertheless.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Protocol

import click

from muster.cli.exits import FAULT, FINDINGS, FINE
from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.data.printable import counted, printable, printable_json
from muster.data.times import format_time, try_time
from muster.data.tree import Tree
from muster.git.clock import wall_clock

if TYPE_CHECKING:
    from muster.run.run import Run


class LandedCommit(Protocol):
    """A commit that landed.

    `left_behind` is why the local branch does not have it, empty if it has; `followed` is a line about a rewritten
    history that was followed.
    """

    @property
    def left_behind(self) -> str: ...

    @property
    def followed(self) -> str: ...


def reported_findings(run: "Run") -> list[Finding]:
    """Return a run's findings with the waivers applied that are valid at its instant."""
    from muster.rules.checks.waivers import shown  # not on the path of commands that evaluate nothing

    return shown(run.findings, run.now)


def say(*lines: str, err: bool = False) -> None:
    """Print lines with arbitrary content."""
    for line in lines:
        click.echo(printable(line), err=err)


def log_writer(form: str) -> Callable[..., None]:
    """Return a function that writes a line of a log, as `text` or `json`. A line may begin with its time.

    A reader that is gone, or a full disk, is no reason to stop what is logged.
    """

    def write(line: str, *, err: bool = False) -> None:
        time, _, message = line.partition(" ")
        if form == "json":
            has_time = try_time(time) is not None
            entry = {
                "time": time if has_time else format_time(wall_clock().replace(microsecond=0)),
                "message": message if has_time else line,
            }
            line = printable_json(json.dumps(entry, ensure_ascii=False))
        with suppress(OSError):
            say(line, err=err)
            (sys.stderr if err else sys.stdout).flush()

    return write


def say_behind(done: LandedCommit) -> None:
    """Print where the commit is missing, and what happened to the local branch."""
    if done.followed:
        say(done.followed, err=True)
    if done.left_behind:
        say(f"the local branch stays behind: {done.left_behind}", err=True)


def report(findings: Sequence[Finding], *, quiet: bool = False, err: bool = True) -> int:
    """Print findings unless `quiet`, to standard error or (not `err`) output.

    Returns the exit code: 3 for a fault of ours, 1 for any other error, else 0.
    """
    if not findings:
        return FINE
    from muster.fleet.faults import is_any_fault  # not on the path of commands without findings

    if not quiet:
        if text := findings_text(findings):
            click.echo(text, err=err)
        click.echo(tally(findings), err=err)
    if any(map(is_any_fault, findings)):
        return FAULT
    return FINDINGS if any(finding.fails for finding in findings) else FINE


def finding_text(finding: Finding) -> str:
    """Return `file:line:column: error MUS101: message` and, indented below, the excerpt, the example and the hint."""
    head = f"{finding.place}: " if finding.file else ""
    lines = [f"{printable(head)}{finding.severity.value} {finding.code}: {printable(finding.message)}"]
    lines.extend(f"    {line}" for line in finding.excerpt.splitlines())
    lines.extend(f"    {printable(line)}" for line in finding.example.splitlines())
    if finding.hint:
        lines.append(f"    hint: {printable(finding.hint)}")
    if finding.waiver is not None:
        lines.append(f"    {printable(str(finding.waiver))}")
    return "\n".join(lines)


#: What a copied file or folder causes, and how many in a folder have one cause.
_REPEATED: Final = frozenset((Code.FIELD_SET_TWICE, Code.REPORT_REPEATS_PART))
_MOST_REPEATED: Final = 3
_IGNORED: Final = "`.musterignore` names"


def findings_text(findings: Iterable[Finding]) -> str:
    """Return all findings that no waiver silences; of those with one cause, a copied folder or a line of
    `.musterignore`, the first and their number."""
    shown = [finding for finding in findings if not finding.silenced]
    copied: dict[PurePosixPath, list[Finding]] = {}
    for finding in shown:
        if finding.code in _REPEATED and ":" not in finding.file:  # an agent's branch is no folder
            folders = PurePosixPath(finding.file).parents[:-1]
            folder = next((folder for folder in folders if folder in copied), next(iter(folders), None))
            if folder is not None:
                copied.setdefault(folder, []).append(finding)
    causes = [
        (copies, f"in {printable(str(folder))}/, whose files set what others set: is it a copy?")
        for folder, copies in copied.items()
    ]
    ignored = [
        finding for finding in shown if finding.code is Code.FILE_LOST_ITS_OBJECT and _IGNORED in finding.message
    ]
    causes.append((ignored, f"files that {_IGNORED}"))
    many = {
        findings_there[0]: f"    and {len(findings_there) - 1} more {cause}"
        for findings_there, cause in causes
        if len(findings_there) > _MOST_REPEATED
    }
    hidden = {
        finding
        for findings_there, _ in causes
        if len(findings_there) > _MOST_REPEATED
        for finding in findings_there[1:]
    }
    lines = []
    for finding in shown:
        if finding not in hidden:
            lines.append(finding_text(finding))
        if finding in many:
            lines.append(many[finding])
    return "\n".join(lines)


def tally(findings: Sequence[Finding]) -> str:
    """Return `2 errors, 1 warning, 3 waived`, or `no findings`."""
    counting = [finding for finding in findings if finding.waiver is None]
    counts = ((severity, sum(finding.severity is severity for finding in counting)) for severity in Severity)
    terms = [counted(count, severity.value) for severity, count in counts if count]
    if waived := len(findings) - len(counting):
        terms.append(f"{waived} waived")
    return ", ".join(terms) or "no findings"


def finding_tree(finding: Finding) -> Tree:
    """Return a finding as JSON data."""
    id_, waiver = finding.object, finding.waiver
    tree: dict[str, Tree] = {
        "code": finding.code.value,
        "severity": finding.severity.value,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "object": None if id_ is None else id_._asdict(),
        "message": finding.message,
        "hint": finding.hint,
        "digest": finding.digest,
        "waiver": None
        if waiver is None
        else {
            "name": waiver.name,
            "reason": waiver.reason,
            "owner": waiver.owner,
            "until": waiver.until,
        },
    }
    return {**tree, "example": finding.example} if finding.example else tree
