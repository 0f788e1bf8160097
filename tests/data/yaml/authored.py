"""YAML as people write it: the same tree in mixed styles, with comments, odd indentation and line ends."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from muster.data.tree import Tree
from muster.data.yaml.emitter import emit, flow, inline, quoted

_SINGLE = re.compile("[\x20-\x7eé漢]*")


@dataclass
class Author:
    """Writes one document. Every comment is unique, `#<n>.`, so that a lost one is noticed."""

    random: Random
    comments: int = 0
    step: int = field(init=False)
    list_step: int = field(init=False)

    def __post_init__(self) -> None:
        self.step = self.random.choice([2, 2, 4])
        self.list_step = self.random.choice([0, 0, 2])

    def write(self, tree: dict[str, Tree]) -> str:
        newline = self.random.choice(["\n", "\n", "\n", "\r\n"])
        lines = list(self.mapping(tree, 0)) if tree else ["{}" + self.comment()]
        # A literal block at the very end says by its last line break whether the text has one.
        cut = self.random.random() >= 0.8 and not any("|" in line for line in lines)
        return newline.join(lines) + ("" if cut else newline)

    def comment(self) -> str:
        if self.random.random() < 0.7:
            return ""
        self.comments += 1
        return f"{' ' * self.random.randint(1, 3)}#{self.comments}."

    def above(self, indent: int) -> Iterator[str]:
        if self.random.random() < 0.1:
            yield ""
        if comment := self.comment():
            yield " " * indent + comment.strip()

    def mapping(self, tree: dict[str, Tree], indent: int) -> Iterator[str]:
        for key, value in tree.items():
            yield from self.above(indent)
            yield from self.valued(f"{' ' * indent}{self.string(key)}:", value, indent, self.list_step)

    def sequence(self, items: list[Tree], indent: int) -> Iterator[str]:
        for item in items:
            yield from self.above(indent)
            compact = item and isinstance(item, dict | list) and self.random.random() < 0.5
            below = list(self.collection(item, indent + 2)) if compact else []
            if below and below[0].startswith(" " * (indent + 2)) and below[0].strip()[:1] != "#":
                yield f"{' ' * indent}- {below[0].strip(' ')}"
                yield from below[1:]
            else:
                yield from self.valued(f"{' ' * indent}-", item, indent, 2)

    def collection(self, tree: Tree, indent: int) -> Iterator[str]:
        return self.mapping(tree, indent) if isinstance(tree, dict) else self.sequence(tree, indent)

    def valued(self, head: str, value: Tree, indent: int, list_step: int) -> Iterator[str]:
        if value and isinstance(value, dict | list) and self.random.random() < 0.7:
            yield head + self.comment()
            yield from self.collection(value, indent + (self.step if isinstance(value, dict) else list_step))
        elif isinstance(value, str) and self.random.random() < 0.3 and "\n" in value:
            first, *rest = emit({"k": value}).removesuffix("\n").split("\n")
            yield head + first[2:] + (self.comment() if rest else "")
            yield from (" " * indent + line if line else "" for line in rest)
        elif value is None and self.random.random() < 0.5:
            yield head + self.comment()
        else:
            text = self.string(value) if isinstance(value, str) else flow(value)
            yield f"{head} {text}{self.comment()}"

    def string(self, text: str) -> str:
        choice = self.random.random()
        if choice < 0.2:
            return quoted(text)
        if choice < 0.4 and _SINGLE.fullmatch(text):
            return "'" + text.replace("'", "''") + "'"
        return inline(text)
