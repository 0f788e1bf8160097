"""Messages about files under derived/."""

from typing import TYPE_CHECKING, Final

from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.data.findings import finding, path_text
from muster.data.ids import ObjectId
from muster.data.snapshot import Skipped
from muster.data.source import Part, Place, SourceFile
from muster.data.tree import At
from muster.data.yaml.problem import Document, Problem
from muster.fleet.messages import SKIPPED_TEXTS

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


def skipped_derived(skip: Skipped) -> Finding:
    """A path under derived/ that was not read."""
    message = SKIPPED_TEXTS.get(skip.reason, ("the path was skipped ({detail})", ""))[0]
    text = message.format(detail=skip.detail or skip.reason)
    return finding(
        Code.DERIVED_DAMAGED,
        f"the derived file cannot be read and will be rewritten: {text}",
        Place(skip.path),
        hint="nothing under derived/ is written by hand",
    )


def damaged_derived(source: SourceFile, problem: Problem) -> Finding:
    """A file under derived/ that does not parse."""
    message = f"the derived file is damaged and will be rewritten: {problem.message}"
    hint = "restore it with git checkout if the times of earlier transitions in it matter"
    return finding(Code.DERIVED_DAMAGED, message, Place(source.label, problem.line, problem.column), hint=hint)


def not_derived(source: SourceFile, document: Document, reason: str) -> Finding:
    """A document under derived/ that is no derived part, or is in the wrong file."""
    message = f"this does not count and will be removed: {reason}"
    hint = "nothing under derived/ is written by hand; objects of yours belong anywhere else"
    return finding(Code.NOT_A_DERIVED_PART, message, Place(source.label, document.line, 1), hint=hint)


def unknown_derived_field(source: SourceFile, document: Document, id_: ObjectId, violation: str) -> Finding:
    """A field in a derived part that muster does not derive."""
    message = f"the derived part of {id_} is not as muster wrote it, so it is decided again: {violation}"
    hint = "nothing under derived/ is written by hand; git checkout brings back what muster wrote"
    return finding(Code.STRANGE_DERIVED_FIELD, message, Place(source.label, document.line, 1), hint=hint)


def violation_text(error: "ValidationError", path: At) -> str:
    """What is wrong at a place of a derived part, without its value."""
    field = path_text(path) or "the document"
    if error.validator == "additionalProperties":
        return f"{field} is not a known field"
    return f"{field} {_VIOLATED.get(str(error.validator), 'is not valid')}"


_VIOLATED: Final = {
    "enum": "has a value that is not allowed",
    "type": "has the wrong type",
    "required": "lacks a field",
}


def unwritable(id_: ObjectId, parts: tuple[Part, ...], reason: str) -> Finding:
    """An object whose derived part could not be read again. Only a warning if agents sent all of it."""
    return finding(
        Code.DERIVED_TOO_LARGE,
        f"what is derived of {id_} would not be readable, so it keeps its last derived state: {reason}",
        parts[0].place if parts else Place(""),
        hint="make the object smaller: its derived part must fit into one file",
        object_=id_,
        severity=Severity.WARNING if parts and all(part.source.ref for part in parts) else None,
    )
