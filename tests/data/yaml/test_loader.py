"""Strict loading: tables of what is read and of what is refused, and where."""

import pytest

from muster.data.tree import Tree
from muster.data.yaml import limits
from muster.data.yaml.loader import load_documents
from muster.data.yaml.problem import DocumentIdentity, Loaded
from tests.data.yaml.strategies import KINDS


def load(text: str | bytes, label: str = "a.yaml") -> Loaded:
    return load_documents(text if isinstance(text, bytes) else text.encode(), label)


def bodies(loaded: Loaded) -> list[Tree]:
    return [document.body for document in loaded.documents]


def places(loaded: Loaded) -> list[tuple[str, int, int]]:
    return [(problem.kind, problem.line, problem.column) for problem in loaded.problems]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("a: 1", {"a": 1}),
        ("a:\nb: ~\n", {"a": None, "b": None}),
        ("1: a\non: b\ntrue: c\nnull: d\n~: e\n", {"1": "a", "on": "b", "true": "c", "null": "d", "~": "e"}),
        ('"": a\n"<<": b\n"a: b": c\n', {"": "a", "<<": "b", "a: b": "c"}),
        ("a: '1'\nb: \"true\"\nc: |\n  12\nd: >-\n  null\n", {"a": "1", "b": "true", "c": "12\n", "d": "null"}),
        ("a:\n- 1\n- [x, {y: z}]\n-\n  - 2\n", {"a": [1, ["x", {"y": "z"}], [2]]}),
        ("a: {}\nb: []\n", {"a": {}, "b": []}),
        ("? a\n: b\n", {"a": "b"}),
        ("{a: 1, 'b': [2,],}", {"a": 1, "b": [2]}),
        ("a: 2026-01-01T00:00:00Z\nb: 017\nc: yes\n", {"a": "2026-01-01T00:00:00Z", "b": "017", "c": "yes"}),
        ("\ufeffa: 1\r\nb: |\r\n  x\r\n  y\r\n", {"a": 1, "b": "x\ny\n"}),
        ("a: b\t# tab before a comment\n", {"a": "b"}),
        ("a: é漢😀\n", {"a": "é漢😀"}),
        (r'a: "\u0000\x85\u2028\U0001f600\/"', {"a": "\0\x85\u2028😀/"}),
        ("--- # comment\na: 1\n...\n", {"a": 1}),
        ("a: x#y\nb: http://x:1\nc: -x\nd: a,b\n", {"a": "x#y", "b": "http://x:1", "c": "-x", "d": "a,b"}),
    ],
)
def test_reads(text: str, body: Tree) -> None:
    loaded = load(text)
    assert loaded == Loaded(loaded.documents)
    assert bodies(loaded) == [body]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only a comment\n", "---\n", "---\n# x\n---\n...\n", "\ufeff", "--- \n"]
)
def test_skips_empty_documents(text: str) -> None:
    assert load(text) == Loaded()


