"""Warm runs decide what cold ones do: the same files, transitions, findings, held effects, pulses, horizon and message.

The first two tests let a fleet live for some steps and compare after each. They have found an invalidation that was
broken on purpose: with neighbourhoods that are due left out of `Touched.neighbourhoods` a lease that ran out went unnoticed
(the third test breaks it so again); and, while this was written, effects that a budget held and that were missing from
what an unmoved run says.
"""

# ruff: noqa: E501 - documents

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from threading import Thread

import pytest
import yaml

from muster.data.codec import encode
from muster.fleet.faults import is_fault
from muster.run import incremental
from muster.run.answer import RunAnswer, figures
from muster.run.incremental import answer
from muster.run.memo.records import RunRecord
from muster.run.memo.state import RunState, open_state
from muster.run.parts import affected
from muster.run.parts.part import Touched
from muster.run.question import Question
from muster.run.run import Files
from muster.run.shards.sharded import decide_in_shards
from tests.run.shuffled import Shuffled
from tests.support.git import Content
from tests.support.happenings import a_projection
from tests.support.instants import quiet_until_turn
from tests.support.living import CONDITION_POLICY, TAINT_POLICY, Living, cluster, lease, report, told
from tests.support.policy_happenings import OF_POLICIES

HELD = (
    "apiVersion: muster.dev/v1alpha1\nkind: TaintPolicy\nmetadata: {name: managed-cluster-builtin-taints}\nspec:\n  target: {kind: ManagedCluster}\n  taints:\n"
    "  - {key: silent, effect: NoSelect, when: \"status(conditions, 'ManagedClusterConditionAvailable') == 'Unknown' && !('edge' in self.metadata.labels)\"}\n"
    "  - {key: t1, effect: NoSelectIfNew, when: \"'bad' in self.metadata.labels\"}\n"
)
BUDGET = "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {name: default}\n"


def live(living: Living, state: RunState, steps: int, clone: RunState | None = None) -> Counter[str]:
    """Let a fleet live, and compare what each run makes of it, from what the last one left and from nothing: also from
    what a `clone` kept that looks rarely, of some steps ago, and at instants at which time alone changes nothing. How
    much was looked at is counted."""
    taken: Counter[str] = Counter()
    lived = []
    for number in range(steps):
        lived.append(living.step() if number else "the beginning")
        found = compared(living, state, lived)
        taken[_reach(found)] += 1
        if living.more and living.chance.random() < 0.3:
            quiet_until_turn(living, state, found.settled.last.turn, 1)
        if clone is not None and living.chance.random() < 0.2:
            taken[f"a clone's {_reach(compared(living, clone, lived, lands=False))}"] += 1
    return taken


def compared(living: Living, state: RunState, lived: Sequence[str], *, lands: bool = True) -> RunAnswer:
    """Run, from what a state has; what it makes of it is what a run makes that looks at everything."""
    found = answer(living.question(), state)
    cold = living.cold()
    assert told(found.settled) == told(cold), (found.looked_at, lived)
    assert not any(map(is_fault, found.settled.findings)), lived
    if lands:
        living.land(found.settled)
    found.remember(state)
    assert figures(found, state) == figures(RunAnswer(cold, None, None, None, ""), None), (found.looked_at, lived)
    return found


def _reach(found: RunAnswer) -> str:
    return found.looked_at.split(":")[0].split(", ")[-1]


def from_state(taken: Counter[str]) -> int:
    """How many of the runs looked at a part, or at nothing: only these are compared with anything."""
    return sum(count for reach, count in taken.items() if not reach.endswith("the whole fleet"))


def same(living: Living, state: RunState, happened: str) -> RunAnswer:
    """Run, from what the last run left; what it makes of it is what a run makes that looks at everything."""
    found = answer(living.question(), state)
    assert told(found.settled) == living.whole(), (found.looked_at, happened)
    living.land(found.settled)
    found.remember(state)
    return found


def state_in(folder: Path) -> RunState:
    state = open_state(folder / "kept" / "state.sqlite")
    assert state is not None
    return state


@pytest.mark.parametrize("seed", (13,))
def test_of_a_fleet_that_lives(tmp_path: Path, seed: int) -> None:
    taken = live(Living.small(tmp_path / "fleet", seed, 12), state_in(tmp_path), 25)
    assert taken["wide"] > 3, "what this is about has happened"
    assert from_state(taken) > 25 // 2, taken


