"""For any text the front end only returns issues, and the engine only a value or an error."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from muster import cel
from muster.cel import ast
from muster.cel.checker.check import CheckedExpression, check
from muster.cel.cost import estimate, limit_issue
from muster.cel.declarations import OPERATORS
from muster.cel.errors import SyntaxIssue
from muster.cel.folds import FOLDS
from muster.cel.library.registry import Declarations
from muster.cel.parser import parse
from muster.cel.values import UInt
from muster.data.yaml.positions import excerpt
from tests.cel.environment import ENVIRONMENT, VARIABLES
from tests.support.examples import often

TOKENS = (
    "self",
    "now",
    "x",
    "ints",
    "a",
    "1",
    "2u",
    "1.5",
    "'s'",
    "b'x'",
    "null",
    "true",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "?",
    ".",
    ".?",
    "[?",
    "+",
    "-",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    ">=",
    "&&",
    "||",
    "!",
    " in ",
    "has(",
    ".all(e, ",
    ".map(e, ",
    ".filter(",
    ".exists_one(v, w, ",
    "size(",
    "duration(",
    "timestamp(",
    "matches(",
    "'(a+)+$'",
    "cel.bind(v, ",
    "optional.of(",
    "math.greatest(",
    "\n",
    "// note\n",
    "\\",
    '"""',
    "r'\\'",
    "`a-b`",
    "é",
    "\x00",
    "🜚",
)

texts = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(TOKENS), max_size=25).map("".join),
    st.lists(st.sampled_from(TOKENS), max_size=12).map(" ".join),
)


def examine(node: ast.Node, text: str) -> CheckedExpression:
    """Check, estimate, and show everything that was found."""
    found = check(node, ENVIRONMENT, text)
    for issue in found.issues:
        assert issue.message
        assert 0 <= issue.offset <= len(text)
        assert excerpt(text.encode("utf-8", "replace"), issue.line, issue.column).count("\n") == 1
    cost = estimate(node, found)
    assert 0 <= cost.min <= cost.max
    limit_issue(cost, 10, text)
    return found


@settings(max_examples=often(250))
@given(texts)
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        node = parse(text)
    except SyntaxIssue as refused:
        assert refused.issues
        return
    examine(node, text)
    result = cel.compile(text).run({"x": 1, "ints": [1, 2]}, budget=10_000)
    assert result.cost <= 10_000


NAMES = (*sorted(VARIABLES), "e", "v", "math", "net", "optional", "nothing", "@in", "")
OPERATIONS = tuple(sorted(OPERATORS.keys() - {"_[_]", "_[?_]"}))
FUNCTIONS = (*sorted(Declarations().keys() - OPERATORS.keys()), "nothing")
values = st.sampled_from(
    (None, True, False, 0, -1, 2**63 - 1, UInt(3), 1.5, float("nan"), "", "a", "(", "True", b"", b"a")
)
Nodes = st.SearchStrategy[ast.Node]


def _operation(name: str, inner: Nodes) -> Nodes:
    """Return calls of an operator, which always has as many operands as its name has blanks."""
    count = 2 if name == "@in" else name.count("_")
    return st.builds(ast.Call, st.just(0), st.just(0), st.just(name), st.none(), st.tuples(*[inner] * count))


def _grown(inner: Nodes) -> Nodes:
    optional = st.booleans()
    args = st.lists(inner, max_size=3).map(tuple)
    names = st.sampled_from(NAMES)
    one_or_two = st.sampled_from((("e",), ("e", "v"), ("self",)))
    bodies = st.lists(inner, min_size=1, max_size=2).map(tuple)
    entries = st.lists(st.builds(ast.MapEntry, inner, inner, optional), max_size=3).map(tuple)
    fields = st.lists(st.builds(ast.MessageField, names, inner, optional), max_size=2).map(tuple)
    zero = st.just(0)
    return st.one_of(
        st.builds(ast.Select, zero, zero, inner, names, optional),
        st.builds(ast.Has, zero, zero, inner, names),
        st.builds(ast.IndexNode, zero, zero, inner, inner, optional),
        st.builds(ast.Call, zero, zero, st.sampled_from(FUNCTIONS), st.none() | inner, args),
        st.sampled_from(OPERATIONS).flatmap(lambda name: _operation(name, inner)),
        st.builds(ast.ListNode, zero, zero, args, st.sets(st.integers(0, 2)).map(frozenset)),
        st.builds(ast.MapNode, zero, zero, entries),
        st.builds(ast.Struct, zero, zero, names, fields),
        st.builds(ast.Macro, zero, zero, st.sampled_from(sorted(FOLDS)), inner, one_or_two, bodies),
        st.builds(ast.Bind, zero, zero, names, inner, inner),
    )


