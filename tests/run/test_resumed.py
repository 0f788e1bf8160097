"""A run goes on from one that did not land, and comes to what a run comes to that evaluates everything."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from muster.run.answer import RunAnswer
from muster.run.incremental import answer
from muster.run.memo.state import RunState
from muster.run.question import Question
from muster.run.run import Settled
from muster.run.settle import settle
from tests.run.test_incremental import state_in
from tests.support.git import Content
from tests.support.living import Living, cluster, lease, placement, told

FLEET = (
    "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: small}\n"
    "spec: {adapters: {ManagedCluster: [validation, dns]}}\n"
)
POOL = (
    "apiVersion: muster.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: workers, namespace: {namespace}}}\n"
    "spec: {{clusterName: {cluster}, replicas: {replicas}}}\n"
)


def cold(question: Question) -> Settled:
    """What follows, decided from nothing."""
    return settle(question.snapshot(), question.now, question.remembered.memory)


def going_on(living: Living, state: RunState, lost: RunAnswer, lived: object) -> RunAnswer:
    """Answer again on the present head, at the same instant, after a run that did not land."""
    lost.remember(state)
    found = answer(living.question(), state, earlier=lost)
    assert told(found.settled) == told(cold(living.question())), (found.looked_at, lost.looked_at, lived)
    return found


def live_on(living: Living, state: RunState, steps: int) -> Counter[str]:
    """Let a fleet live, and people go on while each run is at work, at times more than once."""
    seen: Counter[str] = Counter()
    lived = [living.put("fleet.yaml", FLEET)]
    for number in range(steps):
        if number:
            lived.append(living.chance.choice((living.step, living.a_status, living.a_status))())
        found = answer(living.question(), state)
        assert told(found.settled) == living.whole(), (found.looked_at, lived)
        for _ in range(living.chance.choice((0, 1, 1, 2))):
            at, tip = living.now, living.tip()
            wild = living.chance.random() < 0.5
            lived.append(f"meanwhile {(living.step if wild else living.chance.choice(living.calm()))()}")
            living.now = at
            if living.tip() != tip:
                found = going_on(living, state, found, lived)
                seen["goes on" if found.resumes else "begins anew"] += bool(found.settled.files)
        living.land(found.settled)
        if living.chance.random() < 0.8:
            found.remember(state)
    return seen


@pytest.mark.parametrize("seed", (8, 9))
def test_what_it_comes_to_is_what_a_run_there_comes_to(tmp_path: Path, seed: int) -> None:
    seen = live_on(Living.small(tmp_path / "fleet", seed, 14), state_in(tmp_path), 12)
    assert seen["goes on"] > 3, seen


class TestWhatPeopleDo:
    """One fleet of which a cluster fails, while people do one thing each."""

    @pytest.fixture
    def living(self, tmp_path: Path) -> Living:
        living = Living.small(tmp_path / "fleet", 5, 12)
        state = state_in(tmp_path)
        for _ in range(3):
            found = answer(living.question(), state)
            living.land(found.settled)
            found.remember(state)
        state.close()
        return living

    def number(self, living: Living, folder: Path, meanwhile: Callable[[], object]) -> int:
        """How many neighbourhoods are evaluated to go on, after something else."""
        state = state_in(folder)
        living.says_ill("c003")
        found = answer(living.question(), state)
        assert any("c003" in path for path in found.settled.files)
        meanwhile()
        found = going_on(living, state, found, "")
        assert any("c003" in path for path in found.settled.files)
        state.close()
        first = found.looked_at.split()[0]
        return int(first) if first.isdigit() else 0 if first == "nothing:" else len(living.names)

    def test_a_document_is_none_of_its_business(self, living: Living, tmp_path: Path) -> None:
        assert self.number(living, tmp_path, living.a_document) == 0

    def test_another_clusters_lease_costs_that_cluster(self, living: Living, tmp_path: Path) -> None:
        renewed: dict[str, Content] = {"clusters/c002/lease.yaml": lease("c002", living.now - timedelta(seconds=5))}
        assert self.number(living, tmp_path, lambda: living.puts(renewed, "a renewal")) == 1

    @pytest.mark.sampled(3)
    @pytest.mark.parametrize(
        "what",
        [
            "a_policy",
            "a_taint_policy",
            "a_budget",
            "a_setting",
            "a_newcomer",
            "a_farewell",
            "many_are_let_go",
            "many_leave",
            "a_move",
        ],
    )
    def test_what_others_read_is_decided_with_it(self, living: Living, tmp_path: Path, what: str) -> None:
        assert self.number(living, tmp_path, getattr(living, what)) > 0

    @pytest.mark.parametrize(
        "edit",
        [
            {"apps/some.yaml": placement("some", 7)},
            {"x/c003.yaml": cluster("c003", region="us")},
            {"pools/x.yaml": POOL.format(namespace="c002", cluster="c003", replicas=1)},
            {".musterignore": "x\n"},
            {"derived/managedclusters/c002.yaml": "x\n"},
            {"derived/managedclusters/c003.yaml": "x\n"},
        ],
    )
    def test_an_edit(self, living: Living, tmp_path: Path, edit: dict[str, Content]) -> None:
        assert self.number(living, tmp_path, lambda: living.puts(edit, "an edit")) > 0

    def test_its_file_that_only_moves(self, living: Living, tmp_path: Path) -> None:
        def move() -> None:
            living.repo.git("mv", "clusters/c003/cluster.yaml", "elsewhere.yaml")
            living.repo.git("commit", "--quiet", "-m", "Move")

        assert self.number(living, tmp_path, move) > 0

    def test_what_was_changed_and_changed_back(self, living: Living, tmp_path: Path) -> None:
        def there_and_back() -> None:
            path = "clusters/c003/cluster.yaml"
            before = (living.repo.path / path).read_text()
            living.put(path, before + "# x\n")
            living.put(path, before)

        assert self.number(living, tmp_path, there_and_back) == 0

    def test_a_history_that_does_not_have_it(self, living: Living, tmp_path: Path) -> None:
        def amend() -> None:
            living.repo.git("commit", "--quiet", "--amend", "-m", "Another")

        assert self.number(living, tmp_path, amend) == len(living.names)


def test_what_did_not_land_twice_lands_at_last(tmp_path: Path) -> None:
    """The state keeps what is still to be written, whoever goes on from it."""
    living, state = Living.small(tmp_path / "fleet", 5, 12), state_in(tmp_path)
    for _ in range(2):
        found = answer(living.question(), state)
        living.land(found.settled)
        found.remember(state)
    living.says_ill("c003")
    found = answer(living.question(), state)
    for _ in range(2):
        living.a_document()
        found = going_on(living, state, found, "")
    found.remember(state)
    later = answer(living.question(), state)
    assert told(later.settled) == told(found.settled)
    living.land(found.settled)
    assert answer(living.question(), state).looked_at.startswith("nothing:")
