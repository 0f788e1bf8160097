"""libyaml's errors as faults: at the place where a person would look, in words that a person would use."""

import yaml

from muster.data.yaml import limits, messages
from muster.data.yaml.source import Fault

#: The mark of the context is the better place for these: the end of a file says nothing about a lost quote.
_AT_CONTEXT = {
    ("while scanning a quoted scalar", "found unexpected end of stream"),
    ("while scanning a quoted scalar", "found unexpected document indicator"),
    ("while scanning a simple key", "could not find expected ':'"),
}
#: libyaml reads ahead: from 0.2.6 on it refuses what is nested 1,000 levels deep before our own limit is asked.
_TOO_DEEP = "exceeded maximum nesting depth"
_BEGINS = ("while parsing a flow mapping", "while parsing a flow sequence", "while parsing a block mapping")


def fault(error: yaml.YAMLError, data: bytes) -> Fault:
    """Return what is wrong, and its 1-based place in `data`, for an error of libyaml's parser."""
    problem = getattr(error, "problem", None) or str(error)
    context = getattr(error, "context", None) or ""
    since = getattr(error, "context_mark", None)
    mark = getattr(error, "problem_mark", None) or since
    if mark is None:
        return Fault(messages.syntax(problem, "", 0), 1, 1)
    if (context, problem) in _AT_CONTEXT and since is not None:
        mark, since = since, None
    line, column = _within(data, mark.line, mark.column)
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


def _within(data: bytes, line: int, column: int) -> tuple[int, int]:
    """Return the place, or for one behind all text the end of that."""
    text = data.rstrip()
    last = text.count(b"\n")
    return (line, column) if line <= last else (last, len(_line(text, last)))


def _line(data: bytes, line: int) -> str:
    """Return the 0-based line's text, empty past the end."""
    lines = data.split(b"\n", line + 1)
    return lines[line].rstrip(b"\r").decode("utf-8", "replace") if line < len(lines) else ""
