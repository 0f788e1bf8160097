"""How an error that Karmada's schema and webhooks give is held to the finding that muster has in its place.

Findings have words of their own. So a case's error is compared by its field, which the finding must name, by its type,
which goes with the finding's code, and by its text: one of `_TEXTS`, whose quoted parts the finding must repeat. A type
or text that stands in no table here is not passed over: the case is skipped, and the reason names it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from muster.data.codes import Severity
from muster.data.finding import Finding
from tests.conformance.reading import Doubt

Json = Any

#: Kubernetes' types of field errors, as cases spell them, and the codes of the findings that say so.
_CODES: Mapping[str, tuple[str, ...]] = {
    "required": ("MUS204", "MUS206"),
    "duplicate": ("MUS223", "MUS239"),
    "forbidden": ("MUS224",),
    "unsupported": ("MUS203",),
    "notSupported": ("MUS203",),
    "not supported": ("MUS203",),
    "enum": ("MUS203",),
    "invalid": ("MUS202", "MUS203", "MUS205", "MUS206", "MUS207"),
    "type": ("MUS202",),
    "typeInvalid": ("MUS202",),
    "tooFew": ("MUS206",),
    "minItems": ("MUS206",),
}
#: Upstream's texts: the code of our finding, and what of the text the finding repeats.
_TEXTS: tuple[tuple[str, str, str], ...] = (
    (r"Duplicate taint with the same key\((.*)\) and effect\((.*)\) is not allowed", "MUS223", "{0}:{1}"),
    (
        (
            r"Configuring taint with (NoExecute) effect is not allowed, this capability must be explicitly enabled by "
            r"administrators through command-line flags"
        ),
        "MUS224",
        "{0}",
    ),
    (r"Required value", "MUS204", ""),
    (r'Unsupported value: "(.*?)"(?:: supported values: .*)?', "MUS203", "'{0}'"),
    (r"(?:Invalid value: .*: )?(\S+) in body must be of type \w+.*", "MUS202", "{0}"),
    (r"(?:Invalid value: .*: )?(\S+) in body should have at least 1 items?", "MUS206", "{0}"),
)
_FIELDS = frozenset({"field", "type", "message"})


def error_mismatches(
    expected: Json, findings: Iterable[Finding], *, admission: bool = True
) -> Iterator[tuple[Json, Json]]:
    """What differs between a case's `error` (null, one or a list) and the errors among the findings.

    Without `admission`, a case is about a controller, which upstream's tests also hand what no API server would let
    through: no error of the controller is then none either where muster's schemas (2xx) refuse the object.
    """
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if not expected:
        errors = [finding for finding in errors if admission or not finding.code.startswith("MUS2")]
        if errors:
            yield "no error", [f"{found.code} {found.message}" for found in errors]
        return
    wanted = expected if isinstance(expected, list) else [expected]
    for error in wanted:
        entry = error if isinstance(error, dict) else {"message": str(error)}
        if stray := entry.keys() - _FIELDS:
            yield error, f"nothing here knows how to compare {sorted(stray)}"
        elif not errors:
            yield error, "no error"
        elif problem := _unknown(entry):
            yield error, Doubt(problem)
        elif not any(_says(finding, entry) for finding in errors):
            yield error, [f"{found.code} {found.message}" for found in errors]
    if len(errors) > len(wanted):
        yield expected, [f"{found.code} {found.message}" for found in errors]


def _unknown(error: Mapping[str, Json]) -> str:
    if "type" in error and error["type"] not in _CODES:
        return f"no finding is known to be of the type {error['type']!r}"
    if "message" in error and _text(error["message"]) is None:
        return f"no finding is known to say {error['message']!r}"
    return ""


def _text(message: str) -> tuple[str, str] | None:
    """The code of the finding that says as much, and what it has to repeat."""
    for pattern, code, repeated in _TEXTS:
        if found := re.fullmatch(pattern, message):
            return code, repeated.format(*found.groups())
    return None


def _says(finding: Finding, error: Mapping[str, Json]) -> bool:
    if "field" in error and not re.search(rf"(^|\s){re.escape(error['field'])}($|[\s:;,])", finding.message):
        return False
    if "type" in error and finding.code not in _CODES[error["type"]]:
        return False
    if "message" not in error:
        return True
    code, repeated = _text(error["message"]) or ("", "")
    return finding.code == code and repeated in finding.message
