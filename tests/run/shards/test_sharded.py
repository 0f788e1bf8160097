"""Cold runs in shards decide what whole ones do: the same files, transitions, findings, held effects, pulses, horizon
and message, in whatever order the shards come and whoever decides them. What they leave is a state as any other."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from muster.data.times import format_time
from muster.run.answer import RunAnswer, figures
from muster.run.incremental import answer
from muster.run.memo.state import open_state
from muster.run.question import WholeNeeded
from muster.run.settle import settle
from muster.run.shards.evaluation import evaluate_shard
from muster.run.shards.executors import Executor, Here, Processes
from muster.run.shards.shard import Answered, Shard
from muster.run.shards.sharded import decide_in_shards
from tests.rules.checks.test_waivers import waiver
from tests.run.shuffled import Shuffled
from tests.support.git import Content
from tests.support.living import TAINT_POLICY, Living, cluster, lease, told


class Borrowed(Here):
    """Has shards decided by an executor that stays when it has done its work."""

    def __init__(self, executor: Executor) -> None:
        self.decide = executor.decide  # type: ignore[method-assign]


def live(living: Living, folder: Path, steps: int, executor: Executor, sizes: tuple[int, ...]) -> int:
    """Let a fleet live, and compare what runs make of it in shards and whole; return how often shards did."""
    taken: Counter[str] = Counter()
    lived = []
    for number in range(steps):
        lived.append(living.step() if number else "the beginning")
        asked = living.question()
        snapshot = asked.snapshot()
        whole = settle(snapshot, asked.now, asked.remembered.memory)
        try:
            found = decide_in_shards(asked, "", executor, living.chance.choice(sizes))
        except WholeNeeded as needed:
            taken[str(needed)] += 1
            living.land(whole)
            continue
        assert told(found.settled) == told(whole), (found.looked_at, lived)
        numbers = figures(RunAnswer(whole, None, None, None, ""), None)
        assert figures(found, None) == numbers
        living.land(found.settled)
        taken["in shards"] += 1
        state = open_state(folder / str(number) / "state")
        assert state is not None
        found.remember(state)
        assert figures(found, state) == numbers
        asked = living.question()
        warm = answer(asked, state)
        assert told(warm.settled) == living.whole(), (warm.looked_at, lived)
        assert "Error" not in warm.looked_at, lived
        state.close()
    return taken["in shards"]


def test_of_a_fleet_that_lives(tmp_path: Path) -> None:
    living, shuffled = Living.small(tmp_path / "fleet", 4, 8), Shuffled(4)
    assert live(living, tmp_path, 14, shuffled, (1, 8, 30)) > 8


def test_of_the_example_fleet(tmp_path: Path) -> None:
    shuffled = Shuffled(7)
    assert live(Living.example(tmp_path / "fleet", 7), tmp_path, 5, shuffled, (8, 30)) > 2


def test_clusters_that_go_where_shards_take_two_passes(tmp_path: Path) -> None:
    """After the first pass nothing is left of them: they are told of all the same, and many at once are held."""
    living, shuffled = Living.small(tmp_path / "fleet", 3, 12), Shuffled(3)
    looks_back = TAINT_POLICY.format(kind="ManagedCluster", effect="PreferNoSelect", when="previous.size() > 100")
    living.put("policies/back.yaml", looks_back)
    assert live(living, tmp_path / "before", 1, shuffled, (3,)) == 1
    first, *others = living.names[1::2]  # those that have no ref
    for number, names in enumerate(([first], others)):
        folders = (f"clusters/{name}/{file}.yaml" for name in names for file in ("cluster", "lease", "observed"))
        files: dict[str, Content] = dict.fromkeys(folders)
        all_change = looks_back.replace("> 100", "< 100").replace("/t,", f"/t{number},").replace("name: t", "name: u")
        living.puts({**files, "policies/other.yaml": all_change}, "they go, and every other one changes")
        whole = living.cold()
        found = decide_in_shards(living.question(), "", shuffled, 3)
        assert told(found.settled) == told(whole)
        assert bool(whole.last.held) == (number == 1), "so many may not go at once"
        living.land(whole)


def test_in_two_processes(tmp_path: Path) -> None:
    with Processes(2, evaluate_shard) as two:
        assert live(Living.small(tmp_path / "fleet", 5, 8), tmp_path, 5, Borrowed(two), (8,)) > 2


def test_waivers_are_told_of_in_shards_and_from_the_state(tmp_path: Path) -> None:
    """They are findings of what belongs to no cluster."""
    living, shuffled = Living.small(tmp_path / "fleet", 3, 8), Shuffled(3)
    living.repo.commit(
        {"waivers/a.yaml": waiver("a", "MUS201", "ManagedCluster/c001", "0123456789abcdef", "2100-01-01")}
    )
    assert live(living, tmp_path, 4, shuffled, (1, 8)) > 1
    assert "MUS701" in str(living.whole()["findings"])


def test_repositories_of_agents_that_are_silent(tmp_path: Path) -> None:
    living, shuffled = Living.small(tmp_path / "fleet", 3, 12), Shuffled(3)
    living.a_remote_falls_silent_or_answers("eu")
    living.a_remote_falls_silent_or_answers("us")
    assert live(living, tmp_path, 4, shuffled, (3, 8)) > 2
    assert "MUS512" in str(living.whole()["findings"])


def test_what_waits_for_approval_and_what_was_approved(tmp_path: Path) -> None:
    living, shuffled = Living.small(tmp_path / "fleet", 3, 8), Shuffled(3)
    living.approvals_are_asked_for()
    waiting = []
    for number, happening in enumerate((living.nothing, living.nothing, living.an_approval)):
        happening()
        assert live(living, tmp_path / str(number), 1, shuffled, (3,)) == 1
        waiting.append(str(living.whole()["held"]).count("awaits approval"))
        living.now += timedelta(hours=1)
    assert waiting[0] < waiting[2] < waiting[1], waiting


def test_several_effects_of_one_cluster_wait_in_the_same_order(tmp_path: Path) -> None:
    """Stages have one order and summaries another."""
    living, shuffled = Living.small(tmp_path / "fleet", 3, 6), Shuffled(3)
    effects = "[taint, remedy]"
    living.put(
        "fleet.yaml",
        "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: small}\n"
        f"spec: {{approval: {{topics: [{{name: careful, effects: {effects}}}]}}}}\n",
    )
    assert live(living, tmp_path / "before", 1, shuffled, (1,)) == 1
    for name in living.names[:4]:
        living.says_ill(name)
    assert live(living, tmp_path / "after", 1, shuffled, (1,)) == 1
    waiting = [(entry["name"], entry["effect"]) for entry in living.whole()["held"]]  # type: ignore[attr-defined]
    assert len(waiting) == 8
    assert waiting == sorted(waiting)


def test_each_cluster_is_heard_of_by_itself_in_whatever_shard_or_neighbourhood(tmp_path: Path) -> None:
    """Of a Lease that two places speak of, one shard sees half; and neighbours do not speak for each other."""
    living, shuffled = Living.small(tmp_path / "fleet", 3, 8), Shuffled(3)
    resource, at = "{kind: ManagedCluster, name: c004}", format_time(living.now)
    living.put(
        "clusters/c002/report.yaml",
        "apiVersion: muster.dev/v1alpha1\nkind: AdapterReport\n"
        "metadata: {name: validation, namespace: c002}\nspec:\n"
        f'  resource: {resource}\n  adapter: validation\n  observed_generation: 1\n  observed_time: "{at}"\n'
        '  conditions: [{type: Applied, status: "True"}, {type: Available, status: "True"},'
        ' {type: Health, status: "True"}]\n',
    )
    living.put("leases/c001-c005.yaml", f"{lease('c001', living.now)}---\n{lease('c005', living.now)}")
    living.now += timedelta(minutes=1)
    for name in ("c001", "c002"):
        living.speaks(name)
    assert live(living, tmp_path, 2, shuffled, (1,)) == 2
    words = figures(RunAnswer(living.cold(), None, None, None, ""), None).last_reports
    ages = Counter(int(living.now.timestamp()) - second for second in words["lease"])
    assert ages == {0: 1, 60: 7}, "the two words about c001 contradict each other"
    assert len(words["report"]) == 1


def test_an_expression_that_fails_in_shards_is_told_of_the_whole_fleet(tmp_path: Path) -> None:
    living = Living.small(tmp_path / "fleet", 3, 4)
    when = "self.metadata.labels.zone == 'a'"
    living.put("policies/t.yaml", TAINT_POLICY.format(kind="ManagedCluster", effect="NoSelect", when=when))
    found = decide_in_shards(living.question(), "", Here(), 1)
    assert told(found.settled) == living.whole()
    assert "failed for 4 objects" in str(found.settled.findings)


@pytest.mark.parametrize("spec", ["heartbeats: {maxPerSecond: 0.05}", "adapters: {ManagedCluster: [validation]}"])
def test_shards_that_were_given_something_else_are_decided_again(tmp_path: Path, spec: str) -> None:
    """How long leases must last follows from all clusters together: no shard knows it, and nothing records it yet."""
    living, rounds = Living.small(tmp_path / "fleet", 6, 12), list[str]()
    for name in living.names:
        living.put(f"clusters/{name}/cluster.yaml", cluster(name))

    class Counted(Shuffled):
        def decide(self, shards: Iterable[Shard]) -> Iterator[tuple[Shard, Answered | None]]:
            rounds.append(spec)
            return super().decide(shards)

    living.put(
        "fleet.yaml", f"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: small}}\nspec: {{{spec}}}\n"
    )
    found = decide_in_shards(living.question(), "", Counted(1), 8)
    assert told(found.settled) == living.whole()
    assert len(rounds) >= (2 if "heartbeats" in spec else 1)
    living.land(found.settled)
    again = decide_in_shards(living.question(), "", Counted(2), 8)
    assert told(again.settled) == living.whole()


def test_in_no_shards_where_there_is_nothing_to_cut(tmp_path: Path) -> None:
    with pytest.raises(WholeNeeded):
        decide_in_shards(Living.small(tmp_path / "fleet", 5, 1).question(), "", Here(), 8)
