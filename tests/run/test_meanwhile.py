"""A run that is put over what people committed meanwhile: what it wrote is what a run on their commit would write."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.run.incremental import answer
from muster.run.meanwhile import holds_at
from muster.run.question import Question
from muster.run.run import Files
from muster.run.settle import settle
from muster.run.state import RunState
from tests.run.test_incremental import state_in
from tests.support.living import Living, cluster, placement, told

FLEET = (
    "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: small}\n"
    "spec: {adapters: {ManagedCluster: [validation, dns]}}\n"
)
POOL = (
    "apiVersion: muster.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: workers, namespace: {namespace}}}\n"
    "spec: {{clusterName: {cluster}, replicas: {replicas}}}\n"
)


def cold(question: Question) -> Files:
    """What follows, decided from nothing."""
    snapshot = question.snapshot()
    return settle(snapshot, question.now, question.remembered.memory).files


def live_on(living: Living, state: RunState, steps: int) -> Counter[str]:
    """Let a fleet live, and people go on while each run is at work. What stands is landed, and compared with what is
    decided from nothing there; what does not is lost, as it is for an engine that people were faster than."""
    seen: Counter[str] = Counter()
    lived = [living.put("fleet.yaml", FLEET)]
    for number in range(steps):
        lived.append(
            living.chance.choice((living.step, living.a_status, living.a_status))() if number else "so it begins"
        )
        asked = living.question()
        found = answer(asked, state)
        assert told(found.settled) == living.whole(), (found.looked_at, lived)
        for _ in range(living.chance.choice((0, 1, 1, 2))):
            wild = living.chance.random() < 0.15
            lived.append(f"meanwhile {(living.step if wild else living.chance.choice(living.calm()))()}")
        found.remember(state)
        there = living.tip()
        if there == asked.commit:
            seen["undisturbed"] += 1
            living.land(found.settled)
        elif not holds_at(asked, found, state, there):
            seen["lost"] += 1
        elif not found.settled.files:
            seen["nothing to write"] += 1
        else:
            seen["stands"] += 1
            fresh = cold(asked.at(there))
            living.land(found.settled)
            later = cold(asked.at(living.tip()))
            assert not later.keys() & found.settled.files.keys(), lived
            assert {**found.settled.files, **later} == fresh, lived
            seen["stands, and something follows of what people did"] += bool(later)
    return seen


@pytest.mark.parametrize("seed", (8,))
def test_what_stands_is_what_a_run_there_would_write(tmp_path: Path, seed: int) -> None:
    seen = live_on(Living.small(tmp_path / "fleet", seed, 14), state_in(tmp_path), 12)
    assert min(seen["stands"], seen["lost"]) > 1, seen


class TestWhatPeopleDo:
    """One fleet of which a cluster goes silent, while people do one thing each."""

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

    def stands(self, living: Living, folder: Path, meanwhile: Callable[[], object]) -> bool:
        """Whether it stands that c003 is not available any more, after something else."""
        state = state_in(folder)
        living.says_ill("c003")
        asked = living.question()
        found = answer(asked, state)
        assert any("c003" in path for path in found.settled.files)
        meanwhile()
        found.remember(state)
        stood = holds_at(asked, found, state, living.tip())
        if stood:
            fresh = cold(asked.at(living.tip()))
            assert fresh == {**fresh, **found.settled.files}
        state.close()
        return stood

    def test_a_document_is_none_of_its_business(self, living: Living, tmp_path: Path) -> None:
        assert self.stands(living, tmp_path, living.a_document)

    def test_nor_is_another_clusters_lease(self, living: Living, tmp_path: Path) -> None:
        assert self.stands(living, tmp_path, lambda: living.speaks("c002"))

    def test_a_new_cluster_is_one_more_that_budgets_count(self, living: Living, tmp_path: Path) -> None:
        assert not self.stands(living, tmp_path, living.a_newcomer)

    def test_another_cluster_that_falls_ill_counts_for_budgets_as_well(self, living: Living, tmp_path: Path) -> None:
        assert not self.stands(living, tmp_path, lambda: living.says_ill("c002"))

    @pytest.mark.parametrize("what", ["a_policy", "a_taint_policy", "a_budget", "a_setting"])
    def test_what_is_shared_is_everybodys_business(self, living: Living, tmp_path: Path, what: str) -> None:
        assert not self.stands(living, tmp_path, getattr(living, what))

    def test_another_edit_of_what_was_decided_is(self, tmp_path: Path) -> None:
        living, state = Living.small(tmp_path / "fleet", 5, 12), state_in(tmp_path)

        def edits(replicas: int) -> None:
            living.put("pools/c002.yaml", POOL.format(namespace="c002", cluster="c002", replicas=replicas))

        edits(1)
        for _ in range(3):
            found = answer(living.question(), state)
            living.land(found.settled)
            found.remember(state)
        edits(2)
        asked = living.question()
        found = answer(asked, state)
        edits(3)
        found.remember(state)
        there = living.tip()
        fresh = cold(asked.at(there))
        assert found.settled.files.keys() == fresh.keys() == {"derived/nodepools/c002/workers.yaml"}
        assert found.settled.files != fresh
        assert not holds_at(asked, found, state, there)

    def test_so_is_who_places_anything_on_clusters(self, living: Living, tmp_path: Path) -> None:
        assert not self.stands(living, tmp_path, lambda: living.put("apps/some.yaml", placement("some", 7)))

    def test_the_cluster_that_was_decided_is(self, living: Living, tmp_path: Path) -> None:
        assert not self.stands(living, tmp_path, lambda: living.put("x/c003.yaml", cluster("c003", region="us")))

    def test_something_that_comes_to_belong_to_it_is(self, living: Living, tmp_path: Path) -> None:
        pool = POOL.format(namespace="c002", cluster="c003", replicas=1)
        assert not self.stands(living, tmp_path, lambda: living.put("pools/x.yaml", pool))

    def test_its_file_that_only_moves_is(self, living: Living, tmp_path: Path) -> None:
        def move() -> None:
            living.repo.git("mv", "clusters/c003/cluster.yaml", "elsewhere.yaml")
            living.repo.git("commit", "--quiet", "-m", "Move")

        assert not self.stands(living, tmp_path, move)

    def test_what_was_changed_and_changed_back_is(self, living: Living, tmp_path: Path) -> None:
        def there_and_back() -> None:
            path = "clusters/c003/cluster.yaml"
            before = (living.repo.path / path).read_text()
            living.put(path, before + "# x\n")
            living.put(path, before)

        assert not self.stands(living, tmp_path, there_and_back)

    def test_a_word_to_the_next_run_is_not_passed_over(self, living: Living, tmp_path: Path) -> None:
        assert not self.stands(living, tmp_path, living.many_are_let_go)

    @pytest.mark.parametrize("path", [".musterignore", "derived/managedclusters/c002.yaml"])
    def test_what_is_read_otherwise_is(self, living: Living, tmp_path: Path, path: str) -> None:
        assert not self.stands(living, tmp_path, lambda: living.put(path, "x\n"))

    def test_a_history_that_does_not_have_it_is(self, living: Living, tmp_path: Path) -> None:
        assert not self.stands(
            living, tmp_path, lambda: living.repo.git("commit", "--quiet", "--amend", "-m", "Another")
        )
