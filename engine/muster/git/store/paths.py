"""Which paths of a snapshot are read: by suffix, by `.musterignore`, by what a path may contain.

Names that some file system takes for `.git` are neither read nor written, as `git fsck` finds them (hasDotgit; path.c
and utf8.c of git). A checkout of such a name on HFS+ or NTFS writes into the repository's own folder, and a server with
`receive.fsckObjects` refuses every push that contains one.
"""

import re
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from muster.data.locations import FOLDER, SUFFIX_SLIPS, SUFFIXES, is_projected
from muster.data.printable import has_control
from muster.data.yaml import limits

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

#: Code points that HFS+ ignores in names.
_IGNORED: Final = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
#: NTFS ignores dots and spaces at the end, has the short name `git~1`, begins a stream with `:`, and separates with
#: `\`.
_NTFS: Final = frozenset((b".git", b"git~1"))


def is_dotgit(name: bytes) -> bool:
    """Does the name of a file or folder mean `.git` on some file system?"""
    lowered = name.lower()
    if b"git" in lowered and any(step.partition(b":")[0].rstrip(b". ") in _NTFS for step in lowered.split(b"\\")):
        return True
    if name.isascii():
        return False
    try:
        return name.decode().translate(_IGNORED).lower() == ".git"
    except UnicodeDecodeError:
        return False


IGNORE_FILE: Final = ".musterignore"
MAX_BLOB_BYTES: Final = limits.FILE
MAX_IGNORE_BYTES: Final = 1 << 16


def is_data(path: bytes) -> bool:
    """Does the name say that the file may contain objects, or was meant to, or that a Projection wrote it?"""
    if path.startswith(_FOLDER_BYTES):
        return path.endswith(_SUFFIX_BYTES) or is_projected(path.decode(errors="replace"))
    return path.endswith((*_SUFFIX_BYTES, *_SLIP_BYTES))


def decode(path: bytes) -> tuple[str, str]:
    """Return the path as text and, if it cannot be used, the reason; the text is then escaped for display."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return path.decode(errors="backslashreplace").translate(_ESCAPES), "not-utf8-path"
    if has_control(text):
        return text.translate(_ESCAPES), "control-characters"
    # Every such name has other letters than those of ASCII, or "git" in it: few paths need the closer look.
    if (not path.isascii() or b"git" in path.lower()) and any(map(is_dotgit, path.split(b"/"))):
        return text, "dotgit"
    return text, ""


def printable(text: bytes) -> str:
    """Return `text` (a link's target, a ref's name) with control characters escaped."""
    return text.decode(errors="backslashreplace").translate(_ESCAPES)


class Ignored:
    """The paths that a `.musterignore` names, in the syntax of `.gitignore`. Patterns run in linear time (RE2).

    `faults` names the lines that are no patterns; the others count all the same.
    """

    def __init__(self, content: bytes = b"") -> None:
        self.faults: tuple[str, ...] = ()
        self._spec: GitIgnoreSpec | None = None
        if content.strip():
            self._compile(content.decode(errors="backslashreplace").splitlines())

    def __contains__(self, path: str) -> bool:
        # Derived files are always read: a run that does not see its own output never comes to rest.
        return not path.startswith(FOLDER) and self._spec is not None and self._spec.match_file(path)

    def _compile(self, lines: list[str]) -> None:
        bad = {number for number, line in enumerate(lines, 1) if _spec((line,)) is None}
        self._spec = _spec([line for number, line in enumerate(lines, 1) if number not in bad])
        faults = [f"line {number} is not a pattern" for number in sorted(bad)]
        self.faults = tuple(faults if self._spec is not None else [*faults, "its patterns are too large together"])


def _spec(lines: Iterable[str]) -> "GitIgnoreSpec | None":
    import re2
    from pathspec import GitIgnoreSpec

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of `re`, which only checks the pattern's form
        try:
            return GitIgnoreSpec.from_lines(lines, backend="re2")
        except (ValueError, re.error, re2.error):
            return None


_SUFFIX_BYTES = tuple(suffix.encode() for suffix in SUFFIXES)
_SLIP_BYTES = tuple(suffix.encode() for suffix in SUFFIX_SLIPS)
_FOLDER_BYTES = FOLDER.encode()
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))} | {
    0x0A: "\\n",
    0x0D: "\\r",
    0x09: "\\t",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}
