"""From text to syntax tree: translates the parse tree of cel-python's grammar into our own nodes.

The parse tree has a dozen levels with a single child between any two meaningful ones. A loop collapses them, so a
thousand parentheses need no stack. `MAX_DEPTH` limits the rest. Macros become nodes of their own, as the language
definition requires: by name and number of arguments, before any name is resolved.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any, TypeAlias

from lark.exceptions import LarkError, UnexpectedCharacters, UnexpectedEOF, UnexpectedToken

from muster.cel import ast
from muster.cel.errors import SyntaxIssue, issue_at
from muster.cel.grammar import parser
from muster.cel.literals import LiteralError, bytes_, double, integer, shortened, string, unsigned
from muster.regex import SPACE, WORD, Regex

MAX_LENGTH = 100_000
"""The most characters of an expression."""

MAX_TOKENS = 16_000
"""The most names, constants and signs of an expression: parsing and checking that many takes a second or two."""

MAX_DEPTH = 160
"""The most nested levels; a chain of `&&` or `||`, or of parentheses, counts as one."""

Tree: TypeAlias = Any
"""A tree of Lark, or a token. The grammar determines which one a child is; Lark's types do not tell."""

_TOKEN = Regex(
    r"""//[^\n]*|"{3}(?s:.)*?"{3}|'{3}(?s:.)*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|["'][^\n]*"""
    rf"|[{WORD}]+|[^{SPACE}]"
)
"""Roughly a token or a comment: good enough to count tokens before parsing."""

RESERVED = frozenset(
    {
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    }
)

_RELATIONS = {
    "relation_lt": "_<_",
    "relation_le": "_<=_",
    "relation_gt": "_>_",
    "relation_ge": "_>=_",
    "relation_eq": "_==_",
    "relation_ne": "_!=_",
    "relation_in": "@in",
    "addition_add": "_+_",
    "addition_sub": "_-_",
    "multiplication_mul": "_*_",
    "multiplication_div": "_/_",
    "multiplication_mod": "_%_",
}
_ARITIES = {
    "all": (2, 3),
    "exists": (2, 3),
    "exists_one": (2, 3),
    "existsOne": (2, 3),
    "filter": (2,),
    "map": (2, 3),
    "transformList": (3, 4),
    "transformMap": (3, 4),
    "transformMapEntry": (3, 4),
}
#: Macros without a receiver that read `now`, with their numbers of arguments.
_MACROS_OF_NOW = {"window": (1, 2), "calendar": (1,)}


def parse(text: str) -> ast.Node:
    """Return the syntax tree of `text`. Raises SyntaxIssue with the place and what is expected there."""
    if len(text) > MAX_LENGTH:
        message = f"the expression has {len(text):,} characters; {MAX_LENGTH:,} are allowed"
        raise SyntaxIssue((issue_at(text[:MAX_LENGTH], 0, message),))
    if len(text) > MAX_TOKENS and next(islice(_TOKEN.finditer(text), MAX_TOKENS, None), None) is not None:
        message = f"the expression has more than {MAX_TOKENS:,} names, constants and signs"
        raise SyntaxIssue((issue_at(text, 0, message, "split it into variables, or keep long lists in params"),))
    return _Translator(text).node(_tree(text), 0)


def _tree(text: str) -> Tree:
    try:
        return parser().parse(text)
    except UnexpectedToken as error:
        at_end = error.token.type == "$END"
        offset = len(text.rstrip()) if at_end else error.token.start_pos
        message = "the expression ends too early" if at_end else f"unexpected {shortened(error.token.value)!r}"
        token = str(error.token.value)
        hint = _OTHER_LANGUAGES.get(token) or _length_of_time(text[:offset], token) or _expectation(error.expected)
        raise SyntaxIssue((issue_at(text, offset, message, hint),)) from None
    except UnexpectedCharacters as error:
        place = error.pos_in_stream or 0
        character = text[place]
        message = "a string that is never closed" if character in "'\"" else f"unexpected character {character!r}"
        raise SyntaxIssue((issue_at(text, place, message, _OTHER_LANGUAGES.get(character, "")),)) from None
    except (LarkError, UnexpectedEOF) as error:
        raise SyntaxIssue((issue_at(text, 0, f"not a CEL expression: {error}"),)) from None


