"""What is proved of gates and scores."""

from typing import Any

import pytest
import yaml

from muster.data.codes import Severity
from muster.features.lint.proving.provable import provable_policies
from muster.features.lint.proving.questions import Proof, prove_policy
from muster.features.test.memory import MemorySnapshot
from muster.run.checking import check_snapshot


def proofs(*bodies: dict[str, Any]) -> dict[str, Proof]:
    """The proofs of a fleet's own Rollouts and ScorePolicies."""
    fleet = check_snapshot(MemorySnapshot({"a.yaml": yaml.safe_dump_all(bodies)}))
    assert [one.message for one in fleet.findings if one.severity is Severity.ERROR] == []
    own = [one for one in provable_policies(fleet) if one.source.written]
    return {str(one.id): prove_policy(fleet, one) for one in own}


def told(found: Proof) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in found.findings]


def rollout(*gates: str, own: tuple[str, ...] = ()) -> dict[str, Any]:
    """A Rollout with gates `g0`, `g1` of all stages, and `s0` of its only stage."""

    def named(letter: str, expressions: tuple[str, ...]) -> dict[str, Any]:
        listed = [{"name": f"{letter}{index}", "expression": text} for index, text in enumerate(expressions)]
        return {"gate": listed} if listed else {}

    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "apps"},
        "spec": {
            "placementRef": {"name": "web"},
            "revision": "v2",
            **named("g", gates),
            "stages": [{"name": "all", **named("s", own)}],
        },
    }


AVAILABLE = "status(conditions, 'ManagedClusterConditionAvailable') == 'True'"


@pytest.mark.parametrize(
    ("gates", "own", "findings"),
    [
        ((AVAILABLE,), ("generation > 1",), []),
        (("generation > 1 && generation < 2",), (), [("MUS611", "gate 'g0' of {} can never pass: it never holds")]),
        (("rollout.revision == 'v3'",), (), [("MUS611", "gate 'g0' of {} can never pass: it never holds")]),
        (
            ("generation > 5",),
            ("generation < 5",),
            [("MUS611", "gate 's0' of stage 'all' of {} can never pass: where it would, 'g0' before it does not")],
        ),
        # For another revision it would not pass.
        (("rollout.revision == 'v2'",), (), []),
        (("generation > 0",), (), [("MUS612", "gate 'g0' of {} always passes")]),
        (
            ("generation > 5",),
            ("generation > 4", "generation > 5"),
            [
                ("MUS612", "gate 's0' of stage 'all' of {} always passes where 'g0' before it does"),
                ("MUS612", "gate 's1' of stage 'all' of {} always passes where 'g0' before it does"),
            ],
        ),
        (("self.metadata.labels['ok'] == 'yes'",), (), [("MUS607", "gate 'g0' of {} can fail")]),
        # A gate that is evaluated only if the one before it passes may rely on it.
        (("has(self.metadata.labels) && 'ok' in self.metadata.labels",), ("self.metadata.labels['ok'] == 'yes'",), []),
    ],
)
def test_gates(gates: tuple[str, ...], own: tuple[str, ...], findings: list[tuple[str, str]]) -> None:
    [(name, found)] = proofs(rollout(*gates, own=own)).items()
    assert (told(found), found.undecided) == ([(code, text.format(name)) for code, text in findings], [])


def test_gates_that_are_beyond_the_solver_are_not_decided() -> None:
    [found] = proofs(rollout("semver(rollout.revision, true).minor() > 1")).values()
    assert (told(found), found.undecided[0]) == ([], "whether gate 'g0' can ever pass")


def test_a_stage_that_no_cluster_can_reach_is_found_at_its_place() -> None:
    body = rollout()
    a, b = ({"name": name, "selector": {"matchLabels": {"region": "eu"}}} for name in "ab")
    body["spec"]["stages"] = [a, b, {"name": "c"}]
    placement = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "web", "namespace": "apps"},
        "spec": {},
    }
    [found] = proofs(body, placement).values()
    message = "no cluster can be in stage 'b' of Rollout/apps/web: 'a' before it takes each cluster that it selects"
    assert (told(found), found.reached) == ([("MUS614", message)], 2)
    assert yaml.safe_dump_all([body]).splitlines()[found.findings[0].line - 1].endswith("name: b")


def score(expression: str, name: str = "cost", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "ScorePolicy",
        "metadata": {"name": name},
        "spec": {"target": {"kind": "ManagedCluster"}, "score": "s", "resource": "r", "expression": expression, **spec},
    }


@pytest.mark.parametrize(
    ("expression", "spec", "findings"),
    [
        ("accepted ? 100 : -100", {}, []),
        ("generation < 50 ? generation : 50", {}, []),
        ("generation", {}, [("MUS613", "{} can give the score 101; scores are from -100 to 100")]),
        ("accepted ? 7 : 14 / 2", {}, [("MUS612", "{} gives every cluster the same score: 7")]),
        # A constant may be that of some clusters only.
        ("7", {"matchConditions": [{"name": "a", "expression": "accepted"}]}, []),
        ("7", {"target": {"kind": "ManagedCluster", "selector": {"matchLabels": {"a": "b"}}}}, []),
        (
            "7",
            {"matchConditions": [{"name": "a", "expression": "generation < 1"}]},
            [("MUS606", "{} never gives a score: its matchConditions never all hold")],
        ),
        ("1 / (generation - generation)", {}, [("MUS606", "{} never gives a score: its expression always fails")]),
        (
            "int(params.price[self.metadata.labels.region])",
            {"params": {"price": {"eu": 1, "us": 2}}},
            [("MUS607", "the expression of {} can fail")],
        ),
    ],
)
def test_scores(expression: str, spec: dict[str, Any], findings: list[tuple[str, str]]) -> None:
    [(name, found)] = proofs(score(expression, **spec)).items()
    assert (told(found), found.undecided) == ([(code, text.format(name)) for code, text in findings], [])


def test_constants_of_several_policies_for_one_score_are_a_table() -> None:
    found = proofs(score("7"), score("8", "other"))
    assert [told(one) for one in found.values()] == [[], []]
