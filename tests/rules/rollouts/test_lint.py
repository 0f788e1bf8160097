"""What is valid in a Rollout, and probably unintended."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from muster.features.test.memory import MemorySnapshot
from muster.rules.rollouts.lint import rollout_findings, window_findings
from muster.run.checking import check_snapshot
from tests.support.living import BINDING, cluster, placement

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
    files = {
        "a.yaml": cluster("a"),
        "web.yaml": placement("web", 3) + GROUPS,
        "binding.yaml": BINDING,
        "rollout.yaml": yaml.safe_dump(body),
    }
    fleet = check_snapshot(MemorySnapshot(files))
    return [(one.code, one.message, one.hint) for one in (*fleet.findings, *rollout_findings(fleet))]


@pytest.mark.parametrize(
    ("spec", "code", "message", "hint"),
    [
        ({"placementRef": {"name": "wbe"}}, "MUS210", "there is no Placement 'wbe' in the namespace 'apps'", "web"),
        (
            {"strategy": {"type": "Progressive", "progressive": {"mandatoryDecisionGroups": [{"groupName": "canry"}]}}},
            "MUS210",
            "Placement/apps/web has no decision group 'canry'",
            "canary",
        ),
        (
            {"stages": [{"name": "a", "decisionGroups": ["canry"]}]},
            "MUS210",
            "Placement/apps/web has no decision group 'canry'",
            "canary",
        ),
        (
            {"stages": [{"name": "all"}, EU]},
            "MUS236",
            "no cluster reaches stage 'eu' of Rollout/apps/web: 'all' before it selects all",
            "last",
        ),
        (
            {"stages": [{"name": "us", "selector": {"matchLabels": {"region": "us"}}}]},
            "MUS236",
            "stage 'us' of Rollout/apps/web selects no cluster",
            "labels",
        ),
        (
            {"stages": [{"name": "us", "selector": {"matchLabels": {"region": "us"}}}]},
            "MUS436",
            "no stage of Rollout/apps/web selects a, so these clusters of Placement/apps/web get nothing",
            "last stage",
        ),
        ({"stages": [{**EU, "windows": ["office"]}]}, "MUS210", "there is no Calendar 'office'", ""),
        ({"stages": [{**EU, "maxConcurrency": 0}]}, "MUS237", "maxConcurrency: 0 means all clusters at once", "paused"),
        (
            {"strategy": {"type": "Progressive", "progressive": {"maxConcurrency": "0%"}}},
            "MUS237",
            "maxConcurrency: 0% means all clusters at once",
            "paused",
        ),
        ({"stages": [EU, {"name": "eu"}]}, "MUS205", "two stages are called 'eu'", "name"),
        (
            {"stages": [{**EU, "progressDeadline": "2d"}]},
            "MUS205",
            "stage 'eu' cannot be followed: invalid timeout format: 2d",
            "keep",
        ),
        (
            {"strategy": {"type": "Fast"}},
            "MUS205",
            "Rollout/apps/web cannot be followed: incorrect rollout strategy type Fast",
            "keep",
        ),
        (
            {"stages": [{**EU, "selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]},
            "MUS281",
            "In needs values, and 'a' has none",
            "keep",
        ),
        ({"gate": [{"name": "x", "expression": "rollout.revison == 'v1'"}]}, "MUS302", "", ""),
    ],
)
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


NIGHTS = {"timeZone": "Europe/Berlin", "windows": [{"days": "Mon-Thu", "from": "20:00", "to": "24:00"}]}
WEEKENDS = {"timeZone": "Europe/Berlin", "windows": [{"days": "Sat-Sun"}]}
ALWAYS_CLOSED = {"name": "f", "period": "2020-01-01/9999-12-31"}
FROZEN, NEVER = "its windows are open in freezes only", "its windows never open"


def windows_told(
    freezes: list[dict[str, Any]], windows: tuple[str, ...] = ("nights",), **stage: Any
) -> list[tuple[str, str]]:
    """What is found on the first of January 2026 of a Rollout with these windows, by code and reason."""
    dead = {"windows": [{"days": "Mon"}], "freezes": [{"period": "2025-01-01/9999-12-31"}]}
    bodies: list[dict[str, Any]] = [
        {"apiVersion": "muster.dev/v1alpha1", "kind": "Calendar", "metadata": {"name": name}, "spec": spec}
        for name, spec in (("nights", NIGHTS), ("weekends", WEEKENDS), ("dead", dead))
    ]
    fleet = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"}}
    rollout = {"apiVersion": "muster.dev/v1alpha1", "kind": "Rollout", "metadata": {"name": "web", "namespace": "apps"}}
    spec = {"placementRef": {"name": "web"}, "revision": "v1", "stages": [{"name": "a", "windows": windows, **stage}]}
    bodies += [{**fleet, "spec": {"freezes": freezes}}, {**rollout, "spec": spec}]
    files = {f"{number}.json": json.dumps(body) for number, body in enumerate(bodies)} | {"a.yaml": cluster("a")}
    found = window_findings(check_snapshot(MemorySnapshot(files)), datetime(2026, 1, 1, tzinfo=UTC))
    start = "no cluster can start in stage 'a' of Rollout/apps/web, for two years from now: "
    return [(one.code, one.message.removeprefix(start)) for one in found]


def test_windows_that_lie_in_freezes() -> None:
    assert windows_told([]) == []
    assert windows_told([ALWAYS_CLOSED]) == [("MUS610", FROZEN)]
    assert windows_told([{**ALWAYS_CLOSED, "holds": ["remedies"]}]) == []
    assert windows_told([{**ALWAYS_CLOSED, "period": "2026-01-01/2027-06-01"}]) == []
    # In force outside of the weekend, when no night begins.
    weekdays = {"name": "f", "calendar": "weekends"}
    assert windows_told([weekdays]) == [("MUS610", FROZEN)]
    assert windows_told([weekdays], ("nights", "weekends")) == []
    assert windows_told([], ("dead",)) == [("MUS610", NEVER)]
    # Two freezes that leave no night between them, and a gap that two years do not have.
    parts = [{"name": "a", "period": "2020-01-01/2026-12-31"}, {"name": "b", "period": "2027-01-01/9999-12-31"}]
    assert windows_told(parts) == [("MUS610", FROZEN)]
    assert windows_told([{**ALWAYS_CLOSED, "period": "2020-01-01/2029-01-01"}]) == [("MUS610", FROZEN)]
    assert windows_told([ALWAYS_CLOSED], ("gone",)) == []


def test_a_freeze_of_some_clusters_holds_a_stage_if_it_selects_all_that_the_stage_does() -> None:
    of_eu = {**ALWAYS_CLOSED, "selector": {"matchLabels": {"region": "eu"}}}
    others = {**ALWAYS_CLOSED, "name": "g", "selector": {"matchExpressions": [{"key": "region", "operator": "Exists"}]}}
    assert windows_told([of_eu], selector=EU["selector"]) == [("MUS610", FROZEN)]
    assert windows_told([{**of_eu, "selector": {"matchLabels": {"region": "us"}}}], selector=EU["selector"]) == []
    assert windows_told([others], selector={"matchLabels": {"region": "ap"}}) == []  # no cluster is known to be held
