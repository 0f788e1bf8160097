"""Results in JUnit's XML, as CI systems show them beside other tests: `testsuites`, `testsuite`, `testcase`.

What is an error fails; what is not says so in its output; what a waiver speaks of is skipped. Where there is nothing to
tell, one case has passed: a report without any counts as one that is missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from muster.cli.findings import finding_text
from muster.data.finding import Finding
from muster.data.printable import printable
from muster.data.source import Place


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that was looked at: `failure` is why it failed, empty where it passed, `skipped` why that does not
    count, and `said` what else to tell."""

    group: str
    name: str
    place: Place
    failure: str = ""
    said: str = ""
    skipped: str = ""


def findings_junit(findings: Sequence[Finding]) -> str:
    """Return one case for each finding."""
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
        if case.said:
            lines.append(f"<system-out>{_text(case.said)}</system-out>")
        lines.append("</testcase>")
    return "\n".join([*lines, "</testsuite>", "</testsuites>"]) + "\n"


def _attribute(text: str) -> str:
    return quoteattr(printable(text))


def _text(text: str) -> str:
    return escape("\n".join(map(printable, text.split("\n"))))
