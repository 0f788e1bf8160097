"""What is proved of policies, and what is found in those that somebody has broken."""

from functools import cache
from pathlib import Path

import pytest

from muster.data.codes import Severity
from muster.features.lint.proving.invariants import invariant_findings
from muster.features.lint.proving.provable import admission_policies
from muster.features.lint.proving.questions import Proof, prove, prove_policy
from muster.features.lint.proving.rules import of_remedy
from muster.features.lint.proving.solver import MAX_STEPS
from muster.features.test.memory import MemorySnapshot
from muster.fleet import assemble
from muster.fleet.files import builtin_objects
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.pulses.policy import PulsePolicy
from muster.rules.remedies.policy import Remedy
from muster.rules.taints.policy import TaintPolicy
from muster.run.checking import check_snapshot
from tests.support.holes import with_hole

POLICIES = Path(__file__).parents[4] / "policies"
AVAILABLE = (POLICIES / "managed-cluster-available.yaml").read_text(encoding="utf-8")
SOUND = """\
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: sound}
spec:
  target: {kind: ManagedCluster}
  type: Sound
"""


def fleet(*files: str) -> FleetWithPolicies:
    found = check_snapshot(MemorySnapshot({f"policies/{number}.yaml": text for number, text in enumerate(files)}))
    assert [one.message for one in found.findings if one.severity is Severity.ERROR] == []
    return found


def proof(name: str, *files: str, most_steps: int = MAX_STEPS) -> Proof:
    """Prove one policy of a fleet that has these files."""
    ruled = fleet(*files)
    compiled = ruled.compiled
    found = {
        one.id.name: one
        for one in (*compiled.of(ConditionPolicy), *compiled.of(TaintPolicy), *compiled.of(PulsePolicy))
    }
    return prove_policy(ruled, found[name], most_steps)


def sound(*rules: tuple[str, str], rest: str = "") -> str:
    """A policy with rules by name and condition; the last line is for what else it has."""
    written = "".join(
        f"  - name: {name}\n    when: {when!r}\n    status: 'True'\n    reason: Because\n    message: ''\n"
        for name, when in rules
    )
    return f"{SOUND}{rest}  rules:\n{written}"


def told(found: Proof) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in found.findings]


@cache
def shipped() -> list[Proof]:
    return prove(fleet())


def test_the_shipped_policies_are_proved() -> None:
    proofs = {proof.policy.name: proof for proof in shipped()}
    assert {name: told(proof) for name, proof in proofs.items() if proof.findings} == {}
    assert {name: proof.undecided for name, proof in proofs.items() if proof.undecided} == {}
    assert proofs["managed-cluster-available"].deciding == 5
    assert proofs["managed-cluster-available"].kept == 2
    assert proofs["adapters-finalized"].kept == 3  # of three kinds of objects


def test_no_built_in_policy_can_fail_whatever_parts_are_missing_and_parameters_are_set() -> None:
    proofs = prove(fleet(), any_params=True)
    assert {proof.policy: [str(one) for one in proof.findings] for proof in proofs if proof.findings} == {}
    assert {proof.policy: proof.undecided for proof in proofs if proof.undecided} == {}
    # All that has expressions: a DisruptionBudget, a binding and a test of policies have none to fail.
    without = {"DisruptionBudget", "ValidatingAdmissionPolicyBinding", "PolicyTest"}
    assert {proof.policy for proof in proofs} == {id_ for id_ in builtin_objects() if id_.kind not in without}
    assert all(proof.sound for proof in proofs)


@pytest.mark.parametrize(
    ("name", "total", "hole"),
    [
        ("pool-cluster-broken", "self.?spec.?clusterPoolRef.hasValue()", "has(self.spec.clusterPoolRef)"),
        (
            "cluster-ready",
            "self.?spec.?syncMode.hasValue() ? self.spec.syncMode == 'Pull' : has(lease.spec)",
            "self.spec.syncMode == 'Pull'",
        ),
        (
            "managed-cluster-available",
            "lease.spec.renewTime <= now - variables.grace",
            "now - lease.spec.renewTime >= variables.grace",
        ),
        ("managed-cluster-admission", "object.?spec.?hubAcceptsClient.orValue(false)", "object.spec.hubAcceptsClient"),
    ],
)
def test_a_hole_planted_in_a_built_in_policy_is_found(
    monkeypatch: pytest.MonkeyPatch, name: str, total: str, hole: str
) -> None:
    found = with_hole(name, total, hole)
    monkeypatch.setattr(assemble, "builtin_objects", lambda: found)
    ruled = fleet()
    policies = (*ruled.compiled.of(ConditionPolicy), *admission_policies(ruled))
    proof = prove_policy(ruled, next(one for one in policies if one.id.name == name))
    assert "MUS607" in {one.code for one in proof.findings}


