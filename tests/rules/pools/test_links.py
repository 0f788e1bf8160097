"""Claims and clusters find each other: half a link is made whole, and the oldest gets the oldest."""

import pytest

from muster.fleet.settings import DEFAULTS
from muster.rules.pools.buckets import Buckets, Stale
from muster.rules.pools.claims import ClaimLinks, assign, repair
from muster.rules.pools.model import Claim, Cluster
from muster.rules.pools.rules import UPSTREAM, Rules, rules_of
from tests.rules.pools.building import claim, cluster

SEED = rules_of(DEFAULTS)


def told(links: ClaimLinks) -> dict[str, str]:
    """Which claims and clusters are told of each other, who waits, and what is left."""
    return {
        "claims": " ".join(f"{one.name}:{other.name}" for one, other in links.to_claim),
        "clusters": " ".join(f"{one.name}:{other.name}" for one, other in links.to_cluster),
        "waiting": " ".join(one.name for one in links.waiting),
        "left": " ".join(one.name for one in links.assignable),
    }


def whole(claims: str = "", clusters: str = "", waiting: str = "", left: str = "") -> dict[str, str]:
    return {"claims": claims, "clusters": clusters, "waiting": waiting, "left": left}


@pytest.mark.parametrize(
    ("buckets", "claims", "expected"),
    [
        pytest.param(
            Buckets(assignable=(cluster("c"),)),
            [claim("mine")],
            whole(waiting="mine", left="c"),
            id="no link at all",
        ),
        pytest.param(
            Buckets(claimed=(cluster("c", claim="mine"),)),
            [claim("mine")],
            whole(claims="mine:c"),
            id="only the cluster knows",
        ),
        pytest.param(
            Buckets(assignable=(cluster("c"),)),
            [claim("mine", "c")],
            whole(clusters="mine:c"),
            id="only the claim knows",
        ),
        pytest.param(
            Buckets(claimed=(cluster("c", claim="mine"),)),
            [claim("mine", "c")],
            whole(),
            id="both know",
        ),
        pytest.param(
            Buckets(claimed=(cluster("c", claim="other"),)),
            [claim("mine", "c")],
            whole(),
            id="the cluster is another's: the claim is told, not linked",
        ),
        pytest.param(
            Buckets(),
            [claim("mine", "gone")],
            whole(),
            id="its cluster is gone: it gets no other",
        ),
        pytest.param(
            Buckets(claimed=(cluster("c", claim="mine", frozen=True),)),
            [claim("mine")],
            whole(waiting="mine"),
            id="a cluster that cannot be read is left alone",
        ),
        pytest.param(
            Buckets(assignable=(cluster("c"),)),
            [claim("mine", frozen=True)],
            whole(left="c"),
            id="and so is a claim",
        ),
        pytest.param(
            Buckets(claimed=(cluster("c", claim="nobody"),), assignable=(cluster("d"),)),
            [],
            whole(left="d"),
            id="a claim that there is not",
        ),
    ],
)
def test_half_a_link(buckets: Buckets, claims: list[Claim], expected: dict[str, str]) -> None:
    assert told(repair(buckets, claims, SEED)) == expected


@pytest.mark.parametrize(("rules", "claims"), [(SEED, ""), (UPSTREAM, "mine:c")], ids=["the seed", "upstream"])
def test_a_cluster_on_its_way_out_is_linked_by_upstream_alone(rules: Rules, claims: str) -> None:
    leaving = Buckets(deleting=(cluster("c", claim="mine", deleting=True),))
    assert told(repair(leaving, [claim("mine")], rules))["claims"] == claims


CLUSTERS = (cluster("old", 9), cluster("new"))


@pytest.mark.parametrize(
    ("rules", "stale", "expected"),
    [
        (SEED, (), whole("first:old second:new", "first:old second:new", waiting="third")),
        (SEED, CLUSTERS[:1], whole("first:new", "first:new", waiting="second third", left="old")),
        (UPSTREAM, CLUSTERS[:1], whole("first:old second:new", "first:old second:new", waiting="third")),
    ],
    ids=["the oldest first", "none of an older version", "upstream gives those too"],
)
def test_the_oldest_gets_the_oldest(rules: Rules, stale: tuple[Cluster, ...], expected: dict[str, str]) -> None:
    claims = (claim("first", age=9), claim("second", age=5), claim("third"))
    links = assign(ClaimLinks((), (), claims, CLUSTERS), Stale(mismatched=stale), rules)
    assert told(links) == expected


@pytest.mark.parametrize(("rules", "given"), [(SEED, ""), (UPSTREAM, "ending:old")], ids=["the seed", "upstream"])
def test_a_claim_that_is_being_deleted(rules: Rules, given: str) -> None:
    links = assign(ClaimLinks((), (), (claim("ending", deleting=True),), CLUSTERS[:1]), (), rules)
    assert told(links)["claims"] == given