#: What other languages write, and what CEL writes for it.
_OTHER_LANGUAGES = {
    "=": "compare with ==",
    "&": "write && for and",
    "|": "write || for or",
    "and": "write && for and",
    "or": "write || for or",
    "is": "compare with ==",
    ";": "an expression is one value: no ';'",
}
_CLOSERS = {"RPAR": "')'", "RSQB": "']'", "RBRACE": "'}'", "COLON": "':'", "COMMA": "','", "IDENT": "a name"}


#: Units of time after a number, and the unit of a duration that means the same. A day has 24 hours.
_UNITS = {
    **{unit: (1, unit) for unit in ("ns", "us", "ms", "s", "m", "h")},
    **dict.fromkeys(("sec", "secs", "second", "seconds"), (1, "s")),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), (1, "m")),
    **dict.fromkeys(("hour", "hours"), (1, "h")),
    **dict.fromkeys(("d", "day", "days"), (24, "h")),
}


def _length_of_time(before: str, token: str) -> str:
    """Return a hint for a number with a unit, such as `5m`; empty for anything else."""
    stem = before.rstrip()
    digits = stem[len(stem.rstrip("0123456789")) :]
    if not token or not digits or len(digits) > _MOST_DIGITS:
        return ""
    if token in _UNITS:
        factor, unit = _UNITS[token]
        return f"write the length of time as duration('{int(digits) * factor}{unit}')"
    is_compound = token[0] in "smh" and token[-1] in "smh" and token.strip("0123456789smh") == ""
    return f"write the length of time as duration('{digits}{token}')" if is_compound else ""


_MOST_DIGITS = 9


def _expectation(expected: set[str]) -> str:
    """Return a hint from the terminals that are expected: an operand, or what closes an open bracket."""
    if {"INT_LIT", "LPAR"} <= expected:
        return "a value is expected here"
    closers = sorted(_CLOSERS[name] for name in expected & _CLOSERS.keys())
    return f"expected {' or '.join(closers)}" if closers else ""


