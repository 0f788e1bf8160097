"""Findings: what is wrong, where, and what to do. They are collected, never raised."""

import hashlib
from itertools import pairwise
from typing import Final

from muster.data.codes import Code, Severity
from muster.data.ids import ObjectId
from muster.data.source import Place
from muster.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Waiver:
    """The content of a Waiver by its name: the findings of a code about an object or a file, identified by `digests`;
    the reason, the owner, and the first day (`2026-03-01`, UTC) on which they count again."""

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


_DIGITS: Final = "0123456789"


def _without_lines(text: str) -> str:
    """Return a text without the numbers of lines and columns behind files: without `:` and digits after a letter, a
    digit, `_` or `.`."""
    parts = text.split(":")
    without_lines = [parts[0]]
    for before, part in pairwise(parts):
        rest = part.lstrip(_DIGITS)
        behind_name = before[-1:].isalnum() or before[-1:] in ("_", ".")
        without_lines.append(rest if behind_name and rest != part else f":{part}")
    return "".join(without_lines)


#: Of a message or a hint: much more than people read.
MOST_CHARACTERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    `line` and `column` are 1-based, 0 if unknown. `excerpt` is the source line with a caret below; `example` an object
    in YAML that shows the problem. `waiver` silences it and is added when findings are shown
    (`muster.rules.checks.waivers`); before that, only findings about waivers have one. `policy` is the admission policy
    that rejects the object.
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

    def __post_init__(self) -> None:
        """Cut a message or hint that repeats a huge text of a file."""
        for name in ("message", "hint"):
            if len(text := getattr(self, name)) > MOST_CHARACTERS:
                object.__setattr__(self, name, f"{text[:MOST_CHARACTERS]}…")

    @property
    def place(self) -> Place:
        """The position as one value."""
        return Place(self.file, self.line, self.column)

    @property
    def about(self) -> str:
        """The object, or the file if no object is known."""
        return str(self.object) if self.object else self.file

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What identifies a finding while files change: without line numbers, which move."""
        return self.code, self.severity.value, self.about, _without_lines(self.message)

    @property
    def fingerprint(self) -> str:
        """A digest of the identity."""
        return hashlib.sha256("\0".join(self.identity).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def digest(self) -> str:
        """The beginning of the fingerprint, as Waivers have it."""
        return self.fingerprint[:16]

    @property
    def fails(self) -> bool:
        """Does it make a check fail? Only an error without a waiver does."""
        return self.severity is Severity.ERROR and self.waiver is None

    @property
    def silenced(self) -> bool:
        """Does a waiver hide it? Errors are always shown, because their object does not change."""
        return self.waiver is not None and self.severity is not Severity.ERROR

    def sort_key(self) -> tuple[str, int, int, int, str, str]:
        """By file, then position, then severity: the order in which all formats print them."""
        return (self.file, self.line, self.column, self.severity.rank, self.code, self.message)
