"""The places in the file of a scalar value's characters.

An expression or a template is read from a YAML scalar, and a message about it must point into the file: past
indentation, folded line breaks, doubled quotes and escapes. Each style is one generator of the positions of the value's
characters, in the order of the value; a character from folding (a space, a newline) has the place of its line's end.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple


class Position(NamedTuple):
    """A place in a file: line and column, both from 1; columns count characters."""

    line: int
    column: int


#: How many hexadecimal digits follow `\\x`, `\\u` and `\\U`.
_HEX_DIGITS: Final = {"x": 2, "u": 4, "U": 8}


def position_in_scalar(lines: Sequence[str], start: Position, style: str | None, offset: int) -> Position:
    """Return the place of the value's character at `offset`.

    `lines` are the file's, without their ends; `start` is the scalar's start mark, an anchor or a tag before it
    included; `style` is PyYAML's: None or an empty string for plain, else one of `' " | >`. An offset behind the
    last character gives the place right behind it. A negative offset counts as 0.
    """
    begin = _skip_properties(lines, start)
    if style in ("|", ">"):
        positions = _block(lines, begin, folded=style == ">")
    elif style == '"':
        positions = _folded(_quoted_pieces(lines, begin, '"', _after_escape))
    elif style == "'":
        positions = _folded(_quoted_pieces(lines, begin, "'", _after_doubled))
    else:
        positions = _folded(_plain_pieces(lines, begin))
    offset = max(offset, 0)
    upto = list(islice(positions, offset + 1))
    if offset < len(upto):
        return upto[offset]
    return Position(upto[-1].line, upto[-1].column + 1) if upto else begin


def _skip_properties(lines: Sequence[str], start: Position) -> Position:
    """Return where the scalar itself begins: after its anchor and tag, which may be on an earlier line."""
    line, column = start
    while line <= len(lines):
        text = lines[line - 1]
        column += len(text[column - 1 :]) - len(text[column - 1 :].lstrip())
        if text[column - 1 : column] in ("&", "!"):
            column += len(text[column - 1 :].split(maxsplit=1)[0])
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
        positions = [Position(line, column) for column in range(first, len(text) + 1)]
        yield _Piece(positions, Position(line, len(text) + 1))


def _quoted_pieces(
    lines: Sequence[str], start: Position, quote: str, after: Callable[[str, int], int]
) -> Iterator[_Piece]:
    """Yield the lines of a quoted scalar. An escape counts as one character, at its beginning; `after` returns where
    one ends, or where it was asked if none begins there."""
    for line in range(start.line, len(lines) + 1):
        text = lines[line - 1]
        column = start.column if line == start.line else _indentation(text)
        positions: list[Position] = []
        length, escaped = 0, False
        while column < len(text):
            end = after(text, column)
            if end == column and text[column] == quote:
                yield _Piece(positions, Position(line, column + 1), last=True)
                return
            escaped = end == column and text[column] == "\\" and quote == '"'
            if not escaped:
                positions.append(Position(line, column + 1))
            if end > column or not text[column].isspace():
                length = len(positions)
            column = max(end, column + 1)
        # White space before a break is folded away with it, unless the break is escaped.
        yield _Piece(positions if escaped else positions[:length], Position(line, len(text) + 1), escaped)


def _after_escape(text: str, at: int) -> int:
    """Return where an escape in double quotes ends."""
    if text[at] != "\\" or at + 1 == len(text):
        return at
    number = text[at + 2 : at + 2 + _HEX_DIGITS.get(text[at + 1], 0)]
    return at + 2 + (len(number) if len(number) == _HEX_DIGITS.get(text[at + 1]) and _is_hex(number) else 0)


def _is_hex(text: str) -> bool:
    return not text.strip("0123456789abcdefABCDEF")


def _after_doubled(text: str, at: int) -> int:
    """Return where a doubled single quote ends."""
    return at + 2 if text.startswith("''", at) else at


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
    indicators = text[header.column - 1 : header.column + 2]
    explicit = indicators[1:].lstrip("+-")[:1]
    if indicators[:1] in ("|", ">") and explicit.isdecimal():
        return _parent_indent(text[: header.column - 1]) + int(explicit)
    following = (line for line in lines[header.line :] if line.strip(" "))
    return max(_indentation(next(following, ""), " "), 0)


def _parent_indent(before: str) -> int:
    """Return the indentation of the collection that holds the scalar, from what stands before it on its line."""
    start = _indentation(before)
    while before[start : start + 1] in ("-", "?") and before[start + 1 : start + 2].isspace():
        start += 1
        while before[start : start + 1].isspace():
            start += 1
    if start < len(before.rstrip()):
        return start  # a key: its mapping is indented as far
    marks = [position for position, character in enumerate(before) if character in "-?"]
    return marks[-1] if marks else 0


def _indentation(text: str, characters: str | None = None) -> int:
    return len(text) - len(text.lstrip(characters))