def test_of_a_fleet_whose_policies_follow_the_clock(tmp_path: Path) -> None:
    living = Living.small(tmp_path / "fleet", 2104, 8)
    living.more = OF_POLICIES
    assert from_state(live(living, state_in(tmp_path), 25)) > 25 // 2


def test_of_the_example_fleet(tmp_path: Path) -> None:
    taken = live(Living.example(tmp_path / "fleet", 7), state_in(tmp_path), 10)
    assert taken["wide"] > 1


def test_of_policies_that_are_edited(tmp_path: Path) -> None:
    living, state = Living.small(tmp_path / "fleet", 9, 8), state_in(tmp_path)
    edits = (living.a_taint_policy, living.a_condition_policy, living.a_policy, living.a_budget)
    looked_at = list[str]()
    for number in range(14):
        what = living.chance.choice(edits)() if number > 1 else "the beginning"
        found = same(living, state, what)
        looked_at.append(found.looked_at)
    assert sum(text.endswith("wide") for text in looked_at[2:]) > 6, looked_at


#: Policies that come and go, each for the clusters of one region.
PASSING = {
    "rated": "muster.dev/v1alpha1\nkind: ConditionPolicy\nmetadata: {{name: rated}}\nspec:\n  target: {{kind: ManagedCluster, selector: {{matchLabels: {{region: {region}}}}}}}\n"
    '  type: {type}\n  rules: [{{name: one, when: "true", status: "{status}", reason: R, message: m}}]\n',
    "marked": "muster.dev/v1alpha1\nkind: TaintPolicy\nmetadata: {{name: marked}}\nspec:\n  target: {{kind: ManagedCluster}}\n"
    "  taints: [{{key: a.b/{type}, effect: NoSelect, when: \"status(conditions, '{type}') == '{status}'\"}}]\n",
    "beat": "muster.dev/v1alpha1\nkind: PulsePolicy\nmetadata: {{name: beat}}\nspec:\n  target: {{kind: ManagedCluster, selector: {{matchLabels: {{region: {region}}}}}}}\n"
    '  rules: [{{name: r, when: "true"}}]\n  interval: 1m\n',
    "latched": "policy.karmada.io/v1alpha1\nkind: ClusterTaintPolicy\nmetadata: {{name: latched}}\nspec:\n  targetClusters: {{labelSelector: {{matchLabels: {{region: {region}}}}}}}\n"
    '  addOnConditions: [{{conditionType: ManagedClusterConditionAvailable, operator: In, statusValues: ["True", "Unknown"]}}]\n'
    "  taints: [{{key: {type}.io/c, effect: NoSchedule}}]\n",
}


def test_of_policies_that_come_and_go(tmp_path: Path) -> None:
    """Each costs at most the clusters that it selects, before or after: never a full run."""
    living, state, chance = Living.small(tmp_path / "fleet", 12, 10), state_in(tmp_path), Random(5)
    for _ in range(3):
        same(living, state, "the beginning")
    there = set[str]()
    for _ in range(14):
        name = chance.choice(sorted(PASSING))
        path, goes = f"policies/{name}.yaml", name in there and chance.random() < 0.5
        values = {
            "region": chance.choice(("eu", "us")),
            "type": chance.choice("ab"),
            "status": chance.choice(("True", "False")),
        }
        if goes:
            living.puts({path: None}, f"{name} goes")
        else:
            living.put(path, "apiVersion: " + PASSING[name].format(**values))
        there ^= {name} if goes or name not in there else set()
        found = same(living, state, f"{name}: {values}, {goes}")
        assert "whole fleet" not in found.looked_at, (name, found.looked_at)


def test_of_projections_that_are_edited(tmp_path: Path) -> None:
    living, state, looked_at = Living.small(tmp_path / "fleet", 3, 8), state_in(tmp_path), list[str]()
    for number in range(10):
        what = a_projection(living) if number > 1 else "the beginning"
        looked_at.append(same(living, state, what).looked_at)
    assert any(text.endswith("wide") for text in looked_at[2:]), looked_at


