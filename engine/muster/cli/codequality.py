"""Findings as GitLab's code quality report, which merge requests show beside the lines that they are about.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from muster.cli.documents import json_text
from muster.data.finding import Finding, Severity
from muster.data.printable import printable
from muster.data.tree import Tree

_SEVERITIES: Final[Mapping[Severity, str]] = MappingProxyType(
    {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.NOTE: "info"}
)
#: Each issue has to be of some file: what is about the fleet as a whole is of its settings.
_FLEET: Final = "fleet.yaml"


def code_quality_text(findings: Sequence[Finding]) -> str:
    """Return one issue for each finding that nobody has waived."""
    return json_text(list(_issues(findings)))


def _issues(findings: Sequence[Finding]) -> Iterator[Tree]:
    seen: Counter[str] = Counter()
    for found in findings:
        if found.waiver is not None:
            continue  # nothing says so in this format, and what is in it counts
        same = found.fingerprint
        seen[same] += 1
        yield {
            "description": printable(f"{found.code}: {found.message}"),
            "check_name": found.code,
            "fingerprint": hashlib.sha256(f"{same} {seen[same]}".encode()).hexdigest(),
            "severity": _SEVERITIES[found.severity],
            "location": {"path": printable(found.file or _FLEET), "lines": {"begin": found.line or 1}},
        }
