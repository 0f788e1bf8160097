"""From violations of a JSON Schema to findings: what is wrong, the value, what to do, and the place."""

from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import path_text
from muster.data.names import did_you_mean
from muster.data.times import duration_meant, format_duration
from muster.data.tree import Tree
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.fleet.schemas import is_sound
from muster.regex import Regex

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

_TYPE_NAMES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
#: Codes and texts for values that match the pattern but not the format.
_FORMATS = {
    "date-time": (
        Code.NO_SUCH_INSTANT,
        "no instant of the years 1 to 9999 in UTC",
        "write one such as 2026-01-01T00:00:00Z",
    ),
    "duration": (Code.NO_SUCH_DURATION, "longer than a duration can be", "at most 2562047h, some 292 years"),
}
_LONGEST_VALUE = 60


def schema_findings(obj: Object) -> list[Finding]:
    """Return the violations of an assembled object; empty for a valid one."""
    if is_sound(obj.kind, obj.body):
        return []
    from muster.fleet.violations import validator_of  # jsonschema loads slowly

    return violations(obj, validator_of(obj.kind))


def violations(obj: Object, validator: "Draft202012Validator") -> list[Finding]:
    """Return the violations of a schema, by its validator."""
    return [finding for error in validator.iter_errors(obj.body) for finding in _findings(obj, error)]


def _findings(obj: Object, error: "ValidationError") -> Iterator[Finding]:
    if error.context and error.validator in ("anyOf", "oneOf"):
        yield from _findings(obj, _most_telling(error))
        return
    if error.validator == "oneOf" and not isinstance(error.instance, dict):
        return  # the type reports it already
    if error.validator in ("format", "maxLength", "minLength") and not _has_form(error):
        return  # the pattern reports it already
    path = tuple(error.absolute_path)
    limit: Tree = error.validator_value
    schema: Tree = error.schema
    if error.validator == "enum" and schema.get("type") == "string" and not isinstance(error.instance, str):
        return  # the type reports it already
    value: Tree = error.instance
    if error.validator == "additionalProperties":
        fields = sorted(schema.get("properties", {}))
        for name in sorted(set(value) - set(fields)):
            hint = did_you_mean(name, fields) or _listing("it has", fields)
            yield finding_at(obj, (*path, name), Code.UNKNOWN_FIELD, f"unknown field {path_text((*path, name))}", hint)
        return
    if error.validator == "required":
        for name in limit:
            if name not in value:
                yield finding_at(
                    obj, path, Code.MISSING_FIELD, f"{path_text((*path, name))} is missing", "add the field"
                )
        return
    code, message, hint = _describe(error, path_text(path) or "the object")
    yield finding_at(obj, path, code, message, hint or f"docs/kinds/{obj.kind.schema}.md says what the field may be")


def _has_form(error: "ValidationError") -> bool:
    from muster.fleet.violations import compiled_pattern

    schema: Tree = error.schema
    return "pattern" not in schema or compiled_pattern(schema["pattern"]).search(str(error.instance)) is not None


def _most_telling(error: "ValidationError") -> "ValidationError":
    """The violation of several failed alternatives that the author came nearest to: the deepest one, then the one with
    some of the fields that it requires."""

    def nearness(inner: "ValidationError") -> tuple[int, bool, bool]:
        required: Tree = inner.validator_value if inner.validator == "required" else ()
        instance: Tree = inner.instance
        partly = any(name in instance for name in required)
        return len(inner.absolute_path), inner.validator != "type", partly

    return max(error.context, key=nearness)


