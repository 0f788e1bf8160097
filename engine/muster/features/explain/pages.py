"""What `explain` prints without a fleet: the fields of a kind, from its schema, and the meaning of a finding's code."""

from collections.abc import Mapping
from textwrap import fill
from typing import Final, Self

from muster.data.codes import CODES
from muster.data.kinds import Kind, UnknownKind, kinds_named
from muster.data.names import did_you_mean
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.schemas import load_schema, schema_of

_CODE: Final = "MUS"
_WIDTH: Final = 100


def page_of(target: str) -> str | None:
    """Return the text about a finding's code, or about `KIND` or `KIND.FIELD`; None if `target` is none of these.

    Raises UnknownKind for an unknown code, or a field that the kind does not have.
    """
    if target[: len(_CODE)].upper() == _CODE and target[len(_CODE) :].isdecimal():
        if (code := CODES.get(target.upper())) is None:
            raise UnknownKind(f"no finding has the code {target}: a code has three digits, as in MUS302")
        return f"{code} ({code.severity.value}): {code.heading}\n\n{fill(code.explanation, _WIDTH)}\n"
    word, _, path = target.partition(".")
    if "/" in target or path.endswith(".io"):
        return None
    if path:
        return _page(kinds_named(word)[0], path.split("."))
    try:
        kinds = kinds_named(word)
    except UnknownKind:
        return None  # the name of an object
    return _page(kinds[0], []) if len(kinds) == 1 else None


def _page(kind: Kind, steps: list[str]) -> str:
    current = _Field(schema_of(kind), schema_of(kind))
    for number, step in enumerate(steps):
        fields = current.fields
        if step not in fields:
            where = ".".join((kind.name, *steps[:number]))
            raise UnknownKind(f"{where} has no field {step!r}; {did_you_mean(step, fields)}".rstrip("; "))
        current = fields[step]
    title = f"{'.'.join((kind.name, *steps))}: {current.type}" if steps else f"{kind.name} ({kind.api_version})"
    lines = [title, "", fill(str(current.schema.get("description") or "Not described."), _WIDTH)]
    if fields := current.fields:
        lines += ["", "Fields:", *(f"  {name}: {field.type}" for name, field in sorted(fields.items()))]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class _Field:
    """The schema of a field, and the document in which its own references are found."""

    schema: Mapping[str, Tree]
    document: Mapping[str, Tree]

    @classmethod
    def resolved(cls, schema: Tree, document: Mapping[str, Tree]) -> Self:
        """Follow references; what is beside a reference overrides what it refers to."""
        resolved = dict(schema) if isinstance(schema, Mapping) else {}
        while isinstance(reference := resolved.pop("$ref", None), str):
            file, _, pointer = reference.partition("#/")
            document = load_schema(file) if file else document
            common = dig(document, *pointer.split("/"))
            fields = {**mapping_at(common, "properties"), **mapping_at(resolved, "properties")}
            resolved = {**(common if isinstance(common, Mapping) else {}), **resolved, "properties": fields}
        return cls(resolved, document)

    @property
    def fields(self) -> Mapping[str, Self]:
        """The fields in it by name; of a list, those of its elements."""
        if isinstance(items := self.schema.get("items"), Mapping):
            return self.resolved(items, self.document).fields
        fields = mapping_at(self.schema, "properties")
        return {name: self.resolved(each, self.document) for name, each in fields.items()}

    @property
    def type(self) -> str:
        """The type in words: `string (date-time)`, `list of object`, or the possible values."""
        if "enum" in self.schema:
            return " | ".join(map(str, self.schema["enum"]))
        if "const" in self.schema:
            return str(self.schema["const"]) or "not used"
        type_ = self.schema.get("type", "any")
        names = [name for name in type_ if name != "null"] if isinstance(type_, list) else [str(type_)]
        if names == ["array"]:
            return f"list of {self.resolved(self.schema.get('items', {}), self.document).type}"
        form = f" ({self.schema['format']})" if "format" in self.schema else ""
        return " | ".join(names) + form
