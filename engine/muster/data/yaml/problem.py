"""What loading a file gives: documents, and the problems that kept others from being one.

A problem is not yet a `Finding`: it has a slug instead of a code and knows nothing of objects and severities.
The fleet layer turns one into the other.
"""

from typing import NamedTuple

from muster.data.tree import Tree
from muster.dataclass import dataclass


class DocumentIdentity(NamedTuple):
    """Which object a document seems to be, as far as it could be read; empty if it could not.

    It only serves to know which object keeps its last state while its file is broken.
    """

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One document that was read without a problem.

    `index` counts every document of the file from 0, also empty and broken ones; `line` is the 1-based line on
    which its first key stands; `body` is always a mapping; `nulls` says whether any field in it is null.
    """

    index: int
    line: int
    body: dict[str, Tree]
    nulls: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a document, or a whole file, was not read.

    `kind` is a slug from `muster.data.yaml.messages`; `line` and `column` are 1-based and count characters;
    `excerpt` is the source line with a caret below; `index` is the document's.
    """

    kind: str
    message: str
    line: int
    column: int
    hint: str = ""
    excerpt: str = ""
    index: int = 0
    identity: DocumentIdentity | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """The outcome for one file.

    `lost` names every object that the file seems to carry but that could not be read: those of the problems,
    the items of broken `List`s, and what stands where reading was given up.
    """

    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    lost: tuple[DocumentIdentity, ...] = ()