def test_of_repositories_of_agents_that_fall_silent(tmp_path: Path) -> None:
    """While they are, nobody looks at the whole fleet: only when one falls silent, or answers."""
    living, state, looked_at = Living.small(tmp_path / "fleet", 4, 12), state_in(tmp_path), list[str]()
    live(living, state, 1)
    for _ in range(3):
        happened = living.a_remote_falls_silent_or_answers()
        for happening in (living.nothing, living.heartbeats, living.time_passes, living.a_label, living.nothing):
            happened += f", {happening()}"
            found = same(living, state, happened)
            looked_at.append(found.looked_at)
    whole = [text for text in looked_at if "the whole fleet" in text]
    assert len(whole) == 3, looked_at
    assert all("answering" in text for text in whole)
    assert any("near" in text for text in looked_at)
    assert any(text.startswith("nothing") for text in looked_at)


def test_a_cluster_s_file_that_comes_to_hold_a_policy(tmp_path: Path) -> None:
    """The policy is in force for all clusters, and out of force when the file holds the cluster alone."""
    living, state = Living.small(tmp_path / "fleet", 9, 8), state_in(tmp_path)
    policy = CONDITION_POLICY.format(kind="ManagedCluster", when="accepted", reason="Here", hold="")
    path = f"clusters/{living.names[2]}/cluster.yaml"
    alone = (living.repo.path / path).read_text()
    placed = list[int]()
    for text in (
        alone,
        f"# Alone.\n{alone}",
        f"{alone}---\n{policy}",
        f"{policy.replace('Here', 'There')}---\n{alone}",
        alone,
    ):
        living.put(path, text)
        same(living, state, text)
        derived = (living.repo.path / "derived/managedclusters").glob("*.yaml")
        placed.append(sum("type: Placed" in file.read_text() for file in derived))
    assert placed == [0, 0, 8, 8, 0]


def test_the_first_report_of_an_adapter(tmp_path: Path) -> None:
    """From then on, all clusters keep when they were created, also if the report does not count for its own cluster."""
    living, state = Living.small(tmp_path / "fleet", 9, 6), state_in(tmp_path)
    for name in living.names[1:]:
        path = f"clusters/{name}/cluster.yaml"
        body = yaml.safe_load((living.repo.path / path).read_text())
        body["metadata"]["creationTimestamp"] = "2026-01-01T11:00:00Z"
        living.put(path, yaml.safe_dump(body))
    for _ in range(3):
        same(living, state, "the beginning")
    first = report(living.names[0], 9, at=living.now)
    for text, kept in ((first, 5), (None, 5), (first, 5)):
        living.puts({"reports/one.yaml": text}, "it reports")
        same(living, state, str(text))
        derived = (living.repo.path / "derived/managedclusters").glob("*.yaml")
        assert sum("created:" in file.read_text() for file in derived) == kept, text


def test_it_notices_a_broken_invalidation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = affected.touched_since

    def forgetful(question: Question, state: RunState, facts: RunRecord) -> Touched:
        return replace(real(question, state, facts), neighbourhoods=frozenset())

    living, state = Living.small(tmp_path / "fleet", 1, 6), state_in(tmp_path)
    live(living, state, 1)
    live(living, state, 1)
    living.now += timedelta(hours=1)
    monkeypatch.setattr(incremental, "touched_since", forgetful)
    with pytest.raises(AssertionError):
        live(living, state, 1)


def test_removals_go_that_their_commit_names(tmp_path: Path) -> None:
    living, state = Living.small(tmp_path / "fleet", 8, 8), state_in(tmp_path)
    files: Files = {}
    for happening in (living.nothing, living.nothing, living.a_label, living.nothing, living.many_are_let_go):
        happening()
        asked = living.question()
        found = answer(asked, state)
        assert told(found.settled) == living.whole(), happening
        living.land(found.settled)
        found.remember(state)
        files = found.settled.files
    assert sum(text is None for text in files.values()) >= 4, "they are gone"


def test_what_waits_for_approval_and_what_was_approved(tmp_path: Path) -> None:
    living, state = Living.small(tmp_path / "fleet", 4, 6), state_in(tmp_path)
    looked_at, held = list[str](), list[int]()

    def silence() -> str:
        living.now += timedelta(hours=1)
        return "all are silent"

    for happening in (
        living.approvals_are_asked_for,
        silence,
        living.an_approval,
        living.heartbeats,
        silence,
        living.an_approval,
    ):
        what = happening()
        found = same(living, state, what)
        looked_at.append(found.looked_at)
        held.append(sum(one.wait is not None and not one.wait.approved for one in found.settled.last.fleet.held))
    assert max(held) > held[-1] > 0, held
    assert looked_at[2].endswith("wide"), looked_at


