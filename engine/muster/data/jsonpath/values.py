"""Fill in a template: find the values of its paths in an object, and print them."""

import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from muster.data.jsonpath.template import (
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
    parse_path,
)
from muster.data.printable import inert, printable, printable_json
from muster.data.tree import Tree

#: How many values a template may visit: some hundred of each object in a fleet of 100,000.
MAX_VALUES: Final = 20_000_000
_COMPARISONS: Final[Mapping[str, Callable[[Tree, Tree], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def filled(template: Template, data: Tree, most: int = MAX_VALUES) -> str:
    """Fill in a template, without anything that a terminal or CI would execute.

    Missing fields are left out. BadTemplate if a path does not fit a value, as an index on a string, or if more than
    `most` values would be visited.
    """
    text = "".join(_PathWalk(template.text, most).parts(template.parts, data))
    return "\n".join(map(inert, text.split("\n")))


def template_values(template: Template, data: Tree, most: int = MAX_VALUES) -> list[Tree]:
    """Return the values of a template's paths, as `kubectl -o jsonpath-as-json` does. BadTemplate as `filled`."""
    return list(_PathWalk(template.text, most).values(template.parts, data))


def values_at(data: Tree, path: str) -> list[Tree]:
    """Return the values at a path such as `.status.phase`. ValueError, in one line, as `template_values`."""
    with _in_one_line(path):
        return template_values(parse_path(path), data)


def remove_at(data: Tree, path: str) -> None:
    """Remove the field of mappings that a path names, in place. ValueError, in one line, as `template_values`."""
    with _in_one_line(path):
        (steps,) = (part for part in parse_path(path).parts if isinstance(part, tuple))
        if steps and isinstance(steps[-1].form, Field) and (name := steps[-1].form.name):
            for parent in template_values(Template(path, [steps[:-1]]), data):
                if isinstance(parent, dict):
                    parent.pop(name, None)


@contextmanager
def _in_one_line(path: str) -> Iterator[None]:
    try:
        yield
    except BadTemplate as error:
        raise ValueError(f"the JSONPath {path!r} cannot be used: {str(error).splitlines()[0]}") from error


class _PathWalk:
    def __init__(self, text: str, most: int) -> None:
        self._text, self._most, self._left = text, most, most

    def parts(self, parts: Sequence[Part], data: Tree) -> Iterator[str]:
        for part in parts:
            if isinstance(part, str):
                yield part
            elif isinstance(part, Range):
                for value in self._at_path(part.path, [data]):
                    yield from self.parts(part.body, value)
            else:
                constant = bool(part) and isinstance(part[-1].form, Constant)
                yield " ".join(shown(value, constant=constant) for value in self._at_path(part, [data]))

    def values(self, parts: Sequence[Part], data: Tree) -> Iterator[Tree]:
        for part in parts:
            if isinstance(part, str):
                yield part
            elif isinstance(part, Range):
                for value in self._at_path(part.path, [data]):
                    yield from self.values(part.body, value)
            else:
                yield from self._at_path(part, [data])

    def _at_path(self, path: Path, values: list[Tree]) -> list[Tree]:
        for step in path:
            values = list(self._step(step, values))
        return values

    def _step(self, step: PathStep, values: Iterable[Tree]) -> Iterator[Tree]:
        form = step.form
        if isinstance(form, Constant):
            # As in kubectl, a constant replaces all values found before it.
            yield form.value
        elif isinstance(form, Field):
            yield from self._counted(step, (inner for value in values for inner in _field(form.name, value)))
        elif isinstance(form, Descent):
            yield from self._counted(step, (inner for value in values for inner in _descendants(value)))
        elif isinstance(form, Slice):
            lists = (value for value in values if value is not None)
            yield from self._counted(step, (inner for value in lists for inner in self._slice(step, form, value)))
        elif isinstance(form, Filter):
            yield from self._filtered(step, form, values)
        else:
            together = list(values)
            for path in form.paths:
                yield from self._at_path(path, together)

    def _counted(self, step: PathStep, values: Iterable[Tree]) -> Iterator[Tree]:
        for value in values:
            self._left -= 1
            if self._left < 0:
                raise BadTemplate(f"this visits more than {self._most} values", self._text, step.at)
            yield value

    def _slice(self, step: PathStep, slice_: Slice, value: Tree) -> list[Tree]:
        """As in kubectl, an index out of range is an error."""
        if not isinstance(value, list):
            raise BadTemplate(f"{_kind(value)} has no entries", self._text, step.at)
        size = len(value)
        start = 0 if slice_.start is None else slice_.start + (size if slice_.start < 0 else 0)
        end = size if slice_.end is None else slice_.end + (size if slice_.end < 0 else 0)
        if slice_.single:
            end = start + 1
        if start == end:
            return []
        if not (0 <= start < size and end <= size):
            raise BadTemplate(f"a list of {size} has no such entry", self._text, step.at)
        return value[start : max(end, start) : slice_.step]

    def _filtered(self, step: PathStep, filter_: Filter, values: Iterable[Tree]) -> Iterator[Tree]:
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise BadTemplate(f"{_kind(value)} has no entries to filter", self._text, step.at)
            for entry in self._counted(step, value):
                lefts = self._at_path(filter_.left, [entry])
                if not filter_.operator:
                    if lefts:
                        yield entry
                    continue
                rights = self._at_path(filter_.right, [entry])
                if len(lefts) > 1 or len(rights) > 1:
                    raise BadTemplate("one value at a time can be compared", self._text, step.at)
                if lefts and rights and self._holds(step, filter_.operator, lefts[0], rights[0]):
                    yield entry

    def _holds(self, step: PathStep, sign: str, left: Tree, right: Tree) -> bool:
        if _comparable_type(left) != _comparable_type(right) or (
            _comparable_type(left) in (bool, None) and sign not in ("==", "!=")
        ):
            raise BadTemplate(f"{_kind(left)} and {_kind(right)} cannot be compared by {sign}", self._text, step.at)
        return bool(_COMPARISONS[sign](left, right))


def _field(name: str | None, value: Tree) -> Iterator[Tree]:
    if name is None:
        yield from _children(value)
    elif isinstance(value, dict) and name in value:
        yield value[name]


def _children(value: Tree) -> Iterable[Tree]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _descendants(value: Tree) -> Iterator[Tree]:
    """Mappings and lists that are not empty, parents first. Not recursive: a tree may be deep."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        inner = list(_children(current))
        if inner:
            yield current
            waiting.extend(reversed(inner))


def shown(value: Tree, *, constant: bool = False) -> str:
    """Print a value: strings as they are, mappings and lists as JSON; `constant`: the template has it."""
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


def _comparable_type(value: Tree) -> type | None:
    """The type of a value for comparison: str, float or bool; None for others."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, int | float):
        return float
    return str if isinstance(value, str) else None


def _kind(value: Tree) -> str:
    names = {bool: "a boolean", str: "a string", float: "a number"}
    if (type_ := _comparable_type(value)) is not None:
        return names[type_]
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "null"
