"""What is valid in a Rollout, and probably unintended."""

from typing import Any

import pytest
import yaml

from muster.features.test.memory import MemorySnapshot
from muster.rules.rollouts.lint import rollout_findings
from muster.run.checking import check_snapshot
from tests.support.living import cluster, placement

GROUPS = """\
  decisionStrategy:
    groupStrategy:
      decisionGroups:
      - {groupName: canary, groupClusterSelector: {}}
"""
EU = {"name": "eu", "selector": {"matchLabels": {"region": "eu"}}}


def told(spec: dict[str, Any]) -> list[tuple[str, str, str]]:
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Rollout", "metadata": {"name": "web", "namespace": "apps"}}
    body["spec"] = {"placementRef": {"name": "web"}, "revision": "v1", **spec}
    files = {"a.yaml": cluster("a"), "web.yaml": placement("web", 3) + GROUPS, "rollout.yaml": yaml.safe_dump(body)}
    fleet = check_snapshot(MemorySnapshot(files))
    return [(one.code, one.message, one.hint) for one in (*fleet.findings, *rollout_findings(fleet))]


@pytest.mark.parametrize(
    ("spec", "code", "message", "hint"),
    [
        ({"placementRef": {"name": "wbe"}}, "MUS210", "there is no Placement 'wbe' in the namespace 'apps'", "web"),
        (
            {"strategy": {"type": "Progressive", "progressive": {"mandatoryDecisionGroups": [{"groupName": "canry"}]}}},
            "MUS210", "Placement/apps/web has no decision group 'canry'", "canary",
        ),
        ({"stages": [{"name": "a", "decisionGroups": ["canry"]}]}, "MUS210",
         "Placement/apps/web has no decision group 'canry'", "canary"),
        ({"stages": [{"name": "all"}, EU]}, "MUS236",
         "no cluster reaches stage 'eu' of Rollout/apps/web: 'all' before it selects all", "last"),
        ({"stages": [{"name": "us", "selector": {"matchLabels": {"region": "us"}}}]}, "MUS236",
         "stage 'us' of Rollout/apps/web selects no cluster", "labels"),
        ({"stages": [{**EU, "windows": ["office"]}]}, "MUS210", "there is no Calendar 'office'", ""),
        ({"stages": [{**EU, "maxConcurrency": 0}]}, "MUS237", "maxConcurrency: 0 means all clusters at once", "paused"),
        ({"strategy": {"type": "Progressive", "progressive": {"maxConcurrency": "0%"}}}, "MUS237",
         "maxConcurrency: 0% means all clusters at once", "paused"),
        ({"stages": [EU, {"name": "eu"}]}, "MUS205", "two stages are called 'eu'", "name"),
        ({"stages": [{**EU, "progressDeadline": "2d"}]}, "MUS205",
         "stage 'eu' cannot be followed: invalid timeout format: 2d", "keep"),
        ({"strategy": {"type": "Fast"}}, "MUS205",
         "Rollout/apps/web cannot be followed: incorrect rollout strategy type Fast", "keep"),
        ({"stages": [{**EU, "selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]}, "MUS281",
         "In needs values, and 'a' has none", "keep"),
        ({"gate": [{"name": "x", "expression": "rollout.revison == 'v1'"}]}, "MUS302", "", ""),
    ],
)  # fmt: skip
def test_a_finding(spec: dict[str, Any], code: str, message: str, hint: str) -> None:
    found = [one for one in told(spec) if one[0] == code]
    assert found, told(spec)
    assert message in found[0][1]
    assert hint in found[0][2]


@pytest.mark.parametrize(
    "spec", [{}, {"stages": [EU, {"name": "rest"}]}, {"stages": [{"name": "a", "decisionGroups": ["canary"]}]}]
)
def test_none(spec: dict[str, Any]) -> None:
    assert told(spec) == []


@pytest.mark.parametrize("spec", [{"windows": ["hours"]}, {"stages": [{**EU, "windows": ["hours"]}]}])
def test_a_calendar_that_does_not_exist(spec: dict[str, Any]) -> None:
    message = "there is no Calendar 'hours', so nothing starts in it"
    assert message in [one[1] for one in told(spec) if one[0] == "MUS210"]
