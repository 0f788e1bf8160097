"""Whatever bytes come in, documents and problems come out: never an exception, never a guess."""

import math

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muster.data.tree import Tree
from muster.data.yaml.edit import EditError, set_value
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents
from muster.data.yaml.positions import locate
from muster.data.yaml.problem import Loaded
from tests.data.yaml.strategies import KINDS
from tests.support.examples import often

SAMPLE = """\
# A file as people write it
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: "prod-é", labels: {a: b, 'c': [1, 2.5]}}
spec:
  text: |-
    one

    two
  folded: >
    x
  list:
  - {key: dedicated, effect: NoSelect}
  - plain: yes
    "esc\\u00e9": "\\x41\\n"
---
kind: List
items:
- kind: K
  metadata:
    name: n
...
---
{"json": [null, true, -1e3]}
""".encode()

PIECES = [
    b"a",
    b"b",
    b"0",
    b"1",
    b".",
    b"-",
    b"- ",
    b"? ",
    b": ",
    b":",
    b"  ",
    b" ",
    b"\t",
    b"\n",
    b"\r\n",
    b"\r",
    b"#",
    b",",
    b"'",
    b'"',
    b"[",
    b"]",
    b"{",
    b"}",
    b"|",
    b">",
    b"&a ",
    b"*a",
    b"!t ",
    b"!!str ",
    b"%YAML 1.1\n",
    b"---\n",
    b"---",
    b"...\n",
    b"<<",
    b"\\",
    b"\\u",
    b"\\ud83d\\ude00",
    b"\xc3\xa9",
    b"\xe9",
    b"\xf0\x9f\x98\x80",
    b"\xef\xbb\xbf",
    b"\x00",
    b"\x85",
    b"kind: K\n",
    b"metadata:\n",
    b"  name: n\n",
    b"null",
    b"true",
    b".inf",
    b"1e999",
    b"9" * 30,
    b"a: ",
    b"\n- ",
    b"\n  ",
]

mutations = st.lists(
    st.tuples(st.integers(0, len(SAMPLE)), st.integers(0, 8), st.sampled_from([b"", *PIECES]) | st.binary(max_size=3)),
    min_size=1,
    max_size=4,
)
files = st.one_of(
    st.binary(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join),
    mutations.map(lambda changes: mutate(SAMPLE, changes)),
)
labels = st.sampled_from(["a.yaml", "a.yaml", "a.json"])


def mutate(data: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    for start, length, replacement in changes:
        data = data[:start] + replacement + data[start + length :]
    return data


def shape(tree: Tree) -> Tree:
    """Return a tree without its scalars."""
    if isinstance(tree, dict):
        return {key: shape(value) for key, value in tree.items()}
    return [shape(item) for item in tree] if isinstance(tree, list) else None


def is_plain(tree: Tree) -> bool:
    """Whether a tree holds nothing but what JSON can say."""
    if isinstance(tree, dict):
        return all(isinstance(key, str) and is_plain(value) for key, value in tree.items())
    if isinstance(tree, list):
        return all(map(is_plain, tree))
    if isinstance(tree, float):
        return math.isfinite(tree)
    return tree is None or isinstance(tree, str | bool) or (isinstance(tree, int) and -(2**63) <= tree < 2**63)


def check(data: bytes, label: str) -> Loaded:
    loaded = load_documents(data, label)
    lines = data.count(b"\n") + 1
    for problem in loaded.problems:
        assert problem.kind in KINDS
        assert problem.message
        assert 1 <= problem.line <= lines
        assert problem.column >= 1
        assert problem.message.isprintable()
        assert problem.hint.isprintable()
        assert problem.excerpt.replace("\n", "").isprintable()
        assert problem.identity is None or problem.identity in loaded.lost
    indexes = [document.index for document in loaded.documents]
    assert indexes == sorted(set(indexes) - {problem.index for problem in loaded.problems})
    for document in loaded.documents:
        assert is_plain(document.body)
        assert load_documents(emit(document.body).encode(), "a.yaml").documents[0].body == document.body
        for key in document.body:
            assert locate(data, document.index, (key,), label=label).depth == 1
    return loaded


@settings(max_examples=often(500))
@given(files, labels)
@example(SAMPLE, "a.yaml")
@example(b"a: !<tag:yaml.org,2002:str> x", "a.yaml")
@example(b"? |\n  block\n: - one\n", "a.yaml")
def test_only_problems_come_out(data: bytes, label: str) -> None:
    loaded = check(data, label)
    if label == "a.yaml" and not loaded.problems:
        others = [tree for tree in yaml.load_all(data, yaml.CBaseLoader) if tree != ""]
        assert [shape(document.body) for document in loaded.documents] == [shape(tree) for tree in others]


@settings(max_examples=often(100))
@given(
    files,
    st.sampled_from([(), ("a",), ("kind",), ("spec", "list", 0), ("b", "c")]),
    st.sampled_from([1, "x", [], {"k": []}]),
)
def test_an_edit_is_right_or_refused(data: bytes, path: tuple[str | int, ...], value: Tree) -> None:
    text = data.decode("utf-8", "surrogateescape")
    try:
        edited = set_value(text, 0, path, value)
    except EditError as error:
        assert str(error)
        return
    found: Tree = load_documents(edited.encode("utf-8", "surrogateescape"), "a.yaml").documents[0].body
    for step in path:
        found = found[step]
    assert found == value


def test_the_sample_is_a_good_file() -> None:
    loaded = check(SAMPLE, "a.yaml")
    assert [document.line for document in loaded.documents] == [2, 17, 24]
    assert loaded.problems == ()
