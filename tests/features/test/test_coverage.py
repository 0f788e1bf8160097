"""Coverage of policies: what no case of a test took is named."""

import pytest

from muster.features.test.branches import branches_of
from muster.features.test.coverage import Coverage
from muster.features.test.memory import MemorySnapshot
from muster.features.test.policytest import run_tests
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.checking import check_snapshot

POLICY = """
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: sized}
spec:
  target: {kind: ManagedCluster}
  type: Sized
  matchConditions:
  - {name: labelled, expression: has(self.metadata.labels)}
  variables:
  - {name: size, expression: "'size' in self.metadata.labels ? self.metadata.labels['size'] : 'none'"}
  rules:
  - {name: large, when: variables.size == 'large' || variables.size == 'huge', status: "True", reason: L, message: m}
  - {name: otherwise, status: "False", reason: Small, message: m}
"""
TEST = """
apiVersion: muster.dev/v1alpha1
kind: PolicyTest
metadata: {name: sized}
spec:
  policies: [ConditionPolicy/sized]
  cases:
"""


def case(name: str, labels: str) -> str:
    return f"""
  - name: {name}
    given:
      objects:
      - apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {{name: a{labels}}}
        spec: {{hubAcceptsClient: true}}
    steps:
    - at: "2026-01-01T00:00:00Z"
      expect: [{{object: ManagedCluster/a, remedyActions: []}}]
"""


def fleet(*cases: str, further: str = "") -> FleetWithPolicies:
    return check_snapshot(MemorySnapshot({"policy.yaml": POLICY + further, "test.yaml": TEST + "".join(cases)}))


def covered(*cases: str, further: str = "") -> Coverage:
    found = Coverage()
    assert not [result for result in run_tests(fleet(*cases, further=further), coverage=found) if result.failures]
    return found


LARGE = case("large", ", labels: {size: large}")
HUGE = case("huge", ", labels: {size: huge}")
SMALL = case("small", ", labels: {size: small}")
NONE = case("none", ", labels: {}")
BARE = case("bare", "")


def test_what_no_case_took_is_named() -> None:
    (found,) = covered(LARGE).policies
    assert [(branch.expression, branch.part, branch.way) for branch in found.missing] == [
        ("matchCondition labelled", "", "false"),
        ("variable size", "'none'", "taken"),
        ("rule large", "", "false"),
        ("rule large", "variables.size == 'huge'", "false"),
        ("rule large", "variables.size == 'huge'", "true"),
        ("rule large", "variables.size == 'large'", "false"),
        ("rule otherwise", "", "used"),
    ]
    assert (found.total, found.covered) == (11, 4)
    assert str(found.missing[2]) == "rule large is never false"
    assert str(found.missing[2].place) == "policy.yaml:13:19"


def test_all_of_it() -> None:
    found = covered(LARGE, HUGE, SMALL, NONE, BARE)
    assert ([one.missing for one in found.policies], found.percent) == ([()], 100.0)


OTHER = """---
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: other}
spec:
  target: {kind: ManagedCluster}
  type: Other
  rules: [{name: only, when: has(self.metadata.labels), status: "True", reason: R, message: m}]
---
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: at-once}
spec: {clusterAffinity: {clusterNames: [elsewhere]}, actions: [TrafficControl]}
"""


def test_what_no_test_names_is_not_covered_though_it_was_asked() -> None:
    found = covered(LARGE, HUGE, SMALL, NONE, BARE, further=OTHER)
    assert [(str(one.policy), one.named, one.covered, one.total) for one in found.policies] == [
        ("ConditionPolicy/other", False, 0, 2),
        ("ConditionPolicy/sized", True, 11, 11),
        ("Remedy/at-once", False, 0, 1),
    ]
    assert round(found.percent, 1) == round(100 * 11 / 14, 1)


