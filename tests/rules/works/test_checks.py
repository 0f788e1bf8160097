"""What the webhook of Open Cluster Management refuses, and strategies."""

from typing import Any

import pytest
import yaml

from tests.rules.works.repository import WorkFleet

MAP: Any = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "web"}}


@pytest.mark.parametrize(
    ("manifests", "message", "line"),
    [
        ([], "Workload manifests should not be empty", "manifests: []"),
        ([MAP, {**MAP, "metadata": {"namespace": "web"}}], "name must be set in manifest", "metadata:"),
        ([{**MAP, "metadata": {"name": "a", "generateName": "b"}}], "generateName must not be set", "generateName: b"),
        ([MAP, MAP], "duplicate manifest for resource web/web with resource type v1.ConfigMap", "- apiVersion: v1"),
        ([{**MAP, "data": {"much": "x" * 512_000}}], "exceeds the 512000 limit", "manifests:"),
    ],
)
def test_refused_manifests(manifests: Any, message: str, line: str) -> None:
    fleet = WorkFleet("a")
    fleet.set(1)
    body = yaml.safe_load(fleet.files["web.yaml"])
    body["spec"]["manifestWorkTemplate"]["workload"]["manifests"] = manifests
    fleet.write("web.yaml", body)
    fleet.at(0)
    (found,) = fleet.run.findings
    assert (found.code, found.file) == ("MUS434", "web.yaml")
    assert message in found.message
    assert line in fleet.files["web.yaml"].splitlines()[found.line - 1]
    assert not fleet.works()


@pytest.mark.parametrize(
    ("strategy", "code", "hint"),
    [
        ({"type": "Progresive"}, "MUS430", "Progressive"),
        ({"type": "Progressive", "progressive": {"progressDeadline": "soon"}}, "MUS430", "stay as they are"),
        ({"type": "Progressive", "progressive": {"maxConcurrency": "3"}}, "MUS430", "stay as they are"),
        ({"type": "Progressive", "progressive": {"maxConcurrency": 0}}, "MUS432", "write 1"),
        (
            {"type": "Progressive", "progressive": {"mandatoryDecisionGroups": [{"groupName": "canry"}]}},
            "MUS430",
            "canary",
        ),
    ],
)
def test_strategies(strategy: Any, code: str, hint: str) -> None:
    fleet = WorkFleet("a")
    selector = {"groupName": "canary", "groupClusterSelector": {"labelSelector": {}}}
    fleet.placement("web", decisionStrategy={"groupStrategy": {"decisionGroups": [selector]}})
    fleet.set(1, refs=[{"name": "web", "rolloutStrategy": strategy}])
    fleet.at(0)
    (found,) = fleet.run.findings
    assert found.code == code
    assert hint in found.hint
    assert bool(fleet.works()) == (code == "MUS432")
    if code == "MUS430":
        assert fleet.said().startswith("False Stopped")


def test_a_staged_rollout_without_a_rule_for_progressing() -> None:
    fleet = WorkFleet("a")
    fleet.set(1, rules=False, maxConcurrency=1)
    assert fleet.at(0).codes() == ["MUS433"]
    fleet.set(1, rules=False)
    assert fleet.at(1).codes() == []
