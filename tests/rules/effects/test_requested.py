"""Policies and Remedies are asked once in a run, before budgets; the stages after these apply what they want."""

from collections import Counter
from datetime import datetime, timedelta

import pytest

from muster.data.decision import Decision, Held
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, CONDITION_POLICY, REMEDY, TAINT_POLICY, kind_of
from muster.features.test.memory import MemorySnapshot
from muster.rules.pipeline import STAGES, terms_of
from muster.rules.policies.lazy import Witness
from muster.rules.remedies.grounds import RequestedActions
from muster.rules.stages import Terms
from muster.rules.taints.keys import RequestedLatches, RequestedTaints
from muster.run.evaluate import evaluate_snapshot
from tests.rules.test_pipeline import fleet_of
from tests.support.example import EXAMPLE, NOON
from tests.support.fuzzing import corpus

LATER = NOON + timedelta(days=1)  # by then all leases have run out: every cluster has something asked for


#: What the example has none of: a Remedy with an expression.
ASKING = """
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: asking}
spec:
  decisionMatches: [{expression: "conditions.exists(type, conditions[type].status == 'Unknown')"}]
  actions: [TrafficControl]
"""


def requested(terms: Terms, id_: ObjectId) -> bool:
    """Whether any effect is requested on a cluster."""
    sorts = (RequestedTaints, RequestedLatches, RequestedActions)
    return any(id_ in terms.about(sort) for sort in sorts)


@pytest.mark.parametrize("now", [NOON, LATER], ids=["noon", "a day later"])
def test_every_expression_is_evaluated_once_about_a_cluster(now: datetime) -> None:
    texts = {str(path.relative_to(EXAMPLE)): path.read_text(encoding="utf-8") for path in EXAMPLE.rglob("*.yaml")}
    witness = Witness(lambda id_: kind_of(id_) in CLUSTERS)
    evaluate_snapshot(MemorySnapshot({**texts, "asking.yaml": ASKING}), now, witness=witness)
    seen = [one for one in witness.seen if kind_of(one.policy) in (CONDITION_POLICY, TAINT_POLICY, REMEDY)]
    assert len({kind_of(one.policy) for one in seen}) == 3, "policies of every sort were asked"
    counts = Counter((one.policy, one.at, one.object) for one in seen)
    assert {key for key, count in counts.items() if count > 1} == set()


def test_the_stages_after_budgets_add_nothing_that_was_not_asked_for() -> None:
    """Whatever they put on a cluster that nobody wrote was asked for, or stood; what is held was asked for, too."""
    fleet = fleet_of(corpus(), LATER)
    terms, effects = terms_of(fleet, LATER), 0
    for stage in STAGES:
        outcomes = list(stage.ask(fleet, terms))
        if stage.name in ("taints", "taint policies", "remedies"):
            for outcome in outcomes:
                if isinstance(outcome, Held) or (isinstance(outcome, Decision) and outcome.path[0] == "spec"):
                    effects += 1
                    own = isinstance(outcome, Decision) and outcome.because.text.startswith("a person's taint")
                    stood = outcome.object in fleet.previous
                    assert own or stood or requested(terms, outcome.object), outcome
        terms = terms.after(outcomes)
        fleet = fleet.with_outcomes(one for one in outcomes if isinstance(one, Decision | Held))
    assert effects, "there was something to apply"


def test_nothing_is_asked_of_a_cluster_that_is_being_deleted() -> None:
    going = b"""
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: leaving, deletionTimestamp: "2026-01-01T11:00:00Z", finalizers: [a.b/c]}
spec: {hubAcceptsClient: true}
status: {conditions: [{type: ManagedClusterConditionAvailable, status: "False", reason: R, message: ""}]}
"""
    fleet = fleet_of({**corpus(), ("", "leaving.yaml"): going}, LATER)
    terms = terms_of(fleet, LATER)
    for stage in STAGES:
        outcomes = list(stage.ask(fleet, terms))
        terms = terms.after(outcomes)
        if stage.name == "requested actions":
            break
        fleet = fleet.with_outcomes(one for one in outcomes if isinstance(one, Decision))
    (leaving,) = [obj for obj in fleet.clusters() if obj.id.name == "leaving"]
    assert any(requested(terms, obj.id) for obj in fleet.clusters()), "of others something is"
    assert not requested(terms, leaving.id)
