"""`muster diff`: what a reconcile would write, as a diff of files."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.exits import FAULT, FINDINGS, FINE, USAGE
from muster.cli.outcome import report
from muster.cli.progress import working
from muster.cli.reading import settle_reading
from muster.cli.table import PLAIN, has_colours, paint
from muster.data.printable import printable

if TYPE_CHECKING:
    from muster.data.snapshot import Snapshot
    from muster.run.run import Settled
    from muster.run.workers import Workers

#: In which colour a line is, by how it begins.
_COLOURS = (("+++", 1), ("---", 1), ("@@", 36), ("+", 32), ("-", 31))


def diff_lines(before: Mapping[str, str], after: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the lines of a diff, in colour on a terminal. `after` has every file that differs; None: it would go."""
    coloured = has_colours()
    for path, text in sorted(after.items()):
        old = before.get(path)
        names = (f"a/{path}" if old is not None else "/dev/null", f"b/{path}" if text is not None else "/dev/null")
        for line in unified_diff(_lines(old), _lines(text), *names, lineterm=""):
            shown = printable(line)
            colour = next((colour for sign, colour in _COLOURS if line.startswith(sign)), PLAIN)
            yield paint(shown, colour) if coloured else shown


def _lines(text: str | None) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


@click.command()
@options.source_options
@options.state_option
@options.workers_option
def command(source: options.Source, state: Path | None, workers: "Workers") -> int:
    """Show what a reconcile of a revision, or of the work tree, would write below derived/, as a unified diff; commit
    nothing. muster plan tells the same in the fleet's terms.

    Exits as kubectl diff does: with 0 where nothing differs, 1 where anything does, and more where the fleet has errors
    or it could not be told.
    """
    from muster.rules.checks.waivers import shown

    with working("evaluating the fleet"):
        reading = replace(source.reading(), state=state)
        settled = settle_reading(reading, reading.instant(source.now).now, workers)
    reading.require_heard(settled.first)
    sys.stdout.writelines(f"{line}\n" for line in diff_lines(_before(reading.snapshot, settled), settled.files))
    code = report(shown(settled.findings, settled.last.now))
    if code:
        return FAULT if code == FAULT else USAGE
    return FINDINGS if settled.files else FINE


def _before(snapshot: "Snapshot", settled: "Settled") -> dict[str, str]:
    """The files that differ, as they are."""
    if not settled.files:
        return {}
    with snapshot:
        return {
            file.path: file.read().decode(errors="replace")
            for file in snapshot.files() if not file.ref and file.path in settled.files
        }  # fmt: skip