def test_a_planted_hole_in_the_availability_policy_is_found_with_an_example() -> None:
    # Somebody no longer asks whether there is a lease.
    hole = AVAILABLE.replace(
        """when: "!has(lease.spec) || !has(lease.spec.renewTime) || lease.spec.renewTime == null\"""", 'when: "false"'
    ).replace("when: lease.spec.renewTime <=", "when: has(lease.spec) && lease.spec.renewTime <=")
    assert hole != AVAILABLE
    found = proof("managed-cluster-available", hole)
    [broken] = [
        one for one in found.findings if "true-needs-a-lease" in one.message or "without a lease" in one.message
    ]
    assert broken.code == "MUS608"
    assert broken.message == (
        "ConditionPolicy/managed-cluster-available: it can be True for a cluster without a lease "
        "(rule 'as-reported', status True)"
    )
    assert broken.line == hole[: hole.index("- name: as-reported")].count("\n") + 1
    assert (
        broken.example
        == """\
conditions: {HubAcceptedManagedCluster: {}}
lease: {}
reported: {ManagedClusterConditionAvailable: {status: "True"}}
silent: false
"""
    )


def test_a_planted_rule_that_can_never_decide_is_found_with_what_shadows_it() -> None:
    shadowed = AVAILABLE.replace(
        "  - name: as-reported\n",
        "  - name: long-silent\n"
        "    when: lease.spec.renewTime <= now - variables.grace - duration('1h')\n"
        "    status: 'False'\n    reason: LongSilent\n    message: ''\n"
        "  - name: as-reported\n",
    )
    found = proof("managed-cluster-available", shadowed)
    why = "wherever it holds, 'lease-expired' before it holds"
    assert told(found) == [("MUS606", f"rule 'long-silent' of {found.policy} can never decide: {why}")]
    assert found.deciding == 5


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("generation > 1 && generation < 2", "it never holds"),
        ("self.metadata.name == 'a' && self.metadata.name.startsWith('b')", "it never holds"),
        ("generation > 7", "wherever it holds, 'grown' before it holds"),
        ("!accepted", "where it would hold, a matchCondition does not"),
        ("dyn(self).kind == 'Cluster'", "it never holds"),
        # what schemas say beyond types
        ("has(self.spec) && self.spec.?leaseDurationSeconds.orValue(0) < 0", "it never holds"),
        ("self.metadata.name + '' == ''", "it never holds"),
    ],
)
def test_why_a_rule_can_never_decide(when: str, why: str) -> None:
    guard = "  matchConditions:\n  - {name: accepted, expression: accepted}\n"
    found = proof("sound", sound(("grown", "generation > 5"), ("planted", when), rest=guard))
    assert told(found) == [("MUS606", f"rule 'planted' of ConditionPolicy/sound can never decide: {why}")]


def test_an_expression_that_can_fail_is_found_with_an_example() -> None:
    found = proof("sound", sound(("fresh", "now - lease.spec.renewTime < duration('5m')")))
    assert told(found) == [("MUS607", "rule 'fresh' of ConditionPolicy/sound can fail")]
    assert found.findings[0].example == 'lease: {}\nnow: "2026-01-01T12:00:00Z"\n'
    guarded = "has(lease.spec) && has(lease.spec.renewTime) && lease.spec.renewTime != null"
    found = proof("sound", sound(("fresh", f"{guarded} && now - lease.spec.renewTime < duration('5m')")))
    assert (told(found), found.sound) == ([], 1)


def test_texts_that_fail_and_statuses_that_there_are_not() -> None:
    text = sound(("said", "'A' in reported")).replace("reason: Because", "reasonExpression: reported['A'].reason")
    assert told(proof("sound", text)) == [("MUS607", "rule 'said' of ConditionPolicy/sound can fail")]
    text = sound(("said", "'A' in reported")).replace("status: 'True'", "statusExpression: reported['A'].type")
    assert told(proof("sound", text)) == [("MUS607", "rule 'said' of ConditionPolicy/sound can fail")]


def test_a_fleet_states_invariants_of_its_own() -> None:
    test = """\
apiVersion: muster.dev/v1alpha1
kind: PolicyTest
metadata: {name: sound}
spec:
  policies: [ConditionPolicy/sound]
  invariants:
  - {name: young, type: Sound, never: "status == 'True' && generation > 9"}
  - {name: told, type: Sound, never: "status == '' && generation < 5", message: it can be silent of the young}
  - {name: sure, type: Sound, never: "status == 'True' && self.spec.leaseDurationSeconds > 7"}
  cases: [{name: one, steps: [{at: "2026-01-01T00:00:00Z", expect: [{object: ManagedCluster/a, absent: true}]}]}]
"""
    found = proof("sound", test, sound(("few", "generation < 9")))
    assert found.kept == 2
    assert told(found) == [
        (
            "MUS608",
            "ConditionPolicy/sound: invariant 'sure' of PolicyTest/sound does not hold (rule 'few', status True)",
        )
    ]
    found = proof("sound", test.replace("generation < 5", "generation < 15"), sound(("few", "generation < 9")))
    assert ("MUS608", "ConditionPolicy/sound: it can be silent of the young") in told(found)
    wrong = fleet(
        test.replace("type: Sound", "type: Sond").replace("generation > 9", "generation > '9'"), sound(("few", "true"))
    )
    codes = [one.code for one in invariant_findings(wrong)]
    assert codes == ["MUS601"] * 3


