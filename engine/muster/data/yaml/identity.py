"""Which objects a broken document was meant to carry.

First from the tree as far as it could be built, then, for what is missing, from a forgiving scan of the lines.
The answer is used only to keep the last state of an object whose file is broken, so a guess too many does no harm
and one too few would drop that state.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from muster.data.tree import Tree, dig
from muster.data.yaml.problem import Identity

# The dashes of a list's item count as indentation. Every part is linear in the length of a line.
_LINE = re.compile(
    r"""^([{ \t]*(?:-[ ]+)*)["']?(apiVersion|kind|metadata|name|namespace)["']?[ \t]*:([^\r\n]*)""", re.MULTILINE
)
_VALUE = re.compile(r"""[ \t]*["']?([^\s"'#,{}\[\]]+)""")
_FLOW_FIELD = re.compile(r"""\b(name|namespace)["']?[ \t]*:[ \t]*["']?([^\s"',{}]+)""")
_TEXT_LIMIT = 256 * 1024  # characters scanned of one document


class _Line(NamedTuple):
    """A line with one of the keys sought; `dash` where it begins an item of a list."""

    indent: int
    dash: bool
    key: str
    rest: str


def identities(tree: Tree, text: str) -> tuple[Identity, ...]:
    """Return the objects of a broken document, its own first, from its partly built tree and its source text."""
    built, scanned = list(_of_tree(tree)), list(_of_text(text[:_TEXT_LIMIT]))
    own = [_complete(found[:1]) for found in (built, scanned)]
    first = Identity(*(known or guess for known, guess in zip(*own, strict=True)))
    return tuple(identity for identity in dict.fromkeys([first, *built[1:], *scanned[1:]]) if identity.kind)


def _complete(found: list[Identity]) -> Identity:
    return found[0] if found else Identity()


def _of_tree(tree: Tree) -> Iterator[Identity]:
    """Yield the identity of an object and of the items, where it is a list of objects."""
    if not isinstance(tree, dict):
        return
    paths = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))
    yield Identity(*(value if isinstance(value := dig(tree, *path), str) else "" for path in paths))
    items = tree.get("items")
    if isinstance(items, list) and str(tree.get("kind")).endswith("List"):
        for item in items:
            yield from _of_tree(item)


def _of_text(text: str) -> Iterator[Identity]:
    """Yield what the lines say: the outermost object and, where it is a list, the items one level below."""
    lines = [_Line(len(found[1]), "-" in found[1], found[2], found[3]) for found in _LINE.finditer(text)]
    indents = sorted({line.indent for line in lines if line.key in ("apiVersion", "kind")})
    if not indents:
        return
    own = next(_objects_at(indents[0], lines))
    yield own
    if own.kind.endswith("List") and len(indents) > 1:
        yield from _objects_at(indents[1], lines)


def _objects_at(indent: int, lines: Iterable[_Line]) -> Iterator[Identity]:
    """Yield the objects whose top-level keys stand at `indent`. One ends where a list's next item begins."""
    seen: dict[str, str] = {}
    inside = False  # its metadata
    for line in lines:
        if line.indent < indent:
            inside = False
        elif line.indent > indent:
            if inside:
                seen.setdefault(f".{line.key}", _scalar(line.rest))
        else:
            if line.dash and seen:
                yield _identity(seen)
                seen = {}
            inside = line.key == "metadata"
            seen.setdefault(line.key, _scalar(line.rest))
            if inside:
                seen |= {f".{field}": value for field, value in _FLOW_FIELD.findall(line.rest)}
    yield _identity(seen)


def _scalar(rest: str) -> str:
    """Return the word after a colon, without its quotes."""
    return found[1] if (found := _VALUE.match(rest)) else ""


def _identity(seen: dict[str, str]) -> Identity:
    return Identity(*(seen.get(key, "") for key in ("apiVersion", "kind", ".namespace", ".name")))
