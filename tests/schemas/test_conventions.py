"""The conventions of schemas/README.md, checked on every node of every file."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
import re2

from muster.data.tree import Tree
from tests.schemas.loading import SCHEMAS, resolve, schemas, subschema_errors

STEMS = sorted(schemas())
#: Objects below `spec` whose content belongs to somebody else, with the owner.
OPEN_IN_SPEC = {
    "clusterdeployment/spec/platform": "the installer",
    "clusterdeployment/spec/clusterMetadata/platform": "the installer",
    "clusterdeployment/spec/provisioning/installerEnv/*/valueFrom": "the installer",
    "clusterdeploymentcustomization/spec/installerManifestPatches/*": "the installer",
    "clusterpool/spec/platform": "the installer",
    "clusterpool/spec/installerEnv/*/valueFrom": "the installer",
    "managedclusteraddon/spec": "the add-on's manager",
    "manifestwork/spec/workload/manifests/*": "the manifest's own kind",
    "manifestworkreplicaset/spec/manifestWorkTemplate/workload/manifests/*": "the manifest's own kind",
    "resourcebinding/spec": "Karmada's scheduler",
    "resourcebinding/spec/resource": "Karmada's scheduler",
    "resourcebinding/spec/clusters/*": "Karmada's scheduler",
    "resourcebinding/spec/requiredBy/*": "Karmada's scheduler",
    "resourcebinding/spec/requiredBy/*/clusters/*": "Karmada's scheduler",
    "nodepool/spec": "the adapters",
    "adapterreport/spec/data": "the adapter",
    "adapterreport/spec/metadata": "the adapter",
    "fleet/spec/policyParams/*": "the policy's author",
    "policytest/spec/given/fleet/policyParams/*": "the policy's author",
    "policytest/spec/cases/*/given/fleet/policyParams/*": "the policy's author",
    "conditionpolicy/spec/params": "the policy's author",
    "taintpolicy/spec/params": "the policy's author",
    "pulsepolicy/spec/params": "the policy's author",
    "scorepolicy/spec/params": "the policy's author",
    "notificationpolicy/spec/params": "the policy's author",
    "policytest/spec/given/objects/*": "the object's own schema",
    "policytest/spec/given/agents/*/*": "the object's own schema",
    "policytest/spec/given/derived/*": "the object's own schema",
    "policytest/spec/cases/*/given/objects/*": "the object's own schema",
    "policytest/spec/cases/*/given/agents/*/*": "the object's own schema",
    "policytest/spec/cases/*/given/derived/*": "the object's own schema",
    "policytest/spec/cases/*/steps/*/change/objects/*": "the object's own schema",
    "policytest/spec/cases/*/steps/*/change/agents/*/*": "the object's own schema",
}


class Node(NamedTuple):
    """One schema node: where it is reached from (`*` for elements and values), itself, and the file it stands in."""

    path: str
    schema: Tree
    base: str


def nodes(path: str, schema: Tree, base: str, *, follow: bool, depth: int = 0) -> Iterator[Node]:
    """Every node below one, itself included; through references where `follow` is set, to a bounded depth."""
    yield Node(path, schema, base)
    if depth > 24:
        return
    if follow and "$ref" in schema:
        target, where = resolve(schema["$ref"], base)
        yield from nodes(path, target, where, follow=True, depth=depth + 1)
    for name, child in schema.get("properties", {}).items():
        yield from nodes(f"{path}/{name}", child, base, follow=follow, depth=depth + 1)
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from nodes(f"{path}/*", schema[keyword], base, follow=follow, depth=depth + 1)


def own_nodes(stem: str) -> list[Node]:
    """Every node that stands in one file, definitions included."""
    schema = schemas()[stem]
    found = [] if stem == "_common" else list(nodes(stem, schema, stem, follow=False))
    for name, definition in schema.get("$defs", {}).items():
        found += nodes(f"{stem}#{name}", definition, stem, follow=False)
    return found


EVERY_NODE = [node for stem in STEMS for node in own_nodes(stem)]


def with_keyword(keyword: str) -> list[Node]:
    """The nodes that carry a keyword."""
    return [node for node in EVERY_NODE if keyword in node.schema]


def types(schema: Tree) -> set[str]:
    """The types that a node names itself."""
    named = schema.get("type", [])
    return {named} if isinstance(named, str) else set(named)


@pytest.mark.parametrize("stem", STEMS)
def test_every_node_is_described_for_the_reader_of_an_editor(stem: str) -> None:
    silent = [
        node.path
        for node in own_nodes(stem)
        if "description" not in node.schema and not ("$ref" in node.schema and "properties" not in node.schema)
    ]
    assert silent == []


@pytest.mark.parametrize("stem", STEMS)
def test_descriptions_are_sentences(stem: str) -> None:
    odd = [
        (node.path, text)
        for node in own_nodes(stem)
        if (text := node.schema.get("description")) and not re.fullmatch("[`A-Z].*[.]", text)
    ]
    assert odd == []


def test_every_reference_resolves() -> None:
    referring = with_keyword("$ref")
    assert referring
    for node in referring:
        target, _ = resolve(node.schema["$ref"], node.base)
        assert isinstance(target, dict), node.path


@pytest.mark.parametrize("stem", [stem for stem in STEMS if stem != "_common"])
def test_spec_refuses_unknown_fields_at_every_depth_but_where_the_content_is_somebody_elses(stem: str) -> None:
    spec = schemas()[stem]["properties"].get("spec")
    if spec is None:
        return
    opened = {
        node.path
        for node in nodes(f"{stem}/spec", spec, stem, follow=True)
        if "object" in types(node.schema) and node.schema.get("additionalProperties", True) is True
    }
    # `metadata` inside a PolicyTest's objects is as lenient as metadata anywhere.
    opened = {path for path in opened if "/metadata" not in path or path == "adapterreport/spec/metadata"}
    assert opened == {path for path in OPEN_IN_SPEC if path.startswith(f"{stem}/")}


@pytest.mark.parametrize("stem", [stem for stem in STEMS if stem != "_common"])
def test_the_top_level_is_closed_and_status_and_metadata_are_open(stem: str) -> None:
    schema = schemas()[stem]
    assert schema["additionalProperties"] is False
    own = {
        "endpointslice": {"addressType", "endpoints", "ports"},  # no spec, as upstream has it
        "placementdecision.multicluster.x-k8s.io": {"decisions", "schedulerName"},
    }
    assert set(schema["properties"]) <= {"apiVersion", "kind", "metadata", "spec", "status"} | own.get(stem, set())
    if status := schema["properties"].get("status"):
        assert status["additionalProperties"] is True
    assert schemas()["_common"]["$defs"]["metadata"]["additionalProperties"] is True


@pytest.mark.parametrize("node", with_keyword("pattern"), ids=lambda node: node.path)
def test_patterns_speak_of_the_whole_string_in_the_syntax_of_re2(node: Node) -> None:
    pattern = node.schema["pattern"]
    assert pattern.startswith("^") and pattern.endswith("$")
    assert re2.compile(pattern).groups == re.compile(pattern).groups
    assert "maxLength" in node.schema


def test_everything_has_a_bound() -> None:
    """The cost estimate of expressions multiplies sizes: a list without a bound would make every loop too dear."""
    unbounded = []
    for node in EVERY_NODE:
        schema, named = node.schema, types(node.schema)
        if "string" in named and not {"maxLength", "enum", "const"} & set(schema):
            unbounded.append(f"{node.path}: maxLength")
        if "array" in named and "maxItems" not in schema:
            unbounded.append(f"{node.path}: maxItems")
        if "object" in named and isinstance(schema.get("additionalProperties"), dict) and "maxProperties" not in schema:
            unbounded.append(f"{node.path}: maxProperties")
        if "integer" in named and "enum" not in schema and not {"minimum", "maximum"} <= set(schema):
            unbounded.append(f"{node.path}: minimum, maximum")
    assert unbounded == []


def test_formats_are_those_that_cel_turns_into_timestamps_and_durations() -> None:
    assert {node.schema["format"] for node in with_keyword("format")} == {"date-time", "duration"}


@pytest.mark.parametrize("node", with_keyword("default"), ids=lambda node: node.path)
def test_defaults_satisfy_the_schema_that_they_stand_in(node: Node) -> None:
    assert subschema_errors(node.schema, node.base, node.schema["default"]) == []


@pytest.mark.parametrize("node", with_keyword("examples"), ids=lambda node: node.path)
def test_examples_satisfy_the_schema_that_they_stand_in(node: Node) -> None:
    for example in node.schema["examples"]:
        assert subschema_errors(node.schema, node.base, example) == []


def documented_environments() -> set[str]:
    """The environments of the table in schemas/README.md."""
    text = (SCHEMAS / "README.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))


def test_every_expression_says_what_it_sees_and_what_it_returns() -> None:
    annotated = with_keyword("x-muster-cel")
    for node in annotated:
        assert set(node.schema["x-muster-cel"]) == {"environment", "result"}, node.path
    assert {node.schema["x-muster-cel"]["environment"] for node in annotated} == documented_environments()
    results = {node.schema["x-muster-cel"]["result"] for node in annotated}
    assert results == {"bool", "string", "int", "dyn"}


def test_no_expression_is_left_without_the_annotation() -> None:
    unannotated = [
        node.path
        for node in with_keyword("$ref")
        if node.schema["$ref"].endswith("/celExpression") and "x-muster-cel" not in node.schema
    ]
    assert unannotated == []
