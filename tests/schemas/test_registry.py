"""Every kind has a schema and every schema a kind, and each says what the registry says."""

import json

import pytest
from jsonschema import Draft202012Validator

from muster.data.kinds import ALL, OPTIONAL_KEYS, Kind
from tests.schemas.loading import SCHEMAS, resolve, schemas

STEMS = sorted(schemas())


def test_every_kind_has_a_schema_and_every_schema_a_kind() -> None:
    assert set(schemas()) - {"_common"} == {kind.schema for kind in ALL}


@pytest.mark.parametrize("stem", STEMS)
def test_each_file_is_a_valid_schema_named_after_its_file(stem: str) -> None:
    Draft202012Validator.check_schema(schemas()[stem])
    assert schemas()[stem]["$id"] == f"{stem}.json"
    assert schemas()[stem]["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("stem", STEMS)
def test_each_file_is_formatted_with_two_spaces(stem: str) -> None:
    text = (SCHEMAS / f"{stem}.json").read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
def test_group_version_and_kind_are_those_of_the_registry(kind: Kind) -> None:
    schema = schemas()[kind.schema]
    assert schema["title"] == kind.name
    assert schema["properties"]["kind"]["const"] == kind.name
    assert schema["properties"]["apiVersion"]["enum"] == [f"{kind.group}/{version}" for version in kind.versions]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
def test_a_namespace_is_asked_for_exactly_where_the_kind_has_one(kind: Kind) -> None:
    metadata = schemas()[kind.schema]["properties"]["metadata"]
    assert ("namespace" in metadata["required"]) == kind.namespaced


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
def test_lists_that_merge_by_key_name_that_key_in_their_elements(kind: Kind) -> None:
    """A key that an element may lack could not tell elements apart, unless lacking it is a value too."""
    for path, keys in kind.list_keys.items():
        node, base = schemas()[kind.schema], kind.schema
        for step in path.split("."):
            node = node.get("properties", {}).get(step)
            if node is None:
                break
            while "$ref" in node:
                node, base = resolve(node["$ref"], base)
        if node is None:
            continue
        items = node["items"]
        while "$ref" in items:
            items, base = resolve(items["$ref"], base)
        assert set(keys) <= {*items["required"], *(OPTIONAL_KEYS & items["properties"].keys())}, path
