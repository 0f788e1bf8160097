"""From a file's bytes to bytes that libyaml may see: UTF-8, printable, and one notion of a line.

libyaml would check all of this itself, but says neither which byte nor on which line. And it counts U+0085,
U+2028 and U+2029 as line ends as YAML 1.1 does, where editors, git and YAML 1.2 do not: they are refused, so that
a line number means the same to everyone.
"""

from collections.abc import Iterator
from typing import NamedTuple

from muster.data.yaml import messages
from muster.regex import Regex

BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")

_HARMLESS = bytes([0x09, 0x0A, *range(0x20, 0x7F)])
#: A line that begins a document: nothing else in YAML may hold `---` at a line's start, not even a quoted text.
_BOUNDARY = b"---"
_BEHIND_BOUNDARY = frozenset((b" ", b"\t", b"\r", b"\n", b""))
#: What no text may hold. The first match begins with it.
_FORBIDDEN = Regex(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|\r(?:[^\n]|$)"
)


class Fault(NamedTuple):
    """A problem's text with its place: 1-based line and column, in characters."""

    text: messages.ProblemText
    line: int
    column: int


class Chunk(NamedTuple):
    """A run of whole lines of a file; `line` is the number of lines before it."""

    data: bytes
    line: int = 0


def is_json(label: str) -> bool:
    """Tell from a file's name whether it must be JSON."""
    return label.endswith(".json")


def without_bom(data: bytes) -> bytes:
    """Return the data after a UTF-8 byte order mark, which editors on Windows leave."""
    return data.removeprefix(BOM)


def split(data: bytes) -> Iterator[Chunk]:
    """Yield the file in pieces of which each but the first begins with a `---` line.

    Purely lexical, hence possible for broken files. The first is absent where the file begins with `---`.
    """
    start = line = 0
    boundary = data.find(b"\n" + _BOUNDARY) + 1
    while boundary:
        behind = boundary + len(_BOUNDARY)
        if data[behind : behind + 1] in _BEHIND_BOUNDARY:
            yield Chunk(data[start:boundary], line)
            line += data.count(b"\n", start, boundary)
            start = boundary
        boundary = data.find(b"\n" + _BOUNDARY, boundary) + 1
    yield Chunk(data[start:], line)


def check(data: bytes) -> Fault | None:
    """Return the first byte or character that keeps `data` from being text, or None. Lines count from 1."""
    if data.isascii():
        if not data.translate(None, _HARMLESS):
            return None
        text = data.decode("ascii")
    else:
        if data.startswith(_UTF16):
            return Fault(messages.utf16(), 1, 1)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            before = data[: error.start].decode("utf-8")
            return Fault(messages.not_utf8(data[error.start]), *_place(before))
    if text.replace("\n", "").replace("\t", "").isprintable() or (match := _FORBIDDEN.search(text)) is None:
        return None
    first = match[0][0]
    if first == "\x00" and text.count("\x00") * 3 > len(text):
        return Fault(messages.utf16(), 1, 1)
    return Fault(messages.control_character(first), *_place(text[: match.start()]))


def _place(before: str) -> tuple[int, int]:
    """Return the 1-based line and column of the character that follows `before`."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")
