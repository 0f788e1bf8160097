"""Explaining says of every decision of the example fleet by which rule, from what, and exactly until when."""

from datetime import datetime, timedelta
from functools import cache

import pytest

from muster.cel.deadlines import ComparisonDeadline
from muster.data.ids import ObjectId
from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER, MULTI_CLUSTER_INGRESS, PLACEMENT
from muster.data.times import format_time
from muster.features.explain.explain import NothingDecided, explain
from muster.features.explain.text import explanation_text
from muster.rules.policies.lazy import Witness
from muster.run.evaluate import evaluate_snapshot
from muster.run.explained import Explanation
from muster.run.run import Run
from tests.support.example import EXAMPLE, NOON
from tests.support.examples import often
from tests.support.fuzzing import corpus
from tests.support.mutations import Broken, Files
from tests.support.truth import misread


@cache
def witnessed(now: datetime = NOON) -> tuple[Run, Witness]:
    """The example fleet, with every evaluation noted."""
    return of(corpus(), now)


def of(files: Files, now: datetime) -> tuple[Run, Witness]:
    witness = Witness(lambda _: True)
    return evaluate_snapshot(Broken(files), now, witness=witness), witness


def explained(id_: ObjectId, field: str = "", now: datetime = NOON) -> Explanation:
    return explain(*witnessed(now), id_, field)


def test_of_every_decision_the_rule_and_what_it_rests_on() -> None:
    run, witness = witnessed()
    told = 0
    for id_ in run.fleet.decided:
        found = explain(run, witness, id_)
        for one in found.fields:
            told += 1
            assert one.rule, one
            of_policy = any(asked.decides for asked in one.asked)
            assert one.text or one.reads or of_policy, one
            if one.rule.startswith(("ConditionPolicy/", "TaintPolicy/", "PulsePolicy/")):
                assert one.place is not None, one
                assert one.place.line, one
    assert told > 200, "the example has decisions of all sorts"


@pytest.mark.parametrize("later", [timedelta(0), timedelta(minutes=4), timedelta(days=1)])
def test_what_was_read_stands_where_it_is_said_to_stand(later: timedelta) -> None:
    """Of a parameter that the Fleet sets the Fleet's file, of a condition the line of its status."""
    run, witness = witnessed(NOON + later)
    places = 0
    for id_ in run.fleet.decided:
        for one in explain(run, witness, id_).fields:
            for read in one.reads:
                assert not list(misread(run.fleet, read, unread=False)), (id_, one.label, read)
                places += read.place is not None
    assert places > 300


def test_a_taint_is_dated_by_the_condition_that_it_rests_on() -> None:
    """And not by that of another type, or by what the file of the last run says."""
    now = NOON + timedelta(minutes=8)
    (found,) = explained(MANAGED_CLUSTER.id("prod-ap-2"), "taints", now).fields
    (condition,) = [read for read in found.reads if read.label.startswith("conditions")]
    assert (condition.label, condition.value) == ("conditions.ManagedClusterConditionAvailable.status", "'Unknown'")
    assert condition.since == found.since == now, "both became so in this run"
    assert condition.place is None, "the file still says what was"


def test_what_has_no_deadline_says_what_of_it_has() -> None:
    (found,) = explained(MANAGED_CLUSTER.id("prod-us-2"), "taints").fields
    text = explanation_text(Explanation(MANAGED_CLUSTER.id("prod-us-2"), NOON, (found,)), lambda _: "")
    (condition,) = explained(MANAGED_CLUSTER.id("prod-us-2"), "ManagedClusterConditionAvailable").fields
    assert condition.until is not None
    assert f"conditions.ManagedClusterConditionAvailable.status does at {format_time(condition.until)}, in" in text


def test_a_condition_that_a_match_condition_reads_has_a_deadline() -> None:
    """The field has none of its own, but goes with its object's availability."""
    policy = (
        "apiVersion: muster.dev/v1alpha1\nkind: ConditionPolicy\nmetadata: {name: usable}\nspec:\n"
        "  target: {kind: ManagedCluster}\n  type: Usable\n  matchConditions:\n  - name: available\n"
        "    expression: status(conditions, 'ManagedClusterConditionAvailable') == 'True'\n"
        '  rules: [{name: always, status: "True", reason: Usable}]\n'
    )
    run, witness = of({**corpus(), ("", "policies/usable.yaml"): policy.encode()}, NOON)
    id_ = next(id_ for id_ in run.fleet.decided if "Usable" in str(run.fleet.decisions(id_).keys()))
    text = explanation_text(explain(run, witness, id_, "Usable"), lambda _: "")
    assert "its inputs change: " in text, text
    assert "ManagedClusterConditionAvailable" in text.partition("its inputs change: ")[2], text


@pytest.mark.parametrize("form", ["{}", "metadata.labels.{}", "metadata.labels[{}]"])
def test_a_label_that_a_decision_sets_can_be_named(form: str) -> None:
    run, _ = witnessed()
    id_ = next(id_ for id_ in run.fleet.decided if id_.kind == "PlacementDecision")
    found = explained(id_, form.format("cluster.open-cluster-management.io/placement"))
    assert [one.label for one in found.fields] == ["metadata.labels"]


def test_a_witness_changes_nothing() -> None:
    alone = evaluate_snapshot(Broken(corpus()), NOON)
    run, _ = witnessed()
    assert (run.files, run.pulses, run.held, run.horizon) == (alone.files, alone.pulses, alone.held, alone.horizon)
    assert run.findings == alone.findings


