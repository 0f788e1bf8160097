"""Findings as text: place, severity, code and what is wrong on one line; source, caret and hint below."""

from collections.abc import Iterable, Sequence

from muster.data.codes import Severity
from muster.data.finding import Finding
from muster.data.printable import printable
from muster.data.tree import Tree


def finding_text(found: Finding) -> str:
    """Return `file:line:column: error MUS101: message` and, indented, the excerpt, the example and the hint."""
    head = f"{found.place}: " if found.file else ""
    lines = [f"{printable(head)}{found.severity.value} {found.code}: {printable(found.message)}"]
    lines.extend(f"    {line}" for line in found.excerpt.splitlines())
    lines.extend(f"    {printable(line)}" for line in found.example.splitlines())
    if found.hint:
        lines.append(f"    hint: {printable(found.hint)}")
    if found.waiver is not None:
        lines.append(f"    {printable(str(found.waiver))}")
    return "\n".join(lines)


def findings_text(findings: Iterable[Finding]) -> str:
    """Return all findings, one after the other, but those that waivers silence."""
    return "\n".join(finding_text(found) for found in findings if not found.silenced)


def tally(findings: Sequence[Finding]) -> str:
    """Return `2 errors, 1 warning, 3 waived`, or `no findings`."""
    counting = [found for found in findings if found.waiver is None]
    counts = ((severity, sum(found.severity is severity for found in counting)) for severity in Severity)
    terms = [f"{count} {severity.value}{'' if count == 1 else 's'}" for severity, count in counts if count]
    if waived := len(findings) - len(counting):
        terms.append(f"{waived} waived")
    return ", ".join(terms) or "no findings"


def finding_tree(found: Finding) -> Tree:
    """Return a finding as JSON data."""
    id_, waiver = found.object, found.waiver
    tree: dict[str, Tree] = {
        "code": found.code.value,
        "severity": found.severity.value,
        "file": found.file,
        "line": found.line,
        "column": found.column,
        "object": None if id_ is None else id_._asdict(),
        "message": found.message,
        "hint": found.hint,
        "digest": found.digest,
        "waiver": None if waiver is None else {
            "name": waiver.name, "reason": waiver.reason, "owner": waiver.owner, "until": waiver.until,
        },
    }  # fmt: skip
    return {**tree, "example": found.example} if found.example else tree
