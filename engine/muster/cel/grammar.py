"""The grammar of cel-python, with replacements for the rules that do not meet the language definition.

cel-python has one parser per process, configured by its first user, and importing the package costs 60 ms and more. So
we read its grammar as text, replace some rules, and build our own Lark parser:

- optional access (`a.?b`, `a[?b]`, `[?a]`, `{?k: v}`), fields in backticks, trailing commas;
- string tokens without ambiguity: the original ones can be split in exponentially many ways if a quote is missing;
- `1.` is not a number, so that `1.size()` is a call.
"""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from lark import Lark, Token

_AMENDED = r"""
expr           : conditionalor ["?" conditionalor ":" expr]
member         : member_dot | member_opt_dot | member_dot_arg | member_index | member_opt_index | member_object
               | primary
member_dot     : member "." field
member_opt_dot : member "." OPTIONAL field
member_opt_index : member "[" OPTIONAL expr "]"
field          : IDENT | ESC_IDENT
list_lit       : "[" "]" | "[" "," "]" | "[" _listinits "]" | "[" _listinits "," "]"
_listinits     : listinit | _listinits "," listinit
listinit       : [OPTIONAL] expr
map_lit        : "{" "}" | "{" "," "}" | "{" _mapinits "}" | "{" _mapinits "," "}"
_mapinits      : mapinit | _mapinits "," mapinit
mapinit        : [OPTIONAL] expr ":" expr
member_object  : member "{" "}" | member "{" "," "}" | member "{" _fieldinits "}" | member "{" _fieldinits "," "}"
_fieldinits    : fieldinit | _fieldinits "," fieldinit
fieldinit      : [OPTIONAL] field ":" expr
exprlist       : _exprs
_exprs         : expr | _exprs "," expr
OPTIONAL       : "?"
ESC_IDENT      : /`[a-zA-Z0-9_.\-\/ ]+`/
FLOAT_LIT      : /-?[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?/ | /-?[0-9]+[eE][+-]?[0-9]+/
STRING_LIT     : /"(?:[^"\\\r\n]|\\[^\r\n])*"/ | /'(?:[^'\\\r\n]|\\[^\r\n])*'/ | /[rR]"[^"\r\n]*"/ | /[rR]'[^'\r\n]*'/
MLSTRING_LIT   : /"{3}(?:[^\\]|\\[\s\S])*?"{3}/ | /'{3}(?:[^\\]|\\[\s\S])*?'{3}/
               | /[rR]"{3}[\s\S]*?"{3}/ | /[rR]'{3}[\s\S]*?'{3}/
COMMENT        : /\/\/[^\n]*/
"""

_RULE_START = re.compile(r"^[A-Za-z_]+(?:\.\d+)?[ \t]*:", re.MULTILINE)


def grammar_text() -> str:
    """Return cel-python's grammar with the amended rules."""
    spec = find_spec("celpy")  # finds the package without importing it
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("cel-python is not installed; muster parses CEL with its grammar")
    original = (Path(spec.submodule_search_locations[0]) / "cel.lark").read_text(encoding="utf-8")
    amended = dict(_definitions(_AMENDED))
    unchanged = [text for name, text in _definitions(original) if name not in amended]
    directives = [line for line in original.splitlines() if line.startswith("%")]
    return "\n".join([*amended.values(), *unchanged, *directives]) + "\n"


def _definitions(text: str) -> list[tuple[str, str]]:
    """Split a grammar into (name, definition), without comments and directives."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("//") and not line.startswith("%")]
    body = "\n".join(lines)
    starts = [match.start() for match in _RULE_START.finditer(body)]
    parts = [body[start:end].rstrip() for start, end in zip(starts, [*starts[1:], len(body)], strict=True)]
    return [(re.split(r"[.:\s]", part, maxsplit=1)[0], part) for part in parts]


def _keyword_literals(token: Token) -> Token:
    kinds = {"true": "BOOL_LIT", "false": "BOOL_LIT", "null": "NULL_LIT"}
    return Token.new_borrow_pos(kinds[token.value], token.value, token) if token.value in kinds else token


@cache
def parser() -> Lark:
    """Return the parser. The first call builds it, in about 75 ms."""
    return Lark(
        grammar_text(),
        parser="lalr",
        start="expr",
        lexer_callbacks={"IDENT": _keyword_literals},
        propagate_positions=True,
        maybe_placeholders=False,
        priority="invert",
    )
