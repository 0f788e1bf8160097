"""Budgets over a fleet's life: what is held, what stands, what recovers, and what the Fleet says."""

from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.data.times import format_time
from muster.data.tree import dig
from muster.rules.effects.allowance import Allowance
from tests.support.outages import Fleet, disrupted, effects, fleet_condition, held

#: 55 % of twelve, rounded down.
ALLOWED = 6
UNREACHABLE = "taint cluster.open-cluster-management.io/unreachable"
UNAVAILABLE = "taint cluster.open-cluster-management.io/unavailable"
#: A detector's word, which turns Unknown when its cluster falls silent, and a Remedy that waits for its False.
RESOLVER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c01}
status:
  conditions:
  - {type: ServiceDomainNameResolutionReady, status: "False", reason: ServiceDomainNameResolutionFailed}
---
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: resolver}
spec:
  decisionMatches:
  - clusterConditionMatch:
      {conditionType: ServiceDomainNameResolutionReady, operator: Equal, conditionStatus: "False"}
  actions: [Reroute]
"""
OVERRIDE = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata:
  name: fleet
  annotations: {muster.dev/allow-disruption: "until 2026-01-01T01:00:00Z: the fire in eu is confirmed"}
spec: {}
"""

_clusters = st.sets(st.integers(0, 11).map(lambda number: f"c{number:02}"))
_steps = st.lists(st.tuples(_clusters, _clusters, st.sampled_from([1, 5, 11])), min_size=1, max_size=5)
_slow = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])


def test_a_region_of_three_goes_dark_and_fails_over() -> None:
    fleet = Fleet(12)
    fleet.evaluate()
    fleet.dark("c00", "c03", "c06", "c09")
    run = fleet.evaluate()
    assert effects(run) == {(name, UNREACHABLE) for name in ("c00", "c03", "c06", "c09")}
    assert run.held == []
    assert fleet_condition(run, "DisruptionHeld") == {}


def test_nine_of_twelve_are_held_visibly_until_the_cooldown_has_passed() -> None:
    fleet = Fleet(12)
    fleet.evaluate()
    fleet.dark("c00", "c03")
    fleet.evaluate()
    fleet.dark(*fleet.names[:9])
    run = fleet.evaluate()
    assert disrupted(run) == {"c00", "c03"}
    assert held(run) == {(f"c0{n}", f"{UNREACHABLE}:NoSelect") for n in (1, 2, 4, 5, 6, 7, 8)}
    since = format_time(fleet.now)
    condition = fleet_condition(run, "DisruptionHeld")
    assert (condition["status"], condition["reason"]) == ("True", "BudgetExceeded")
    text = f"9 of 12 clusters are disrupted, budget 'default' allows 6, since {since}"
    assert condition["message"].startswith(text)
    assert {entry["reason"] for entry in run.held} == {text}
    body = next(body for body in run.objects if body["metadata"]["name"] == "c01" and body["kind"] == "ManagedCluster")
    assert dig(body, "status", "muster", "held") == [
        {"effect": f"{UNREACHABLE}:NoSelect", "heldBy": "DisruptionBudget/default"}
    ]
    assert {c["type"]: c["status"] for c in body["status"]["conditions"]}[
        "ManagedClusterConditionAvailable"
    ] == "Unknown"
    assert fleet.look().files == {}

    fleet.heard(*fleet.names[4:9])
    run = fleet.evaluate()
    cooling = fleet_condition(run, "DisruptionHeld")
    assert (cooling["status"], cooling["reason"], disrupted(run)) == ("True", "CoolingDown", {"c00", "c03"})
    assert run.horizon is not None
    released = fleet.now + timedelta(minutes=10)
    assert any(decision.horizon == released for d in run.fleet.decided.values() for decision in d.values())
    run = fleet.evaluate(minutes=9)
    assert disrupted(run) == {"c00", "c03"}
    run = fleet.evaluate(minutes=1)
    assert disrupted(run) == {"c00", "c01", "c02", "c03"}
    assert fleet_condition(run, "DisruptionHeld")["status"] == "False"