def _describe(error: "ValidationError", field: str) -> tuple[Code, str, str]:
    """Return code, message and hint for keywords other than those about field names."""
    instance: Tree = error.instance
    limit: Tree = error.validator_value
    value, keyword = _shown(instance), error.validator
    if keyword == "type":
        wanted = " or ".join(_TYPE_NAMES.get(name, name) for name in ([limit] if isinstance(limit, str) else limit))
        schema: Tree = error.schema
        examples = schema.get("examples") if "string" in limit and type(instance) not in (bool, str) else None
        if examples:
            hint = _share(instance, examples) or f"write it like {_alternatives(examples)}"
        elif field.endswith("Seconds") and (span := _seconds(instance)) is not None:
            hint = f"write {span}, without a unit or quotes"
        else:
            types = [limit] if isinstance(limit, str) else limit
            types = [name for name in types if name != "string" or not _is_scalar(instance) or _fits(instance, schema)]
            is_status = field.lower().endswith("status") or "statusValues[" in field
            allowed = schema.get("enum") or (_STATUSES if is_status else ())
            hint = next(filter(None, (_right_type(instance, name, allowed) for name in types)), "")
        return Code.WRONG_TYPE, f"{field} must be {wanted}, not {value}", hint
    if keyword == "enum":
        # The nearest name of an effect may be one that evicts all work.
        near = "" if field.endswith(".effect") else did_you_mean(str(instance), map(str, limit))
        return Code.VALUE_NOT_ALLOWED, f"{field} cannot be {value}", near or _listing("one of", map(str, limit))
    if keyword == "const":
        return Code.VALUE_NOT_ALLOWED, f"{field} must be {_shown(limit)}, not {value}", ""
    if keyword == "format":
        return _FORMATS[limit][0], f"{field} is {_FORMATS[limit][1]}: {value}", _FORMATS[limit][2]
    if keyword == "pattern" and (allowed := _ALTERNATIVES.fullmatch(limit)):
        choices = allowed[1].split("|")
        hint = did_you_mean(str(instance), choices) or _listing("one of", choices)
        return Code.VALUE_NOT_ALLOWED, f"{field} cannot be {value}", hint
    if keyword == "pattern" and "propertyNames" in error.absolute_schema_path:
        return Code.MALFORMED_VALUE, f"{field} cannot have the key {value}", _right_form(error)
    if keyword == "pattern":
        return Code.MALFORMED_VALUE, f"{field} does not have the required form: {value}", _right_form(error)
    if keyword in ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"):
        if limit == 1 and keyword.startswith("min"):
            return (
                Code.OUT_OF_BOUNDS,
                f"{field} is empty",
                "give it at least one element" if keyword != "minLength" else "",
            )
        bound, unit = ("most" if keyword.startswith("max") else "least"), keyword[3:].lower()
        return (
            Code.OUT_OF_BOUNDS,
            f"{field} has {len(instance)} {unit}; at {bound} {limit} are allowed".replace("length;", "characters;"),
            "",
        )
    if keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        return Code.OUT_OF_BOUNDS, f"{field} is {value}; the {keyword} is {limit}", ""
    if keyword == "uniqueItems":
        twice = next(item for number, item in enumerate(instance) if item in instance[:number])
        return Code.INVALID_OBJECT, f"{field} has {_shown(twice)} twice", "keep one of them"
    if len(both := _exclusive(error)) > 1:
        return Code.INVALID_OBJECT, f"{field} has both {' and '.join(map(repr, both))}", "keep one of them"
    return Code.INVALID_OBJECT, f"{field} is not valid: {error.message[:200]}", ""


def _exclusive(error: "ValidationError") -> list[str]:
    """The fields of an object of which it may have one: those of alternatives that all match, or one that excludes
    another."""
    limit: Tree = error.validator_value
    instance: Tree = error.instance
    if error.validator == "not" and "dependentSchemas" in error.absolute_schema_path:
        return [str(error.absolute_schema_path[-2]), *limit["required"]]
    if error.validator == "oneOf":
        return [name for choice in limit for name in choice.get("required", ()) if name in instance]
    return []


def _right_form(error: "ValidationError") -> str:
    """The value as it was probably meant, else the schema's examples, else its pattern."""
    from muster.fleet.violations import compiled_pattern

    schema: Tree = error.schema
    if examples := schema.get("examples"):
        span = duration_meant(str(error.instance)) if schema.get("format") == "duration" else None
        suggestion = f": {format_duration(span)}?" if span is not None else ""
        return f"write it like {_alternatives(examples)}{suggestion}"
    pattern, value = compiled_pattern(schema["pattern"]), str(error.instance)[:_LONGEST_MEANT]
    for form, suggestion in (("letters", value), ("lower case letters", value.lower())):
        suggestion = _NOT_IN_NAMES.replace(suggestion, "-").strip("-.")
        if suggestion and pattern.search(suggestion):
            return f"{form}, digits and '-': {suggestion}?"
    camel = "".join(part[:1].upper() + part[1:] for part in _NOT_ALPHANUMERIC.split(value))
    if camel and pattern.search(camel):
        return f"letters and digits, in CamelCase: {camel}?"
    return f"it must match {schema['pattern']}"


