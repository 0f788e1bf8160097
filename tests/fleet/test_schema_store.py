"""The schemas for editors: whole by themselves, and a catalog that sends every file to one that takes its kind."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pathspec import GitIgnoreSpec
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from muster.data.kinds import ALL
from muster.fleet.files import is_hidden
from muster.fleet.schema_store import FOLDER, modeline, schema_of, schema_store

STORE = schema_store()
CATALOG = json.loads(STORE["catalog.json"])["schemas"]
WAIVER = {
    "apiVersion": "muster.dev/v1alpha1",
    "kind": "Waiver",
    "metadata": {"name": "a"},
    "spec": {
        "code": "MUS222",
        "object": "ManagedCluster/a",
        "reason": "r",
        "owner": "o",
        "until": "2026-01-01",
        "findings": [{"digest": "0123456789abcdef", "message": "m"}],
    },
}


def wrong(body: dict[str, Any]) -> list[str]:
    """What `object.json` says of an object."""
    resources = [(name, Resource.from_contents(json.loads(text), DRAFT202012)) for name, text in STORE.items()]
    validator = Draft202012Validator({"$ref": "object.json"}, registry=Registry().with_resources(resources))
    return [error.message for error in validator.iter_errors(body)]


def test_all_kinds_are_there_and_nothing_refers_to_anything_else() -> None:
    assert {schema_of(kind.name) for kind in ALL} < STORE.keys()
    for name, text in STORE.items():
        assert set(re.findall(r'"\$ref": "([^"#]+)', text)) <= STORE.keys(), name


def test_an_object_is_taken_for_what_it_says_it_is() -> None:
    assert wrong(WAIVER) == []
    assert any("'until' is a required property" in text for text in wrong({**WAIVER, "spec": {"code": "MUS222"}}))
    assert any("is not one of" in text for text in wrong({**WAIVER, "kind": "Wavier"}))
    assert "'apiVersion' is a required property" in wrong({"kind": "Waiver"})


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        ("fleet.yaml", "Fleet"),
        ("clusters/a/cluster.yaml", "Cluster, ManagedCluster"),
        ("clusters/eu/7f/a/cluster.yaml", "Cluster, ManagedCluster"),
        ("clusters/eu/a/lease.yaml", "Lease"),
        ("clusters/a/reports/dns.yaml", "AdapterReport"),
        ("remedies/dns-down.yaml", "Remedy"),
        ("waivers/a.yaml", "Waiver"),
        ("placements/shop/web.yaml", "Placement"),
        ("pools/ci/pool.yaml", "ClusterPool"),
        ("pools/claims/pools/job-1.yaml", "ClusterClaim"),
        ("sets/prod.yaml", "ManagedClusterSet"),
        ("sets/bindings/shop/prod.yaml", "ManagedClusterSetBinding"),
    ],
)
def test_the_catalog_sends_a_file_to_one_schema(path: str, kinds: str) -> None:
    specs = [(entry, GitIgnoreSpec.from_lines([f"/{one}" for one in entry["fileMatch"]])) for entry in CATALOG]
    (entry,) = (entry for entry, spec in specs if spec.match_file(path))
    assert entry["name"] == f"muster: {kinds}"
    assert entry["url"] == ("object.json" if ", " in kinds else schema_of(kinds))


def test_every_kind_is_in_the_catalog_and_a_published_one_has_urls() -> None:
    named = {name for entry in CATALOG for name in entry["name"].removeprefix("muster: ").split(", ")}
    assert named == {kind.label for kind in ALL}
    published = json.loads(schema_store("https://example.com/schemas/")["catalog.json"])["schemas"]
    assert {entry["url"] for entry in published} == {f"https://example.com/schemas/{entry['url']}" for entry in CATALOG}


@pytest.mark.parametrize(
    ("path", "schema"),
    [("fleet.yaml", f"{FOLDER}/remedy.json"), ("a/b/c.yaml", f"../../{FOLDER}/remedy.json")],
)
def test_the_line_above_a_file_leads_to_the_folder(path: str, schema: str) -> None:
    assert modeline(path, "Remedy") == f"# yaml-language-server: $schema={schema}\n"
    assert is_hidden(FOLDER)
