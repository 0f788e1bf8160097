"""How a pool comes to its size: what is made, what goes, and what has to wait."""

from collections.abc import Callable

import pytest

from muster.data.tree import Tree
from muster.fleet.settings import DEFAULTS
from muster.rules.pools.buckets import Buckets, Stale
from muster.rules.pools.model import Cluster
from muster.rules.pools.rules import UPSTREAM, Rules, rules_of
from muster.rules.pools.scaling import PassLimits, Plan, plan, wind_down
from tests.rules.pools.building import cluster, pool

SEED = rules_of(DEFAULTS)


def means(*, missing: bool = False, customizations: int | None = None, held: str = "") -> PassLimits:
    """What a pool has; `held` are the clusters that may not be replaced."""
    may: Callable[[Cluster], bool] = lambda one: one.name not in held.split()  # noqa: E731
    return PassLimits(missing, customizations, may)


def names(clusters: tuple[Cluster, ...]) -> str:
    return " ".join(one.name for one in clusters)


def shown(found: Plan) -> tuple[int, str, str]:
    """How many are made, which go, and which are held."""
    return found.create, names(found.delete), names(found.held)


def of(**spec: Tree) -> Tree:
    return {"size": 2, **spec}


READY, MORE = cluster("ready", 9), cluster("more", 5)
BROKEN, WORSE, MARKED = cluster("broken"), cluster("worse"), cluster("marked", marked=True)
STALE = Stale(mismatched=(READY,))


@pytest.mark.parametrize(
    ("spec", "buckets", "waiting", "known", "expected"),
    [
        pytest.param(of(), Buckets(), 0, means(), (2, "", ""), id="an empty pool is filled"),
        pytest.param(of(), Buckets(), 3, means(), (5, "", ""), id="who waits counts on top"),
        pytest.param(of(maxSize=3), Buckets(claimed=(READY,)), 9, means(), (2, "", ""), id="no more than it may hold"),
        pytest.param(of(maxConcurrent=1), Buckets(), 0, means(), (1, "", ""), id="no more than at one time"),
        pytest.param(of(maxConcurrent=1), Buckets(installing=(MORE,)), 0, means(), (0, "", ""), id="none while one is"),
        pytest.param(of(), Buckets(), 0, means(customizations=1), (1, "", ""), id="as its inventory lasts"),
        pytest.param(of(), Buckets(), 0, means(missing=True), (0, "", ""), id="none without what it needs"),
        pytest.param(of(size=0), Buckets(standby=(READY, MORE)), 0, means(), (0, "ready more", ""), id="it is emptied"),
        pytest.param(of(), Buckets(standby=(READY, MORE)), 0, means(), (0, "", ""), id="it is full"),
        pytest.param(
            of(),
            Buckets(standby=(READY,), broken=(BROKEN,)),
            0,
            means(),
            (0, "broken", ""),
            id="the broken goes",
        ),
        pytest.param(
            of(),
            Buckets(standby=(READY,), broken=(BROKEN,)),
            0,
            means(held="broken"),
            (0, "", "broken"),
            id="unless it is held",
        ),
        pytest.param(
            of(size=1),
            Buckets(standby=(READY,), broken=(BROKEN,)),
            0,
            means(held="broken"),
            (0, "broken", ""),
            id="where nothing is made in its place it goes all the same",
        ),
        pytest.param(
            of(maxConcurrent=1),
            Buckets(broken=(BROKEN, WORSE)),
            0,
            means(),
            (0, "broken", ""),
            id="one at a time",
        ),
        pytest.param(
            of(),
            Buckets(standby=(READY, MORE), stale=STALE),
            0,
            means(),
            (0, "ready", ""),
            id="an old version",
        ),
        pytest.param(
            of(size=3),
            Buckets(standby=(READY, MORE), stale=STALE),
            0,
            means(),
            (1, "", ""),
            id="once the pool is full",
        ),
        pytest.param(
            of(),
            Buckets(standby=(READY, MORE), marked=(MARKED,)),
            0,
            means(),
            (0, "marked", ""),
            id="what is marked",
        ),
    ],
)
def test_a_step(spec: Tree, buckets: Buckets, waiting: int, known: PassLimits, expected: tuple[int, str, str]) -> None:
    assert shown(plan(pool(**spec), buckets, waiting, known, SEED)) == expected


@pytest.mark.parametrize(("rules", "gone"), [(SEED, "broken"), (UPSTREAM, "")], ids=["the seed", "upstream"])
def test_what_cannot_be_made_keeps_the_broken_from_going_with_upstream_alone(rules: Rules, gone: str) -> None:
    found = plan(pool(size=3), Buckets(broken=(BROKEN,)), 0, means(missing=True), rules)
    assert (found.needed, found.blocked, names(found.delete)) == (True, True, gone)


def test_a_pool_that_goes_deletes_what_nobody_has_claimed() -> None:
    buckets = Buckets(claimed=(MORE,), standby=(READY,), broken=(BROKEN,))
    assert sorted(one.name for one in wind_down(pool(size=2), buckets).delete) == ["broken", "ready"]
