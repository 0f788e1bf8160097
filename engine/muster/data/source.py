"""Where data comes from: files of a snapshot, and the parts of objects in them."""

from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from muster.data.ids import ObjectId
from muster.data.tree import Tree
from muster.dataclass import dataclass


class LostFileError(Exception):
    """The content of an existing file is lost. It is not deleted, so nothing can be decided from such a snapshot."""


class Layer(Enum):
    """Who wrote a part. Input parts are merged with conflict checks; derived parts override them."""

    BUILTIN = "builtin"  # the bundle that ships with muster; a fleet's own object of the same name replaces it
    INPUT = "input"  # people and agents
    DERIVED = "derived"  # muster, in an earlier run


class Place(NamedTuple):
    """A position in a file: 1-based line and column; 0 if only the file is known."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        numbers = "".join(f":{number}" for number in (self.line, self.column) if number)
        return f"{self.file}{numbers}"


class SourceFile(NamedTuple):
    """One file of a snapshot.

    `path` is relative to the repository's root with `/` between its parts; `oid` is an id of the content: git's blob id
    in the repository's own object format (sha1 or sha256), or another digest without git, so files with one id are
    equal, but files with different ids need not differ; `ref` names the agent ref that it comes from, empty for the
    evaluated revision itself; `read` returns its bytes. It raises LostFileError if the repository has lost a file of
    the revision, and OSError if an agent's file or one on disk cannot be read.
    """

    path: str
    oid: str
    read: Callable[[], bytes]
    ref: str = ""

    @property
    def label(self) -> str:
        """How messages name the file: the path, after the agent ref if it comes from one."""
        return f"{self.ref}:{self.path}" if self.ref else self.path


@lru_cache(maxsize=4)
def content_of(source: SourceFile) -> bytes:
    """Return a file's content, read once for all findings about it: they come file by file, and may be thousands.
    Raises as `read` does."""
    return source.read()


@dataclass(frozen=True, slots=True)
class Part:
    """One YAML document with (a part of) one object.

    `index` is the document's position in its file; `item` its position in a `List`, else None; `line` is the
    1-based line on which it begins.
    """

    id: ObjectId
    version: str
    body: Tree
    layer: Layer
    source: SourceFile
    index: int = 0
    item: int | None = None
    line: int = 1

    @property
    def place(self) -> Place:
        """Where it begins."""
        return Place(self.source.label, self.line, 1)