def test_says_where_each_document_begins() -> None:
    loaded = load("# head\n\na: 1\n---\n---\n# note\nb: 2\n--- {c: 3}\n")
    assert [(document.index, document.line) for document in loaded.documents] == [(0, 3), (2, 7), (3, 8)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: {c: 2, c: 3}\n'a': 2\n", [("duplicate-key", 2, 11), ("duplicate-key", 3, 1)]),
        ("? [a]\n: b\n? {c: d}\n: e\n", [("key", 1, 3), ("key", 3, 3)]),
        ("? [a]\n: b\nc: d\nc: e\n", [("key", 1, 3), ("duplicate-key", 4, 1)]),
        ("?\n: b\n", [("key", 1, 2)]),
        ("a: 1\n<<: {b: 2}\n", [("merge-key", 2, 1)]),
        ("a: &x 1\nb: *x\n&y c: 2\n*x : 3\n", [("alias", 1, 4), ("alias", 2, 4), ("alias", 3, 1), ("alias", 4, 1)]),
        ("a: &x [*x]\nb: [&y {}]\n", [("alias", 1, 4), ("alias", 1, 8), ("alias", 2, 5)]),
        ("a: !!str 1\nb: ! 2\nc: !x {}\n", [("tag", 1, 4), ("tag", 2, 4), ("tag", 3, 4)]),
        ("!y d: !z []\n", [("tag", 1, 1), ("tag", 1, 7)]),
        ("%YAML 1.2\n---\na: 1\n", [("directive", 1, 1)]),
        ("%TAG ! tag:x,\n---\na: 1\n", [("directive", 1, 1)]),
        ("- a\n", [("not-a-mapping", 1, 1)]),
        ("text\n", [("not-a-mapping", 1, 1)]),
        ("~\n", [("not-a-mapping", 1, 1)]),
        ("''\n", [("not-a-mapping", 1, 1)]),
        ("a: 624e769365028171\nb: [.inf]\n", [("number", 1, 4), ("number", 2, 5)]),
        (f"a: {'9' * 5000}\n", [("number", 1, 4)]),
        ("a:\n\tb: 1\n", [("tab", 2, 1)]),
        ("a:\n  b: 1\n  \tc: 2\n", [("tab", 3, 3)]),
        ("a: |\n\tx\n", [("tab", 2, 1)]),
        ("a: b\n\t- c\n", [("tab", 2, 1)]),
        (b"a: 1\nb: caf\xe9\n", [("encoding", 2, 7)]),
        ("b: é\xfc".encode() + b"\xff", [("encoding", 1, 6)]),
        ("a: 1\n".encode("utf-16"), [("encoding", 1, 1)]),
        ("a: 1\n".encode("utf-16-le"), [("encoding", 1, 1)]),
        ("a: 1\n".encode("utf-32"), [("encoding", 1, 1)]),
        ("a: \x07\n", [("control-character", 1, 4)]),
        ("a: 1\nb: é\x00", [("control-character", 2, 5)]),
        ("a: 1\rb: 2\r", [("control-character", 1, 5)]),
        ("a: x\u2028y", [("control-character", 1, 5)]),
        ("a: x\x85y", [("control-character", 1, 5)]),
        ("a: \ufeff", [("control-character", 1, 4)]),
        ("a: \x7f", [("control-character", 1, 4)]),
        ("a: b: c\n", [("syntax", 1, 5)]),
        ("a: 1\nfoo\nb: 2\n", [("syntax", 2, 1)]),
        ("a: [1, 2\nb: 3\n", [("syntax", 2, 2)]),
        ("a: 1\n}\n", [("syntax", 2, 1)]),
        ("a: {b: c}}\n", [("syntax", 1, 10)]),
        ("a: 'x\nb: 1\n", [("syntax", 1, 4)]),
        ("a: 'x\n---\n# y\n", [("syntax", 1, 4)]),
        ("a: 'it's'\n", [("syntax", 1, 8)]),
        ("a: %b\n", [("syntax", 1, 4)]),
        ("a: @b\n", [("syntax", 1, 4)]),
        ('a: "\\q"\n', [("syntax", 1, 5)]),
        ('a: "\\xg"\n', [("syntax", 1, 5)]),
        ('a: "x \\ud83d\\ude00"\n', [("syntax", 1, 7)]),
        ("a:\n  - b\n c: 1\n", [("syntax", 3, 2)]),
        ("a: 1\n...\nb: 2\n", [("syntax", 3, 1)]),
        ("a: - b\n", [("syntax", 1, 4)]),
        ("a: !x!y 1\n", [("syntax", 1, 4)]),
    ],
)
def test_refuses(text: str | bytes, expected: list[tuple[str, int, int]]) -> None:
    loaded = load(text)
    assert places(loaded) == expected
    for problem in loaded.problems:
        assert problem.kind in KINDS
        assert problem.message
        assert problem.hint
        source, _, caret = problem.excerpt.partition("\n")
        assert bool(source) is (b"\x00" not in (text if isinstance(text, bytes) else b""))
        assert caret.strip() == ("^" if source else "")


def test_messages_say_the_value_and_what_to_do() -> None:
    problems = load("a: 1\nb: 624e769365028171\nid: 1\n'id': 2\nc: !!binary x\n").problems
    assert [(problem.message, problem.hint) for problem in problems] == [
        ("'624e769365028171' is not a finite number in YAML", 'quote it: "624e769365028171"'),
        ("the key 'id' appears twice in one mapping, first on line 3", "keep one of the two"),
        ("the tag '!!binary' is not supported", "remove it; quote the value if it is to be a string"),
    ]


