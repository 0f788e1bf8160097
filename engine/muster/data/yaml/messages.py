"""Every text that reading a YAML file can answer with: what is wrong, the value, and what to do.

Each function gives a `ProblemText`; its `kind` is the slug by which the fleet layer assigns codes. libyaml's own
phrases are translated here too, because they speak of tokens where people think of lines and quotes.
"""

from typing import NamedTuple

from muster.regex import Regex

_SHOWN = 40  # characters of a value that a message quotes


class ProblemText(NamedTuple):
    """A problem without its place."""

    kind: str
    message: str
    hint: str = ""


def shown(value: str) -> str:
    """Return `value` in quotes, shortened, with control characters escaped."""
    return repr(value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…")


def too_large(size: int, limit: int) -> ProblemText:
    return ProblemText(
        "size",
        f"the file has {size:,} bytes, more than the {limit:,} that are read",
        "split it into files of one object each",
    )


def utf16() -> ProblemText:
    return ProblemText("encoding", "the file is encoded in UTF-16 or UTF-32", "save it as UTF-8")


def not_utf8(byte: int) -> ProblemText:
    return ProblemText(
        "encoding",
        f"byte 0x{byte:02x} is not UTF-8 here; the file may be Latin-1 or Windows-1252",
        "save it as UTF-8, for example with `iconv -f latin1 -t utf-8`",
    )


def control_character(character: str) -> ProblemText:
    name = {
        "\x00": "a NUL byte",
        "\r": "a carriage return without a line feed",
        "\x85": "the line separator U+0085",
        "\u2028": "the line separator U+2028",
        "\u2029": "the paragraph separator U+2029",
        "\ufeff": "a byte order mark inside the text",
    }.get(character, f"the control character U+{ord(character):04X}")
    escape = f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
    return ProblemText(
        "control-character",
        f"{name} is not allowed",
        f'remove it, or write it as "{escape}" inside double quotes',
    )


def conflict_marker() -> ProblemText:
    return ProblemText(
        "syntax",
        "a merge conflict is not resolved here",
        "keep one side, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>",
    )


def tab() -> ProblemText:
    return ProblemText(
        "tab", "a tab is used as indentation", "YAML indents with spaces only: replace the tab by spaces"
    )


def too_deep(limit: int) -> ProblemText:
    return ProblemText(
        "depth", f"mappings and lists are nested more than {limit} deep", "no object needs that; flatten it"
    )


def too_many_values(limit: int) -> ProblemText:
    return ProblemText("too-many-values", f"the file holds more than {limit:,} values", "split it into several files")


def too_many_problems(limit: int) -> ProblemText:
    return ProblemText(
        "too-many-problems",
        f"the file has {limit} problems already; the rest of it was not read",
        "correct those first",
    )


def duplicate_key(key: str, first_line: int) -> ProblemText:
    return ProblemText(
        "duplicate-key",
        f"the key {shown(key)} appears twice in one mapping, first on line {first_line}",
        "keep one of the two",
    )


def complex_key() -> ProblemText:
    return ProblemText(
        "key", "a mapping's key is a list or a mapping", "quote it; templates ({{ .Values.x }}) are not filled in here"
    )


def empty_key() -> ProblemText:
    return ProblemText("key", "a mapping's key is missing before the ':'", "write a key, or quote the whole text")


def merge_key() -> ProblemText:
    return ProblemText(
        "merge-key",
        "the merge key '<<' is not supported",
        "write the merged fields out; readers of YAML 1.2 do not merge",
    )


def anchor(name: str) -> ProblemText:
    return ProblemText(
        "alias", f"the anchor {shown('&' + name)} is not supported", "remove it, and write its aliases out"
    )


def alias(name: str) -> ProblemText:
    return ProblemText("alias", f"the alias {shown('*' + name)} is not supported", "write the value out, or quote it")


def tag(name: str) -> ProblemText:
    short = name.replace("tag:yaml.org,2002:", "!!", 1)
    return ProblemText(
        "tag",
        f"the tag {shown(short)} is not supported",
        "remove it; quote the value if it is to be a string",
    )


def directive() -> ProblemText:
    return ProblemText(
        "directive", "YAML directives (%YAML, %TAG) are not supported", "remove the line that begins with '%'"
    )


def not_a_mapping(noun: str) -> ProblemText:
    return ProblemText(
        "not-a-mapping",
        f"the document is {noun}, not a mapping",
        "an object begins with `apiVersion:` and `kind:`",
    )


def number_too_large(text: str) -> ProblemText:
    return ProblemText(
        "number",
        f"the number {shown(text)} does not fit into 64 bits",
        "quote it if it is an identifier; CEL and JSON readers in Go cannot carry it as a number",
    )


def number_not_finite(text: str) -> ProblemText:
    return ProblemText(
        "number",
        f"{shown(text)} is not a finite number in YAML",
        f'quote it: "{text}"' if len(text) <= _SHOWN else "quote it",
    )


def not_json(problem: str) -> ProblemText:
    return ProblemText("syntax", f"not valid JSON: {problem}", "name the file .yaml if it is YAML")


_LONGEST_ESCAPE = 10
_ESCAPE = Regex(r"\\(?:x.{0,2}|u.{0,4}|U.{0,8}|.)?")

#: libyaml's problem -> what it means to the person who wrote the file.
_SYNTAX: dict[str, tuple[str, str]] = {
    "mapping values are not allowed in this context": (
        "a 'key: value' is not allowed here",
        "quote the value if it contains ': ', or check the indentation of this line and the one before",
    ),
    "could not find expected ':'": (
        "this line is neither 'key: value' nor a list item",
        "add the ':' and a space, or indent the line if it continues the one before",
    ),
    "did not find expected key": (
        "this does not continue the mapping",
        "check the indentation, and the quotes and brackets just before",
    ),
    "did not find expected '-' indicator": (
        "this does not continue the list",
        "begin the line with '- ', or check the indentation",
    ),
    "block sequence entries are not allowed in this context": (
        "a list cannot begin here",
        "put the first '- ' on a line of its own below the key",
    ),
    "block mapping entries are not allowed in this context": (
        "a mapping key is not allowed here",
        "check the indentation of this line",
    ),
    "mapping keys are not allowed in this context": (
        "a mapping key is not allowed here",
        "check the indentation of this line",
    ),
    "did not find expected ',' or ']'": ("the list in '[ ]' is not closed", "add the missing ',' or ']'"),
    "did not find expected ',' or '}'": ("the mapping in '{ }' is not closed", "add the missing ',' or '}'"),
    "did not find expected node content": (
        "a value is missing here",
        "write the value, or remove the ',' or bracket",
    ),
    "found unexpected end of stream": ("a quoted text is never closed", "add the closing quote"),
    "found unexpected document indicator": (
        "a quoted text is still open where the next document begins",
        "add the closing quote",
    ),
    "did not find expected <document start>": (
        "this text is outside of any document",
        "begin a new document with a line '---'",
    ),
    "found unknown escape character": (
        "{escape} is not an escape that double quotes know",
        "double the backslash, or use single quotes",
    ),
    "did not find expected hexdecimal number": (
        "{escape} is not a complete escape",
        "write \\xXX, \\uXXXX or \\UXXXXXXXX, or double the backslash",
    ),
    "found invalid Unicode character escape code": (
        "{escape} is not a character",
        "write the character itself, or its \\UXXXXXXXX escape",
    ),
    "did not find expected comment or line break": (
        "more text follows where the line should end",
        "put the text on a line of its own",
    ),
    "found undefined tag handle": ("a tag is not supported", "remove it, or quote the value"),
}


def syntax(problem: str, rest: str, since_line: int) -> ProblemText:
    """Return the text for libyaml's `problem`; `rest` is the source line from the place on, `since_line` the
    1-based line where the construct began, 0 if that tells nothing."""
    if problem == "found character that cannot start any token":
        return _unusable_start(rest)
    if problem == "found a tab character that violates indentation":
        return tab()
    escape = _ESCAPE.match(rest[:_LONGEST_ESCAPE])
    message, hint = _SYNTAX.get(problem, (f"not valid YAML: {problem}", ""))
    message = message.replace("{escape}", shown(escape[0]).replace("\\\\", "\\") if escape else "this")
    return ProblemText("syntax", message + (f" (it begins on line {since_line})" if since_line else ""), hint)


def _unusable_start(rest: str) -> ProblemText:
    character = rest[:1]
    if character == "\t":
        return tab()
    if not character:
        return ProblemText("syntax", "a value is missing here")
    return ProblemText("syntax", f"a value cannot begin with {shown(character)}", "put the value in quotes")