def test_policies_without_expressions_are_covered_where_they_act() -> None:
    test = TEST.replace("ConditionPolicy/sized", "Remedy/at-once") + LARGE.replace("remedyActions: []", "held: []")
    texts = {"policy.yaml": OTHER.replace("elsewhere", "a"), "test.yaml": test}
    found = Coverage()
    run_tests(check_snapshot(MemorySnapshot(texts)), coverage=found)
    assert [(one.policy.name, one.covered) for one in found.policies if one.named] == [("at-once", 1)]


def test_some_cases_alone() -> None:
    whole, found = fleet(LARGE, HUGE, SMALL, further=OTHER), Coverage()
    assert [result.case for result in run_tests(whole, only="UG", coverage=found)] == ["huge"]
    assert [one.policy.name for one in found.policies] == ["sized"], "those that are tested, and no others"
    assert len(run_tests(whole, only="sized")) == 3


WITHIN = """---
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: within}
spec:
  target: {kind: ManagedCluster}
  type: Within
  rules:
  - name: only
    when: WHEN
    status: "True"
    reason: R
    message: m
"""
TAINTED = """
    given:
      objects:
      - apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: a, labels: {x: y}}
        spec: {hubAcceptsClient: true, taints: [{key: k, effect: NoSelect}, {key: l, value: v, effect: NoSelect}]}
    steps:
    - at: "2026-01-01T00:00:00Z"
      expect: [{object: ManagedCluster/a, remedyActions: []}]
"""
#: An expression -> the parts of it that can turn out in several ways, beside the whole.
PARTS = {
    "self.spec.taints.exists(t, t.key == 'k' && has(t.value))": ["has(t.value)", "t.key == 'k'"],
    "self.spec.taints.all(t, t.key == 'k' || has(t.value))": ["has(t.value)", "t.key == 'k'"],
    "self.spec.taints.exists_one(t, (has(t.value) ? t.value : '') == 'v' || t.key == 'z')": [
        "''",
        "(has(t.value) ? t.value : '') == 'v'",
        "t.key == 'z'",
        "t.value",
    ],
    "self.spec.taints.filter(t, has(t.value) && t.effect in ['NoSelect']).size() == 1": [
        "has(t.value)",
        "t.effect in ['NoSelect']",
    ],
    "'v' in self.spec.taints.map(t, has(t.value) ? t.value : 'none')": ["'none'", "t.value"],
    "cel.bind(n, generation, n > 5 || (n == 1 && accepted))": ["accepted", "n == 1", "n == 1 && accepted", "n > 5"],
    "self.metadata.?labels.optMap(l, 'x' in l || 'y' in l).orValue(false)": ["'x' in l", "'y' in l"],
    "has(self.spec) && !has(lease.spec)": ["!has(lease.spec)", "has(self.spec)"],
}


def within(when: str, cases: str = "") -> Coverage:
    test = TEST.replace("ConditionPolicy/sized", "ConditionPolicy/within") + (cases or f"\n  - name: it{TAINTED}")
    texts = {"policy.yaml": WITHIN.replace("WHEN", f'"{when}"'), "test.yaml": test}
    found = Coverage()
    assert not [one for one in run_tests(check_snapshot(MemorySnapshot(texts)), coverage=found) if one.failures]
    return found


@pytest.mark.parametrize("when", PARTS)
def test_operands_inside_macros_count_by_their_text(when: str) -> None:
    ruled = check_snapshot(MemorySnapshot({"policy.yaml": WITHIN.replace("WHEN", f'"{when}"')}))
    (found,) = (parts for id_, parts in branches_of(ruled).items() if id_.name == "within")
    assert sorted({branch.part for branch in found.values()} - {""}) == PARTS[when]


def test_one_round_of_a_macro_suffices() -> None:
    (found,) = within("self.spec.taints.filter(t, t.effect == 'NoSelect' && has(t.value)).size() > 0").policies
    assert [str(branch) for branch in found.missing] == [
        "rule only is never false",
        "rule only: t.effect == 'NoSelect' is never false",
    ]


def test_a_field_that_is_asked_for_is_named_as_that() -> None:
    (found,) = within("has(self.spec) && has(lease.spec)").policies
    assert "rule only: has(self.spec) is never false" in map(str, found.missing)
