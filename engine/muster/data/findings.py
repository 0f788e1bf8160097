"""Making findings of registered codes, and the names of fields in messages."""

from collections.abc import Sequence

from muster.data.codes import Code, Severity
from muster.data.decision import Path
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.printable import without_secrets
from muster.data.source import Part, Place


def finding(
    code: Code,
    message: str,
    place: Place = Place(""),  # noqa: B008 - an immutable value
    *,
    hint: str = "",
    object_: ObjectId | None = None,
    excerpt: str = "",
    severity: Severity | None = None,
    example: str = "",
) -> Finding:
    """Return a finding of a registered code, with the code's severity unless another is given.

    Users and passwords in URLs are removed from its texts.
    """
    shown, excerpt = without_secrets(message), without_secrets(excerpt)
    return Finding(
        code,
        severity or code.severity,
        shown,
        place.file,
        place.line,
        place.column,
        object_,
        hint,
        excerpt,
        without_secrets(example),
    )


def finding_of(part: Part, code: Code, message: str, hint: str = "") -> Finding:
    """Return a finding about a document, at its beginning."""
    return finding(code, message, part.place, hint=hint, object_=part.id)


def path_text(path: Path | Sequence[str | int | tuple[str, ...]]) -> str:
    """Return `spec.taints[dedicated,NoSelect].value`: how messages name a field."""
    text = ""
    for step in path:
        if isinstance(step, tuple):
            text += f"[{','.join(step)}]"
        elif isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
