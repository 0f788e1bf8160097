"""Strict loading: what a file says in JSON's terms, or exactly why it does not.

Built on libyaml's events, because its composer recurses in C and a hostile file crashes the process there
(200,000 open brackets), and because strictness costs nothing here: no resolver tables, no timestamps, no
merging. The subset is what every reader of fleet files agrees on. `muster.data.yaml.builder` says what plain scalars
mean; anchors, aliases, tags, directives, merge keys and duplicate keys are refused.

A file is read in one pass. Only where something is broken for good (syntax, depth, a byte that is no text) it
is split at its `---` lines, and each document read on its own: one broken document never hides another.

For a broken document, the objects that it probably held are identified: first from the tree as far as it could be
built, then, for what is missing, from a forgiving scan of the lines. This is used only to keep the last state of an
object whose file is broken, so a guess too many does no harm and one too few would drop that state.
"""

from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from typing import NamedTuple

import yaml

from muster.data.tree import Tree, dig
from muster.data.yaml import jsontext, limits, messages, source
from muster.data.yaml.builder import AbandonError, Builder, TooManyNodesError
from muster.data.yaml.problem import Document, DocumentIdentity, Loaded, Problem
from muster.data.yaml.source import Chunk, Fault
from muster.regex import Regex

_SOUGHT = frozenset(("apiVersion", "kind", "metadata", "name", "namespace"))
_FLOW_FIELD = Regex(r"""\b(name|namespace)["']?[ \t]*:[ \t]*["']?([^\s"',{}]+)""")
_QUOTES = ('"', "'")
_BEHIND_WORD = frozenset("\"'#,{}[]")
_TEXT_LIMIT = 256 * 1024  # characters scanned of one document


class _KeyLine(NamedTuple):
    """A line with one of the keys sought; `dash` where it begins an item of a list."""

    indent: int
    dash: bool
    key: str
    rest: str


def identities(tree: Tree, text: str) -> tuple[DocumentIdentity, ...]:
    """Return the objects of a broken document, its own first, from its partly built tree and its source text."""
    built, scanned = list(_of_tree(tree)), list(_of_text(text[:_TEXT_LIMIT]))
    first_of_each = [_complete(candidates[:1]) for candidates in (built, scanned)]
    first = DocumentIdentity(*(value or guess for value, guess in zip(*first_of_each, strict=True)))
    return tuple(identity for identity in dict.fromkeys([first, *built[1:], *scanned[1:]]) if identity.kind)


def _complete(candidates: list[DocumentIdentity]) -> DocumentIdentity:
    return candidates[0] if candidates else DocumentIdentity()


def _of_tree(tree: Tree) -> Iterator[DocumentIdentity]:
    """Yield the identity of an object and of the items, where it is a list of objects."""
    if not isinstance(tree, dict):
        return
    paths = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))
    yield DocumentIdentity(*(value if isinstance(value := dig(tree, *path), str) else "" for path in paths))
    items = tree.get("items")
    if isinstance(items, list) and str(tree.get("kind")).endswith("List"):
        for item in items:
            yield from _of_tree(item)


def _of_text(text: str) -> Iterator[DocumentIdentity]:
    """Yield what the lines say: the outermost object and, where it is a list, the items one level below."""
    lines = [line for text_line in text.split("\n") if (line := _key_line(text_line)) is not None]
    indents = sorted({line.indent for line in lines if line.key in ("apiVersion", "kind")})
    if not indents:
        return
    outermost = next(_objects_at(indents[0], lines))
    yield outermost
    if outermost.kind.endswith("List") and len(indents) > 1:
        yield from _objects_at(indents[1], lines)


def _key_line(line: str) -> _KeyLine | None:
    """Return a line with one of the keys sought; None for any other. The dashes of a list's items count as
    indentation."""
    before, colon, rest = line.partition(":")
    written = before.rstrip(" \t").lstrip("{- \t")
    key = written[written[:1] in _QUOTES : len(written) - (written[-1:] in _QUOTES)]
    if not colon or key not in _SOUGHT:
        return None
    indent = before[: before.index(written)]
    dashes = indent.lstrip("{ \t")
    if dashes and ("--" in dashes or dashes.strip("- ") or dashes[-1] != " "):
        return None
    return _KeyLine(len(indent), dashes != "", key, rest.partition("\r")[0])


def _objects_at(indent: int, lines: Iterable[_KeyLine]) -> Iterator[DocumentIdentity]:
    """Yield the objects whose top-level keys are indented by `indent`. One ends where a list's next item begins."""
    texts: dict[str, str] = {}
    inside = False  # its metadata
    for line in lines:
        if line.indent < indent:
            inside = False
        elif line.indent > indent:
            if inside:
                texts.setdefault(f".{line.key}", _scalar(line.rest))
        else:
            if line.dash and texts:
                yield _identity(texts)
                texts = {}
            inside = line.key == "metadata"
            texts.setdefault(line.key, _scalar(line.rest))
            if inside:
                texts |= {f".{match[1]}": match[2] for match in _FLOW_FIELD.finditer(line.rest)}
    yield _identity(texts)


