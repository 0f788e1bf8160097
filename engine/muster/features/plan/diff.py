"""Files as they are and as they would be: a unified diff, which `git apply` and `patch -p1` take."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff

from muster.cli.table import PLAIN, has_colours, paint
from muster.data.printable import printable

#: In which colour a line is, by how it begins.
_COLOURS = (("+++", 1), ("---", 1), ("@@", 36), ("+", 32), ("-", 31))


def diff_lines(before: Mapping[str, str], after: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the lines of a diff, in colour on a terminal. `after` has every file that differs; None: it would go."""
    coloured = has_colours()
    for path, text in sorted(after.items()):
        old = before.get(path)
        names = (f"a/{path}" if old is not None else "/dev/null", f"b/{path}" if text is not None else "/dev/null")
        for line in unified_diff(_lines(old), _lines(text), *names, lineterm=""):
            shown = printable(line)
            colour = next((colour for sign, colour in _COLOURS if line.startswith(sign)), PLAIN)
            yield paint(shown, colour) if coloured else shown


def _lines(text: str | None) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