def test_deadlines_are_exact() -> None:
    """A second before a deadline that is stated its comparison gives one thing, and at it another."""
    run, witness = witnessed()
    stated: dict[datetime, list[tuple[ObjectId, str, str, ComparisonDeadline]]] = {}
    for id_ in run.fleet.decided:
        for one in explain(run, witness, id_).fields:
            for asked in one.asked:
                for deadline in asked.trace.deadlines:
                    assert deadline.flips is not None
                    stated.setdefault(deadline.flips, []).append(
                        (id_, one.rule.partition("#")[0], asked.title, deadline)
                    )
    assert len(stated) > 10
    ahead = {flips: found for flips, found in stated.items() if flips > NOON}
    for flips, found in sorted(ahead.items())[: often(4)]:  # each instant takes two runs
        before, after = of(corpus(), flips - timedelta(seconds=1)), of(corpus(), flips)
        for id_, policy, title, deadline in found:
            gave = [_gave(*at, id_, policy, title, deadline.offset) for at in (before, after)]
            assert gave[0] != gave[1] or gave[0] is None, (id_, policy, title, deadline)
            assert gave[0] is not None, "nothing else happens meanwhile that would keep it from being asked"


def _gave(run: Run, witness: Witness, id_: ObjectId, policy: str, title: str, offset: int) -> str | None:
    """What the comparison at a place of an expression gave; None where it was not asked."""
    for one in explain(run, witness, id_).fields:
        if one.rule.partition("#")[0] == policy:
            for asked in one.asked:
                if asked.title == title:
                    return next((part.shown for part in asked.trace.parts if part.offset == offset), None)
    return None


def test_the_arithmetic_of_a_lease() -> None:
    (one,) = explained(MANAGED_CLUSTER.id("edge-eu-1"), "ManagedClusterConditionAvailable").fields
    assert one.rule == "ConditionPolicy/managed-cluster-available#lease-expired"
    (deadline,) = one.deadlines
    assert [term.shown for term in deadline.terms] == [
        "2026-01-01T10:31:00Z (lease.spec.renewTime)",
        "3000s (variables.grace)",
    ]
    reads = {read.label: (read.value, str(read.place)) for read in one.reads}
    assert reads["lease.spec.renewTime"] == ("2026-01-01T10:31:00Z", "clusters/eu/edge-eu-1/lease.yaml:11:3")
    assert reads["leaseDurationSeconds"] == ("600", "clusters/eu/edge-eu-1/cluster.yaml:12:3")
    assert [asked.title for asked in one.asked if asked.decides] == ["variable grace", "rule lease-expired"]


def test_a_remedy_and_what_it_reroutes() -> None:
    (one,) = explained(KARMADA_CLUSTER.id("member-eu-1"), "remedyActions").fields
    assert (one.value, one.rule) == (["TrafficControl"], "Remedy/upgrade-member-eu-1")
    assert one.place is not None
    assert one.place.file == "remedies/upgrade-member-eu-1.yaml"
    run, _ = witnessed()
    ingress = next(id_ for id_ in run.fleet.decided if MULTI_CLUSTER_INGRESS.has(id_))
    (blocked,) = explained(ingress, "trafficBlockClusters").fields
    assert "Remedy/upgrade-member-eu-1" in blocked.rule


def test_why_a_placement_chose_a_cluster_and_why_not() -> None:
    found = explained(PLACEMENT.id("search", "shop"), "prod-us-2")
    assert [(one.cluster, one.selected, one.rule) for one in found.choices] == [("prod-us-2", False, "taint")]
    everyone = explained(PLACEMENT.id("search", "shop"))
    assert {one.cluster for one in everyone.choices if one.selected} == {"prod-eu-1", "prod-ap-1"}
    assert everyone.fields


@pytest.mark.parametrize(
    ("field", "labels"),
    [
        ("metadata.generation", ["metadata.generation"]),
        ("GENERATION", ["metadata.generation"]),
        ("example.com/SupportedVersion", ["status.conditions[example.com/SupportedVersion]"]),
        ("SupportedVersion", ["status.conditions[example.com/SupportedVersion]"]),
        ("conditions[Ready]", ["status.conditions[Ready]"]),
        ("specChanged", ["status.muster.specChanged"]),
    ],
)
def test_how_a_field_is_named(field: str, labels: list[str]) -> None:
    assert [one.label for one in explained(MANAGED_CLUSTER.id("prod-eu-1"), field).fields] == labels


def test_what_is_not_decided_says_what_is() -> None:
    with pytest.raises(NothingDecided, match="has no decided field 'capacity'; there are metadata.generation, "):
        explained(MANAGED_CLUSTER.id("prod-eu-1"), "capacity")
    with pytest.raises(NothingDecided, match="nothing is decided about ManagedCluster/nobody"):
        explained(MANAGED_CLUSTER.id("nobody"))


def test_what_muster_remembers_for_itself_is_told_only_by_name() -> None:
    labels = [one.label for one in explained(MANAGED_CLUSTER.id("prod-eu-1")).fields]
    assert not [label for label in labels if "specChanged" in label]


def test_held_effects_and_pulses_are_explained_too() -> None:
    files: Files = {("", str(path.relative_to(EXAMPLE))): path.read_bytes() for path in EXAMPLE.rglob("*.yaml")}
    run, witness = of(files, NOON + timedelta(hours=1))
    held = run.fleet.held[0]
    found = [one for one in explain(run, witness, held.object).fields if one.sort == "held"]
    assert found[0].label == f"held {held.effect}"
    assert found[0].rule.startswith("DisruptionBudget/")
    pulse = run.fleet.pulses[0]
    told = [one for one in explain(run, witness, pulse.object).fields if one.sort == "pulse"]
    assert told[0].label == f"pulse {pulse.policy}"
    assert any(asked.decides for asked in told[0].asked)
