"""Spread constraints: the choice, step by step, from ranked clusters."""

from typing import Any, cast

import pytest

from muster.rules.placements.candidates import Candidates
from muster.rules.placements.spec import Spread
from muster.rules.placements.spread import spread_out
from muster.rules.policies.selectors import Facets


class Labelled:
    """Clusters of which only labels and claims are known."""

    def __init__(self, zones: dict[str, dict[str, str]]) -> None:
        self.labels = Facets(zones)
        self.claims = Facets({name: {} for name in zones})


def choose(clusters: str, limit: int, *constraints: Spread) -> str:
    """`clusters`: `a:x1 b:y` is cluster a in zone x and rack 1, and b in zone y; in the order of rank."""
    labels: dict[str, dict[str, str]] = {}
    for entry in clusters.split():
        name, _, place = entry.partition(":")
        labels[name] = dict(zip(("zone", "rack"), place, strict=False))
    return " ".join(spread_out(cast(Candidates, Labelled(labels)), list(labels), limit, constraints))


def by(key: str, max_skew: int = 1, *, hard: bool = True) -> Spread:
    return Spread(key, False, max_skew, hard)


@pytest.mark.parametrize(
    ("clusters", "limit", "constraints", "taken"),
    [
        ("a:x b:x c:y", 2, [by("zone")], "a c"),
        ("a:x b:x c:y", 3, [by("zone")], "a c b"),
        ("a:x b:x c:x d:y", 4, [by("zone")], "a d b"),
        ("a:x b:x c:x d:y", 4, [by("zone", 2)], "a b d c"),
        ("a:x b:x c:x d:y", 4, [by("zone", hard=False)], "a d b c"),
        ("a:x b", 2, [by("zone")], "a"),
        ("b a:x c:x", 3, [by("zone", hard=False)], "a c b"),
        ("a:x1 b:x2 c:y1 d:y2", 2, [by("zone"), by("rack")], "a d"),
        ("a:x1 b:x1 c:y1 d:y1", 3, [by("zone"), by("rack")], "a c b"),
        ("a:x1 b:x2 c:x2 d:y2", 3, [by("zone", hard=False), by("rack", hard=False)], "a d b"),
        ("", 3, [by("zone")], ""),
        ("a:x", 0, [by("zone")], ""),
    ],
)
def test_the_choice(clusters: str, limit: int, constraints: list[Any], taken: str) -> None:
    assert choose(clusters, limit, *constraints) == taken


def test_many_topologies_cost_no_more_than_few() -> None:
    clusters = " ".join(f"c{number}:{chr(0x4E00 + number)}" for number in range(5000))
    assert len(choose(clusters, 5000, by("zone")).split()) == 5000
