"""From a field of an object to its file, line and column."""

from collections.abc import Collection, Iterable, Iterator

from muster.data.codes import Code
from muster.data.decision import AnyPath, Path
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.kinds import ListKeys, list_keys_of
from muster.data.names import did_you_mean
from muster.data.source import Part, Place, content_of
from muster.data.tree import At, Tree, dig
from muster.fleet.merge import element_key, leaf_at
from muster.fleet.objects import Object


def place_of(parts: Iterable[Part], path: AnyPath) -> Place:
    """Return where the field is set, or its nearest ancestor that a part sets.

    Reads the file again: only for messages.
    """
    best: Part | None = None
    steps: At = ()
    for part in parts:
        set_steps = plain_steps(part.body, path, list_keys_of(part.id))
        if best is None or len(set_steps) > len(steps):
            best, steps = part, set_steps
    return Place("") if best is None else _locate(best, steps)


def finding_at(obj: Object, path: AnyPath, code: Code, message: str, hint: str = "", example: str = "") -> Finding:
    """Return a finding about a field of an object, at its place."""
    return finding(code, message, place_of(obj.parts, path), hint=hint, object_=obj.id, example=example)


def unknown_clusters(obj: Object, at: At, clusters: Collection[str]) -> Iterator[Finding]:
    """Yield a finding for each name in a list of an object that no cluster has."""
    for index, name in enumerate(dig(obj.body, *map(str, at)) or ()):
        if name not in clusters:
            message, hint = f"there is no cluster {name!r}", did_you_mean(name, clusters)
            yield finding_at(obj, (*at, index), Code.UNKNOWN_REFERENCE, message, hint)


def places_of(parts: Iterable[Part], path: Path) -> list[Place]:
    """Return every place where a part sets the field itself."""
    return [
        _locate(part, plain_steps(part.body, path, list_keys_of(part.id)))
        for part in parts
        if leaf_at(part.body, path, list_keys_of(part.id))[0]
    ]


def plain_steps(body: Tree, path: AnyPath, list_keys: ListKeys) -> At:
    """Translate a path to keys and indices, as far as the body has it."""
    steps: list[str | int] = []
    named: list[str] = []
    for step in path:
        if isinstance(step, tuple):
            fields = list_keys.get(".".join(named), ())
            if not isinstance(body, list):
                break
            index = next(
                (i for i, e in enumerate(body) if isinstance(e, dict) and element_key(e, fields) == step), None
            )
            if index is None:
                break
            steps.append(index)
            body = body[index]
        elif isinstance(step, int):
            if not isinstance(body, list) or step >= len(body):
                break
            steps.append(step)
            body = body[step]
        else:
            if not isinstance(body, dict) or step not in body:
                break
            steps.append(step)
            named.append(step)
            body = body[step]
    return tuple(steps)


def _locate(part: Part, steps: At) -> Place:
    from muster.data.yaml.positions import locate  # only needed for findings

    in_document = ("items", part.item, *steps) if part.item is not None else steps
    mark = locate(content_of(part.source), part.index, in_document, label=part.source.label)
    return Place(part.source.label, mark.line, mark.column)


def expression_place(parts: Iterable[Part], path: At, offset: int) -> tuple[Place, str]:
    """Return the place of a character in the text at `path`, and its source line with a caret."""
    from muster.data.yaml.positions import excerpt, locate, text_lines
    from muster.data.yaml.scalars import Position, position_in_scalar

    part = max(parts, key=lambda candidate: len(plain_steps(candidate.body, path, {})))
    in_document = ("items", part.item, *path) if part.item is not None else path
    data = content_of(part.source)
    mark = locate(data, part.index, in_document, label=part.source.label)
    at = position_in_scalar(text_lines(data), Position(mark.value_line, mark.value_column), mark.style, offset)
    return Place(part.source.label, at.line, at.column), excerpt(data, at.line, at.column)
