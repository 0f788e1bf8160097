"""Faults of ours, planted: one costs one object its change, and nobody else anything."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pytest

from muster.data.codes import Severity
from muster.data.decision import Outcome
from muster.features.test.memory import MemorySnapshot
from muster.fleet.fleet import Fleet
from muster.fleet.shared import Shared
from muster.rules import pipeline
from muster.rules.conditions import stage as conditions
from muster.rules.effects.allowance import Allowance
from muster.rules.placements.stage import stage as placements
from muster.rules.policies.in_force import FleetWithPolicies, InForce
from muster.rules.taints.cluster_policy import ClusterTaintPolicy, taint_policies
from muster.rules.taints.requested import Taints
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run, Settled
from muster.run.settle import settle
from tests.support.example import EXAMPLE, NOON

LATER = NOON + timedelta(days=1)  # by then, all leases have run out: every cluster changes
SECRET = "hunter2"


@cache
def example() -> MemorySnapshot:
    return MemorySnapshot(
        {
            str(path.relative_to(EXAMPLE)): path.read_text(encoding="utf-8")
            for path in EXAMPLE.rglob("*.yaml")
            if "/." not in str(path)
        }
    )


@cache
def untouched() -> Run:
    return evaluate_snapshot(example(), LATER)


def failing_for(name: str, function: Callable[..., Any], position: int) -> Callable[..., Any]:
    """The function, but that it fails where its argument at `position` is the object of that name."""

    def planted(*arguments: Any, **named: Any) -> Any:
        if arguments[position].id.name == name:
            raise KeyError(SECRET)
        return function(*arguments, **named)

    return planted


def of_others(run: Run, name: str) -> dict[str, str | None]:
    return {path: text for path, text in run.files.items() if name not in path and "/fleets/" not in path}


def test_a_fault_about_one_object_costs_it_its_change_and_the_others_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "prod-eu-1"
    assert any(name in path for path in untouched().files), "it was to change"
    planted = failing_for(name, conditions.object_conditions, 1)
    monkeypatch.setattr(conditions, "object_conditions", planted)
    run = evaluate_snapshot(example(), LATER)
    assert f"derived/managedclusters/{name}.yaml" not in run.files
    others = [path for path in of_others(run, name) if path.startswith("derived/managedclusters/")]
    assert others == [path for path in of_others(untouched(), name) if path.startswith("derived/managedclusters/")]
    found = [one for one in run.findings if one.code == "MUS490"]
    assert {str(one.object) for one in found} == {f"ManagedCluster/{name}"}
    assert found[0].severity is Severity.ERROR
    assert found[0].file == f"clusters/eu/{name}/cluster.yaml"
    assert "KeyError at " in found[0].message
    assert "rules/conditions/stage.py" in found[0].message
    assert SECRET not in f"{found[0].message}{found[0].hint}", "an exception's text may hold anything"


def test_a_fault_about_every_object_keeps_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(*_: object) -> Iterator[Outcome]:
        raise ZeroDivisionError

    monkeypatch.setattr(conditions, "object_conditions", planted)
    run = evaluate_snapshot(example(), LATER)
    assert not [path for path in run.files if path.startswith(("derived/managedclusters/", "derived/clusters/"))]
    assert "MUS490" in {one.code for one in run.findings}


def plant(monkeypatch: pytest.MonkeyPatch, name: str, decide: Callable[..., Any]) -> None:
    """Let the stage of that name decide so."""
    stages = tuple(replace(stage, decide=decide) if stage.name == name else stage for stage in pipeline.STAGES)
    monkeypatch.setattr(pipeline, "STAGES", stages)


STAGES = [stage.name for stage in pipeline.STAGES]


def test_every_stage_says_what_it_derives() -> None:
    silent = {stage.name for stage in pipeline.STAGES if not (stage.derives or stage.foundation)}
    assert silent == {"silence", "pulses"}, "the others derive something, or nothing is decided without them"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", STAGES)
def test_a_stage_that_fails_as_a_whole_keeps_what_it_had_derived(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(*_: object) -> Iterator[Outcome]:
        yield from ()
        raise RuntimeError(SECRET)

    plant(monkeypatch, name, planted)
    at_rest = evaluate_snapshot(example(), NOON)
    assert at_rest.files == {}, "what stands, stands"
    found = [one for one in at_rest.findings if one.code == "MUS491"]
    assert [one.message.partition(",")[0] for one in found] == ["a fault in muster"]
    assert f"deciding {name}" in found[0].message
    assert SECRET not in found[0].message
    settle(example(), LATER)


def test_the_object_that_a_wide_stage_fails_on_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage that looks at all objects together does not know on which it failed."""

    def planted(shared: Shared, now: datetime, rules: InForce, allowance: Allowance) -> list[Outcome]:
        assert "prod-us-2" not in {obj.id.name for obj in shared.clusters()}
        assert "shop" not in {obj.id.name for obj in shared.of(*fleet_kinds())}
        return list(placements(shared, now, rules, allowance))

    plant(monkeypatch, "placements", planted)
    run = evaluate_snapshot(example(), LATER)
    found = {str(one.object) for one in run.findings if one.code == "MUS490"}
    assert found == {"ManagedCluster/prod-us-2", "MultiClusterIngress/web/shop"}
    assert "MUS491" not in {one.code for one in run.findings}
    assert "derived/managedclusters/prod-us-1.yaml" in run.files


