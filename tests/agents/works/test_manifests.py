"""Manifests: what a server makes of them, their order, and what a work says about each."""

import pytest

from muster.agents.kube.discovery import ApiResource
from muster.agents.works.manifests import (
    ManifestOptions,
    ResourceKey,
    in_order,
    is_orphaned,
    options_of,
    read_manifests,
)
from muster.data.tree import Tree

PLURALS = {"ConfigMap": ("configmaps", True), "Namespace": ("namespaces", False), "Deployment": ("deployments", True)}
WEB = ResourceKey("apps", "deployments", "shop", "web")


def find(api_version: str, kind: str) -> ApiResource | None:
    if kind not in PLURALS:
        return None
    plural, namespaced = PLURALS[kind]
    return ApiResource(api_version, kind, plural, namespaced)


def test_what_each_manifest_is() -> None:
    manifests = [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "uid": "1", "creationTimestamp": None},
        },
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "namespace": "other"}},
        {"apiVersion": "x/v1", "kind": "Crate", "metadata": {"name": "c"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "lost"}},
    ]
    web, namespace, crate, lost = found = read_manifests({"workload": {"manifests": manifests}}, find)
    assert (web.key, web.path) == (WEB, "/apis/apps/v1/namespaces/shop/deployments/web")
    assert web.body["metadata"] == {"name": "web", "namespace": "shop"}, "the server sets the rest"
    assert web.meta() == {
        "ordinal": 0,
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "resource": "deployments",
        "namespace": "shop",
        "name": "web",
    }
    assert (namespace.path, namespace.body["metadata"]) == ("/api/v1/namespaces/shop", {"name": "shop"})
    assert (crate.key, crate.path) == (None, "")
    assert crate.problem == "the server doesn't have a resource type 'Crate' in 'x/v1'"
    assert lost.problem == "a ConfigMap needs a namespace"
    assert [one.name for one in in_order(found)] == ["shop", "lost", "web", "c"]


CONFIG: Tree = {"resourceIdentifier": {"group": "apps", "resource": "deployments", "namespace": "shop", "name": "web"}}


@pytest.mark.parametrize(
    ("namespace", "name", "applies"),
    [("shop", "web", True), ("sh*", "*", True), ("shop", "we", False), ("s.op", "web", False), ("", "web", False)],
)
def test_options_by_name_and_pattern(namespace: str, name: str, *, applies: bool) -> None:
    identifier = {**CONFIG["resourceIdentifier"], "namespace": namespace, "name": name}
    config = {"resourceIdentifier": identifier, "updateStrategy": {"type": "CreateOnly"}}
    expected = ManifestOptions("CreateOnly", {}) if applies else ManifestOptions("Update", {})
    assert options_of({"manifestConfigs": [config]}, WEB) == expected


def test_the_first_of_each_sort_counts() -> None:
    feedback, rules = [{"type": "WellKnownStatus"}], [{"type": "CEL", "condition": "Progressing"}]
    apply = {"force": True}
    spec = {
        "manifestConfigs": [
            {**CONFIG, "feedbackRules": feedback},
            {
                **CONFIG,
                "conditionRules": rules,
                "updateStrategy": {"type": "ServerSideApply", "serverSideApply": apply},
            },
            {**CONFIG, "feedbackRules": [{"type": "JSONPaths"}], "updateStrategy": {"type": "ReadOnly"}},
        ]
    }
    assert options_of(spec, WEB) == ManifestOptions("ServerSideApply", apply, tuple(feedback), tuple(rules))


@pytest.mark.parametrize(
    ("policy", "name", "orphaned"),
    [
        (None, "web", False),
        ("Foreground", "web", False),
        ("Orphan", "web", True),
        ("SelectivelyOrphan", "web", True),
        ("SelectivelyOrphan", "other", False),
    ],
)
def test_what_stays_when_the_work_goes(policy: str | None, name: str, *, orphaned: bool) -> None:
    rules = [{"group": "apps", "resource": "deployments", "namespace": "shop", "name": name}]
    option = {"propagationPolicy": policy, "selectivelyOrphans": {"orphaningRules": rules}}
    assert is_orphaned({"deleteOption": option} if policy else {}, WEB) is orphaned
