"""Findings: what is wrong, where, and what to do. Data, collected with its siblings, never raised."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from muster.data.codes import Code, Severity
from muster.data.ids import ObjectId
from muster.data.source import Place


@dataclass(frozen=True, slots=True)
class Waiver:
    """What the Waiver of a name says: findings of a code, about an object or a file, told from others by `digests`;
    why, who answers for it, and the first day (`2026-03-01`, UTC) on which they count again."""

    name: str
    code: str
    about: str
    digests: tuple[str, ...]
    reason: str
    owner: str
    until: str

    def __str__(self) -> str:
        """Return `waived until 2026-03-01 by sre@example.com: the vendor mends it`."""
        return f"waived until {self.until} by {self.owner}: {self.reason}"


#: Where a message names a line of a file.
_LINE: Final = re.compile(r"(?<=[\w.]):\d+(?::\d+)?")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    `line` and `column` are 1-based, 0 where unknown. `excerpt` is the offending source line with a caret below, where
    that helps; `example` an object, in YAML, for which what is said can be seen. `waiver` is who answers for it when it
    is told (`muster.rules.checks.waivers`); as it is found, only what is said of waivers has one. `policy` is the
    admission policy that refuses the object.
    """

    code: Code
    severity: Severity
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    object: ObjectId | None = None
    hint: str = ""
    excerpt: str = ""
    example: str = ""
    waiver: Waiver | None = None
    policy: ObjectId | None = None

    @property
    def place(self) -> Place:
        """The position as one value."""
        return Place(self.file, self.line, self.column)

    @property
    def about(self) -> str:
        """What it is about: an object, or a file where that is not known."""
        return str(self.object) if self.object else self.file

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What stays the same of a finding while files change around it: lines move with what stands above them."""
        return self.code, self.severity.value, self.about, _LINE.sub("", self.message)

    @property
    def fingerprint(self) -> str:
        """What tells findings apart, and stays while files change around them."""
        return hashlib.sha256("\0".join(self.identity).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def digest(self) -> str:
        """The beginning of that, as people's files name it."""
        return self.fingerprint[:16]

    @property
    def fails(self) -> bool:
        """Whether a check that tells of it fails: it is an error, and nobody answers for it."""
        return self.severity is Severity.ERROR and self.waiver is None

    @property
    def silenced(self) -> bool:
        """Whether a waiver keeps people from being told of it: not where it costs its object its change."""
        return self.waiver is not None and self.severity is not Severity.ERROR

    def sort_key(self) -> tuple[str, int, int, int, str, str]:
        """By file, then position, then severity: the order in which all formats print them."""
        return (self.file, self.line, self.column, self.severity.rank, self.code, self.message)