def test_of_expressions_that_fail(tmp_path: Path) -> None:
    """They are told of all clusters for which they do, in one finding, while only those are looked at that changed."""
    living, state = Living.small(tmp_path / "fleet", 4, 12), state_in(tmp_path)
    failing = TAINT_POLICY.format(kind="ManagedCluster", effect="NoSelect", when="self.metadata.labels.zone == 'a'")
    one, other = living.names[1], living.names[2]
    label = cluster(one).replace("region: eu", "region: eu, zone: b")
    reaches, numbers = list[str](), list[str]()
    for happening in (
        living.nothing,
        living.nothing,
        lambda: living.put("policies/t.yaml", failing),
        living.nothing,
        lambda: living.speaks(other),
        lambda: living.put(f"clusters/{one}/cluster.yaml", label),
        living.heartbeats,
        living.nothing,
        lambda: living.put(f"clusters/{other}/cluster.yaml", cluster(other, region="ap")),
        lambda: living.put(f"clusters/{living.names[0]}/cluster.yaml", label.replace(one, living.names[0])),
        lambda: living.put("policies/t.yaml", f"# Moved.\n{failing}"),
        living.nothing,
        lambda: living.put("policies/t.yaml", failing.replace("labels.zone == 'a'", "name == 'a'")),
        living.nothing,
    ):
        living.now += timedelta(seconds=1)
        happening()
        found = same(living, state, "")
        reaches.append(found.looked_at)
        numbers += [f.message.split("for ")[1].split(" ")[0] for f in found.settled.findings if f.code == "MUS401"]
    assert numbers == ["12", "12", "12", "11", "11", "11", "11", "10", "10", "10"]
    assert not any("whole" in reach for reach in reaches[1:]), " | ".join(reaches)
    assert reaches[4].endswith(" near")
    assert reaches[-1].startswith("nothing")


@pytest.mark.parametrize("domain", ["", "region"])
def test_of_an_outage_from_which_clusters_come_back_one_by_one(tmp_path: Path, domain: str) -> None:
    """What a budget holds on the others is looked at again when it begins to hold, cools down and lets go: not with
    each of them, when nothing about it is new but how many are disrupted."""
    living, state, looked_at = Living.small(tmp_path / "fleet", 4, 12), state_in(tmp_path), list[int]()
    spec = f'{{maxDisrupted: 25%, ignoreUpTo: 0, cooldown: 1m, domainLabel: "{domain}"}}'
    living.put("budget.yaml", f"{BUDGET}spec: {spec}\n")
    for hours in (0, 0, 1, 0, 0):
        living.now += timedelta(hours=hours)
        dark = same(living, state, "all are silent")
    assert len(dark.settled.last.held) == len(living.names)
    reasons = {held["reason"] for held in dark.settled.last.held}
    for name in living.names:
        living.now += timedelta(seconds=10)
        living.speaks(name)
        found = same(living, state, f"{name} is back")
        reasons |= {held["reason"] for held in found.settled.last.held}
        assert "whole fleet" not in found.looked_at
        looked_at.append(int(found.looked_at.split()[0]))
    assert len(reasons) > len(looked_at) // 2, "how many are disrupted is told anew"
    few = 4  # the one that is back, the one before, of which something was written, and two that are no cluster's
    assert sum(number <= few for number in looked_at) >= len(looked_at) - 3 * (2 if domain else 1), looked_at
    for _ in range(3):
        living.now += timedelta(minutes=1)
        found = same(living, state, "it cools down")
    assert not found.settled.last.held


def test_a_lease_floor_costs_the_clusters_that_it_stretches(tmp_path: Path) -> None:
    """Some clusters have leases of a minute; one more of these, and the fleet has too many renewals a second."""
    living, state, shuffled = Living.small(tmp_path / "fleet", 5, 12), state_in(tmp_path), Shuffled(2)
    short = living.names[:5]
    for name in living.names[5:]:
        living.put(f"clusters/{name}/cluster.yaml", cluster(name, leaseDurationSeconds="600"))
    for name in short:
        living.put(f"clusters/{name}/cluster.yaml", cluster(name))
    fleet = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: small}\nspec: {heartbeats: {maxPerSecond: 0.1}}\n"
    living.put("fleet.yaml", fleet)
    for _ in range(3):
        same(living, state, "the beginning")
    living.put("clusters/further/cluster.yaml", cluster("further"))
    found = same(living, state, "one more")
    stretched = {path for path in found.settled.files if path.startswith("derived/managedclusters/")}
    assert {f"derived/managedclusters/{name}.yaml" for name in (*short, "further")} <= stretched
    assert found.looked_at.endswith("wide"), found.looked_at
    assert int(found.looked_at.split()[0]) < len(living.names), found.looked_at
    shards = decide_in_shards(living.question(), "", shuffled, 8)
    assert told(shards.settled) == living.whole()


