"""What is under `status.muster` has one order, whatever the order of what it was made of."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import yaml

from muster.data.decision import OF_ITSELF, Because, Decision
from muster.data.ids import ObjectId
from muster.data.kinds import FLEET, MANAGED_CLUSTER, id_of_body, kind_of
from muster.data.tree import Tree, dig
from muster.fleet.bookkeeping import order_at
from muster.fleet.derived import derived_body, derived_text

EXAMPLE = Path(__file__).parents[2] / "fleet-repo-example/derived"
_BECAUSE = Because("test", OF_ITSELF)


def examples() -> Iterator[tuple[ObjectId, Tree]]:
    """What the example fleet has under `status.muster`."""
    for file in sorted(EXAMPLE.rglob("*.yaml")):
        for body in yaml.load_all(file.read_text(encoding="utf-8"), yaml.CSafeLoader):
            id_ = id_of_body(body) if isinstance(body, dict) else None
            if id_ is not None and (known := dig(body, "status", "muster")):
                yield id_, known


def shuffled(tree: Tree, random: Random) -> Tree:
    """The tree with its keys in any order."""
    if isinstance(tree, dict):
        return {name: shuffled(tree[name], random) for name in random.sample(sorted(tree), len(tree))}
    return [shuffled(item, random) for item in tree] if isinstance(tree, list) else tree


def test_any_order_becomes_the_one_order() -> None:
    random, seen = Random(1), 0
    for id_, known in examples():
        order, written = order_at(kind_of(id_)), yaml.safe_dump(known, sort_keys=False)
        assert yaml.safe_dump(order.of(shuffled(known, random)), sort_keys=False) == written, id_
        seen += len(known)
    assert seen > 50


@pytest.mark.parametrize("whole", [True, False])
def test_derived_parts_are_equal_to_the_byte(whole: bool) -> None:
    random, texts = Random(2), set[str]()
    known: Tree = {
        "silentAfter": "2026-01-01T00:00:00Z",
        "leaseDurationSeconds": 90,
        "rollouts": {
            "a/b": {"revision": "v1", "state": "Failed", "since": "2026-01-01T00:00:00Z", "gate": "g"},
            "a/a": {"revision": "v1", "state": "Failed", "since": "2026-01-01T00:00:00Z"},
        },
    }
    id_ = MANAGED_CLUSTER.id("a")
    for _ in range(20):
        own = shuffled(known, random)
        values = {("status", "muster"): own} if whole else {("status", "muster", name): own[name] for name in own}
        body = derived_body(id_, {path: Decision(id_, path, value, _BECAUSE) for path, value in values.items()})
        texts.add(derived_text(body))
    assert len(texts) == 1
    assert body["status"]["muster"] == known


def test_what_the_schema_leaves_open_is_by_name_and_lists_keep_their_order() -> None:
    kept: Tree = {"settings": {"zones": [{"b": 1, "a": 2}, {"c": 3}], "adapters": {}, "own": {"z": 1, "y": 2}}}
    found = order_at(FLEET).of(kept)
    assert found == kept
    assert list(found["settings"]["own"]) == ["y", "z"]
    assert list(found["settings"]["zones"][0]) == ["a", "b"]
