"""What is shown commit by commit is what is shown of the last commit to whoever looks at nothing else."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from muster.data.tree import Tree
from muster.features.page.availability import members_of
from muster.features.page.details import ClusterDetails
from muster.features.page.following import Shown, of_clusters, show_update, show_whole
from muster.features.page.overview import overview, placement_details
from muster.run.incremental import answer
from muster.run.memo.state import RunState, open_state
from muster.run.question import WholeNeeded
from tests.support.living import Living, cluster


def report(adapter: str, name: str = "x") -> str:
    """What an adapter says of a cluster."""
    conditions = ", ".join(f'{{type: {type_}, status: "True"}}' for type_ in ("Applied", "Available", "Health"))
    return f"""\
apiVersion: muster.dev/v1alpha1
kind: AdapterReport
metadata: {{name: {adapter}, namespace: {name}}}
spec:
  resource: {{kind: ManagedCluster, name: {name}}}
  adapter: {adapter}
  observed_generation: 1
  observed_time: "2026-01-01T11:59:00Z"
  conditions: [{conditions}]
"""


def page(shown: Shown) -> tuple[Tree, list[Tree], object]:
    """All but what is known of single clusters."""
    told = overview(shown.run, "fleet", shown.known)
    return told, list(placement_details(shown.run)), members_of(shown.run, told["clusters"])


def state_in(folder: Path) -> RunState:
    state = open_state(folder / "kept" / "state.sqlite")
    assert state is not None
    return state


def follow(living: Living, state: RunState, happenings: Iterable[Callable[[], object]]) -> Counter[str]:
    before: Shown | None = None
    taken, lived = Counter[str](), []
    for happening in (living.nothing, *happenings):
        lived.append(happening())
        found = answer(living.question(), state)
        living.land(found.settled)
        found.remember(state)
        question = living.question()
        anew = show_whole(question)
        if before is not None:
            try:
                before = show_update(question, state, before)
            except WholeNeeded as needed:
                taken[str(needed)] += 1
                before = anew
            else:
                taken["part"] += 1
                assert page(before) == page(anew), lived
                for name in sorted({obj.id.name for obj in anew.run.fleet.clusters()})[:2]:
                    try:
                        run = of_clusters(question, state, [name])
                    except WholeNeeded:
                        continue
                    assert ClusterDetails(run).of(name) == ClusterDetails(anew.run).of(name), (name, lived)
                    taken["details"] += 1
        before = before or anew
    return taken


def test_of_a_fleet_that_lives(tmp_path: Path) -> None:
    living = Living.small(tmp_path / "fleet", 22, 8)
    taken = follow(living, state_in(tmp_path), [living.step] * 7)
    assert taken["part"] > 4 and taken["details"] > 4, taken


def test_of_the_example_fleet(tmp_path: Path) -> None:
    living = Living.example(tmp_path / "fleet", 22)
    taken = follow(living, state_in(tmp_path), [living.step] * 3)
    assert taken["part"] == 3, taken


def test_of_what_files_say_no_more(tmp_path: Path) -> None:
    """Of whom nothing is said any more nothing is said in any file that changed."""
    living = Living.small(tmp_path / "fleet", 1, 5)
    commit = living.repo.commit
    nowhere = cluster("x").replace("  labels: {region: eu}\n", "")
    labelled = (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        "metadata: {name: x, labels: {topology.kubernetes.io/region: mars}}\n"
    )
    both = f"{report('validation')}---\n{report('dns')}"
    other = f"{cluster('y')}---\n{report('dns', 'y')}"
    taken = follow(
        living,
        state_in(tmp_path),
        [
            lambda: commit({"x.yaml": nowhere, "more.yaml": labelled, "said.yaml": both, "y.yaml": other}),
            lambda: commit({"more.yaml": None}),
            lambda: commit({"said.yaml": report("dns")}),
            lambda: commit({"said.yaml": None}),
            lambda: commit({"x.yaml": None}, "Go\n\nMuster-Allow-Removal: x"),
        ],
    )
    assert taken["part"] == 5, taken
