"""Tables as `kubectl get` prints them: columns aligned by spaces, one line for each row.

In a pipe, or if everything is asked for, all columns are printed. On a terminal no line is wider than the terminal:
headings become short, then columns are left out, the least important first, and cells are cut; colours show statuses.
"""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from muster.data.printable import printable
from muster.dataclass import dataclass

#: The longest comfortable line, on terminals of any width.
_WIDEST = 100


def paragraph(text: str, first: str = "", others: str = "") -> list[str]:
    """Return a text as lines, wrapped on a terminal; `first` and `others` are put before the first and the other
    lines."""
    return wrapped(text, first, others) if sys.stdout.isatty() else [first + text]


def wrapped(text: str, first: str = "", others: str = "") -> list[str]:
    """Return a text as lines that are no wider than the terminal."""
    return textwrap.wrap(
        text,
        line_width(),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def line_width() -> int:
    """Return the width of running text."""
    return min(terminal_width(), _WIDEST)


_GAP: Final = 3
_NARROW_GAP: Final = 2
#: No column is cut to less than this.
_LEAST: Final = 8
#: Colours by word, for cells that hold a condition's status or the like.
COLOURS: Final = {"True": 32, "False": 31, "Unknown": 33}
PLAIN: Final = 0
BOLD: Final = 1
FAINT: Final = 2


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column, and its `short` form for narrow terminals.

    `rank`: how dispensable the column is. Columns of the highest rank are left out first, those of rank 0 never.
    """

    text: str
    short: str = ""
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table that fits: the numbers of its columns, their headings and their widths."""

    columns: Sequence[int]
    headings: Sequence[str]
    widths: Sequence[int]
    gap: int = _GAP

    @property
    def width(self) -> int:
        """The width of the longest line."""
        return sum(self.widths) + self.gap * (len(self.widths) - 1)

    def line(self, row: Sequence[str], colours: Sequence[int] = ()) -> str:
        """Return one row, without trailing spaces."""
        cells = [_cut(row[number], width) for number, width in zip(self.columns, self.widths, strict=True)]
        padded = [cell.ljust(width) for cell, width in zip(cells, self.widths, strict=True)]
        padded[-1] = cells[-1]
        if colours:
            padded = [paint(cell, colours[number]) for cell, number in zip(padded, self.columns, strict=True)]
            return (" " * self.gap).join(padded)
        return (" " * self.gap).join(padded).rstrip()


def table_text(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with all its columns."""
    cells = _cells(rows)
    return "\n".join(map(_uncut([Heading(title) for title in titles], cells).line, (titles, *cells)))


def print_table(
    titles: Sequence[Heading | str], rows: Iterable[Sequence[str]], *, wide: bool = False, headers: bool = True
) -> None:
    """Print a table on standard output: all of it if that is not a terminal, or with `wide`. Without `headers`, only
    its rows."""
    shown = titles if headers else _without_texts(titles)
    lines, left_out = _lines(shown, _cells(rows), None if wide else terminal_width())
    sys.stdout.writelines(f"{line}\n" for line in lines[not headers :])
    if left_out and headers:
        hint = f"(-o wide has {', '.join(left_out)}, too)"
        sys.stdout.write(paint(hint, FAINT if has_colours() else PLAIN) + "\n")


class GrowingTable:
    """A table whose rows arrive one after the other. The first rows determine columns and widths; widths grow if
    standard output is not a terminal, or with `wide`."""

    def __init__(self, titles: Sequence[Heading | str], *, wide: bool = False, headers: bool = True) -> None:
        self._headers = headers
        self.headings = [title if isinstance(title, Heading) else Heading(title) for title in titles]
        self._cuts = sys.stdout.isatty() and not wide
        self._layout: Fitted | None = None

    def print(self, rows: Iterable[Sequence[str]]) -> None:
        """Print rows, and before the first of them the headings."""
        cells = _cells(rows)
        coloured = has_colours()
        if self._layout is None:
            headings = self.headings if self._headers else _without_texts(self.headings)
            self._layout = fitted(headings, cells, terminal_width()) if self._cuts else _uncut(headings, cells)
            shown = dict(zip(self._layout.columns, self._layout.headings, strict=True))
            first = [shown.get(number, "") for number in range(len(headings))]
            if self._headers:
                sys.stdout.write(self._layout.line(first, [BOLD] * len(first) if coloured else ()) + "\n")
        elif not self._cuts:
            wider = _uncut(self.headings if self._headers else _without_texts(self.headings), cells).widths
            self._layout = replace(
                self._layout, widths=[max(pair) for pair in zip(self._layout.widths, wider, strict=True)]
            )
        for row in cells:
            sys.stdout.write(self._layout.line(row, [_colour(cell) for cell in row] if coloured else ()) + "\n")


def _without_texts(titles: Sequence[Heading | str]) -> list[Heading]:
    """The columns for a table without headings, which need no room for them."""
    return [Heading("", rank=title.rank if isinstance(title, Heading) else 0) for title in titles]


def table_lines(titles: Sequence[Heading | str], rows: Iterable[Sequence[str]], indent: str = "") -> list[str]:
    """Return the lines of an indented table for standard output."""
    return [indent + line for line in _lines(titles, _cells(rows), terminal_width() - len(indent))[0]]


def _lines(
    titles: Sequence[Heading | str], cells: Sequence[Sequence[str]], width: int | None
) -> tuple[list[str], list[str]]:
    """The lines, at most `width` wide on a terminal, and the headings of the columns left out."""
    headings = [title if isinstance(title, Heading) else Heading(title) for title in titles]
    layout = fitted(headings, cells, width) if sys.stdout.isatty() and width is not None else _uncut(headings, cells)
    shown = dict(zip(layout.columns, layout.headings, strict=True))
    coloured = has_colours()
    first = [shown.get(number, "") for number in range(len(headings))]
    lines = [layout.line(first, [BOLD] * len(headings) if coloured else ())]
    lines += [layout.line(row, [_colour(cell) for cell in row] if coloured else ()) for row in cells]
    return lines, [heading.text for number, heading in enumerate(headings) if number not in shown]


def fitted(headings: Sequence[Heading], rows: Sequence[Sequence[str]], width: int) -> Fitted:
    """Return the table that fits into `width` characters."""
    layout = _uncut(headings, rows)
    if layout.width <= width:
        return layout
    columns = list(range(len(headings)))
    while True:
        titles = [headings[number].short or headings[number].text for number in columns]
        widths = [
            max(len(title), *(len(row[number]) for row in rows), 0)
            for number, title in zip(columns, titles, strict=True)
        ]
        layout = Fitted(columns, titles, widths, _NARROW_GAP)
        dropped = max(columns, key=lambda number: (headings[number].rank, number))
        if layout.width <= width:
            return layout
        if not headings[dropped].rank:
            return _squeezed(layout, width)
        columns = [number for number in columns if number != dropped]


def terminal_width() -> int:
    """Return the width of the terminal."""
    return max(20, shutil.get_terminal_size((80, 24)).columns)


def has_colours() -> bool:
    """Is standard output a terminal that shows colours, and are they not disabled (https://no-color.org)?"""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: int) -> str:
    """Return a text in an ANSI colour, or bold; unchanged for 0."""
    return f"\x1b[{colour}m{text}\x1b[0m" if colour and text.strip() else text


def _cells(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    return [[printable(cell) for cell in row] for row in rows]


def _uncut(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> Fitted:
    titles = [heading.text for heading in headings]
    widths = [max(len(title), *(len(row[number]) for row in rows), 0) for number, title in enumerate(titles)]
    return Fitted(range(len(headings)), titles, widths)


def _squeezed(layout: Fitted, width: int) -> Fitted:
    """Cut the widest columns until all columns fit, or none can be cut further."""
    widths = list(layout.widths)
    over = layout.width - width
    while over > 0 and max(widths) > _LEAST:
        widest = widths.index(max(widths))
        widths[widest] -= 1
        over -= 1
    return Fitted(layout.columns, layout.headings, widths, layout.gap)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _colour(cell: str) -> int:
    return COLOURS.get(cell.partition(" ")[0], PLAIN)