def test_it_notices_that_what_clusters_are_given_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.rules.given.differs", lambda *_: False)
    with pytest.raises(AssertionError, match="one more"):
        test_a_lease_floor_costs_the_clusters_that_it_stretches(tmp_path)


def test_a_taint_that_a_hold_alone_keeps(tmp_path: Path) -> None:
    """No policy asks for it any more, and its cluster is silent: it goes when the hold does, whoever looks."""
    living, state, shuffled = Living.small(tmp_path / "fleet", 4, 8), state_in(tmp_path), Shuffled(1)
    silent, *back = living.names
    edge, bad = "region: eu, edge: 'yes'", "region: eu, edge: 'yes', bad: 'yes'"
    path, text = f"clusters/{silent}/cluster.yaml", cluster(silent)
    text = text.replace("region: us", "region: eu")
    living.put("budget.yaml", f"{BUDGET}spec: {{maxDisrupted: 1, ignoreUpTo: 0, cooldown: 30s}}\n")
    living.put("policies/t.yaml", HELD)

    def keys(at: str) -> list[str]:
        body = yaml.safe_load((living.repo.path / f"derived/managedclusters/{at}.yaml").read_text())
        return [taint["key"] for taint in body.get("spec", {}).get("taints", ())]

    def all_the_same(seconds: int) -> None:
        living.now += timedelta(seconds=seconds)
        shards = decide_in_shards(living.question(), "", shuffled, 8)
        assert told(shards.settled) == living.whole()
        same(living, state, f"at {living.now}")

    living.put(path, text.replace("region: eu", bad))
    all_the_same(0)
    all_the_same(301)
    assert keys(silent) == ["t1"]
    living.put(path, text.replace("region: eu", edge))
    all_the_same(1)
    for name in back:
        living.speaks(name)
    all_the_same(1)
    all_the_same(10)
    assert keys(silent) == ["t1"], "the budget cools down"
    all_the_same(30)
    assert not keys(silent)
    assert not same(living, state, "").settled.files


def test_an_agent_that_is_left_over_costs_itself(tmp_path: Path) -> None:
    """Its cluster was removed, and it asks to be let in, beat after beat."""
    living, state = Living.small(tmp_path / "fleet", 4, 8), state_in(tmp_path)
    name = living.names[0]

    def asks() -> None:
        own = {"cluster.yaml": cluster(name, accepted=False), "lease.yaml": lease(name, living.now)}
        living.repo.commit_to(f"refs/heads/agents/{name}", own)

    def it_goes() -> None:
        living.puts({f"clusters/{name}/cluster.yaml": None}, "")

    for happening in (asks, living.nothing, it_goes, living.nothing):
        happening()
        same(living, state, "")
    reaches = []
    for _ in range(3):
        living.now += timedelta(seconds=10)
        asks()
        found = same(living, state, "it beats on")
        assert "MUS124" in {one.code for one in found.settled.findings}
        reaches.append(found.looked_at)
    assert not any("whole" in reach for reach in reaches), reaches


def test_a_removal_that_is_held_costs_those_whom_it_is_about(tmp_path: Path) -> None:
    living, state = Living.small(tmp_path / "fleet", 4, 12), state_in(tmp_path)
    for happening in (living.nothing, living.nothing, living.many_leave):
        happening()
        same(living, state, "")
    reaches = []
    for _ in range(3):
        living.now += timedelta(seconds=1)
        living.speaks(living.names[0])
        found = same(living, state, "they are held")
        assert "MUS420" in {one.code for one in found.settled.findings}
        reaches.append(found.looked_at)
    assert not any("whole" in reach for reach in reaches), reaches


