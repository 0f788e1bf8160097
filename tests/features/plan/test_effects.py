"""What a plan changes, grouped as people ask for it: every name is told once, and where it belongs."""

from collections.abc import Sequence

from muster.data.decision import Because, Held
from muster.data.ids import ObjectId
from muster.data.kinds import KARMADA_CLUSTER, LEASE, MANAGED_CLUSTER, MULTI_CLUSTER_INGRESS, PLACEMENT, REMEDY
from muster.features.plan.effects import sections_of
from muster.run.facts import Fact
from muster.run.transition import Transition
from muster.run.transitions.compare_revisions import Comparison

WEB, SHOP = PLACEMENT.id("web", "shop"), MULTI_CLUSTER_INGRESS.id("shop", "web")
DERIVED = Fact("", text="derived", gone="removed")


def managed(name: str) -> ObjectId:
    return MANAGED_CLUSTER.id(name)


def told(found: Comparison) -> list[tuple[str, str, list[tuple[str, str, Sequence[str]]]]]:
    return [(one.title, one.total, [(row.what, row.how, row.names) for row in one.rows]) for one in sections_of(found)]


def test_nothing_is_no_section() -> None:
    assert told(Comparison([])) == []


def test_removals_come_first_clusters_before_all_else_and_what_is_kept_says_so() -> None:
    held = Held(managed("b"), "removal", "2 of 3 clusters are no longer declared", Because("budget", ()))
    changes = [Transition(managed("a"), DERIVED, None), Transition(managed("z"), DERIVED, None)]
    removed = [LEASE.id("lease", "a"), managed("a"), managed("b"), REMEDY.id("r")]
    sections = told(Comparison(changes, 2, removed=removed, held=[held]))
    assert sections == [
        (
            "Removed",
            "3 clusters, 2 other objects",
            [
                ("ManagedCluster", "no longer declared", ["a"]),
                ("ManagedCluster", "no longer declared, and kept: see what is held", ["b"]),
                ("ManagedCluster", "no longer derived", ["z"]),
                ("Lease", "no longer declared", ["a/lease"]),
                ("Remedy", "no longer declared", ["r"]),
            ],
        ),
        ("Held back", "1 effect held", [("2 of 3 clusters are no longer declared", "removal held", ["b"])]),
    ]


def test_placements_say_how_many_clusters_they_have_and_which_run_dry() -> None:
    chosen = [Fact("cluster", name, "chosen") for name in "abc"]
    left = [Transition(WEB, fact, Fact("cluster", fact.name, note="it is tainted")) for fact in chosen[:2]]
    gained = Transition(PLACEMENT.id("other", "shop"), None, chosen[2])
    sizes = {WEB: (2, 0), PLACEMENT.id("other", "shop"): (0, 1)}
    assert told(Comparison([*left, gained], 3, sizes=sizes)) == [
        (
            "Placements",
            "2 placements, 1 left without clusters",
            [
                ("shop/other: 0 -> 1 cluster", "gains", ["c"]),
                ("shop/web: 2 -> 0 clusters, left without clusters", "loses (it is tainted)", ["a", "b"]),
            ],
        ),
    ]


def test_remedies_and_the_traffic_that_follows() -> None:
    asked, both = (
        Fact("remedy", "TrafficControl", "applied", "dns"),
        Fact("remedy", "TrafficControl", "applied", "dns, x"),
    )
    member = [KARMADA_CLUSTER.id(name) for name in "abc"]
    changes = [
        Transition(member[0], None, asked),
        Transition(member[1], asked, None),
        Transition(member[2], asked, both),
        Transition(SHOP, None, Fact("traffic", "to a", "blocked")),
        Transition(SHOP, Fact("traffic", "to b", "blocked"), None),
    ]
    assert told(Comparison(changes, 4)) == [
        (
            "Remedies",
            "3 clusters",
            [
                ("TrafficControl", "asked for by dns -> by dns, x", ["c"]),
                ("TrafficControl, by dns", "applied to", ["a"]),
                ("TrafficControl, by dns", "lifted from", ["b"]),
            ],
        ),
        ("Traffic", "2 clusters", [("web/shop", "no more traffic to", ["a"]), ("web/shop", "traffic again to", ["b"])]),
    ]


def test_all_the_rest_by_what_happens_and_to_whom() -> None:
    true, unknown = Fact("condition", "x/Ready", "True", "Ok"), Fact("condition", "x/Ready", "Unknown", "Silent")
    taint = Fact("taint", "x/unreachable:NoSelect", "present")
    first, second = Fact("generation", text="1"), Fact("generation", text="2")
    changes = [
        Transition(managed("n"), None, DERIVED),
        *(Transition(managed(name), true, unknown) for name in "ba"),
        Transition(managed("a"), None, taint),
        Transition(managed("b"), taint, None),
        Transition(WEB, first, second),
        Transition(managed("a"), None, Fact("held", "x", "held")),
    ]
    assert told(Comparison(changes, 3, added=[managed("n")])) == [
        (
            "Taints",
            "2 objects",
            [
                ("unreachable:NoSelect", "put on", ["a"]),
                ("unreachable:NoSelect", "taken off", ["b"]),
            ],
        ),
        ("Added", "1 cluster", [("ManagedCluster", "new", ["n"])]),
        ("Conditions", "2 objects", [("Ready", "True -> Unknown (Silent)", ["a", "b"])]),
        ("Everything else", "1 object", [("generation", "1 -> 2", ["Placement/shop/web"])]),
    ]
