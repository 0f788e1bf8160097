"""Findings: what is wrong, where, and what to do. Data, collected with its siblings, never raised."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from muster.model.ids import ObjectId
from muster.model.source import Place

#: Where a message names a line of a file.
_LINE: Final = re.compile(r"(?<=[\w.]):\d+(?::\d+)?")


class Severity(Enum):
    """How bad. Errors keep an object from being decided and make commands exit with 1; the others do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst: the order in which findings of one place are shown."""
        return ("error", "warning", "note").index(self.value)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    `code` is `MUS` and three digits, unique for ever and explained in docs/errors.md. `line` and `column` are
    1-based, 0 where unknown. `excerpt` is the offending source line with a caret below, where that helps; `example` an
    object, in YAML, for which what is said can be seen.
    """

    code: str
    severity: Severity
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    object: ObjectId | None = None
    hint: str = ""
    excerpt: str = ""
    example: str = ""

    @property
    def place(self) -> Place:
        """The position as one value."""
        return Place(self.file, self.line, self.column)

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What stays the same of a finding while files change around it: lines move with what stands above them."""
        return (
            self.code, self.severity.value, str(self.object) if self.object else self.file, _LINE.sub("", self.message),
        )  # fmt: skip

    def sort_key(self) -> tuple[str, int, int, int, str, str]:
        """By file, then position, then severity: the order in which all formats print them."""
        return (self.file, self.line, self.column, self.severity.rank, self.code, self.message)
