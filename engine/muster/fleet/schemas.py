"""The JSON Schemas of the kinds, and the yes or no whether an object meets its own.

Times and durations are held to what they are by `FORMATS`: a pattern cannot say that a day does not exist.

`$ref`s between the files of `schemas/` resolve inside the bundle and nowhere else: nothing is ever fetched.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TypeAlias

import jsonschema_rs

from muster.data.kinds import Kind
from muster.data.times import parse_duration, parse_time
from muster.data.tree import Tree
from muster.fleet.bundle import bundle_path

Gate: TypeAlias = jsonschema_rs.Draft202012Validator


def _holds(parse: Callable[[str], object]) -> Callable[[object], bool]:
    def holds(value: object) -> bool:
        if not isinstance(value, str):
            return True
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return holds


#: What `format` means in our schemas.
FORMATS: Mapping[str, Callable[[object], bool]] = {"date-time": _holds(parse_time), "duration": _holds(parse_duration)}


@cache
def schema_of(kind: Kind) -> Mapping[str, Tree]:
    """Return the schema of a kind as it stands in its file."""
    return load_schema(f"{kind.schema}.json")


@cache
def common_definitions() -> Mapping[str, Tree]:
    """Return the definitions that the schemas share."""
    return load_schema("_common.json")


@cache
def _gate_of(kind: Kind) -> Gate:
    """The same schema for the yes or no: compiled once, some 3 microseconds for an object."""
    return gate_for(schema_of(kind))


def gate_for(schema: Mapping[str, Tree]) -> Gate:
    """Return what tells whether a tree meets a schema."""
    return jsonschema_rs.Draft202012Validator(
        dict(schema),
        retriever=lambda uri: dict(load_schema(uri.rpartition("/")[2])),
        formats={name: lru_cache(maxsize=1 << 14)(holds) for name, holds in FORMATS.items()},
        validate_formats=True,
    )


def is_sound(kind: Kind, body: Tree) -> bool:
    """Whether an object meets its schema. Agrees with `validator_of`, which says what is wrong where this says no."""
    return _gate_of(kind).is_valid(body)


def load_schema(name: str) -> Mapping[str, Tree]:
    """Return a file of `schemas/` as it stands."""
    schema: Mapping[str, Tree] = json.loads((bundle_path("schemas") / name).read_text(encoding="utf-8"))
    return schema
