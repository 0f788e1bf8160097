"""Findings as SARIF 2.1.0, which GitHub's code scanning, editors and others read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/
"""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from muster.cli.documents import json_text
from muster.data.codes import CODES
from muster.data.finding import Finding
from muster.data.printable import printable
from muster.data.tree import Tree
from muster.version import __version__

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
#: What SARIF would take for a link, 3.11.6, or for a placeholder, 3.11.5.
_MEANS: Final = re.compile(r"[\\\[\]]|\{(?=\d)")


def sarif_text(findings: Sequence[Finding]) -> str:
    """Return one run with a result for each finding, and the rules behind them."""
    codes = sorted({found.code for found in findings})
    driver = {"name": "muster", "version": __version__, "rules": [_rule(code) for code in codes]}
    results = [_result(found, codes.index(found.code)) for found in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(name: str) -> Tree:
    code = CODES[name]
    return {
        "id": name,
        "shortDescription": {"text": _plain(code.title)},
        "fullDescription": {"text": _plain(code.explanation)},
        "defaultConfiguration": {"level": code.severity.value},
    }


def _result(found: Finding, rule: int) -> Tree:
    text = "\n".join(part for part in (found.message, found.example, found.hint) if part)
    result: dict[str, Tree] = {
        "ruleId": found.code,
        "ruleIndex": rule,
        "level": found.severity.value,
        "message": {"text": _plain(text)},
        "partialFingerprints": {"muster/v1": found.fingerprint},
    }
    if found.waiver is not None:
        # In a file beside the code, not in it: 3.35.2.
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
    return _MEANS.sub(lambda found: "{{" if found[0] == "{" else f"\\{found[0]}", lines)
