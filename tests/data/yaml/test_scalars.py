"""Positions inside scalars, held against what PyYAML decodes."""

from collections.abc import Iterator

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster.data.yaml.scalars import Position, position_in_scalar

DOCUMENTS = {
    "plain": "key: self.spec == 'a'  # why\n",
    "plain in flow": "{key: self.spec, other: b}\n",
    "plain over lines": "key: self.spec\n  && other\n\n\n   && third   \n\nnext: x\n",
    "plain on the next line": "key:\n  self.spec\n  && other\n",
    "plain with tag and anchor": "key: !!str &anchor self.spec\n",
    "tag alone on its line": "key: !!str\n  # a comment\n  self.spec\n",
    "single": "key: 'it''s a ''test'''\n",
    "single over lines": "key: 'one  \n\n  two ''x''\n  three'\n",
    "single that begins and ends with a break": "key: '\n  one\n  '\n",
    "double": 'key: "a\\tb\\x41\\u00e9 \\"q\\" \\\\ end"\n',
    "double over lines": 'key: "one\n   two \\\n   three  \\\n\n  \\ four\n\n  five\\\n  six"\n',
    "literal": "key: |\n  one\n    two\n\n  three\nnext: x\n",
    "literal stripped": "key: |-\n  one\n  two\n",
    "literal kept": "key: |+\n  one\n\n\nnext: x\n",
    "literal with indicator": "key: |2\n    two more\n  none more\n",
    "literal with both indicators": "- a:\n  - key: |1-  # why\n      three more\n     two more\n",
    "literal in a list": "-\n  - |2\n      two more\n",
    "literal after blank lines": "key: |\n\n\n  one\n",
    "folded": "key: >\n  one\n  two\n\n  three\n\n\n  four\nnext: x\n",
    "folded with deeper lines": "key: >-\n  one\n    deep\n    deeper\n\n  two\n  three\n",
    "folded with deeper first": "key: >-\n\n   \n    one\n\n     deep\n\n\n    two\n",
    "folded stripped": "key: >-\n  self.spec &&\n  other\n",
    "empty single": "key: ''\n",
}


def _scalars(text: str) -> Iterator[yaml.ScalarNode]:
    pending = [yaml.compose(text, Loader=yaml.SafeLoader)]
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.ScalarNode):
            yield node
        elif isinstance(node, yaml.SequenceNode):
            pending.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            pending.extend(part for pair in node.value for part in pair)


def _positions(text: str, node: yaml.ScalarNode) -> list[Position]:
    start = Position(node.start_mark.line + 1, node.start_mark.column + 1)
    lines = text.splitlines()
    return [position_in_scalar(lines, start, node.style, offset) for offset in range(len(node.value) + 1)]


def _assert_characters_stand_where_they_are_said_to(text: str) -> None:
    lines = text.splitlines()
    for node in _scalars(text):
        found = _positions(text, node)
        assert found == sorted(found)
        for character, position in zip(node.value, found, strict=False):
            at = lines[position.line - 1][position.column - 1 : position.column]
            if at == "\\" and node.style == '"':
                continue  # an escape stands at its beginning
            assert at == character or (character in " \n" and at in ("", " "))


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_each_character_stands_where_it_is_said_to(text: str) -> None:
    _assert_characters_stand_where_they_are_said_to(text)


@pytest.mark.parametrize(
    ("text", "needle", "position"),
    [
        ("key: >-\n  self.spec &&\n  other\n", "other", (3, 3)),
        ("key: 'it''s x'\n", "x", (1, 13)),
        ('key: "a\\tb"\n', "b", (1, 10)),
        ('key: "a\\tb"\n', "\t", (1, 8)),
        ("a:\n- key: |2\n    deep\n", "deep", (3, 5)),
        ("key: one\n\n  two\n", "\n", (2, 1)),
        ("key: one\n  two\n", " ", (1, 9)),
        ('key: "one \\\n  two"\n', "two", (2, 3)),
    ],
)
def test_a_place(text: str, needle: str, position: tuple[int, int]) -> None:
    (node,) = (node for node in _scalars(text) if needle in node.value)
    assert _positions(text, node)[node.value.index(needle)] == position


@pytest.mark.parametrize(
    ("text", "position"),
    [("key: abc\n", (1, 9)), ("key: 'abc'\n", (1, 10)), ("key: ''\n", (1, 6)), ("key: |-\n  abc\n", (2, 6))],
)
def test_an_offset_past_the_end_points_behind_the_last_character(text: str, position: tuple[int, int]) -> None:
    value = next(node for node in _scalars(text) if node.value != "key")
    assert _positions(text, value)[-1] == position


words = st.text(alphabet="ab'\"\\ \n\té#:-", max_size=40)


@given(words, st.sampled_from([None, "'", '"', "|", ">"]), st.integers(0, 3), st.sampled_from([12, 80]))
def test_whatever_is_dumped_is_found_again(value: str, style: str | None, depth: int, width: int) -> None:
    tree: object = value
    for level in range(depth):
        tree = [tree] if level % 2 else {"k": tree}
    text = yaml.dump(tree, default_style=style, width=width, allow_unicode=True)
    _assert_characters_stand_where_they_are_said_to(text)
