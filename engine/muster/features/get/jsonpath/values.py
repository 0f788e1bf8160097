"""From a template and an object to text: what a path finds, and how values are printed."""

import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from muster.data.printable import inert, printable, printable_json
from muster.data.tree import Tree
from muster.features.get.jsonpath.template import (
    BadTemplate,
    Constant,
    Descent,
    Field,
    Filter,
    Part,
    Path,
    PathStep,
    Range,
    Slice,
    Template,
)

#: So many values a template may look at: some hundred of each object in a fleet of 100,000.
MOST: Final = 20_000_000
_Compared: TypeAlias = Callable[[Tree, Tree], bool]
_COMPARED: Final[Mapping[str, _Compared]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def filled(template: Template, data: Tree, most: int = MOST) -> str:
    """Return what a template says of an object, with nothing in it that a terminal or CI would obey.

    What is not there is left out. BadTemplate where a path asks of a value what it cannot give, as an entry of a text,
    or where more than `most` values would be looked at.
    """
    text = "".join(_PathWalk(template.text, most).parts(template.parts, data))
    return "\n".join(map(inert, text.split("\n")))


class _PathWalk:
    def __init__(self, text: str, most: int) -> None:
        self._text, self._most, self._left = text, most, most

    def parts(self, parts: Sequence[Part], data: Tree) -> Iterator[str]:
        for part in parts:
            if isinstance(part, str):
                yield part
            elif isinstance(part, Range):
                for value in self._found(part.path, [data]):
                    yield from self.parts(part.body, value)
            else:
                constant = bool(part) and isinstance(part[-1].what, Constant)
                yield " ".join(shown(value, constant=constant) for value in self._found(part, [data]))

    def _found(self, path: Path, values: list[Tree]) -> list[Tree]:
        for step in path:
            values = list(self._step(step, values))
        return values

    def _step(self, step: PathStep, values: Iterable[Tree]) -> Iterator[Tree]:
        what = step.what
        if isinstance(what, Constant):
            # As in kubectl: a text stands for whatever was found before it.
            yield what.value
        elif isinstance(what, Field):
            yield from self._counted(step, (found for value in values for found in _field(what.name, value)))
        elif isinstance(what, Descent):
            yield from self._counted(step, (found for value in values for found in _below(value)))
        elif isinstance(what, Slice):
            lists = (value for value in values if value is not None)
            yield from self._counted(step, (found for value in lists for found in self._slice(step, what, value)))
        elif isinstance(what, Filter):
            yield from self._filtered(step, what, values)
        else:
            together = list(values)
            for path in what.paths:
                yield from self._found(path, together)

    def _counted(self, step: PathStep, values: Iterable[Tree]) -> Iterator[Tree]:
        for value in values:
            self._left -= 1
            if self._left < 0:
                raise BadTemplate(f"this looks at more than {self._most} values", self._text, step.at)
            yield value

    def _slice(self, step: PathStep, what: Slice, value: Tree) -> list[Tree]:
        """As kubectl's, an index that there is not is an error, and no empty answer."""
        if not isinstance(value, list):
            raise BadTemplate(f"{_kind(value)} has no entries", self._text, step.at)
        size = len(value)
        start = 0 if what.start is None else what.start + (size if what.start < 0 else 0)
        end = size if what.end is None else what.end + (size if what.end < 0 else 0)
        if what.single:
            end = start + 1
        if start == end:
            return []
        if not (0 <= start < size and end <= size):
            raise BadTemplate(f"a list of {size} has no such entry", self._text, step.at)
        return value[start : max(end, start) : what.step]

    def _filtered(self, step: PathStep, what: Filter, values: Iterable[Tree]) -> Iterator[Tree]:
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise BadTemplate(f"{_kind(value)} has no entries to filter", self._text, step.at)
            for entry in self._counted(step, value):
                lefts = self._found(what.left, [entry])
                if not what.operator:
                    if lefts:
                        yield entry
                    continue
                rights = self._found(what.right, [entry])
                if len(lefts) > 1 or len(rights) > 1:
                    raise BadTemplate("one value at a time can be compared", self._text, step.at)
                if lefts and rights and self._holds(step, what.operator, lefts[0], rights[0]):
                    yield entry

    def _holds(self, step: PathStep, sign: str, left: Tree, right: Tree) -> bool:
        if _sort(left) != _sort(right) or (_sort(left) in (bool, None) and sign not in ("==", "!=")):
            raise BadTemplate(f"{_kind(left)} and {_kind(right)} cannot be compared by {sign}", self._text, step.at)
        return bool(_COMPARED[sign](left, right))


def _field(name: str | None, value: Tree) -> Iterator[Tree]:
    if name is None:
        yield from _within(value)
    elif isinstance(value, dict) and name in value:
        yield value[name]


def _within(value: Tree) -> Iterable[Tree]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _below(value: Tree) -> Iterator[Tree]:
    """What has anything in it: itself first, then what is in it. No call for each level: a tree may be deep."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        inner = list(_within(one))
        if inner:
            yield one
            waiting.extend(reversed(inner))


def shown(value: Tree, *, constant: bool = False) -> str:
    """Return how a value is printed: texts as they are, mappings and lists as JSON; `constant`: a person typed it."""
    if isinstance(value, str):
        return value if constant else printable(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    if value is None:
        return "<nil>"
    if isinstance(value, dict | list):
        text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        return printable_json(text)
    return str(value)


def _sort(value: Tree) -> type | None:
    """What can be compared with what: texts, numbers, truths."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, int | float):
        return float
    return str if isinstance(value, str) else None


def _kind(value: Tree) -> str:
    sorts = {bool: "a truth", str: "a text", float: "a number"}
    if (sort := _sort(value)) is not None:
        return sorts[sort]
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "null"