#: A pattern that lists words, for a value that may also be a mapping.
_ALTERNATIVES = Regex(r"\^\((\w+(?:\|\w+)+)\)\$")


def _alternatives(values: Sequence[str]) -> str:
    return ", ".join(values[:-1]) + " or " + values[-1] if len(values) > 1 else values[0]


_NOT_IN_NAMES, _NOT_ALPHANUMERIC = Regex(r"[^A-Za-z0-9.-]+"), Regex(r"[^A-Za-z0-9]+")
_LONGEST_MEANT, _LONGEST_NUMBER = 253, 20
#: Of a condition, which YAML takes for booleans where they are not quoted.
_STATUSES = ("True", "False")
_YES_AND_NO = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}


def _right_type(value: Tree, wanted: Tree, among: Collection[str]) -> str:
    """How to write a scalar of the right type, which may be one `among` several; empty if it cannot be told."""
    if wanted == "string" and isinstance(value, bool) and str(value) in among:
        return f'write "{value}", with quotes'
    if wanted == "string" and _is_scalar(value):
        # A number has lost the zeros at its end.
        return "put quotes around it, as it is written" if isinstance(value, float) else f"quote it: {_quoted(value)}"
    if wanted == "string" and isinstance(value, list) and value and all(isinstance(item, str | int) for item in value):
        joined = ", ".join(map(str, value))
        return f"write one text: {_quoted(joined)}" if len(joined) <= _LONGEST_MEANT else "write one text"
    if wanted == "array":
        return "begin each entry with `- `" if isinstance(value, dict) else f"write it as a list: [{value}]"
    if wanted == "object" and isinstance(value, list):
        return "write its fields as `name: value`, without `- `"
    if wanted == "boolean" and isinstance(value, str) and (boolean := _YES_AND_NO.get(value.lower())):
        return f"write {boolean}, without quotes"
    if wanted == "integer" and isinstance(value, str) and len(value) < _LONGEST_NUMBER:
        return _whole_number(value.strip())
    return ""


def _whole_number(text: str) -> str:
    """How to write a text as a whole number; empty if it does not begin with one."""
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    for prefix, base in _BASES.items():
        if digits.lower().startswith(prefix) and digits[2:].isalnum() and digits.isascii():
            try:
                return f"write {sign}{int(digits[2:], base)}, a decimal number"
            except ValueError:
                return ""
    plain = digits.replace("_", "").replace(",", "")
    if plain.isascii() and plain.isdecimal():
        number = plain.lstrip("0") or "0"
        advice = "without quotes" if number == digits else "with nothing but its digits"
        return f"write {sign}{number}, {advice}"
    leading = digits[: len(digits) - len(digits.lstrip("0123456789"))]
    return f"write {sign}{leading.lstrip('0') or '0'}, without a unit or quotes" if leading else ""


def _seconds(value: Tree) -> int | None:
    """The seconds of a duration with a unit; None for anything else."""
    span = duration_meant(value) if isinstance(value, str) else None
    return None if span is None or span % timedelta(seconds=1) else span // timedelta(seconds=1)


def _share(value: Tree, examples: Sequence[str]) -> str:
    """How to write a fraction where the examples are percentages; empty for anything else."""
    percents = value * 100 if isinstance(value, float) and 0 < value < 1 else 0
    is_share = percents and any(example.endswith("%") for example in examples)
    return f"write {percents:.0f}%" if is_share and abs(percents - round(percents)) < _ROUNDING else ""


_ROUNDING = 1e-9
#: Prefixes of whole numbers in other languages.
_BASES = {"0x": 16, "0o": 8, "0b": 2}


def _fits(value: Tree, schema: Tree) -> bool:
    """Does a scalar, in quotes, have the form of the texts that the schema takes?"""
    from muster.fleet.violations import compiled_pattern

    return "pattern" not in schema or compiled_pattern(schema["pattern"]).search(str(value)) is not None


def _is_scalar(value: Tree) -> bool:
    return value is None or isinstance(value, bool | int | float)


def _quoted(value: Tree) -> str:
    if isinstance(value, bool):
        return f'"{str(value).lower()}"'
    return '""' if value is None else f'"{value}"'


def _shown(value: Tree) -> str:
    """The value as written, shortened; never a whole tree."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _listing(lead: str, names: object) -> str:
    shown = list(names)  # type: ignore[call-overload]
    return f"{lead}: {', '.join(shown)}" if shown else ""