def _scalar(rest: str) -> str:
    """Return the word after a colon, without its quotes."""
    text = rest.lstrip(" \t")
    text = text[text[:1] in _QUOTES :]
    return "".join(takewhile(lambda character: character not in _BEHIND_WORD and not character.isspace(), text))


def _identity(texts: dict[str, str]) -> DocumentIdentity:
    return DocumentIdentity(*(texts.get(key, "") for key in ("apiVersion", "kind", ".namespace", ".name")))


#: The mark of the context is the better place for these: the end of a file says nothing about a lost quote.
_AT_CONTEXT = {
    ("while scanning a quoted scalar", "found unexpected end of stream"),
    ("while scanning a quoted scalar", "found unexpected document indicator"),
    ("while scanning a simple key", "could not find expected ':'"),
}
#: libyaml reads ahead: from 0.2.6 on it refuses what is nested 1,000 levels deep before our own limit is asked.
_TOO_DEEP = "exceeded maximum nesting depth"
_BEGINS = ("while parsing a flow mapping", "while parsing a flow sequence", "while parsing a block mapping")


def syntax_fault(error: yaml.YAMLError, data: bytes) -> Fault:
    """Return what is wrong, and its 1-based place in `data`, for an error of libyaml's parser."""
    problem = getattr(error, "problem", None) or str(error)
    context = getattr(error, "context", None) or ""
    since = getattr(error, "context_mark", None)
    mark = getattr(error, "problem_mark", None) or since
    if mark is None:
        return Fault(messages.syntax(problem, "", 0), 1, 1)
    if (context, problem) in _AT_CONTEXT and since is not None:
        mark, since = since, None
    line, column = _place_within(data, mark.line, mark.column)
    if problem == _TOO_DEEP:
        return Fault(messages.too_deep(limits.DEPTH), line + 1, column + 1)
    text = _line(data, line)
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    if "\t" in indent and "flow" not in context:
        return Fault(messages.tab(), line + 1, indent.index("\t") + 1)
    if context == "while parsing a quoted scalar" and (escape := text.rfind("\\", 0, column + 1)) >= 0:
        column = escape
    begins = since.line + 1 if since is not None and context in _BEGINS and since.line != line else 0
    return Fault(messages.syntax(problem, text[column:], begins), line + 1, column + 1)


def _place_within(data: bytes, line: int, column: int) -> tuple[int, int]:
    """Return the place, or for one behind all text the end of that."""
    text = data.rstrip()
    last = text.count(b"\n")
    return (line, column) if line <= last else (last, len(_line(text, last)))


def _line(data: bytes, line: int) -> str:
    """Return the 0-based line's text, empty past the end."""
    lines = data.split(b"\n", line + 1)
    return lines[line].rstrip(b"\r").decode("utf-8", "replace") if line < len(lines) else ""


_PARSER_NODES = 10  # a parser of its own, for a document that is read alone, costs as much as ten values
_SEARCHED = 5_000  # documents that are searched for identities where a file is not read


def first_body(data: bytes, label: str) -> Tree:
    """Return the body of a file's first document; None if it holds none that can be read. `label`: as below."""
    documents = load_documents(data, label).documents
    return documents[0].body if documents else None


def load_documents(
    data: bytes, label: str, *, most_bytes: int = limits.SIZE, most_nodes: int = limits.NODES, of_go: bool = False
) -> Loaded:
    """Return the documents of a file and the problems of those that could not be read; never raises for content.

    `label` is how messages name the file; one that ends in `.json` must be JSON. Empty documents are skipped. A
    document with any problem is left out. `most_bytes` and `most_nodes` are how large a file may be; `of_go`
    says that Go's YAML wrote it, as kubectl does: a bare number that no float can hold is a text there.
    """
    size, data = len(data), source.without_bom(data)
    reading = _Reading(data, most_nodes, of_go=of_go)
    if size > most_bytes:
        reading.refuse_all(Fault(messages.too_large(size, most_bytes), 1, 1))
    elif line := _conflict_line(data):
        reading.refuse_all(Fault(messages.conflict_marker(), line, 1))
    elif source.is_json(label):
        reading.read_json()
    elif not reading.read(Chunk(data)):
        reading = _Reading(data, most_nodes, of_go=of_go)
        for chunk in source.split(data):
            reading.read(chunk)
    return Loaded(tuple(reading.documents), tuple(reading.problems), tuple(dict.fromkeys(reading.lost)))


