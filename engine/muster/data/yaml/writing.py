"""The text of a file that muster or an agent writes: one that whoever reads the repository can read back.

What is written may repeat what others sent, at any size and depth. So what is deep stands on one line, and in a large
file all that is nested at all: the text is then about as long as what it repeats. What is still beyond what is read of
one file is not written.
"""

from typing import Final

from muster.data.tree import Tree
from muster.data.yaml import limits
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents

_BLOCK_DEPTH: Final = 12  # levels that are indented; the status of an object of a live hub has fewer
_LARGE: Final = 1 << 16  # characters beyond which only the first levels are indented: a report's own fields
_LARGE_BLOCK_DEPTH: Final = 4


class UnwritableError(ValueError):
    """A tree of which no readable file could be made; the text says why."""


def file_text(tree: Tree, *, header: str = "") -> str:
    """Return the text of a file with one document, after `header` as comment lines.

    UnwritableError where it would be beyond what is read of one file: its size, its depth, the number of its values.
    """
    try:
        text = emit(tree, header=header, block_depth=_BLOCK_DEPTH)
        if len(text) > _LARGE:
            text = emit(tree, header=header, block_depth=_LARGE_BLOCK_DEPTH)
    except ValueError as error:
        raise UnwritableError(str(error)) from error
    if len(text) > _LARGE:
        _check_readable(text.encode())
    return text


def _check_readable(data: bytes) -> None:
    if len(data) > limits.FILE:
        raise UnwritableError(f"it has {len(data)} bytes, more than {limits.FILE}")
    for problem in load_documents(data, "").problems:
        raise UnwritableError(problem.message)