def test_an_all_dark_fleet_changes_nothing_and_suspects_the_observer() -> None:
    fleet = Fleet(12, broken_dns={"c01"})
    before = effects(fleet.evaluate())
    assert before == {("c01", "remedy TrafficControl")}
    last = format_time(fleet.now - timedelta(minutes=59))
    fleet.now += timedelta(minutes=1)
    fleet.dark(*fleet.names)
    run = fleet.evaluate(minutes=0)
    assert effects(run) == before
    condition = fleet_condition(run, "ObserverSuspect")
    assert condition["status"] == "True"
    assert (
        f"12 of 12 clusters are silent; the last thing received from any of them was a lease renewed at {last} by c00"
        in (condition["message"])
    )
    fleet.heard(*fleet.names)
    fleet.broken_dns.clear()
    run = fleet.evaluate()
    assert effects(run) == set(), "recovery is never held"
    assert fleet_condition(run, "ObserverSuspect")["status"] == "False"


def test_silence_takes_nothing_off_while_a_budget_holds() -> None:
    def prepared() -> Fleet:
        fleet = Fleet(12, unavailable={"c02"})
        fleet.texts["resolver.yaml"] = RESOLVER
        assert effects(fleet.evaluate()) == {("c01", "remedy Reroute"), ("c02", UNAVAILABLE)}
        return fleet

    fleet = prepared()
    fleet.dark(*fleet.names)
    run = fleet.evaluate()
    assert effects(run) == {("c01", "remedy Reroute"), ("c02", UNAVAILABLE)}
    del fleet.texts["resolver.yaml"]
    assert effects(fleet.evaluate()) == {("c02", UNAVAILABLE)}, "a Remedy that goes is a person's word, not silence"

    fleet = prepared()
    fleet.dark("c01", "c02")
    assert effects(fleet.evaluate()) == {("c01", "remedy Reroute"), ("c01", UNREACHABLE), ("c02", UNREACHABLE)}, (
        "no budget holds here: built-in taints follow their condition, a remedy waits for news"
    )


def test_a_person_overrides_with_a_reason_and_until_a_time() -> None:
    fleet = Fleet(12)
    fleet.evaluate()
    fleet.dark(*fleet.names[:9])
    assert disrupted(fleet.evaluate()) == set()
    fleet.texts["fleet.yaml"] = OVERRIDE
    run = fleet.evaluate()
    assert disrupted(run) == set(fleet.names[:9])
    condition = fleet_condition(run, "DisruptionHeld")
    assert (condition["status"], condition["reason"]) == ("False", "Overridden")
    assert condition["message"].endswith("Allowed until 2026-01-01T01:00:00Z: the fire in eu is confirmed")
    fleet.dark("c09")
    run = fleet.evaluate(minutes=90)
    assert disrupted(run) == set(fleet.names[:9]), "what stands stays, what is new is held again"
    assert fleet_condition(run, "DisruptionHeld")["status"] == "True"


def test_an_override_on_one_cluster_lets_its_effects_through() -> None:
    fleet = Fleet(12)
    fleet.evaluate()
    fleet.dark(*fleet.names[:9])
    fleet.texts["note.yaml"] = (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        "metadata: {name: c01, annotations: {muster.dev/allow-disruption: 'until 2026-01-01T01:00:00Z: it burns'}}\n"
    )
    assert disrupted(fleet.evaluate()) == {"c01"}


def test_an_override_without_a_reason_is_none() -> None:
    fleet = Fleet(12)
    fleet.texts["fleet.yaml"] = OVERRIDE.replace(": the fire in eu is confirmed", "")
    fleet.evaluate()
    fleet.dark(*fleet.names[:9])
    run = fleet.evaluate()
    assert disrupted(run) == set()
    assert [found.code for found in run.findings] == ["MUS222"]


def test_a_domain_is_counted_on_its_own() -> None:
    fleet = Fleet(12)
    fleet.texts["budget.yaml"] = (
        "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {name: default}\n"
        "spec: {domainLabel: region, maxDisrupted: 50%, ignoreUpTo: 1}\n"
    )
    fleet.evaluate()
    fleet.dark("c00", "c03", "c06", "c01")
    run = fleet.evaluate()
    assert disrupted(run) == {"c01"}
    assert "3 of 4 clusters are disrupted in eu" in fleet_condition(run, "DisruptionHeld")["message"]
    assert run.terms is not None
    assert run.terms.of(Allowance).usage == (("default", 3, 2),), "of the domain in which the fewest more may be"


