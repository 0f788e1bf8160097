"""Markdown that does nothing: whatever a name or a message is, the page has the same shape, and shows it as it is."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from muster.cli.markdown import code, folded, table, words
from muster.data.printable import printable

HOSTILE = [
    "@everyone",
    "@org/team please look",
    "#1",
    "org/repo#2",
    "!3",
    "~bug",
    "$1",
    "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
    "[x](https://evil.example)",
    "![x](https://evil.example/p.png)",
    "https://evil.example",
    "www.evil.example",
    "a@evil.example",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</code></details>",
    "<!-- muster:plan -->",
    "-->",
    "&lt;b&gt;",
    "&#64;me",
    "`a`",
    "``",
    "```\ncode",
    "a | b",
    "a || b |",
    "\\|",
    "\\",
    "*a*",
    "**b**",
    "_c_",
    "~~d~~",
    "# heading",
    "> quote",
    "- [ ] task",
    "1. one",
    "line\nbreak",
    "a\r\nb",
    "a\u2028b",
    "\x1b[31mred",
    "tab\there",
    "\u202egnp.exe",
    "a\u200bb",
    "\ufeffx",
    "\U000e0041",
    "\ud800",
    ":tada:",
    "$x^2$",
    "{{ x }}",
]
#: Nothing else: no sign that Markdown, HTML or a forge reads as more than itself.
INERT = re.compile(r"(?:&#\d+;|[A-Za-z0-9 -]|[^\x00-\x7f])*")
texts = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=40), st.lists(st.sampled_from(HOSTILE), max_size=4).map(" ".join)
)


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


def shape(tokens: list[Token]) -> list[object]:
    """What a page consists of, apart from what its texts say; HTML counts by its bytes."""
    return [
        (token.type, token.tag, token.content if token.type.startswith("html") else "", shape(token.children or []))
        for token in tokens
        if token.type not in ("text", "text_special")
    ]


def page(text: str) -> str:
    rows = [[code(text), "how", f"{code(text)}, {code('b')}"], ["", code(text), "c"]]
    return folded("<b>Title</b>: 3", table(["what", "how", "which"], rows))


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_hostile_shows_as_it_is_and_does_nothing(text: str) -> None:
    assert shape(parsed(page(text))) == shape(parsed(page("plain")))
    inner = code(text).removeprefix("<code>").removesuffix("</code>")
    assert unescape(inner) == printable(text)
    assert INERT.fullmatch(inner)


@given(texts)
def test_whatever_the_text(text: str) -> None:
    if text:
        assert shape(parsed(page(text))) == shape(parsed(page("plain")))
    shown = code(text)
    assert shown.isprintable()
    assert INERT.fullmatch(shown.removeprefix("<code>").removesuffix("</code>"))
    assert unescape(shown.removeprefix("<code>").removesuffix("</code>"))[:400] == printable(text)[:400]
    assert re.fullmatch(r"[^@#!~$:<>|`*_\[\]\\.&]*", words(text).replace("&#46;", ""))


def test_long_texts_are_cut() -> None:
    assert code("x" * 2000) == f"<code>{'x' * 499}…</code>"
    assert words("x" * 2000) == f"{'x' * 499}…"
    assert code("") == ""
