"""Deterministic YAML: the same tree gives the same bytes, and every reader reads the same tree back.

Block style, with deeply nested collections on one line: an indentation of 60 levels makes a tree fifty times larger.
Keys keep their order, lists are at the level of their key; no line folding, aliases or tags. A string is plain only if
readers of YAML 1.1 and 1.2 agree that it is that string, so times, `1e3`, `on`, `0x1` and `1:30` are quoted. PyYAML's
dumper leaves `624e769365028171` bare, which other readers take for infinity, and takes ten times as long.

`file_text` writes whole files of muster or an agent, which every reader of the repository can read back.

They may repeat data of others, of any size and depth. So deep collections are on one line, and in a large file all
nested ones: the text is then about as long as the data. A file that would still exceed the limits is not written.
"""

from functools import lru_cache
from json.encoder import encode_basestring as _json_string
from math import isfinite
from string import ascii_letters, digits
from typing import Final

from muster.data.printable import inert, inert_quoted
from muster.data.tree import Tree
from muster.data.yaml import limits
from muster.data.yaml.loader import load_documents

_PLAIN_FIRST = frozenset(f"{ascii_letters}_/")
_PLAIN = f"{ascii_letters}{digits}_./,;()%+=@'-: ".encode()
#: Words that YAML 1.1 or 1.2 take for null or a boolean, in any case.
_RESERVED = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n"])
_LONGEST_RESERVED = 5
#: What JSON leaves bare inside quotes and YAML does not allow there, or takes for a line's end; and what turns the
#: direction of a line or is not seen, so that it is read as something else.
_ESCAPED = {
    code: f"\\u{code:04x}"
    for code in (
        *range(0x7F, 0xA0),
        0xAD,
        0x61C,
        0x180E,
        0x200B,
        0x200E,
        0x200F,
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
        *range(0xFFF9, 0xFFFC),
        0xFFFE,
        0xFFFF,
    )
}
#: What a literal block cannot hold: those, and other control characters.
_NOT_LITERAL = frozenset(map(chr, (*_ESCAPED, *range(0x0A), *range(0x0B, 0x20))))
_SIMPLE_KEY = 1000  # characters; libyaml looks no further than 1024 for the ':' of a key
_INT64 = range(-(2**63), 2**63)


def _is_literal(text: str) -> bool:
    """Can a literal block hold the text: nothing that needs an escape, no tabs, no line that ends in a space, or that
    the log of a job would take for a command?"""
    plain = text[0] not in " \n" and " \n" not in text and _NOT_LITERAL.isdisjoint(text) and _surrogate(text) is None
    return plain and (("::" not in text and "##" not in text) or all(inert(line) == line for line in text.split("\n")))


def emit(tree: Tree, *, header: str = "", block_depth: int = limits.DEPTH) -> str:
    """Return `tree` as one YAML document that ends with a newline, after `header` as comment lines.

    Collections below `block_depth` levels of others are on one line, in flow style.

    Raises ValueError for what the loader would not read back: lone surrogates, integers beyond 64 bits, infinity
    and NaN, nesting beyond `limits.DEPTH`, control characters in the header; TypeError for what is no tree.
    """
    lines = [_comment(line) for line in header.splitlines()]
    if isinstance(tree, dict) and tree:
        _mapping(lines, tree, "", "", 1, block_depth)
    elif isinstance(tree, list) and tree:
        _sequence(lines, tree, "", "", 1, block_depth)
    else:
        lines.append(_scalar(tree))
    lines.append("")
    return "\n".join(lines)


def block_lines(tree: Tree, column: int) -> list[str]:
    """Return the lines of a mapping or list that is not empty, indented by `column` spaces. Raises as `emit` does."""
    lines: list[str] = []
    indent = " " * column
    if isinstance(tree, dict):
        _mapping(lines, tree, indent, indent, 1, limits.DEPTH)
    else:
        _sequence(lines, tree, indent, indent, 1, limits.DEPTH)
    return "\n".join(lines).split("\n")


def flow(tree: Tree, *, as_json: bool = False, depth: int = 1) -> str:
    """Return `tree` on one line in flow style, as JSON if asked to. Raises as `emit` does.

    `depth` is how deep the tree itself is nested in its document.
    """
    if isinstance(tree, dict) and tree:
        _check_depth(depth)
        items = (
            f"{_flow_key(key, as_json)}: {flow(value, as_json=as_json, depth=depth + 1)}" for key, value in tree.items()
        )
        return f"{{{', '.join(items)}}}"
    if isinstance(tree, list) and tree:
        _check_depth(depth)
        return f"[{', '.join(flow(item, as_json=as_json, depth=depth + 1) for item in tree)}]"
    return _flow_string(tree, as_json) if isinstance(tree, str) else _leaf(tree, depth)


def _flow_key(key: str, as_json: bool) -> str:  # noqa: FBT001 - internal
    text = _flow_string(key, as_json)
    return f"? {text} " if len(text) > _SIMPLE_KEY and not as_json else text


def _flow_string(text: str, as_json: bool) -> str:  # noqa: FBT001 - internal
    return quoted(text) if as_json or "," in text else inline(text)


def quoted(text: str) -> str:
    """Return `text` in double quotes, as JSON and as both versions of YAML read it, and without what the log of a job
    would take for a command. ValueError for lone surrogates."""
    literal = inert_quoted(_json_string(text))
    if literal.isascii() and "\x7f" not in literal:
        return literal
    if (surrogate := _surrogate(text)) is not None:
        raise ValueError(f"the lone surrogate U+{ord(surrogate):04X} is no character and cannot be written")
    return literal.translate(_ESCAPED)


