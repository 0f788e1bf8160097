"""Advice: what is valid but probably unintended."""

import pytest

from muster.data.times import parse_time
from muster.features.test.memory import MemorySnapshot
from muster.rules.checks.advice import advice, time_advice
from muster.run.checking import check_snapshot
from tests.support.living import REMEDY, cluster

POLICY = """
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: p}
spec:
  target: {kind: ManagedCluster%s}
  type: Odd
  rules:
%s"""
RULE = '  - {name: %s, when: "%s", status: "True", reason: R, message: m}\n'
OTHERWISE = '  - {name: otherwise, status: "False", reason: R, message: m}\n'
BUDGET = """
apiVersion: muster.dev/v1alpha1
kind: DisruptionBudget
metadata: {name: b}
spec: {%s}
"""
TIMES = """
apiVersion: muster.dev/v1alpha1
kind: Calendar
metadata: {name: hours}
spec: {windows: [{days: Mon}], except: [2026-01-01/2026-01-07], freezes: [{period: "2026-01-07T00:00:00Z/9999-12-31"}]}
---
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec: {freezes: [{name: over, period: 2025-12-24}, {name: soon, period: 2026-12-24}, {name: shut, calendar: hours}]}
"""
TAINTS = """
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterTaintPolicy
metadata: {name: t}
spec:
  addOnConditions: [{conditionType: Availabel, operator: In, statusValues: ["False"]}]
  taints: [{key: k, effect: NoSchedule}]
"""
SOUND = RULE % ("odd", "self.metadata.name == 'a'") + OTHERWISE


def told(*texts: str, clusters: int = 6) -> list[tuple[str, str]]:
    files = {f"{number}.yaml": text for number, text in enumerate(texts)}
    files |= {f"c{number}.yaml": cluster(f"c{number}") for number in range(clusters)}
    fleet = check_snapshot(MemorySnapshot(files))
    assert not fleet.broken, fleet.findings
    return [(found.code, found.message) for found in advice(fleet)]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (
            POLICY % (", selector: {matchLabels: {region: nowhere}}", SOUND),
            "MUS601",
            "ConditionPolicy/p targets no ManagedCluster, of 6 there are",
        ),
        (
            POLICY % (", selector: {matchLabels: {region: eu}}", SOUND),
            "MUS604",
            "the selector of ConditionPolicy/p selects all 6 objects of kind ManagedCluster",
        ),
        (
            POLICY % ("", OTHERWISE + RULE % ("late", "self.metadata.name == 'a'")),
            "MUS605",
            "rule 'late' of ConditionPolicy/p is never evaluated: 'otherwise' before it always holds",
        ),
        (
            REMEDY.replace("ManagedClusterConditionAvailable", "Availabel"),
            "MUS602",
            "Remedy/r waits for Availabel, which no cluster reports and no policy decides",
        ),
        (
            TAINTS,
            "MUS602",
            "ClusterTaintPolicy/t waits for Availabel, which no cluster reports and no policy decides",
        ),
        (
            BUDGET % "maxDisrupted: 100%",
            "MUS603",
            "DisruptionBudget/b allows all 6 clusters to be disrupted at once, so it has no effect",
        ),
        (BUDGET % "selector: {matchLabels: {region: nowhere}}", "MUS601", "DisruptionBudget/b counts no cluster"),
    ],
)
def test_what_is_hardly_meant(text: str, code: str, message: str) -> None:
    assert told(text) == [(code, message)]


def test_of_what_is_meant_there_is_nothing_to_say() -> None:
    assert told(POLICY % ("", SOUND), REMEDY, BUDGET % "maxDisrupted: 50%") == []


def test_where_there_is_little_it_says_little() -> None:
    """Of one cluster every selector that selects it selects all."""
    assert told(POLICY % (", selector: {matchLabels: {region: eu}}", SOUND), clusters=1) == []


def test_times_that_never_come_are_reported() -> None:
    def told_at(now: str) -> list[tuple[str, int, str]]:
        fleet = check_snapshot(MemorySnapshot({"times.yaml": TIMES}))
        return [(one.code, one.line, one.message) for one in time_advice(fleet, parse_time(now))]

    over = ("MUS610", 10, "freeze 'over' is never in force from now on")
    assert told_at("2026-01-01T00:00:00Z") == [("MUS610", 5, "Calendar/hours never opens from now on"), over]
    assert told_at("2025-12-30T00:00:00Z") == [("MUS610", 5, "Calendar/hours never opens from now on"), over]
    assert told_at("2025-12-29T00:00:00Z") == [over], "it is open on Monday"
