"""Sentences as lines: wrapped on a terminal, else each on one line, which tools can search."""

import sys
import textwrap

from muster.cli.table import terminal_width

#: Lines no longer than that are read with ease, however wide the terminal is.
_WIDEST = 100


def told(text: str, first: str = "", others: str = "") -> list[str]:
    """Return a text as lines; what stands before the first of them, and before the others."""
    return wrapped(text, first, others) if sys.stdout.isatty() else [first + text]


def wrapped(text: str, first: str = "", others: str = "") -> list[str]:
    """Return a text as lines that are no wider than the terminal."""
    return textwrap.wrap(
        text, line_width(), initial_indent=first, subsequent_indent=others, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def line_width() -> int:
    """How wide lines of words are."""
    return min(terminal_width(), _WIDEST)