def _surrogate(text: str) -> str | None:
    """Return the first lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return text[error.start]
    return None


def inline(text: str) -> str:
    """Return `text` on one line: plain if every reader agrees that it is this string, else quoted."""
    if not _is_plain(text) or (len(text) <= _LONGEST_RESERVED and text.lower() in _RESERVED):
        return quoted(text)
    return text


def _is_plain(text: str) -> bool:
    """Does a text begin with a letter, `_` or `/`, and have no `: `, ` #` or odd space? So it is no number, time or
    indicator. Runs for every value that is written: this order takes half a microsecond."""
    if text[:1] not in _PLAIN_FIRST or not text.isascii() or text.encode().translate(None, _PLAIN):
        return False
    if ":" in text and (text[-1] == ":" or ": " in text or "::" in text or " :" in text):
        return False
    return " " not in text or (text[-1] != " " and "  " not in text)


_key = lru_cache(maxsize=4096)(inline)


def _mapping(lines: list[str], tree: dict[str, Tree], lead: str, indent: str, depth: int, block_depth: int) -> None:
    """Append a mapping's lines; the first begins with `lead` (a list's dashes), the others with `indent`."""
    _check_depth(depth)
    for key, value in tree.items():
        text = _key(key)
        head = f"{lead}? {text}\n{indent}:" if len(text) > _SIMPLE_KEY else f"{lead}{text}:"
        lead = indent
        if value.__class__ is str:
            lines.append(f"{head} {_string(value, indent)}")
        elif depth >= block_depth and value and value.__class__ in (dict, list):
            lines.append(f"{head} {flow(value, depth=depth + 1)}")
        elif value.__class__ is dict and value:
            lines.append(head)
            below = f"{indent}  "
            _mapping(lines, value, below, below, depth + 1, block_depth)
        elif value.__class__ is list and value:
            lines.append(head)
            _sequence(lines, value, indent, indent, depth + 1, block_depth)
        else:
            lines.append(f"{head} {_leaf(value, depth + 1)}")


def _sequence(lines: list[str], items: list[Tree], lead: str, indent: str, depth: int, block_depth: int) -> None:
    """Append a list's lines, as `_mapping` does."""
    _check_depth(depth)
    below = f"{indent}  "
    for item in items:
        if item.__class__ is str:
            lines.append(f"{lead}- {_string(item, indent)}")
        elif depth >= block_depth and item and item.__class__ in (dict, list):
            lines.append(f"{lead}- {flow(item, depth=depth + 1)}")
        elif item.__class__ is dict and item:
            _mapping(lines, item, f"{lead}- ", below, depth + 1, block_depth)
        elif item.__class__ is list and item:
            _sequence(lines, item, f"{lead}- ", below, depth + 1, block_depth)
        else:
            lines.append(f"{lead}- {_leaf(item, depth + 1)}")
        lead = indent


def _string(text: str, indent: str) -> str:
    """Return a string value: a literal block if it has several lines and that is safe, else one line."""
    if "\n" not in text or not _is_literal(text) or text.endswith(("\n\n", " ")):
        return inline(text)
    below = f"\n{indent}  "
    body = "".join(f"{below}{line}" if line else "\n" for line in text.removesuffix("\n").split("\n"))
    return ("|" if text.endswith("\n") else "|-") + body


def _leaf(value: Tree, depth: int) -> str:
    """Return anything that takes one line, at a depth: an empty collection is one more level for who reads it."""
    if value.__class__ in (dict, list):
        _check_depth(depth)
    return _scalar(value)


def _scalar(value: Tree) -> str:
    """Return anything that takes one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return inline(value)
    if isinstance(value, int):
        if int(value) not in _INT64:
            raise ValueError(f"an integer of {value.bit_length()} bits cannot be written")
        return int.__repr__(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, dict | list) and not value:
        return "{}" if isinstance(value, dict) else "[]"
    raise TypeError(f"{type(value).__name__} is not part of a YAML tree")


def _float(value: float) -> str:
    """Return a float with a point in it: without one, YAML 1.1 takes `1e+16` for a string."""
    if not isfinite(value):
        raise ValueError(f"{value} cannot be written as a YAML number")
    mantissa, e, exponent = float.__repr__(value).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}{e}{exponent}"


def _check_depth(depth: int) -> None:
    if depth > limits.DEPTH:
        raise ValueError(f"mappings and lists are nested more than {limits.DEPTH} deep")


def _comment(line: str) -> str:
    """Return one line of the header as a comment."""
    if not line.isprintable():
        raise ValueError(f"a header cannot hold control characters: {line!r}")
    return f"# {line}".rstrip()


_BLOCK_DEPTH: Final = 12  # levels that are indented; the status of an object of a live hub has fewer
_LARGE: Final = 1 << 16  # characters beyond which only the first levels are indented: a report's own fields
_LARGE_BLOCK_DEPTH: Final = 4


class UnwritableError(ValueError):
    """A tree cannot be written as a readable file; the text says why."""


def file_text(tree: Tree, *, header: str = "") -> str:
    """Return the text of a file with one document, after `header` as comment lines.

    UnwritableError if it would be beyond what is read of one file: its size, its depth, the number of its values.
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