def test_what_rests_on_history_is_not_kept(tmp_path: Path) -> None:
    """A report's file that is ignored is missed once; an agent's branch that is too deep, as long as it is."""
    living, state = Living.small(tmp_path / "fleet", 5, 6), state_in(tmp_path)
    name = living.names[0]
    ignored: dict[str, Content] = {
        ".musterignore": "reports/\n",
        "clusters/c003/cluster.yaml": cluster("c003", region="ap"),
    }
    deep = {"/".join("abcdefghijklmnopqrst") + "/x.yaml": "a: b\n", "lease.yaml": lease(name, living.now)}
    codes = []
    for happening in (
        living.a_report,
        living.nothing,
        living.nothing,
        lambda: living.puts(ignored, ""),
        living.nothing,
        living.nothing,
        lambda: living.repo.commit_to(f"refs/heads/agents/{name}", deep),
        living.nothing,
        lambda: living.speaks(name),
        living.nothing,
    ):
        happening()
        codes.append({one.code for one in same(living, state, "").settled.findings})
    assert "MUS110" in codes[3]
    assert "MUS131" in codes[6] & codes[7]
    assert not codes[5]
    assert not codes[9]


def test_it_says_why_nothing_is_kept(tmp_path: Path) -> None:
    living, state = Living.small(tmp_path / "fleet", 5, 6), state_in(tmp_path)
    same(living, state, "")
    living.put(".musterignore", f"clusters/{living.names[1]}/\n")
    for _ in range(2):
        found = same(living, state, "a cluster is ignored")
    assert found.looked_at == "the whole fleet: nothing is kept of the last run: a file is incomplete"