def test_naming_the_fleet_loses_nothing() -> None:
    fleet = Fleet(12)
    fleet.evaluate()
    fleet.dark(*fleet.names[:9])
    since = fleet_condition(fleet.evaluate(), "DisruptionHeld")["lastTransitionTime"]
    fleet.texts["fleet.yaml"] = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: named}\nspec: {}\n"
    fleet.heard(*fleet.names[2:9])
    run = fleet.evaluate()
    condition = fleet_condition(run, "DisruptionHeld", "named")
    assert (condition["reason"], condition["lastTransitionTime"]) == ("CoolingDown", since)
    assert disrupted(run) == set()
    assert "derived/fleets/fleet.yaml" not in fleet.derived


def test_broken_clusters_and_mangled_state_are_no_way_out() -> None:
    fleet = Fleet(12)
    fleet.evaluate()
    fleet.dark(*fleet.names[:9])
    fleet.evaluate()
    fleet.texts["labels.yaml"] = (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        "metadata: {name: c11, labels: {zone: [1], tier: {a: b}}, annotations: {muster.dev/allow-disruption: [no]}}\n"
    )
    run = fleet.evaluate()
    assert disrupted(run) == set()
    assert "9 of 12" in fleet_condition(run, "DisruptionHeld")["message"]
    for mangled in ("budgets: 7", "budgets: [7, {budget: default}, {budget: x, since: y}]", "budgets: [{since: 1}]"):
        fleet.derived["derived/fleets/fleet.yaml"] = (
            "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\n"
            f"status: {{muster: {{{mangled}}}}}\n"
        )
        assert disrupted(fleet.look()) == set()


def test_a_broken_budget_is_no_licence() -> None:
    fleet = Fleet(12)
    fleet.evaluate()
    fleet.texts["budget.yaml"] = (
        "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {name: default}\n"
        "spec: {maxDisruptd: 100%}\n"
    )
    fleet.dark(*fleet.names[:9])
    run = fleet.evaluate()
    assert disrupted(run) == set()
    assert [found.code for found in run.findings] == ["MUS201"]


def test_clusters_that_join_are_kept_out_at_once() -> None:
    fleet = Fleet(12)
    fleet.dark(*fleet.names)
    run = fleet.evaluate()
    assert disrupted(run) == set(fleet.names), "nothing runs on a cluster that was never seen before"
    assert run.held == []


@_slow
@given(_steps)
def test_more_failures_never_yield_more_effects_than_the_budget(steps: list[tuple[set[str], set[str], int]]) -> None:
    fleet = Fleet(12)
    before = effects(fleet.evaluate())
    for dark, broken, minutes in steps:
        fleet.heard(*fleet.names)
        fleet.dark(*dark)
        fleet.broken_dns = set(broken)
        run = fleet.evaluate(minutes)
        after = effects(run)
        assert len(disrupted(run)) <= ALLOWED
        assert fleet.look().files == {}, "a second evaluation changes nothing"
        for name, effect in before - after:
            assert name not in dark or not run.held, (
                f"{effect} went from {name}, which is silent, while effects are held"
            )
        assert not {entry for entry in held(run) if entry in {(n, f"{e}:NoSelect") for n, e in before}}
        before = after


@_slow
@given(_clusters, st.randoms(use_true_random=False))
def test_the_order_of_files_is_irrelevant(dark: set[str], random: object) -> None:
    fleet, shuffled = Fleet(12), Fleet(12)
    names = list(range(12))
    random.shuffle(names)  # type: ignore[attr-defined]
    for one in (fleet, shuffled):
        one.evaluate()
        one.dark(*dark)
    files = dict(shuffled.files())
    moved = {f"{names[index]:02}-{index}.yaml": files.pop(f"clusters/c{index:02}.yaml") for index in range(12)}
    shuffled.texts = {**{path: text for path, text in files.items() if not path.startswith("derived/")}, **moved}
    shuffled.size = 0
    assert shuffled.look().files == fleet.look().files