def fleet_kinds() -> Any:
    from muster.data.kinds import MULTI_CLUSTER_INGRESS

    return (MULTI_CLUSTER_INGRESS,)


@pytest.mark.parametrize("name", ["requested taints", "requested actions", "budgets"])
def test_without_budgets_nothing_is_let_through(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who cannot say whether too much of the fleet is in trouble must not let new effects happen."""

    def planted(*_: object) -> list[Outcome]:
        raise RuntimeError

    plant(monkeypatch, name, planted)
    run = evaluate_snapshot(example(), LATER)
    assert run.files == {}


def test_where_nothing_can_be_prepared_all_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is the same for all objects is looked up before any is decided: its fault is no single object's."""

    def planted(fleet: FleetWithPolicies) -> tuple[ClusterTaintPolicy, ...]:
        if fleet.clusters():
            raise KeyError(SECRET)
        return taint_policies(fleet)

    monkeypatch.setattr("muster.rules.pipeline.taint_policies_of", planted)
    run = evaluate_snapshot(example(), LATER)
    assert run.files == {}
    (told,) = [one for one in run.findings if one.code == "MUS491"]
    assert "while preparing to decide" in told.message
    assert SECRET not in told.message


def test_a_file_that_cannot_be_written_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from muster.fleet.derived import derived_text as text_of

    def planted(body: Any) -> str:
        if body["metadata"]["name"] == "prod-eu-1":
            raise ValueError(SECRET)
        return text_of(body)

    sound = settle(example(), LATER)
    monkeypatch.setattr("muster.rules.render.derived_text", planted)
    settled = settle(example(), LATER)
    wanted = {path: text for path, text in sound.files.items() if not path.endswith("/prod-eu-1.yaml")}
    assert {path: settled.files.get(path) for path in wanted} == wanted
    assert not [path for path in settled.files if path.endswith("/prod-eu-1.yaml")]
    found = [one for one in settled.findings if one.code == "MUS490"]
    assert {one.object.name for one in found if one.object} == {"prod-eu-1"}


def test_a_transition_that_cannot_be_told_is_decided_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from muster.run import settle as module

    def planted(fleet: Fleet) -> list[Any]:
        raise TypeError(SECRET)

    monkeypatch.setattr(module, "transitions_of", planted)
    settled: Settled = settle(example(), LATER)
    assert settled.files.keys() >= untouched().files.keys()
    assert settled.changes == []
    assert [one.code for one in settled.findings if one.severity is Severity.ERROR] == ["MUS491"]


def test_a_fault_in_a_check_is_no_fault_of_the_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    from muster.fleet.schema_findings import schema_findings

    monkeypatch.setattr("muster.rules.checks.validate.schema_findings", failing_for("prod-eu-1", schema_findings, 0))
    run = evaluate_snapshot(example(), LATER)
    assert {str(one.object) for one in run.findings if one.code == "MUS490"} >= {"ManagedCluster/prod-eu-1"}
    assert "derived/managedclusters/prod-eu-1.yaml" not in run.files
    assert "derived/managedclusters/prod-eu-2.yaml" in run.files


def test_what_was_decided_before_the_fault_is_not_half_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The conditions of the cluster are decided when its taints fail: both stay as they were."""
    name = "prod-eu-1"

    monkeypatch.setattr(Taints, "request", failing_for(name, Taints.request, 1))
    run = evaluate_snapshot(example(), LATER)
    assert f"derived/managedclusters/{name}.yaml" not in run.files
    assert replace(run.fleet, findings=()).conditions(run.fleet.clusters()[0].id)
