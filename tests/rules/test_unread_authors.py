"""A stage that names the authors of its entries keeps what a broken one decided, whatever the stage itself does."""

from collections.abc import Iterator

import pytest

from muster.data.decision import OF_ITSELF, Because, Decision
from muster.data.ids import ObjectId
from muster.data.kinds import CONDITION_POLICY, MANAGED_CLUSTER, PLACEMENT, ROLLOUT
from muster.data.tree import Tree
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.stages import CONDITIONS, ROLLOUTS
from muster.rules.unread_authors import EntryAuthor, of_unread_authors

CLUSTER = MANAGED_CLUSTER.id("a")
STATUS: Tree = {
    "conditions": [{"type": "Warm", "status": "True"}, {"type": "Wet", "status": "True"}],
    "muster": {"rollouts": {"shop/web": {"revision": "v1"}, "shop/db": {"revision": "v2"}}},
}
POLICIES = EntryAuthor(CONDITION_POLICY, (MANAGED_CLUSTER,), CONDITIONS, named=False)
OF_ROLLOUTS = EntryAuthor(ROLLOUT, (MANAGED_CLUSTER,), ROLLOUTS)


def view(*broken: ObjectId, unidentified: bool = False) -> View:
    """A cluster that the last run decided, and authors with an error."""
    obj = Object(CLUSTER, MANAGED_CLUSTER.body({"name": "a"}), ())
    return View({CLUSTER: obj}, {CLUSTER: {"status": STATUS}}, frozenset(broken), unidentified)


def standing(author: EntryAuthor, seen: View, *outcomes: Decision) -> Iterator[str]:
    """The names of the entries that stand."""
    for decision in of_unread_authors(seen, {CLUSTER}, seen, (author,), outcomes):
        assert decision.because.text.endswith("cannot be read, so what it may have decided stays")
        yield decision.path[-1] if isinstance(decision.path[-1], str) else decision.path[-1][0]


@pytest.mark.parametrize(
    ("author", "broken", "expected"),
    [
        (POLICIES, CONDITION_POLICY.id("warm"), ["Warm", "Wet"]),
        (POLICIES, PLACEMENT.id("web", "shop"), []),
        (OF_ROLLOUTS, ROLLOUT.id("web", "shop"), ["shop/web"]),
        (OF_ROLLOUTS, ROLLOUT.id("web", "other"), []),
    ],
)
def test_entries_of_a_broken_author_stand(author: EntryAuthor, broken: ObjectId, expected: list[str]) -> None:
    assert list(standing(author, view(broken))) == expected


@pytest.mark.parametrize(("author", "count"), [(POLICIES, 2), (OF_ROLLOUTS, 2)])
def test_an_author_may_be_in_an_unreadable_file(author: EntryAuthor, count: int) -> None:
    assert len(list(standing(author, view(unidentified=True)))) == count


def test_what_this_run_decides_counts() -> None:
    path, because = ("status", "conditions", ("Warm",)), Because("rule", OF_ITSELF)
    seen = view(CONDITION_POLICY.id("warm"))
    decided = Decision(CLUSTER, path, {"status": "False"}, because)
    assert list(standing(POLICIES, seen, decided)) == ["Wet"]
    assert list(standing(POLICIES, seen.with_decisions([decided]))) == ["Wet"]
    assert list(standing(POLICIES, seen, decided._replace(value=None))) == ["Warm", "Wet"], (
        "its author may have another"
    )