NO_FILE_OF_A_FLEET = "a: 1\n---\n- b\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("text", "other"), [("", "spec: [\n"), ("spec: [\n", ""), NO_FILE_OF_A_FLEET, NO_FILE_OF_A_FLEET[::-1]]
)
def test_a_file_that_is_not_whole_costs_what_it_held(tmp_path: Path, text: str, other: str) -> None:
    """Each run reads it again with what it held, and looks at little else, whatever people do meanwhile."""
    living, state = Living.small(tmp_path / "fleet", 5, 12), state_in(tmp_path)
    commit, names = living.repo.commit, list(living.names)
    files = [f"clusters/{name}/cluster.yaml" for name in names]
    held = {files[1]: living.repo.show(files[1])}
    same(living, state, "")
    for happening in (
        lambda: commit({files[1]: text}),
        living.nothing,
        lambda: living.speaks(names[2]),
        lambda: commit({files[3]: None}, f"Go\n\nMuster-Allow-Removal: {names[3]}"),
        lambda: commit({files[4]: None, f"moved/{names[4]}.yaml": living.repo.show(files[4])}),
        lambda: commit({files[5]: other}),
        living.nothing,
        lambda: commit({files[5]: None}),
        lambda: commit({f"moved/{names[1]}.yaml": held[files[1]]}),
        lambda: commit({f"moved/{names[1]}.yaml": None}),
        living.nothing,
        lambda: commit(held),
        living.nothing,
    ):
        happening()
        found = same(living, state, text)
        assert found.looked_at.startswith("nothing") or found.looked_at.endswith((", near", ", wide")), found.looked_at
    assert not [one for one in found.settled.findings if one.code == "MUS110"]


class TestState:
    """Whatever becomes of the state, the same is decided."""

    @pytest.fixture
    def living(self, tmp_path: Path) -> Living:
        return Living.small(tmp_path / "fleet", 5, 6)

    def run(self, living: Living, path: Path) -> str:
        state = open_state(path)
        asked = living.question()
        found = answer(asked, state)
        assert told(found.settled) == living.whole()
        living.land(found.settled)
        if state is not None:
            found.remember(state)
            state.close()
        return found.looked_at

    def test_a_second_run_looks_at_what_the_first_wrote_and_a_third_at_nothing(
        self, living: Living, tmp_path: Path
    ) -> None:
        path = tmp_path / "kept" / "s"
        assert self.run(living, path).startswith("the whole fleet")
        self.run(living, path)
        self.run(living, path)
        assert self.run(living, path).startswith("nothing")

    @pytest.mark.parametrize("damage", [b"", b"not a database", b"SQLite format 3\0" + b"\0" * 4000, None])
    def test_a_damaged_one_is_none(self, living: Living, tmp_path: Path, damage: bytes | None) -> None:
        path = tmp_path / "kept" / "s"
        self.run(living, path)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage is None else damage)
        assert self.run(living, path).startswith("the whole fleet")
        self.run(living, path)

    def test_what_another_muster_left_is_none(self, living: Living, tmp_path: Path) -> None:
        path = tmp_path / "kept" / "s"
        self.run(living, path)
        with sqlite3.connect(path) as db:
            db.execute("UPDATE facts SET value = ? WHERE name = 'version'", (encode("9:other"),))
        assert self.run(living, path).startswith("the whole fleet")

    @pytest.mark.parametrize(
        ("column", "rows"),
        [
            ("facts SET value", "name = 'record'"),
            ("facts SET value", "name = 'version'"),
            ("neighbourhoods SET summary", "NOT shared"),
            ("neighbourhoods SET totals", "TRUE"),
            ("neighbourhoods SET findings", "TRUE"),
        ],
    )
    def test_a_damaged_value_is_decided_anew(self, living: Living, tmp_path: Path, column: str, rows: str) -> None:
        path = tmp_path / "kept" / "s"
        for _ in range(2):
            self.run(living, path)
        for damage in (b"", b"\xc1", encode(7), encode([["a"]]), "a text", 3):
            with sqlite3.connect(path) as db:
                changed = db.execute(f"UPDATE {column} = ? WHERE {rows}", (damage,)).rowcount
            assert changed, damage
            living.a_label()
            self.run(living, path)

    def test_rewritten_history_is_looked_at_whole(self, living: Living, tmp_path: Path) -> None:
        path = tmp_path / "kept" / "s"
        self.run(living, path)
        living.a_label()
        self.run(living, path)
        living.repo.git("reset", "--quiet", "--hard", "HEAD~2")
        living.a_label()
        assert self.run(living, path) == "the whole fleet: history was rewritten"

    def test_of_another_repository_it_is_none(self, living: Living, tmp_path: Path) -> None:
        path = tmp_path / "kept" / "s"
        self.run(living, path)
        other = Living.small(tmp_path / "other", 6, 5)
        assert self.run(other, path).startswith("the whole fleet")

    def test_a_run_that_was_killed_before_it_kept_anything_costs_a_diff(self, living: Living, tmp_path: Path) -> None:
        path = tmp_path / "kept" / "s"
        for _ in range(3):
            self.run(living, path)
        kept = path.read_bytes()
        living.a_status()
        living.a_status()
        self.run(living, path)
        for end in ("-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
        path.write_bytes(kept)
        assert not self.run(living, path).startswith("the whole fleet")

    def test_two_at_once_do_no_harm(self, living: Living, tmp_path: Path) -> None:
        path = tmp_path / "kept" / "s"
        self.run(living, path)

        def again() -> None:
            asked = living.question()
            for _ in range(3):
                state = open_state(path)
                assert state is not None
                answer(asked, state).remember(state)
                state.close()

        threads = [Thread(target=again) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.run(living, path)

    def test_a_folder_that_others_write_into_holds_none(self, tmp_path: Path) -> None:
        folder = tmp_path / "shared"
        folder.mkdir()
        folder.chmod(0o777)
        assert open_state(folder / "s") is None

    def test_it_is_its_owners_alone(self, living: Living, tmp_path: Path) -> None:
        path = tmp_path / "kept" / "s"
        self.run(living, path)
        assert {file.stat().st_mode & 0o077 for file in path.parent.iterdir()} == {0}
        assert path.parent.stat().st_mode & 0o077 == 0

    def test_it_holds_nothing_that_is_run(self, living: Living, tmp_path: Path) -> None:
        path = tmp_path / "kept" / "s"
        self.run(living, path)
        with sqlite3.connect(path) as db:
            types = {row[0] for row in db.execute("SELECT type FROM sqlite_master")}
        assert types <= {"table", "index"}


def test_what_is_kept_in_memory_of_a_summary_is_of_its_text(tmp_path: Path) -> None:
    """A state that is asked again and again makes each summary once, and anew where it is another."""
    living, state = Living.small(tmp_path / "fleet", 5, 6), state_in(tmp_path)
    live(living, state, 1)
    made: list[str] = []

    def read(texts: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
        for name, text in texts:
            made.append(name)
            yield name, text

    first = state.summaries((), read)
    assert len(made) == len(first) > 6
    neighbourhood = next(name for name, text in first.items() if "c00" in name)
    with sqlite3.connect(state._path) as db:
        db.execute(
            "UPDATE neighbourhoods SET summary = ?, digest = 'another' WHERE name = ?", (b"another", neighbourhood)
        )
    made.clear()
    assert state.summaries((), read) == {**first, neighbourhood: b"another"}
    assert made == [neighbourhood]