def test_an_example_is_one_that_schemas_allow() -> None:
    # No cluster has this name: its pattern forbids it, which the solver does not know.
    found = proof("sound", sound(("capital", "self.metadata.name.startsWith('A')")))
    assert (told(found), found.undecided) == ([], ["whether rule 'capital' can ever decide"])


def test_long_lists_are_not_taken_for_impossible() -> None:
    found = proof("sound", sound(("many", "size(reports) > 100"), ("none", "size(reports) < 0")))
    assert told(found) == [("MUS606", "rule 'none' of ConditionPolicy/sound can never decide: it never holds")]
    assert found.undecided == ["whether rule 'many' can ever decide"]


def test_what_cannot_be_decided_is_neither_proved_nor_found() -> None:
    # Whether there is such a name is not for the solver to say; that it would fail for none is.
    found = proof("sound", sound(("odd", "self.metadata.name.matches('^a+$')")))
    assert (told(found), found.undecided[:1]) == ([], ["whether rule 'odd' can ever decide"])


@pytest.mark.parametrize(
    ("first", "more", "last"),
    [
        ("[generation]", "{0} + {0}", "size({0}) > 3"),
        ("'a'", "{0} + {0}", "{0} == 'b'"),
        ("self.metadata.name", "{0} + {0}", "{0}.contains('abc')"),
        ("7", "{0} * {0}", "{0} % 1000003 == 77"),
        ("generation", "{0} * {0}", "{0} % 1000003 == 77"),
        ("generation", "generation > 7 ? {0} : {0} + 1", "{0} == 7"),
        ("self.metadata.name.contains('a')", "[1, 2].all(e, {0}) && {0}", "{0}"),
    ],
)
def test_what_grows_without_end_is_cut_off(first: str, more: str, last: str) -> None:
    names = [f"variables.v{number}" for number in range(40)]
    expressions = [first, *(more.format(name) for name in names[:-1])]
    written = "".join(f"  - name: v{n}\n    expression: {text!r}\n" for n, text in enumerate(expressions))
    text = sound(("grown", last.format(names[-1])), rest=f"  variables:\n{written}")
    found = proof("sound", text, most_steps=20_000)
    assert found.deciding + len(found.findings) + len(found.undecided) > 0  # an answer is given, and soon


def test_a_question_that_takes_too_long_gets_the_same_answer_each_time() -> None:
    hard = "generation > 1 && leaseDurationSeconds > 1 && generation * leaseDurationSeconds == 1000000016000000063"
    found = [proof("sound", sound(("hard", hard)), most_steps=20_000) for _ in range(2)]
    assert [one.undecided for one in found] == [["whether rule 'hard' can ever decide"]] * 2
    deep = "self.metadata.name.contains('a')"
    for depth in range(13):
        deep = f"[1, 2].all(e{depth}, {deep})"
    assert proof("sound", sound(("deep", deep))).undecided == ["it is too large to translate"]


def test_taints_pulses_and_remedies() -> None:
    taints = """\
apiVersion: muster.dev/v1alpha1
kind: TaintPolicy
metadata: {name: t}
spec:
  target: {kind: ManagedCluster}
  taints:
  - {key: a, effect: NoSelect, when: "status(conditions, 'A') == 'False' && !('A' in conditions)"}
  - {key: b, effect: NoSelect, when: "status(conditions, 'A') == 'Unknown'"}
"""
    found = proof("t", taints)
    assert told(found) == [("MUS606", "taint 'a:NoSelect' of TaintPolicy/t can never decide: it never holds")]
    pulses = """\
apiVersion: muster.dev/v1alpha1
kind: PulsePolicy
metadata: {name: p}
spec:
  target: {kind: ManagedCluster}
  rules:
  - {name: changed, when: pulsed.generation < generation}
  - {name: new, when: pulsed.generation == 0}
"""
    found = proof("p", pulses)
    assert told(found) == [
        ("MUS606", "rule 'new' of PulsePolicy/p can never decide: wherever it holds, 'changed' before it holds")
    ]
    remedy = """\
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: r}
spec:
  decisionMatches:
  - {expression: "self.kind == 'Cluster' && status(conditions, 'Ready') == 'False' && !('Ready' in conditions)"}
  - {expression: "self.kind == 'Cluster' && reported['Ready'].status == 'False'"}
  actions: [TrafficControl]
"""
    ruled = fleet(remedy)
    found = prove_policy(ruled, of_remedy(ruled.compiled.of(Remedy)[0]))
    assert told(found) == [
        ("MUS606", "the expression of decisionMatches[0] of Remedy/r can never decide: it never holds"),
        ("MUS607", "the expression of decisionMatches[1] of Remedy/r can fail"),
    ]
