"""The places in the file of a scalar value's characters.

An expression or a template is read from a YAML scalar, and a message about it must point into the file: past
indentation, folded line breaks, doubled quotes and escapes. Each style is one generator of the positions of the value's
characters, in the order of the value; a character from folding (a space, a newline) has the place of its line's end.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple


class Position(NamedTuple):
    """A place in a file: line and column, both from 1; columns count characters."""

    line: int
    column: int


_PROPERTY: Final = re.compile(r"[&!]\S*")
_ESCAPE: Final = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_HEADER: Final = re.compile(r"[|>](?:[+-]?(\d)?[+-]?)")
_COLLECTION_STARTS: Final = re.compile(r"\s*(?:[-?]\s+)*")


def position_in_scalar(lines: Sequence[str], start: Position, style: str | None, offset: int) -> Position:
    """Return the place of the value's character at `offset`.

    `lines` are the file's, without their ends; `start` is the scalar's start mark, an anchor or a tag before it
    included; `style` is PyYAML's: None or an empty string for plain, else one of `' " | >`. An offset behind the
    last character gives the place right behind it. A negative offset counts as 0.
    """
    begin = _skip_properties(lines, start)
    if style in ("|", ">"):
        found = _block(lines, begin, folded=style == ">")
    elif style == '"':
        found = _folded(_quoted_pieces(lines, begin, '"', _ESCAPE))
    elif style == "'":
        found = _folded(_quoted_pieces(lines, begin, "'", re.compile("''")))
    else:
        found = _folded(_plain_pieces(lines, begin))
    offset = max(offset, 0)
    upto = list(islice(found, offset + 1))
    if offset < len(upto):
        return upto[offset]
    return Position(upto[-1].line, upto[-1].column + 1) if upto else begin


def _skip_properties(lines: Sequence[str], start: Position) -> Position:
    """Return where the scalar itself begins: after its anchor and tag, which may be on an earlier line."""
    line, column = start
    while line <= len(lines):
        text = lines[line - 1]
        column += len(text[column - 1 :]) - len(text[column - 1 :].lstrip())
        match = _PROPERTY.match(text, column - 1)
        if match is not None:
            column = match.end() + 1
        elif column <= len(text) and not (text[column - 1] == "#" and line > start.line):
            return Position(line, column)
        else:
            line, column = line + 1, 1
    return start


# -- flow scalars: plain and quoted ---------------------------------------------------------------------------


class _Piece(NamedTuple):
    """One line of a flow scalar: where its characters stand, where it ends, whether the break behind it is escaped,
    and whether the scalar ends on it."""

    characters: list[Position]
    end: Position
    escaped: bool = False
    last: bool = False


def _plain_pieces(lines: Sequence[str], start: Position) -> Iterator[_Piece]:
    for line in range(start.line, len(lines) + 1):
        text = lines[line - 1].rstrip()
        first = start.column if line == start.line else _indentation(text) + 1
        found = [Position(line, column) for column in range(first, len(text) + 1)]
        yield _Piece(found, Position(line, len(text) + 1))


def _quoted_pieces(lines: Sequence[str], start: Position, quote: str, escape: re.Pattern[str]) -> Iterator[_Piece]:
    """Yield the lines of a quoted scalar. An escape counts as one character, at its beginning."""
    for line in range(start.line, len(lines) + 1):
        text = lines[line - 1]
        column = start.column if line == start.line else _indentation(text)
        found: list[Position] = []
        kept, escaped = 0, False
        while column < len(text):
            match = escape.match(text, column)
            if match is None and text[column] == quote:
                yield _Piece(found, Position(line, column + 1), last=True)
                return
            escaped = match is None and text[column] == "\\" and quote == '"'
            if not escaped:
                found.append(Position(line, column + 1))
            if match is not None or not text[column].isspace():
                kept = len(found)
            column = match.end() if match is not None else column + 1
        # White space before a break is folded away with it, unless the break is escaped.
        yield _Piece(found if escaped else found[:kept], Position(line, len(text) + 1), escaped)


def _folded(pieces: Iterator[_Piece]) -> Iterator[Position]:
    """Yield a flow scalar's characters: one break is a space, each further one a newline, an escaped one nothing."""
    previous: Position | None = None
    joined = False
    empty: list[Position] = []
    for piece in pieces:
        if previous is not None and not (piece.characters or piece.escaped or piece.last):
            empty.append(piece.end)
            continue
        if previous is not None:
            yield from empty or ([] if joined else [previous])
        yield from piece.characters
        previous, joined, empty = piece.end, piece.escaped, []


# -- block scalars: literal and folded ------------------------------------------------------------------------


def _block(lines: Sequence[str], header: Position, *, folded: bool) -> Iterator[Position]:
    """Yield the characters of a block scalar, by the rules of folding: a break is a space between two lines that
    begin at the indentation, and stays a newline beside empty and further indented lines."""
    indent = _block_indent(lines, header)
    pending: list[Position] = []
    text_before = False
    for number in range(header.line + 1, len(lines) + 1):
        line = lines[number - 1]
        if len(line) <= indent and not line.strip(" "):
            pending.append(Position(number, len(line) + 1))
            continue
        if _indentation(line, " ") < indent:
            break
        plain = line[indent] not in " \t"
        if folded and text_before and plain and len(pending) > 1:
            pending = pending[1:]
        yield from pending
        yield from (Position(number, column) for column in range(indent + 1, len(line) + 1))
        pending, text_before = [Position(number, len(line) + 1)], plain
    yield from pending


def _block_indent(lines: Sequence[str], header: Position) -> int:
    """Return the indentation of the scalar's lines: the first one's, or what the header says on top of its parent's."""
    text = lines[header.line - 1]
    match = _HEADER.match(text, header.column - 1)
    if match is not None and match[1]:
        return _parent_indent(text[: header.column - 1]) + int(match[1])
    following = (line for line in lines[header.line :] if line.strip(" "))
    return max(_indentation(next(following, ""), " "), 0)


def _parent_indent(before: str) -> int:
    """Return the indentation of the collection that holds the scalar, from what stands before it on its line."""
    match = _COLLECTION_STARTS.match(before)
    start = match.end() if match is not None else 0
    if start < len(before.rstrip()):
        return start  # a key: its mapping is indented as far
    marks = [position for position, character in enumerate(before) if character in "-?"]
    return marks[-1] if marks else 0


def _indentation(text: str, characters: str | None = None) -> int:
    return len(text) - len(text.lstrip(characters))
