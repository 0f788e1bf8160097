"""What a reconcile would write, as a patch for `git apply`.

A patch must say exactly what the files say, and what is printed must not command a terminal or the machine that shows
a log (`muster.data.printable`). Where the text of a file's change cannot be both, because a line has such characters,
is not UTF-8 or does not end, or the file is empty, it is printed as git's binary patch, which is plain letters.
"""

import zlib
from base64 import b85encode
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Final

from muster.cli.table import PLAIN, has_colours, paint
from muster.data.printable import printable
from muster.git.store.objects import SHA1, object_id

#: The colour of a line, by its start.
_COLOURS: Final = (("+++", 1), ("---", 1), ("@@", 36), ("+", 32), ("-", 31))
#: How many bytes a line of a binary patch holds.
_LINE_BYTES: Final = 52


def patch_lines(
    before: Mapping[str, bytes], after: Mapping[str, str | None], object_format: str = SHA1
) -> Iterator[str]:
    """Yield the lines of a patch, in colour on a terminal. `before`: the present content of the files; `after`: the
    files that differ, None to be removed. `object_format`: of the repository that the patch is for."""
    coloured = has_colours()
    for path, text in sorted(after.items()):
        old, new = before.get(path), None if text is None else text.encode()
        lines = _text_patch(path, old, new)
        if lines is None:
            yield from _binary_patch(path, old, new, object_format)
            continue
        for line in lines:
            colour = next((colour for sign, colour in _COLOURS if line.startswith(sign)), PLAIN)
            yield paint(line, colour) if coloured else line


def _text_patch(path: str, old: bytes | None, new: bytes | None) -> list[str] | None:
    """The lines of a unified diff; None if they cannot be printed as they are."""
    if any(content is not None and not content.endswith(b"\n") for content in (old, new)):
        return None
    names = (f"a/{path}" if old is not None else "/dev/null", f"b/{path}" if new is not None else "/dev/null")
    try:
        lines = list(unified_diff(_split(old), _split(new), *names, lineterm=""))
    except UnicodeDecodeError:
        return None
    return lines if all(printable(line) == line for line in lines) else None


def _split(content: bytes | None) -> list[str]:
    return content.decode().removesuffix("\n").split("\n") if content else []


def _binary_patch(path: str, old: bytes | None, new: bytes | None, object_format: str) -> Iterator[str]:
    """The lines of a binary patch. Source: git's `diff.c` (`emit_binary_diff_body`)."""
    yield f"diff --git {_name('a', path)} {_name('b', path)}"
    if old is None or new is None:
        yield f"{'new' if old is None else 'deleted'} file mode 100644"
    ids = (_object_id(content, object_format) for content in (old, new))
    yield f"index {'..'.join(ids)}{'' if old is None or new is None else ' 100644'}"
    yield "GIT binary patch"
    for content in (new or b"", old or b""):  # how to apply it, and how to take it back
        packed = zlib.compress(content)
        yield f"literal {len(content)}"
        for start in range(0, len(packed), _LINE_BYTES):
            piece = packed[start : start + _LINE_BYTES]
            length = chr(ord("A") + len(piece) - 1) if len(piece) <= 26 else chr(ord("a") + len(piece) - 27)
            yield f"{length}{b85encode(piece, pad=True).decode()}"
        yield ""


def _name(side: str, path: str) -> str:
    """A path as git quotes it."""
    name = f"{side}/{path}"
    if name.isascii() and name.isprintable() and not {'"', "\\"} & set(name):
        return name
    return '"' + "".join(f"\\{byte:03o}" for byte in name.encode(errors="surrogateescape")) + '"'


def _object_id(content: bytes | None, object_format: str) -> str:
    """The id of a blob; zeros for none."""
    id_ = object_id("blob", content or b"", object_format)
    return id_ if content is not None else "0" * len(id_)
