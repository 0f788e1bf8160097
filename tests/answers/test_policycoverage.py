"""Coverage of policies: what no case of a test took is named."""

from muster.answers.memory import MemorySnapshot
from muster.answers.policycoverage import Coverage
from muster.answers.policytest import run_tests
from muster.engine.checking import check_snapshot
from muster.fleet.fleet import Fleet

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


def fleet(*cases: str) -> Fleet:
    return check_snapshot(MemorySnapshot({"policy.yaml": POLICY, "test.yaml": TEST + "".join(cases)}))


def covered(*cases: str) -> Coverage:
    found = Coverage()
    assert not [result for result in run_tests(fleet(*cases), coverage=found) if result.failures]
    return found


LARGE = case("large", ", labels: {size: large}")
HUGE = case("huge", ", labels: {size: huge}")
SMALL = case("small", ", labels: {size: small}")
NONE = case("none", ", labels: {}")
BARE = case("bare", "")


def test_what_no_case_took_is_named() -> None:
    found = covered(LARGE)
    assert [(branch.expression, branch.part, branch.way) for branch in found.missing] == [
        ("matchCondition labelled", "", "false"),
        ("variable size", "'none'", "taken"),
        ("rule large", "", "false"),
        ("rule large", "variables.size == 'huge'", "false"),
        ("rule large", "variables.size == 'huge'", "true"),
        ("rule large", "variables.size == 'large'", "false"),
        ("rule otherwise", "", "used"),
    ]
    assert found.total == 11
    assert str(found.missing[2]) == "rule large is never false"
    assert str(found.missing[2].place) == "policy.yaml:13:19"


def test_all_of_it() -> None:
    found = covered(LARGE, HUGE, SMALL, NONE, BARE)
    assert (found.missing, found.percent) == ([], 100.0)


def test_some_cases_alone() -> None:
    whole = fleet(LARGE, HUGE, SMALL)
    assert [result.case for result in run_tests(whole, only="UG")] == ["huge"]
    assert len(run_tests(whole, only="sized")) == 3