def test_the_excerpt_points_at_the_character() -> None:
    (problem,) = load("名前: 漢字\n説明: 漢 \x01\n").problems
    assert problem.excerpt == "説明: 漢 \\x01\n         ^"


# One broken document does not hide the others


def head(name: str, kind: str = "K") -> str:
    return f"apiVersion: g/v1\nkind: {kind}\nmetadata:\n  namespace: ns\n  name: {name}\n"


@pytest.mark.parametrize(
    "broken",
    [
        "a: [\n",
        "a: 'x\n",
        "\tb: 1\n",
        "a: b: c\n",
        "a: \x01\n",
        "a: " + "[" * 200_000 + "\n",
        "a: 1\na: 2\n",
        "a: *x\n",
    ],
)
def test_a_broken_document_between_two_others(broken: str) -> None:
    text = f"{head('one')}---\n{head('two')}{broken}---\n{head('three')}"
    loaded = load(text)
    assert [body["metadata"]["name"] for body in bodies(loaded)] == ["one", "three"]
    assert [document.index for document in loaded.documents] == [0, 2]
    assert {problem.index for problem in loaded.problems} == {1}
    assert all(problem.identity == ("g/v1", "K", "ns", "two") for problem in loaded.problems)
    assert loaded.lost == (DocumentIdentity("g/v1", "K", "ns", "two"),)
    line = text.splitlines()[loaded.documents[1].line - 1]
    assert (line, loaded.documents[1].line) == ("apiVersion: g/v1", 8 + broken.count("\n") + 5)


def test_bytes_that_are_no_text_spoil_only_their_document() -> None:
    loaded = load(head("one").encode() + b"---\n" + head("two").encode() + b"a: \xe9\n---\n" + head("three").encode())
    assert [body["metadata"]["name"] for body in bodies(loaded)] == ["one", "three"]
    assert places(loaded) == [("encoding", 12, 4)]


def test_a_document_marker_inside_a_block_scalar_is_still_a_marker_only_at_the_margin() -> None:
    loaded = load("a: |\n  ---\n  x\nb: 'y\n\n  ---'\n---\nc: [\n")
    assert bodies(loaded) == [{"a": "---\nx\n", "b": "y\n---"}]


# Limits


def test_deep_nesting_is_refused_at_the_limit() -> None:
    fits = "a: " + "[" * (limits.DEPTH - 1) + "]" * (limits.DEPTH - 1)
    assert load(fits).problems == ()
    assert places(load("a: " + "[" * limits.DEPTH)) == [("depth", 1, 3 + limits.DEPTH)]
    assert places(load("a: " + "{b: " * limits.DEPTH)) == [("depth", 1, 4 + 4 * (limits.DEPTH - 1))]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[a: ", "[? "])
@pytest.mark.parametrize("label", ["a.yaml", "a.json"])
def test_200_000_levels_of_nesting_are_a_problem(opening: str, label: str) -> None:
    loaded = load(opening * 200_000, label)
    assert loaded.documents == ()
    assert 1 <= len(loaded.problems) <= limits.PROBLEMS + 1


def test_a_file_of_50_mb_is_refused_by_its_size_alone() -> None:
    loaded = load(head("big").encode() + b"a: " + b"x" * 50_000_000)
    assert places(loaded) == [("size", 1, 1)]
    assert loaded.problems[0].identity == DocumentIdentity("g/v1", "K", "ns", "big")


def test_the_largest_file_is_read() -> None:
    text = "a: " + "x" * (limits.SIZE - 3)
    assert len(load(text).documents) == 1
    assert places(load(text + "x")) == [("size", 1, 1)]


def test_the_number_of_values_is_limited_over_all_documents() -> None:
    full = "a: [" + "x," * (limits.NODES - 10) + "]\n"
    assert len(load(full).documents) == 1
    loaded = load(f"{full}---\nb: [{'x,' * 20}]\n---\n{head('last')}")
    assert [problem.kind for problem in loaded.problems] == ["too-many-values"]
    assert loaded.lost == (DocumentIdentity("g/v1", "K", "ns", "last"),)
    assert [problem.kind for problem in load("---\n" * (limits.NODES + 10)).problems] == ["too-many-values"]
    flat = "".join(f"k{n}: x\n" for n in range(limits.NODES + 10))
    assert [problem.kind for problem in load(flat).problems] == ["too-many-values"]


def test_an_alias_bomb_is_not_unfolded() -> None:
    text = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 11))
    loaded = load(text)
    assert {problem.kind for problem in loaded.problems} == {"alias", "too-many-problems"}
    assert loaded.documents == ()


