"""A cluster's first day: whoever has never been available is in nobody's way."""

from muster.data.tree import dig
from tests.support.outages import Fleet, disrupted, effects, fleet_condition, held

UNREACHABLE = "taint cluster.open-cluster-management.io/unreachable"
NEVER = "muster.dev/never-available"


def _joining(names: list[str], *, report: str = "") -> dict[str, str]:
    """Accepted clusters of which nothing was ever heard, or whose agent says this of them."""
    status = f"status: {{conditions: [{{type: ManagedClusterConditionAvailable, status: '{report}'}}]}}\n"
    return {
        f"joining/{name}.yaml": (
            "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
            f"metadata: {{name: {name}}}\nspec: {{hubAcceptsClient: true}}\n{status if report else ''}"
        )
        for name in names
    }


def _recorded(run_objects: list[dict[str, object]]) -> set[str]:
    return {str(dig(b, "metadata", "name")) for b in run_objects if NEVER in (dig(b, "metadata", "annotations") or {})}


def test_twelve_clusters_join_six_and_hold_nobodys_remedy() -> None:
    fleet = Fleet(6)
    fleet.evaluate()
    fleet.texts |= _joining([f"new{number:02}" for number in range(12)])
    run = fleet.evaluate()
    assert len(disrupted(run)) == 12, "nobody is placed on a cluster of which nothing is known"
    fleet.broken_dns = {"c01"}
    run = fleet.evaluate(minutes=10)
    assert ("c01", "remedy TrafficControl") in effects(run)
    assert run.held == []
    assert fleet_condition(run, "DisruptionHeld") == {}
    assert fleet_condition(run, "ObserverSuspect") == {}
    assert fleet.look().files == {}


def test_an_empty_fleet_of_silent_newcomers_suspects_nobody() -> None:
    fleet = Fleet(0)
    fleet.texts = _joining([f"new{number}" for number in range(6)])
    for minutes in (1, 1, 10, 60):
        run = fleet.evaluate(minutes)
        assert (run.held, fleet_condition(run, "ObserverSuspect"), fleet_condition(run, "DisruptionHeld")) == (
            [],
            {},
            {},
        )


def test_newcomers_that_say_that_they_are_not_ready_do_not_count_either() -> None:
    fleet = Fleet(6)
    fleet.evaluate()
    fleet.texts |= _joining([f"new{number}" for number in range(6)])
    fleet.evaluate()
    fleet.texts |= _joining([f"new{number}" for number in range(6)], report="False")
    run = fleet.evaluate()
    assert _recorded(run.objects) == {f"new{number}" for number in range(6)}
    assert (run.held, fleet_condition(run, "DisruptionHeld")) == ([], {})


def test_newcomers_do_not_thin_out_an_outage() -> None:
    fleet = Fleet(12)
    fleet.evaluate()
    fleet.texts |= _joining([f"new{number:02}" for number in range(40)])
    fleet.evaluate()
    fleet.dark(*fleet.names[:9])
    run = fleet.evaluate()
    assert "9 of 12 clusters are disrupted" in fleet_condition(run, "DisruptionHeld")["message"]
    assert {name for name, _ in held(run)} == set(fleet.names[:9])
    fleet.dark(*fleet.names)
    assert "12 of 12 clusters are silent" in fleet_condition(fleet.evaluate(), "ObserverSuspect")["message"]


def test_once_available_a_cluster_counts_for_good() -> None:
    fleet = Fleet(12)
    fleet.dark(*fleet.names)
    texts = {name: fleet.texts.pop(name) for name in list(fleet.texts)}
    fleet.texts = _joining(["late"])
    assert "late" in _recorded(fleet.evaluate().objects)
    fleet.texts = {**texts, **_joining(["late"], report="True")}
    fleet.heard(*fleet.names)
    assert _recorded(fleet.evaluate().objects) == set()
    fleet.texts |= _joining(["late"], report="Unknown")
    run = fleet.evaluate()
    assert _recorded(run.objects) == set()
    fleet.dark(*fleet.names[:9])
    assert "10 of 13" in fleet_condition(fleet.evaluate(), "DisruptionHeld")["message"]


def test_what_was_derived_before_this_was_remembered_counts_in_the_middle_of_an_outage() -> None:
    fleet = Fleet(12)
    fleet.evaluate()
    fleet.dark(*fleet.names[:9])
    fleet.evaluate()
    assert not any(NEVER in text for text in fleet.derived.values())
    fleet.derived.pop("derived/fleets/fleet.yaml")
    run = fleet.evaluate()
    assert "9 of 12 clusters are disrupted" in fleet_condition(run, "DisruptionHeld")["message"]


def test_a_recreated_cluster_has_a_first_day_of_its_own() -> None:
    fleet = Fleet(6)
    fleet.texts |= _joining(["again"], report="True")
    fleet.evaluate()
    del fleet.texts["joining/again.yaml"]
    fleet.evaluate()
    fleet.texts |= _joining(["again"])
    assert _recorded(fleet.evaluate().objects) == {"again"}


def test_clusters_of_karmada_that_were_never_ready_do_not_count() -> None:
    fleet = Fleet(0)
    fleet.texts = {
        f"{number}.yaml": (
            "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\n"
            f"metadata: {{name: m{number}}}\nspec: {{syncMode: {mode}}}\n"
        )
        for number, mode in enumerate(["Push", "Pull"] * 6)
    }
    fleet.evaluate()
    run = fleet.evaluate(minutes=10)
    assert len(disrupted(run)) == 12
    assert (fleet_condition(run, "DisruptionHeld"), fleet_condition(run, "ObserverSuspect")) == ({}, {})


def test_a_cluster_that_only_a_detector_speaks_of_counts_once_that_was_good_news() -> None:
    def said(status: str) -> dict[str, str]:
        return {
            f"{number}.yaml": (
                "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\n"
                f"metadata: {{name: m{number}}}\nspec: {{syncMode: Push}}\n"
                f"status: {{conditions: [{{type: DnsReady, status: '{status}'}}]}}\n"
            )
            for number in range(6)
        }

    fleet = Fleet(0)
    remedy = dict(fleet.texts)
    fleet.texts = remedy | said("True")
    fleet.evaluate()
    fleet.texts = remedy | said("False")
    run = fleet.evaluate()
    assert _recorded(run.objects) == set()
    assert "6 of 6" in fleet_condition(run, "DisruptionHeld")["message"]