def _conflict_line(data: bytes) -> int:
    """Return the 1-based line of git's first mark of an unresolved conflict; 0 where there is none.

    No mapping has lines that begin so: what is nested, a block of text for instance, is indented.
    """
    place = 0 if data.startswith(b"<<<<<<< ") else data.find(b"\n<<<<<<< ") + 1
    if not place and not data.startswith(b"<<<<<<< "):
        return 0
    middle = data.find(b"\n=======", place)
    return data.count(b"\n", 0, place) + 1 if middle >= 0 and data.find(b"\n>>>>>>> ", middle) >= 0 else 0


class _Reading:
    """One pass over a file: what has been read of it so far. `closed` once the rest is not read any more."""

    def __init__(self, data: bytes, most_nodes: int, *, of_go: bool) -> None:
        self.data = data
        self.documents: list[Document] = []
        self.problems: list[Problem] = []
        self.lost: list[DocumentIdentity] = []
        self.index = 0
        self.most_nodes, self.nodes, self.of_go = most_nodes, limits.NODES - most_nodes, of_go
        self.searched = 0
        self.closed = False

    def read(self, chunk: Chunk, shifts: jsontext.Shifts = jsontext.NO_SHIFTS) -> bool:
        """Read a chunk's documents. False if it is broken in a way that hides what follows in it."""
        if self.closed:
            self.lose(chunk.data)
            return True
        if (fault := source.check(chunk.data)) is not None:
            self.refuse([fault], chunk, chunk.data)
            return False
        builder = Builder(chunk.data, self.nodes, self.most_nodes, of_go=self.of_go)
        try:
            while not self.closed and builder.next_document():
                self.take(builder, chunk, shifts)
        except AbandonError as error:
            self.closed = isinstance(error, TooManyNodesError)
            self.refuse(builder.faults, chunk, _rest(chunk, builder), shifts, builder.root)
            return self.closed
        except yaml.YAMLError as error:
            faults = [*builder.faults, syntax_fault(error, chunk.data)]
            self.refuse(faults, chunk, _rest(chunk, builder), shifts, builder.root)
            return False
        finally:
            self.nodes = builder.nodes + _PARSER_NODES
        return True

    def read_json(self) -> None:
        """Read the file as JSON."""
        fault = source.check(self.data)
        if fault is None and self.data.strip():
            fault = jsontext.check(self.data)
        if fault is not None:
            self.refuse_all(fault)
        else:
            joined, shifts = jsontext.join_surrogates(self.data)
            self.read(Chunk(joined), shifts)

    def take(self, builder: Builder, chunk: Chunk, shifts: jsontext.Shifts) -> None:
        """Keep the document that has just been built, or its problems."""
        if builder.faults:
            self.refuse(builder.faults, chunk, _rest(chunk, builder), shifts, builder.root)
            return
        if builder.root is not None:
            self.documents.append(Document(self.index, chunk.line + builder.line, builder.root, builder.nulls))
        self.index += 1

    def refuse(
        self,
        faults: list[Fault],
        chunk: Chunk,
        rest: bytes,
        shifts: jsontext.Shifts = jsontext.NO_SHIFTS,
        root: Tree = None,
    ) -> None:
        """Turn the faults of one document into problems. `rest` is the chunk's text from that document on."""
        pieces = source.split(rest)
        affected = identities(root, next(pieces).data.decode("utf-8", "replace"))
        self.lost += affected
        for text, line, column in faults:
            self.add(text, chunk.line + line, jsontext.original_column(shifts, line, column), *affected[:1])
        self.index += 1
        if len(self.problems) >= limits.PROBLEMS and not self.closed:
            self.closed = True
            last = self.problems[-1]
            self.add(messages.too_many_problems(limits.PROBLEMS), last.line, last.column)
        if self.closed:
            for piece in islice(pieces, _SEARCHED):
                self.lose(piece.data)

    def refuse_all(self, fault: Fault) -> None:
        """Give the file up as a whole."""
        self.closed = True
        self.refuse([fault], Chunk(self.data), self.data[: limits.SIZE])

    def add(self, text: messages.ProblemText, line: int, column: int, identity: DocumentIdentity | None = None) -> None:
        """Append a problem with its excerpt."""
        from muster.data.yaml.positions import excerpt  # few files have a problem

        shown = excerpt(self.data, line, column)
        self.problems.append(Problem(*text[:2], line, column, text.hint, shown, self.index, identity))

    def lose(self, document: bytes) -> None:
        """Note the objects of a document that is not read."""
        if self.searched < _SEARCHED:
            self.searched += 1
            self.lost += identities(None, document.decode("utf-8", "replace"))


def _rest(chunk: Chunk, builder: Builder) -> bytes:
    """Return the chunk's text from the start of the builder's document on."""
    return b"\n".join(chunk.data.split(b"\n")[builder.started - 1 :])
