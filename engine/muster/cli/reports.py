"""Findings in the formats of forges and CI systems, by the names that commands offer.

JUnit's XML is `testsuites`, `testsuite`, `testcase`, shown beside other tests: an error fails, other findings are its
output, and a waived one is skipped. A report without findings has one case that passed, because CI systems take an
empty report for a missing one.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from muster.cli.documents import json_text
from muster.cli.markdown import findings_markdown
from muster.cli.outcome import finding_text, finding_tree
from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.data.printable import printable
from muster.data.source import Place
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.version import __version__


@dataclass(frozen=True, slots=True)
class Case:
    """One JUnit test case: `failure` is why it failed, empty if it passed; `skipped` why it does not count; `output`
    more text."""

    group: str
    name: str
    place: Place
    failure: str = ""
    output: str = ""
    skipped: str = ""


def findings_junit(findings: Sequence[Finding]) -> str:
    """Return a report with one case for each finding."""
    cases = []
    for finding in findings:
        text, bad = finding_text(finding), finding.fails
        name, skipped = f"{finding.code} {finding.object or finding.place}", str(finding.waiver or "")
        cases.append(
            Case(finding.file or "fleet", name, finding.place, text if bad else "", "" if bad else text, skipped)
        )
    return junit_text("muster", cases or [Case("fleet", "no findings", Place(""))])


def junit_text(suite: str, cases: Sequence[Case]) -> str:
    """Return a report with one suite."""
    failed, skipped = sum(bool(case.failure) for case in cases), sum(bool(case.skipped) for case in cases)
    counts = f'tests="{len(cases)}" failures="{failed}" errors="0" skipped="{skipped}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites {counts}>",
        f"<testsuite name={quoteattr(suite)} {counts}>",
    ]
    for case in cases:
        place = f" file={_attribute(case.place.file)}" if case.place.file else ""
        place += f' line="{case.place.line}"' if case.place.line else ""
        lines.append(f"<testcase classname={_attribute(case.group)} name={_attribute(case.name)}{place}>")
        if case.skipped:
            lines.append(f"<skipped message={_attribute(case.skipped)}/>")
        if case.failure:
            first = case.failure.split("\n", 1)[0]
            lines.append(f"<failure message={_attribute(first)}>{_text(case.failure)}</failure>")
        if case.output:
            lines.append(f"<system-out>{_text(case.output)}</system-out>")
        lines.append("</testcase>")
    return "\n".join([*lines, "</testsuite>", "</testsuites>"]) + "\n"


def _attribute(text: str) -> str:
    return quoteattr(printable(text))


def _text(text: str) -> str:
    return escape("\n".join(map(printable, text.split("\n"))))


_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
#: What SARIF reads as a link, 3.11.6, or as a placeholder, 3.11.5, and how it is escaped.
_SPECIAL: Final = {"\\": "\\\\", "[": "\\[", "]": "\\]", **{f"{{{digit}": f"{{{{{digit}" for digit in range(10)}}


def sarif_text(findings: Sequence[Finding]) -> str:
    """Return one run with a result for each finding, and their rules."""
    codes = sorted({finding.code for finding in findings})
    driver = {"name": "muster", "version": __version__, "rules": [_rule(code) for code in codes]}
    results = [_result(finding, codes.index(finding.code)) for finding in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(code: Code) -> Tree:
    return {
        "id": code.value,
        "shortDescription": {"text": _plain(code.heading)},
        "fullDescription": {"text": _plain(code.explanation)},
        "defaultConfiguration": {"level": code.severity.value},
    }


def _result(finding: Finding, rule: int) -> Tree:
    text = "\n".join(part for part in (finding.message, finding.example, finding.hint) if part)
    result: dict[str, Tree] = {
        "ruleId": finding.code.value,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": _plain(text)},
        "partialFingerprints": {"muster/v1": finding.fingerprint},
    }
    if finding.waiver is not None:
        # The waiver is in a file beside the code, not in it: 3.35.2.
        suppression = {"kind": "external", "status": "accepted", "justification": _plain(str(finding.waiver))}
        result["suppressions"] = [suppression]
    location: dict[str, Tree] = {}
    if finding.file:
        location["physicalLocation"] = {"artifactLocation": {"uri": quote(finding.file, errors="surrogatepass")}}
        if finding.line:
            region = {"startLine": finding.line} | ({"startColumn": finding.column} if finding.column else {})
            location["physicalLocation"]["region"] = region
    if finding.object:
        location["logicalLocations"] = [{"fullyQualifiedName": printable(str(finding.object))}]
    return {**result, "locations": [location]} if location else result


def _plain(text: str) -> str:
    lines = "\n".join(map(printable, text.split("\n")))
    for special, escaped in _SPECIAL.items():
        lines = lines.replace(special, escaped)
    return lines


_SEVERITIES: Final[Mapping[Severity, str]] = MappingProxyType(
    {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.NOTE: "info"}
)
#: Each issue needs a file: issues of the fleet as a whole are in its settings.
_FLEET: Final = "fleet.yaml"


def code_quality_text(findings: Sequence[Finding]) -> str:
    """Return one issue for each finding that is not waived."""
    return json_text(list(_issues(findings)))


def _issues(findings: Sequence[Finding]) -> Iterator[Tree]:
    fingerprints: Counter[str] = Counter()
    for finding in findings:
        if finding.waiver is not None:
            continue  # the format cannot mark an issue as waived
        fingerprint = finding.fingerprint
        fingerprints[fingerprint] += 1
        yield {
            "description": printable(f"{finding.code}: {finding.message}"),
            "check_name": finding.code.value,
            "fingerprint": hashlib.sha256(f"{fingerprint} {fingerprints[fingerprint]}".encode()).hexdigest(),
            "severity": _SEVERITIES[finding.severity],
            "location": {"path": printable(finding.file or _FLEET), "lines": {"begin": finding.line or 1}},
        }


_COMMANDS: Final[Mapping[Severity, str]] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
)


def annotations_text(findings: Sequence[Finding]) -> str:
    """Return one line for each finding, the worst first, because only ten of each severity are shown."""
    shown = (finding for finding in findings if not finding.silenced)
    return "".join(f"{_annotation(finding)}\n" for finding in sorted(shown, key=lambda finding: finding.severity.rank))


def _annotation(finding: Finding) -> str:
    place = {"file": finding.file, "line": finding.line, "col": finding.column}
    named = {**{name: str(value) for name, value in place.items() if value}, "title": finding.code}
    properties = ",".join(f"{name}={_data(value, ':,')}" for name, value in named.items())
    lines = [finding.message, *finding.example.splitlines(), *([f"hint: {finding.hint}"] if finding.hint else [])]
    if finding.waiver is not None:
        lines.append(str(finding.waiver))
    severity = Severity.NOTE if finding.waiver is not None else finding.severity
    return f"::{_COMMANDS[severity]} {properties}::{'%0A'.join(map(_data, lines))}"


def _data(text: str, further: str = "") -> str:
    """Escape characters that would end the command, or start another property."""
    return "".join(f"%{ord(char):02X}" if char in f"%{further}" else char for char in printable(text))


REPORTS: Final[Mapping[str, Callable[[Sequence[Finding]], str]]] = MappingProxyType(
    {
        "json": lambda findings: json_text([finding_tree(finding) for finding in findings]),
        "sarif": sarif_text,
        "junit": findings_junit,
        "github": annotations_text,
        "gitlab": code_quality_text,
        "markdown": lambda findings: f"{findings_markdown(findings)}\n",
    }
)
