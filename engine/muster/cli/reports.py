"""Findings in the formats that forges and CI read, by the name under which commands offer them."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from muster.cli.annotations import annotations_text
from muster.cli.codequality import code_quality_text
from muster.cli.documents import json_text
from muster.cli.findings import finding_tree
from muster.cli.junit import findings_junit
from muster.cli.markdown import findings_markdown
from muster.cli.sarif import sarif_text
from muster.data.finding import Finding


def _json(findings: Sequence[Finding]) -> str:
    return json_text([finding_tree(found) for found in findings])


REPORTS: Final[Mapping[str, Callable[[Sequence[Finding]], str]]] = MappingProxyType({
    "json": _json,
    "sarif": sarif_text,
    "junit": findings_junit,
    "github": annotations_text,
    "gitlab": code_quality_text,
    "markdown": lambda findings: f"{findings_markdown(findings)}\n",
})  # fmt: skip
