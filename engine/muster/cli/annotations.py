"""Findings as GitHub's workflow commands, which annotate lines of a pull request.

GitHub shows ten of a sort for each step, and those without a line on the job alone.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from muster.data.finding import Finding, Severity
from muster.data.printable import printable

_COMMANDS: Final[Mapping[Severity, str]] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
)


def annotations_text(findings: Sequence[Finding]) -> str:
    """Return one line for each finding, the worst first: only ten of a sort are shown."""
    shown = (found for found in findings if not found.silenced)
    return "".join(f"{_annotation(found)}\n" for found in sorted(shown, key=lambda found: found.severity.rank))


def _annotation(found: Finding) -> str:
    place = {"file": found.file, "line": found.line, "col": found.column}
    named = {**{name: str(value) for name, value in place.items() if value}, "title": found.code}
    properties = ",".join(f"{name}={_data(value, ':,')}" for name, value in named.items())
    lines = [found.message, *found.example.splitlines(), *([f"hint: {found.hint}"] if found.hint else [])]
    if found.waiver is not None:
        lines.append(str(found.waiver))
    severity = Severity.NOTE if found.waiver is not None else found.severity
    return f"::{_COMMANDS[severity]} {properties}::{'%0A'.join(map(_data, lines))}"


def _data(text: str, further: str = "") -> str:
    """Escape what would end the command, or begin another property."""
    return "".join(f"%{ord(char):02X}" if char in f"%{further}" else char for char in printable(text))
