"""Findings in the formats that forges and CI read, by the name under which commands offer them."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from muster.model.finding import Finding
from muster.output.annotations import annotations_text
from muster.output.codequality import code_quality_text
from muster.output.documents import json_text
from muster.output.findings import finding_tree
from muster.output.junit import findings_junit
from muster.output.markdown import findings_markdown
from muster.output.sarif import sarif_text


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
