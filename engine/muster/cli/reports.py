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
    for found in findings:
        text, bad = finding_text(found), found.fails
        name, skipped = f"{found.code} {found.object or found.place}", str(found.waiver or "")
        cases.append(Case(found.file or "fleet", name, found.place, text if bad else "", "" if bad else text, skipped))
    return junit_text("muster", cases or [Case("fleet", "no findings", Place(""))])


def junit_text(suite: str, cases: Sequence[Case]) -> str:
    """Return a report with one suite."""
    failed, skipped = sum(bool(case.failure) for case in cases), sum(bool(case.skipped) for case in cases)
    counts = f'tests="{len(cases)}" failures="{failed}" errors="0" skipped="{skipped}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {counts}>",
             f"<testsuite name={quoteattr(suite)} {counts}>"]  # fmt: skip
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
    codes = sorted({found.code for found in findings})
    driver = {"name": "muster", "version": __version__, "rules": [_rule(code) for code in codes]}
    results = [_result(found, codes.index(found.code)) for found in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(code: Code) -> Tree:
    return {
        "id": code.value,
        "shortDescription": {"text": _plain(code.heading)},
        "fullDescription": {"text": _plain(code.explanation)},
        "defaultConfiguration": {"level": code.severity.value},
    }


def _result(found: Finding, rule: int) -> Tree:
    text = "\n".join(part for part in (found.message, found.example, found.hint) if part)
    result: dict[str, Tree] = {
        "ruleId": found.code.value,
        "ruleIndex": rule,
        "level": found.severity.value,
        "message": {"text": _plain(text)},
        "partialFingerprints": {"muster/v1": found.fingerprint},
    }
    if found.waiver is not None:
        # The waiver is in a file beside the code, not in it: 3.35.2.
        suppression = {"kind": "external", "status": "accepted", "justification": _plain(str(found.waiver))}
        result["suppressions"] = [suppression]
    location: dict[str, Tree] = {}
    if found.file:
        location["physicalLocation"] = {"artifactLocation": {"uri": quote(found.file, errors="surrogatepass")}}
        if found.line:
            region = {"startLine": found.line} | ({"startColumn": found.column} if found.column else {})
            location["physicalLocation"]["region"] = region
    if found.object:
        location["logicalLocations"] = [{"fullyQualifiedName": printable(str(found.object))}]
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
    seen: Counter[str] = Counter()
    for found in findings:
        if found.waiver is not None:
            continue  # the format cannot mark an issue as waived
        same = found.fingerprint
        seen[same] += 1
        yield {
            "description": printable(f"{found.code}: {found.message}"),
            "check_name": found.code.value,
            "fingerprint": hashlib.sha256(f"{same} {seen[same]}".encode()).hexdigest(),
            "severity": _SEVERITIES[found.severity],
            "location": {"path": printable(found.file or _FLEET), "lines": {"begin": found.line or 1}},
        }


_COMMANDS: Final[Mapping[Severity, str]] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
)


def annotations_text(findings: Sequence[Finding]) -> str:
    """Return one line for each finding, the worst first, because only ten of each severity are shown."""
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
    """Escape characters that would end the command, or start another property."""
    return "".join(f"%{ord(char):02X}" if char in f"%{further}" else char for char in printable(text))


REPORTS: Final[Mapping[str, Callable[[Sequence[Finding]], str]]] = MappingProxyType({
    "json": lambda findings: json_text([finding_tree(found) for found in findings]),
    "sarif": sarif_text,
    "junit": findings_junit,
    "github": annotations_text,
    "gitlab": code_quality_text,
    "markdown": lambda findings: f"{findings_markdown(findings)}\n",
})  # fmt: skip
