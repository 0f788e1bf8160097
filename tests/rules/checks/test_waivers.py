"""Waivers as they are told: bound to what was found, until a day, and never a licence."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from muster.data.codec import decode, encode
from muster.data.codes import Severity
from muster.data.finding import Finding
from muster.data.kinds import MANAGED_CLUSTER
from muster.features.test.memory import MemorySnapshot
from muster.rules.checks.waivers import shown, waiver_advice, waivers_in
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.checking import check_snapshot
from muster.run.evaluate import evaluate_snapshot

NOW = datetime(2026, 2, 28, 23, 59, 59, tzinfo=UTC)
CLUSTERS = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a, annotations: {muster.dev/allow-disruption: soon}}
spec: {hubAcceptsClient: true}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: b}
spec: {hubAcceptClient: true}
"""


def waiver(name: str, code: str, about: str, digest: str, until: str = "2026-03-01") -> str:
    return f"""\
apiVersion: muster.dev/v1alpha1
kind: Waiver
metadata: {{name: {name}}}
spec:
  code: {code}
  object: {about}
  findings: [{{digest: "{digest}"}}]
  reason: the vendor mends it
  owner: sre
  until: "{until}"
"""


def fleet(clusters: str = CLUSTERS, *waivers: str) -> FleetWithPolicies:
    return check_snapshot(MemorySnapshot({"a.yaml": clusters, "w.yaml": "---\n".join(waivers) or "---\n"}))


WARNING, ERROR = sorted(fleet().findings, key=Finding.sort_key)
WAIVED = (
    waiver("w", "MUS222", "ManagedCluster/a", WARNING.digest),
    waiver("e", "MUS201", "ManagedCluster/b", ERROR.digest),
)


def test_what_is_waived_is_told_with_its_waiver_and_fails_nothing() -> None:
    one, other = shown(fleet(CLUSTERS, *WAIVED).findings, NOW)
    assert (replace(one, waiver=None), replace(other, waiver=None)) == (WARNING, ERROR)
    assert str(one.waiver) == "waived until 2026-03-01 by sre: the vendor mends it"
    assert (one.silenced, one.fails) == (True, False)
    assert (other.silenced, other.fails) == (False, False), "an error goes on to be told"


def test_the_day_comes() -> None:
    found = shown(fleet(CLUSTERS, *WAIVED).findings, NOW + timedelta(seconds=1))
    assert [one for one in found if one.code != "MUS703"] == [WARNING, ERROR]
    assert [(str(one.object), one.file, one.line) for one in found if one.code == "MUS703"] == [
        ("Waiver/w", "w.yaml", 4),
        ("Waiver/e", "w.yaml", 15),
    ]


@pytest.mark.parametrize(
    ("old", "new", "waived"),
    [
        ("soon", "later", False),
        ("metadata: {name: b}", "# a comment\nmetadata: {name: b}", True),
        ("apiVersion: cluster", "# and one more line\napiVersion: cluster", True),
    ],
)
def test_it_is_bound_to_the_words_and_not_to_the_line(old: str, new: str, waived: bool) -> None:
    one = shown(fleet(CLUSTERS.replace(old, new), *WAIVED).findings, NOW)[0]
    assert (one.waiver is not None) is waived


def test_another_problem_of_the_same_object_counts() -> None:
    more = CLUSTERS.replace("hubAcceptClient: true}", "hubAcceptClient: true, taint: []}")
    errors = [one for one in shown(fleet(more, *WAIVED).findings, NOW) if one.severity is Severity.ERROR]
    assert [one.fails for one in errors] == [False, True]


def test_a_waiver_changes_nothing_that_is_derived() -> None:
    files = {"a.yaml": CLUSTERS, "r.yaml": "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n"}
    without = evaluate_snapshot(MemorySnapshot(files), NOW)
    waived = evaluate_snapshot(MemorySnapshot({**files, "w.yaml": "---\n".join(WAIVED)}), NOW)
    assert (waived.files, waived.horizon) == (without.files, without.horizon)
    assert "derived/managedclusters/b.yaml" not in waived.files, "an error costs the object its change all the same"


@pytest.mark.parametrize("code", ["MUS490", "MUS701", "MUS703", "MUS999"])
def test_what_nobody_can_answer_for(code: str) -> None:
    found = fleet(CLUSTERS, waiver("w", code, "ManagedCluster/a", WARNING.digest)).findings
    assert [one.code for one in found if one.severity is Severity.ERROR and one.file == "w.yaml"] == ["MUS702"]
    assert waivers_in(found) == []


def test_advice_about_waivers() -> None:
    late = waiver("late", "MUS222", "ManagedCluster/a", WARNING.digest, "2026-03-14")
    idle = waiver("idle", "MUS222", "ManagedCluster/b", WARNING.digest, "2027-01-01")
    gone = waiver("gone", "MUS222", "ManagedCluster/b", WARNING.digest, "2026-01-01")
    found = waiver_advice(fleet(CLUSTERS, late, idle, gone).findings, NOW)
    shown = sorted((one.code, one.object.name) for one in found if one.object)
    assert shown == [("MUS704", "late"), ("MUS705", "idle")]
    assert [one.code for one in waiver_advice(fleet(CLUSTERS, late).findings, NOW - timedelta(days=1))] == []


def test_a_state_keeps_what_was_found_as_it_is() -> None:
    found = sorted(fleet(CLUSTERS, *WAIVED).findings, key=Finding.sort_key)
    assert [decode(Finding, encode(one)) for one in found] == found
    assert sum(one.waiver is not None for one in found) == 2, "those that tell of waivers"


def test_standing_waivers_speak_of_a_part_of_what_is_found() -> None:
    standing = fleet(CLUSTERS, *WAIVED).findings
    (one,) = shown([WARNING], NOW, standing)
    assert one.waiver is not None
    assert shown([WARNING], NOW + timedelta(days=1), standing) == [WARNING], "what expired elsewhere is told elsewhere"
    stranger = replace(WARNING, object=MANAGED_CLUSTER.id("z"))
    assert shown([stranger], NOW, standing) == [stranger]
