"""Hostile text that grows: what takes text of others takes time in proportion to its length.

Each reader gets families of texts: a beginning, an awkward piece many times, and an end that often spoils what the
pieces seem to be. A reader fails where eight times the text takes more than `STEEPEST` times the processor time, in all
of three measurements: a linear one takes eight times as long, a quadratic one 64 times. What takes less than a floor is
fast enough, and never measured twice. A timer of processor time ends what would take hours.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple, NoReturn

STEEPEST = 24
_LIMIT_SECONDS = 20.0
_TIMES, _ATTEMPTS = 8, 3

PIECES = (
    " ",
    "\t",
    "\n",
    "\r\n",
    "a",
    "ab",
    "a ",
    "A",
    "0",
    "9",
    "1.",
    "-",
    "- ",
    "--",
    "_",
    ".",
    "..",
    "a.",
    ",",
    "a,",
    ";",
    ":",
    "::",
    "a:",
    "a: ",
    ": ",
    "a: b\n",
    "a:\n ",
    "'",
    "''",
    '"',
    '""',
    "\\",
    "\\\\",
    "\\u0041",
    "\\ud83d",
    "/",
    "//",
    "://",
    "://a:",
    "a@",
    "@a",
    "*",
    "*a",
    "**",
    "?",
    "? ",
    "[",
    "[[",
    "]",
    "[a",
    "[a, ",
    "{",
    "{{",
    "}",
    "{a: ",
    "{a}",
    "(",
    ")",
    "(a",
    "<",
    "<<<",
    ">",
    "<b>",
    "|",
    "| ",
    "&a ",
    "!a ",
    "#",
    "##",
    "##a",
    "# a\n",
    "%",
    "%s",
    "%1$",
    "=",
    "a=b,",
    "!=",
    "==",
    "!",
    "~",
    "`",
    "$",
    "${{",
    "^",
    "+",
    "&&",
    "||",
    "e9",
    "1h",
    "1Ki",
    "0x",
    "\x00",
    "\x01",
    "\x1b[",
    "\x7f",
    "\u0301",
    "\u00e9",
    "\u2028",
    "\u202e",
    "\U0001f600",
    "\ud800",
    "\ufeff",
    "---\n",
    "\n\n",
    "Muster-Now: x\n",
    "kind: A\n",
    "kind: ManagedCluster\n---\n",
    "name: a\n",
    "tree ",
    "agents/",
    "a in (b),",
    "skip ",
    "[skip",
    "GH-",
    "Mon 09:00-17:00;",
    "2026-01-01,",
    "1+",
    "a.b.",
    "(1)",
    "[1],",
    "a[0]",
    "x.y(",
    "null",
    "true,",
    '"a":',
    '{"a":',
)
_WORST = (" ", "\n", "a: ", "a:", ":", "*a", "://a:", "a:\n ")
_SHARE = 8
_ENDS = (("", ""), ("a", "\x01"), ("", "!"), ('"', ""), ("", "\n"), ("a: ", "x"), ("[", "]"), (" ", " a"))


class Family(NamedTuple):
    """Texts of any length: a piece, repeated, between a beginning and an end."""

    begin: str
    piece: str
    end: str

    def text(self, length: int) -> str:
        """Return the text of about that many characters."""
        return self.begin + self.piece * (length // len(self.piece)) + self.end


def families() -> Iterator[Family]:
    """Yield the families: each piece with every beginning and end."""
    yield from (Family(begin, piece, end) for piece in PIECES for begin, end in _ENDS)


def some_families(number: int) -> Iterator[Family]:
    """Yield some of the families, for the gate: other ones for each number of a reader, and always those of pieces that
    made readers slow once."""
    for index, piece in enumerate(PIECES):
        if piece in _WORST or index % _SHARE == number % _SHARE:
            begin, end = _ENDS[(index + number) % len(_ENDS)]
            yield Family(begin, piece, end)


class TooLongError(BaseException):
    """The limit of processor time was reached; a BaseException, so that no boundary for faults catches it."""


def grows_too_fast(read: Callable[[str], object], family: Family, length: int, floor_seconds: float) -> str:
    """Return what was measured if a reader takes more than linear time; empty if it does not."""
    try:
        for _ in range(_ATTEMPTS):
            long = _seconds(read, family.text(length))
            if long < floor_seconds:
                return ""
            short = _seconds(read, family.text(length // _TIMES))
            if long <= STEEPEST * short:
                return ""
    except TooLongError:
        return f"{family}: more than {_LIMIT_SECONDS} s for {length} characters"
    return f"{family}: {short:.3f} s for {length // _TIMES} characters, {long:.3f} s for {length}"


def _seconds(read: Callable[[str], object], text: str) -> float:
    with _limited():
        start = time.process_time()
        read(text)
        return time.process_time() - start


@contextmanager
def _limited() -> Iterator[None]:
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TooLongError
