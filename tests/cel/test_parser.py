"""What the parser accepts, the trees it returns, and its error messages."""

import pytest

from muster import cel
from muster.cel import ast
from muster.cel.parser import parse


def shape(node: ast.Node) -> str:
    """Return a tree as a short text in prefix form."""
    match node:
        case ast.Literal():
            return repr(node.value)
        case ast.Ident():
            return node.name
        case ast.Select():
            return f"{shape(node.operand)}.{'?' if node.optional else ''}{node.field}"
        case ast.Has():
            return f"has({shape(node.operand)}.{node.field})"
        case ast.Macro():
            return f"{node.name}({shape(node.range)}; {', '.join(node.variables)}; {', '.join(map(shape, node.args))})"
        case ast.Call():
            return f"{node.function}({', '.join(map(shape, ast.children(node)))})"
        case _:
            return f"{type(node).__name__}({', '.join(map(shape, ast.children(node)))})"


SHAPES = [
    ("1 + 2 * 3", "_+_(1, _*_(2, 3))"),
    ("1 - 2 - 3", "_-_(_-_(1, 2), 3)"),
    ("a || (b || c) || d", "_||_(a, b, c, d)"),
    ("a && b || c && d", "_||_(_&&_(a, b), _&&_(c, d))"),
    ("a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"),
    ("-1 - -1", "_-_(-1, -1)"),
    ("-(1)", "-_(1)"),
    ("!!a", "!_(!_(a))"),
    ("a in b", "@in(a, b)"),
    ("a.`b-c`.?d", "a.b-c.?d"),
    ("a[?0][1]", "IndexNode(IndexNode(a, 0), 1)"),
    ("[a, ?b,]", "ListNode(a, b)"),
    ("{?'k': v,}", "MapNode('k', v)"),
    ("has(a.b.c)", "has(a.b.c)"),
    ("l.all(x, x > 0)", "all(l; x; _>_(x, 0))"),
    ("l.all(i, x, x > i)", "all(l; i, x; _>_(x, i))"),
    ("l.map(x, x > 0, x)", "map(l; x; _>_(x, 0), x)"),
    ("l.all(x)", "all(l, x)"),
    ("cel.bind(x, 1, x)", "Bind(1, x)"),
    (".a.b", ".a.b"),
    ("r'\\n' + '''a\nb'''", "_+_('\\\\n', 'a\\nb')"),
    ("0x1F + 1u // comment", "_+_(31, 1u)"),
    ("1.size()", "size(1)"),
]


@pytest.mark.parametrize(("text", "expected"), SHAPES)
def test_shape(text: str, expected: str) -> None:
    assert shape(parse(text)) == expected


@pytest.mark.parametrize("text", [text for text, _ in SHAPES])
def test_ids_are_unique_and_in_order_and_offsets_are_in_the_text(text: str) -> None:
    nodes = list(ast.walk(parse(text)))
    assert nodes[0].id == 0
    assert len({node.id for node in nodes}) == len(nodes)
    assert [node.id for node in nodes] == sorted(node.id for node in nodes)
    assert all(0 <= node.offset < len(text) for node in nodes)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a +", 1, 4, "the expression ends too early"),
        ("a b", 1, 3, "unexpected 'b'"),
        ("(a", 1, 3, "the expression ends too early"),
        ("a\n  && for", 2, 6, "'for' is a reserved word"),
        ("'\\q'", 1, 2, "\\q is not an escape sequence"),
        ("'abc", 1, 1, "a string that is never closed"),
        ("a # b", 1, 3, "unexpected character '#'"),
        ("99999999999999999999", 1, 1, "99999999999999999999 does not fit into int"),
        ("has(a)", 1, 1, "has() takes a field selection"),
        ("l.all(x.y, true)", 1, 7, "a macro's variable must be a simple name"),
        ("l.all(x, x, true)", 1, 10, "the two variables of all() have the same name"),
        ("-!a", 1, 2, "'!' and '-' cannot follow each other"),
        ("f(){a: 1}", 1, 1, "only a type name can be before '{'"),
    ],
)
def test_refusal(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(cel.SyntaxIssue) as caught:
        parse(text)
    (issue,) = caught.value.issues
    assert (issue.line, issue.column, issue.message) == (line, column, message)


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("a > 5m", "5m"),
        ("a > 90 s", "90s"),
        ("a >= 1h30m", "1h30m"),
        ("a > 5 min", "5m"),
        ("a > 10 minutes && b", "10m"),
        ("f(7d)", "168h"),
        ("a > 500ms", "500ms"),
    ],
)
def test_a_length_of_time_is_written_as_a_duration(text: str, duration: str) -> None:
    with pytest.raises(cel.SyntaxIssue) as caught:
        parse(text)
    assert caught.value.issues[0].hint == f"write the length of time as duration('{duration}')"


@pytest.mark.parametrize("text", ["a > 5x", "a m", "size(a > 3", "(5", f"a > {'9' * 10}m", "a > 5m0x"])
def test_other_words_after_a_number_are_no_length_of_time(text: str) -> None:
    with pytest.raises(cel.SyntaxIssue) as caught:
        parse(text)
    assert "duration" not in caught.value.issues[0].hint
