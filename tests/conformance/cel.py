"""Cases of the CEL specification, as JSON: an expression, its declarations and bindings, and the value or error.

A typed value is `{"type": "int", "value": "7"}`: integers, and doubles that JSON cannot write, are strings; bytes are
base64; a map is a list of [key, value] pairs; a timestamp is RFC 3339 and a duration seconds with a fraction.
"""

import base64
import json
import math
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from muster import cel
from muster.cel.analysis import inspect
from muster.cel.runtime import conversion, maps
from muster.cel.runtime.describe import type_name
from muster.cel.types import DYN, Type, parse_type
from tests.conformance.report import Outcome

Json = Any

#: What is not run, each with its reason: a test of what stands in the case.
SKIPPED: Mapping[str, str] = {
    "message": "needs protobuf messages, which plain data does not have",
    "enum": "needs protobuf enums, which plain data does not have",
}


_KEYS = frozenset(
    {"file", "section", "name", "description", "expr", "container", "bindings", "type_env", "functions"}
    | {"disable_check", "check_only", "deduced_type", "expect", "expect_error"}
)


def run(directory: Path) -> list[Outcome]:
    """Run every case of every JSON file in a directory."""
    return [judge(case) for case in cases(directory)]


def cases(directory: Path) -> Iterator[Mapping[str, Json]]:
    """Yield the cases in the order of files and of lines; other JSON files are passed over."""
    for path in sorted(directory.glob("*.json")):
        named = "cel" in path.name
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            if named:
                yield {"name": path.name, "unreadable": str(error)}
            continue
        found = document.get("cases", []) if isinstance(document, dict) else document
        for case in found if isinstance(found, list) else ():
            if named or (isinstance(case, dict) and "expr" in case):
                yield case if isinstance(case, dict) else {"name": str(case), "unreadable": "no mapping"}


def name_of(case: Mapping[str, Json]) -> str:
    """The file, section and name of a case, and its expression."""
    return f"{_area(case)}/{case.get('name', '?')}: {case.get('expr')}"


def _area(case: Mapping[str, Json]) -> str:
    return f"{case.get('file', '?')}/{case.get('section', '?')}"


def judge(case: Mapping[str, Json]) -> Outcome:
    """Run one case; one that cannot be read fails, and the others go on."""
    area, name = _area(case), name_of(case)
    if not isinstance(case.get("expr"), str) or "unreadable" in case:
        return Outcome(area, name, "failed", "a case with an expr", str(case.get("unreadable", case)))
    if stray := sorted(case.keys() - _KEYS):
        return Outcome(area, name, "failed", "", f"nothing here knows what to do with {stray}")
    reason = _skip_reason(case)
    if reason is not None:
        return Outcome(area, name, "skipped", actual=reason)
    expected = ""
    try:
        expected = _expected(case)
        actual = _actual(case)
    except Exception as error:  # noqa: BLE001 - a crash is a failure like any other
        actual = f"crash: {error!r}"
    passed = actual == expected or (expected == "an error" and actual.startswith("error: "))
    return Outcome(area, name, "passed" if passed else "failed", expected, actual)


def _skip_reason(case: Mapping[str, Json]) -> str | None:
    texts = json.dumps([case.get("expect"), case.get("bindings"), case.get("type_env"), case.get("functions")])
    for kind, reason in SKIPPED.items():
        if f'"type": "{kind}' in texts:
            return reason
    return None


def _expected(case: Mapping[str, Json]) -> str:
    if case.get("check_only"):
        return f"type {case['deduced_type']}"
    if case.get("expect_error"):
        return "an error"
    value = show(decode(case["expect"])) if "expect" in case else "bool true"
    return f"{value}, type {case['deduced_type']}" if "deduced_type" in case else value


def _actual(case: Mapping[str, Json]) -> str:
    env = _env(case)
    deduced = ""
    try:
        if "deduced_type" in case:
            deduced = f"type {inspect(case['expr'], env).type}"
            if case.get("check_only"):
                cel.compile(case["expr"], env)
                return deduced
        variables = {name: decode(value) for name, value in case.get("bindings", {}).items()}
        value = show(cel.compile(case["expr"], env).evaluate(variables))
    except cel.CelError as error:
        return f"error: {error}"
    return f"{value}, {deduced}" if deduced else value


def _env(case: Mapping[str, Json]) -> cel.Env:
    return cel.Env(
        variables={
            **dict.fromkeys(case.get("bindings", {}), DYN),
            **{name: _type(text) for name, text in case.get("type_env", {}).items()},
        },
        container=case.get("container", ""),
        checked=not case.get("disable_check", False),
        overloads=tuple(_overloads(case.get("functions", []))),
    )


def _type(text: str) -> Type:
    return parse_type(text)


def _overloads(functions: Json) -> Iterator[Any]:
    from muster.cel.declarations import Overload

    for function in functions:
        for entry in function["overloads"]:
            params = tuple(_type(text) for text in entry["params"])
            yield Overload(
                entry["id"], function["name"], params, _type(entry["result"]), bool(entry.get("member", False))
            )


def decode(value: Mapping[str, Json]) -> Any:
    """Return the plain value that a typed value of a case stands for."""
    kind = value["type"]
    content: Json = value.get("value")
    if stray := sorted(value.keys() - {"type", "value"}):
        raise ValueError(f"nothing here knows what to do with {stray}")
    match kind:
        case "int":
            return int(content)
        case "uint":
            return cel.UInt(int(content))
        case "double":
            return float(content)
        case "bytes":
            return base64.b64decode(content, validate=True)
        case "list":
            return [decode(item) for item in content]
        case "map":
            return maps.build([(decode(key), decode(item)) for key, item in content])
        case "timestamp":
            return conversion.parse_time(content)
        case "duration":
            return conversion.parse_span(content if content.endswith("s") else f"{content}s")
        case "type":
            return cel.TypeValue(content)
        case "optional":
            return cel.OptionalValue() if content is None else cel.OptionalValue(decode(content), present=True)
        case "null" | "null_type" if content is None:
            return None
        case "bool" | "string":
            return content
    raise ValueError(f"no value is of the type {kind!r}")


def show(value: Any) -> str:
    """Return a value with its type, so that equal texts mean equal values."""
    kind = type_name(value)
    if isinstance(value, list):
        return f"list [{', '.join(map(show, value))}]"
    if isinstance(value, Mapping):
        return f"map {{{', '.join(sorted(f'{show(key)}: {show(value[key])}' for key in value))}}}"
    if isinstance(value, cel.OptionalValue):
        return f"optional {show(value.value)}" if value.present else "optional none"
    if isinstance(value, float):
        return "double NaN" if math.isnan(value) else f"double {value!r}"
    if isinstance(value, datetime):
        return f"timestamp {conversion.format_time(value)}"
    if isinstance(value, timedelta):
        return f"duration {conversion.format_span(value)}"
    if isinstance(value, bool) or value is None:
        return f"{kind} {json.dumps(value)}"
    return f"{kind} {value}"
