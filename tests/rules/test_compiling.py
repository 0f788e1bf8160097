"""Which policies of a fleet are in force: the sound ones, each once, and no condition decided twice."""

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.checking import check_snapshot


def policy(name: str, type_: str = "X", spec: str = "") -> str:
    return (
        "apiVersion: muster.dev/v1alpha1\nkind: ConditionPolicy\n"
        f"metadata: {{name: {name}}}\nspec:\n  type: {type_}\n  target: {{kind: ManagedCluster}}\n"
        f"  rules: [{{name: r, status: 'True'{spec}}}]\n"
    )


def ruled(*policies: str) -> FleetWithPolicies:
    return check_snapshot(MemorySnapshot({f"{number}.yaml": text for number, text in enumerate(policies)}))


def own(fleet: FleetWithPolicies) -> list[str]:
    """The fleet's own policies in force, in the order in which they are asked."""
    return [one.id.name for one in fleet.compiled.of(ConditionPolicy) if one.id not in fleet.read.builtin]


def codes(fleet: FleetWithPolicies) -> list[str]:
    return [found.code for found in fleet.sorted_findings()]


def reads(type_: str) -> str:
    return f", when: \"status(conditions, '{type_}') == 'True'\""


def test_a_policy_comes_after_those_that_it_reads() -> None:
    fleet = ruled(policy("a", "A", reads("B")), policy("b", "B", reads("C")), policy("c", "C"))
    assert own(fleet) == ["c", "b", "a"]
    assert not codes(fleet)


def test_policies_in_a_circle_decide_nothing_and_neither_does_who_waits_for_them() -> None:
    circle = policy("a", "A", reads("B")), policy("b", "B", reads("A"))
    fleet = ruled(*circle, policy("c", "C", reads("A")), policy("d", "D"))
    assert own(fleet) == ["d"]
    assert codes(fleet) == ["MUS312"] * 3


def test_a_policy_with_an_error_is_dropped_whole() -> None:
    fleet = ruled(policy("a", spec=", when: 'nothing.of.the.kind'"), policy("b", "Y"))
    assert own(fleet) == ["b"]
    assert codes(fleet) == ["MUS302"]


def test_a_broken_replacement_does_not_bring_the_built_in_policy_back() -> None:
    fleet = ruled(policy("cluster-ready", "Ready", ", when: '1'"))
    assert "cluster-ready" not in {one.id.name for one in fleet.compiled.of(ConditionPolicy)}


@pytest.mark.parametrize(
    ("policies", "kept", "found"),
    [
        pytest.param([policy("a"), policy("b")], ["a"], ["MUS311"], id="the later by name loses"),
        pytest.param(
            [policy("a"), policy("b").replace("ManagedCluster}", "Cluster}")], ["a", "b"], [], id="other kinds"
        ),
        pytest.param(
            [policy("a"), policy("b").replace("ManagedCluster}", "ManagedCluster, selector: {matchLabels: {x: y}}}")],
            ["a", "b"],
            [],
            id="selectors may well be disjoint",
        ),
        pytest.param([policy("a", "Available")], [], ["MUS313"], id="pulses rest on it"),
        pytest.param([policy("adapters-available", "Available")], ["adapters-available"], ["MUS314"], id="by name"),
    ],
)
def test_rivals(policies: list[str], kept: list[str], found: list[str]) -> None:
    fleet = ruled(*policies)
    assert (own(fleet), codes(fleet)) == (kept, found)


def test_only_a_fleet_s_own_policies_are_doubted() -> None:
    fleet = ruled(policy("a", spec=reads("Nobodys")))
    assert codes(fleet) == ["MUS303"]
    assert "Nobodys" in fleet.findings[0].message


def test_the_same_file_is_compiled_once() -> None:
    first, again = (ruled(policy("once")).compiled.of(ConditionPolicy) for _ in range(2))
    assert all(one is other for one, other in zip(first, again, strict=True))
    changed = ruled(policy("once", spec=", reason: Other")).compiled.of(ConditionPolicy)
    assert [one.id.name for one, other in zip(first, changed, strict=True) if one is not other] == ["once"]


def test_an_unknown_condition_is_one_warning_and_never_the_policys_own() -> None:
    rules = "".join(
        f"  - {{name: r{number}, when: \"{when}\", status: 'False', reason: R}}\n"
        for number, when in enumerate(
            (
                "'example.com/DiskPressured' in reported && reported['example.com/DiskPressured'].status == 'True'",
                "status(conditions, 'example.com/DiskPressured') == 'True'",
                "status(reported, 'Other') == 'True'",
            )
        )
    )
    policy = (
        "apiVersion: muster.dev/v1alpha1\nkind: ConditionPolicy\nmetadata: {name: p}\nspec:\n"
        f"  target: {{kind: ManagedCluster}}\n  type: example.com/DiskPressure\n  rules:\n{rules}"
    )
    found = check_snapshot(MemorySnapshot({"p.yaml": policy}), None).sorted_findings()
    warnings = [(one.message, one.hint) for one in found if one.code == "MUS303"]
    assert [message.split("'")[1] for message, _ in warnings] == ["example.com/DiskPressured", "Other"]
    assert warnings[0][1] == "agents report it, or another policy decides it: until then it is missing"