@pytest.mark.parametrize("document", ["a: 1\na: 2\n", "}\n", "a: " + "*x, " * 50 + "\n"])
def test_the_number_of_problems_is_limited_and_every_object_still_known(document: str) -> None:
    count = limits.PROBLEMS + 30
    loaded = load("".join(f"---\n{head(str(n))}{document}" for n in range(count)))
    assert len(loaded.problems) == limits.PROBLEMS + 1
    assert loaded.problems[-1].kind == "too-many-problems"
    assert [identity.name for identity in loaded.lost] == [str(n) for n in range(count)]


# JSON


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (r'{"a": "\/ \" \\ \b\f\n\r\t \u00e9"}', {"a": '/ " \\ \b\f\n\r\t é'}),
        (r'{"a": "\ud83d\ude00\uD83D\uDE00"}', {"a": "😀😀"}),
        (r'{"a": "\\ud83d\\ude00"}', {"a": r"\ud83d\ude00"}),
        ('{\n\t"a": [1, -2.5e3, true, null, {}],\n\t"b":"c"\n}\n', {"a": [1, -2500.0, True, None, {}], "b": "c"}),
        ('{"yes": "no", "a:b": "- c", "": ""}', {"yes": "no", "a:b": "- c", "": ""}),
    ],
)
def test_reads_json(text: str, body: Tree) -> None:
    loaded = load(text, "a.json")
    assert loaded.problems == ()
    assert bodies(loaded) == [body]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1,}', [("syntax", 1, 9)]),
        ("{'a': 1}", [("syntax", 1, 2)]),
        ('{"a": 1}\n---\n{"b": 2}', [("syntax", 2, 1)]),
        ('{"a": 1} # comment', [("syntax", 1, 10)]),
        ('{"a": "NaN", "é": NaN}', [("syntax", 1, 19)]),
        ('{"a": -Infinity}', [("syntax", 1, 7)]),
        (r'{"a": "\ud800"}', [("syntax", 1, 8)]),
        ('{"a": 1, "a": 2}', [("duplicate-key", 1, 10)]),
        ('{"x": "é",\n "e": "é\\ud83d\\ude00\\ud83d\\ude00", "a": 1, "a": 2}', [("duplicate-key", 2, 44)]),
        ('{"a": 1e999}', [("number", 1, 7)]),
        ('{"a": ' + "9" * 5000 + "}", [("number", 1, 7)]),
        ('["a"]', [("not-a-mapping", 1, 1)]),
        (b'{"a": "\xe9"}', [("encoding", 1, 8)]),
    ],
)
def test_refuses_json(text: str | bytes, expected: list[tuple[str, int, int]]) -> None:
    assert places(load(text, "a.json")) == expected


def test_what_go_writes_bare_is_a_text() -> None:
    """kubectl does not quote a number that no float can hold: it is a text to it."""
    data = b"a: 624e769365028171\nb: 1.5\nc: -1e999\nd: 99999999999999999999\n"
    loaded = load_documents(data, "dump.yaml", of_go=True)
    assert [problem.kind for problem in loaded.problems] == ["number"], "an integer it would have quoted"
    loaded = load_documents(data.rpartition(b"d:")[0], "dump.yaml", of_go=True)
    assert [document.body for document in loaded.documents] == [{"a": "624e769365028171", "b": 1.5, "c": "-1e999"}]


def test_how_large_a_file_may_be_is_for_the_reader_to_say() -> None:
    data = b"a: [" + b"1, " * 250_000 + b"1]\n"
    assert load_documents(data, "x.yaml").problems[0].kind == "too-many-values"
    assert len(load_documents(data, "x.yaml", most_nodes=300_000).documents) == 1
    (problem,) = load_documents(data, "x.yaml", most_nodes=1_000).problems
    assert "1,000" in problem.message or "1000" in problem.message
    assert load_documents(data, "x.yaml", most_bytes=1_000).problems[0].kind == "size"