leaves: Nodes = st.one_of(
    st.builds(ast.Literal, st.just(0), st.just(0), values),
    st.builds(ast.Ident, st.just(0), st.just(0), st.sampled_from(NAMES)),
)


@settings(max_examples=often(150))
@given(st.recursive(leaves, _grown, max_leaves=12))
def test_any_tree_is_checked(tree: ast.Node) -> None:
    examine(_numbered(tree), "")


def _numbered(tree: ast.Node) -> ast.Node:
    """Return the tree with the ids that the parser would have given."""
    numbers = iter(range(10_000))

    def again(node: ast.Node) -> ast.Node:
        number = next(numbers)
        match node:
            case ast.Literal():
                return ast.Literal(number, 0, node.value)
            case ast.Ident():
                return ast.Ident(number, 0, node.name)
            case ast.Select():
                return ast.Select(number, 0, again(node.operand), node.field, node.optional)
            case ast.Has():
                return ast.Has(number, 0, again(node.operand), node.field)
            case ast.IndexNode():
                return ast.IndexNode(number, 0, again(node.operand), again(node.index), node.optional)
            case ast.Call():
                target = None if node.target is None else again(node.target)
                return ast.Call(number, 0, node.function, target, tuple(map(again, node.args)))
            case ast.ListNode():
                positions = frozenset(range(len(node.elements))) & node.optional
                return ast.ListNode(number, 0, tuple(map(again, node.elements)), positions)
            case ast.MapNode():
                entries = (ast.MapEntry(again(entry.key), again(entry.value), entry.optional) for entry in node.entries)
                return ast.MapNode(number, 0, tuple(entries))
            case ast.Struct():
                fields = (ast.MessageField(field.name, again(field.value), field.optional) for field in node.fields)
                return ast.Struct(number, 0, node.name, tuple(fields))
            case ast.Macro():
                return ast.Macro(number, 0, node.name, again(node.range), node.variables, tuple(map(again, node.args)))
            case ast.Bind():
                return ast.Bind(number, 0, node.name, again(node.value), again(node.body))

    return again(tree)


def _nested(level: int, around: Callable[[str], str]) -> str:
    text = "x"
    for _ in range(level):
        text = around(text)
    return text


DEEP: tuple[Callable[[str], str], ...] = (
    lambda text: f"({text})",
    lambda text: f"[{text}]",
    lambda text: f"!({text} == 1)",
    lambda text: f"{text} + 1",
    lambda text: f"1 + {text}" if len(text) % 2 else f"(1 + {text})",
    lambda text: f"{text}.a",
    lambda text: f"x ? 1 : {text}",
    lambda text: f"size({text})",
    lambda text: f"ints.all(e, {text})",
    lambda text: f"{{'a': {text}}}",
    lambda text: f"cel.bind(v, {text}, v)",
    lambda text: f"({text}) || x",
)


def test_deep_expressions_are_refused_or_evaluated() -> None:
    for around in DEEP:
        for level in (10, 100, 300, 1_500):
            text = _nested(level, around)
            try:
                node = parse(text)
            except SyntaxIssue:
                continue
            examine(node, text)
            result = cel.compile(text).run({"x": 1, "ints": [1, 2]}, budget=50_000)
            assert result.cost <= 50_000