class _Translator:
    """Translates one parse tree into nodes, with ids in pre-order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.next_id = 0
        self.handlers: dict[str, Callable[[Tree, int], ast.Node]] = {
            "expr": self.conditional,
            "conditionalor": self.logical,
            "conditionaland": self.logical,
            "relation": self.binary,
            "addition": self.binary,
            "multiplication": self.binary,
            "unary": self.unary,
            "literal": self.literal,
            "ident": self.ident,
            "dot_ident": self.ident,
            "ident_arg": self.function,
            "dot_ident_arg": self.function,
            "member_dot": self.select,
            "member_opt_dot": self.select,
            "member_dot_arg": self.method,
            "member_index": self.index,
            "member_opt_index": self.index,
            "member_object": self.struct,
            "list_lit": self.list_,
            "map_lit": self.map_,
        }

    def fail(self, offset: int, message: str, hint: str = "") -> SyntaxIssue:
        return SyntaxIssue((issue_at(self.text, offset, message, hint),))

    def take_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def node(self, tree: Tree, depth: int) -> ast.Node:
        """Return the node of a tree, skipping levels without a meaning."""
        tree = self.collapse(tree)
        if depth > MAX_DEPTH:
            message = f"nested more than {MAX_DEPTH} levels deep"
            raise self.fail(tree.meta.start_pos, message, "split it into variables")
        return self.handlers[tree.data](tree, depth + 1)

    def conditional(self, tree: Tree, depth: int) -> ast.Node:
        condition, then, otherwise = tree.children
        number, offset = self.take_id(), self.operator_offset(condition, "?")
        args = tuple(self.node(part, depth) for part in (condition, then, otherwise))
        return ast.Call(number, offset, "_?_:_", None, args)

    def logical(self, tree: Tree, depth: int) -> ast.Node:
        """Collect `a && b && c`, with any parentheses, into one call."""
        name, rule = ("_||_", "conditionalor") if tree.data == "conditionalor" else ("_&&_", "conditionaland")
        number = self.take_id()
        operands: list[Tree] = []
        pending = [tree]
        while pending:
            current = pending.pop()
            while len(current.children) == 1 and current.data in _TRANSPARENT:
                current = current.children[0]
            if current.data == rule:
                pending.extend(reversed(current.children))
            else:
                operands.append(current)
        offset = self.operator_offset(operands[0], name[1:3])
        return ast.Call(number, offset, name, None, tuple(self.node(operand, depth) for operand in operands))

    def operator_offset(self, before: Tree, operator: str) -> int:
        offset = self.text.find(operator, before.meta.end_pos)
        return offset if offset >= 0 else before.meta.start_pos

    def binary(self, tree: Tree, depth: int) -> ast.Node:
        operation, right = tree.children
        number = self.take_id()
        name = _RELATIONS[operation.data]
        offset = operation.meta.end_pos - len(name.strip("_@"))
        left = self.node(operation.children[0], depth)
        return ast.Call(number, offset, name, None, (left, self.node(right, depth)))

    def unary(self, tree: Tree, depth: int) -> ast.Node:
        sign, operand = tree.children
        if operand.data == "unary" and len(operand.children) == 2 and operand.children[0].data != sign.data:
            raise self.fail(operand.meta.start_pos, "'!' and '-' cannot follow each other", "use parentheses")
        name = "!_" if sign.data == "unary_not" else "-_"
        number = self.take_id()
        return ast.Call(number, tree.meta.start_pos, name, None, (self.node(operand, depth),))

    def literal(self, tree: Tree, _depth: int) -> ast.Node:
        token = tree.children[0]
        return ast.Literal(self.take_id(), token.start_pos, self.literal_value(token))

    def literal_value(self, token: Tree) -> ast.LiteralValue:
        try:
            match token.type:
                case "INT_LIT":
                    return integer(token.value)
                case "UINT_LIT":
                    return unsigned(token.value)
                case "FLOAT_LIT":
                    return double(token.value)
                case "STRING_LIT" | "MLSTRING_LIT":
                    return string(token.value)
                case "BYTES_LIT":
                    return bytes_(token.value)
                case "BOOL_LIT":
                    return bool(token.value == "true")
        except LiteralError as error:
            raise self.fail(token.start_pos + error.at, error.message) from None
        return None

    def name(self, token: Tree) -> str:
        """Return an identifier. Raises SyntaxIssue if it is a reserved word."""
        if token.value in RESERVED:
            raise self.fail(token.start_pos, f"{token.value!r} is a reserved word")
        return str(token.value)

    def ident(self, tree: Tree, _depth: int) -> ast.Node:
        token = tree.children[0]
        dot = "." if tree.data == "dot_ident" else ""
        return ast.Ident(self.take_id(), tree.meta.start_pos, dot + self.name(token))

    @staticmethod
    def field(tree: Tree) -> str:
        token = tree.children[0]
        return str(token.value[1:-1] if token.type == "ESC_IDENT" else token.value)

    def select(self, tree: Tree, depth: int) -> ast.Node:
        number = self.take_id()
        field = tree.children[-1]
        operand = self.node(tree.children[0], depth)
        return ast.Select(number, field.meta.start_pos, operand, self.field(field), tree.data == "member_opt_dot")

    def index(self, tree: Tree, depth: int) -> ast.Node:
        number = self.take_id()
        offset = self.operator_offset(tree.children[0], "[")
        operand = self.node(tree.children[0], depth)
        index = self.node(tree.children[-1], depth)
        return ast.IndexNode(number, offset, operand, index, tree.data == "member_opt_index")

    def list_(self, tree: Tree, depth: int) -> ast.Node:
        number = self.take_id()
        optional = frozenset(i for i, init in enumerate(tree.children) if len(init.children) == 2)
        elements = tuple(self.node(init.children[-1], depth) for init in tree.children)
        return ast.ListNode(number, tree.meta.start_pos, elements, optional)

    def map_(self, tree: Tree, depth: int) -> ast.Node:
        number = self.take_id()
        entries = tuple(
            ast.MapEntry(
                self.node(init.children[-2], depth), self.node(init.children[-1], depth), len(init.children) == 3
            )
            for init in tree.children
        )
        return ast.MapNode(number, tree.meta.start_pos, entries)

    def struct(self, tree: Tree, depth: int) -> ast.Node:
        number = self.take_id()
        name = self.dotted(self.node(tree.children[0], depth))
        if name is None:
            raise self.fail(tree.meta.start_pos, "only a type name can be before '{'")
        fields = tuple(
            ast.MessageField(
                self.field(init.children[-2]), self.node(init.children[-1], depth), len(init.children) == 3
            )
            for init in tree.children[1:]
        )
        return ast.Struct(number, tree.meta.start_pos, name, fields)

    def dotted(self, node: ast.Node) -> str | None:
        """Return `a.b.c` for a chain of plain selections, None for anything else."""
        match node:
            case ast.Ident():
                return node.name
            case ast.Select(optional=False):
                head = self.dotted(node.operand)
                return None if head is None else f"{head}.{node.field}"
        return None

    def arguments(self, tree: Tree) -> list[Tree]:
        return list(tree.children[-1].children) if getattr(tree.children[-1], "data", "") == "exprlist" else []

    def function(self, tree: Tree, depth: int) -> ast.Node:
        token = tree.children[0]
        name, args = self.name(token), self.arguments(tree)
        if name == "has" and len(args) == 1 and tree.data == "ident_arg":
            return self.has(args[0], token.start_pos, depth)
        if len(args) in _MACROS_OF_NOW.get(name, ()) and tree.data == "ident_arg":
            return self.of_now(name, token, args, depth)
        number = self.take_id()
        dot = "." if tree.data == "dot_ident_arg" else ""
        return ast.Call(number, token.start_pos, dot + name, None, tuple(self.node(arg, depth) for arg in args))

    def of_now(self, name: str, token: Tree, args: list[Tree], depth: int) -> ast.Node:
        """Expand `window(text)` to `now.inWindow(text)` and `calendar(name)` to `now.inWindow(calendars[name])`."""
        number, offset = self.take_id(), token.start_pos
        now = ast.Ident(self.take_id(), offset, "now")
        if name == "window":
            windows = tuple(self.node(arg, depth) for arg in args)
        else:
            index, calendars = self.take_id(), ast.Ident(self.take_id(), offset, "calendars")
            windows = (ast.IndexNode(index, offset, calendars, self.node(args[0], depth)),)
        return ast.Call(number, offset, "inWindow", now, windows)

    def has(self, tree: Tree, offset: int, depth: int) -> ast.Node:
        number = self.take_id()
        argument = self.node(tree, depth)
        if not isinstance(argument, ast.Select) or argument.optional:
            raise self.fail(offset, "has() takes a field selection", "as in has(self.spec.replicas)")
        return ast.Has(number, argument.offset, argument.operand, argument.field)

    def method(self, tree: Tree, depth: int) -> ast.Node:
        target, token = tree.children[0], tree.children[1]
        name, args = str(token.value), self.arguments(tree)
        if len(args) in _ARITIES.get(name, ()):
            return self.macro(name, token, target, args, depth)
        if name in ("optMap", "optFlatMap", "sortBy") and len(args) == 2:
            return self.expansion(name, token, target, args, depth)
        number = self.take_id()
        receiver = self.node(target, depth)
        if isinstance(receiver, ast.Ident) and receiver.name == "cel":
            special = self.cel_namespace(number, name, token, args, depth)
            if special is not None:
                return special
        return ast.Call(number, token.start_pos, name, receiver, tuple(self.node(arg, depth) for arg in args))

    def variable(self, tree: Tree) -> str:
        node = self.node(tree, 0)
        if isinstance(node, ast.Ident) and not node.name.startswith("."):
            return node.name
        raise self.fail(tree.meta.start_pos, "a macro's variable must be a simple name", "as in items.all(item, ...)")

    def macro(self, name: str, token: Tree, target: Tree, args: list[Tree], depth: int) -> ast.Node:
        number = self.take_id()
        source = self.node(target, depth)
        count = 2 if name.startswith("transform") or (len(args) == 3 and name != "map") else 1
        saved = self.next_id
        variables = tuple(self.variable(arg) for arg in args[:count])
        self.next_id = saved
        if len(set(variables)) != count:
            raise self.fail(args[1].meta.start_pos, f"the two variables of {name}() have the same name")
        bodies = tuple(self.node(arg, depth) for arg in args[count:])
        return ast.Macro(number, token.start_pos, name, source, variables, bodies)

    def cel_namespace(self, number: int, name: str, token: Tree, args: list[Tree], depth: int) -> ast.Node | None:
        """Return the node of `cel.bind`, `cel.block`, `cel.index` or `cel.iterVar`."""
        self.next_id = number + 1
        if name == "bind" and len(args) == 3:
            variable = self.variable(args[0])
            self.next_id = number + 1
            value = self.node(args[1], depth)
            return ast.Bind(number, token.start_pos, variable, value, self.node(args[2], depth))
        if name == "block" and len(args) == 2:
            elements = self.collapse(args[0])
            if elements.data != "list_lit":
                raise self.fail(token.start_pos, "cel.block() takes a list and an expression")
            return self.block(number, token, [init.children[-1] for init in elements.children], args[1], depth)
        if (name, len(args)) in (("index", 1), ("iterVar", 2), ("accuVar", 2)):
            places = [self.node(arg, depth) for arg in args]
            self.next_id = number + 1
            if all(isinstance(place, ast.Literal) and type(place.value) is int for place in places):
                suffix = ":".join(str(place.value) for place in places if isinstance(place, ast.Literal))
                return ast.Ident(number, token.start_pos, f"@{name}:{suffix}")
            raise self.fail(token.start_pos, f"cel.{name}() takes integer literals")
        return None

    def block(self, number: int, token: Tree, elements: list[Tree], body: Tree, depth: int) -> ast.Node:
        """`cel.block([a, b], body)` is a chain of bindings to `@index:0`, `@index:1`."""
        bound: list[tuple[int, ast.Node]] = []
        for position, element in enumerate(elements):
            bound.append((number if position == 0 else self.take_id(), self.node(element, depth + position)))
        result = self.node(body, depth + len(elements))
        for position, (identity, value) in reversed(list(enumerate(bound))):
            result = ast.Bind(identity, token.start_pos, f"@index:{position}", value, result)
        return result

    @staticmethod
    def collapse(tree: Tree) -> Tree:
        while len(tree.children) == 1 and tree.data in _TRANSPARENT:
            tree = tree.children[0]
        return tree

    def expansion(self, name: str, token: Tree, target: Tree, args: list[Tree], depth: int) -> ast.Node:
        """Expand `optMap`, `optFlatMap` and `sortBy` into other nodes, with the receiver bound to a hidden name."""
        offset = token.start_pos
        number = self.take_id()
        hidden = f"@target:{number}"
        source = self.node(target, depth)

        def again() -> ast.Node:
            return ast.Ident(self.take_id(), offset, hidden)

        if name == "sortBy":
            sort, receiver, macro, items = self.take_id(), again(), self.take_id(), again()
            saved = self.next_id
            variable = self.variable(args[0])
            self.next_id = saved
            keys = ast.Macro(macro, offset, "map", items, (variable,), (self.node(args[1], depth + 3),))
            sorting = ast.Call(sort, offset, "@sortByAssociatedKeys", receiver, (keys,))
            return ast.Bind(number, offset, hidden, source, sorting)
        choice, test = self.take_id(), self.take_id()
        condition = ast.Call(test, offset, "hasValue", again(), ())
        wrap = self.take_id() if name == "optMap" else -1
        bind, value = self.take_id(), self.take_id()
        unwrapped = ast.Call(value, offset, "value", again(), ())
        saved = self.next_id
        variable = self.variable(args[0])
        self.next_id = saved
        mapped: ast.Node = ast.Bind(bind, offset, variable, unwrapped, self.node(args[1], depth + 3))
        if name == "optMap":
            mapped = ast.Call(wrap, offset, "optional.of", None, (mapped,))
        nothing = ast.Call(self.take_id(), offset, "optional.none", None, ())
        chosen = ast.Call(choice, offset, "_?_:_", None, (condition, mapped, nothing))
        return ast.Bind(number, offset, hidden, source, chosen)


_TRANSPARENT = frozenset(
    {
        "expr",
        "conditionalor",
        "conditionaland",
        "relation",
        "addition",
        "multiplication",
        "unary",
        "member",
        "primary",
        "paren_expr",
    }
)
