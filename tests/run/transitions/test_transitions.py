"""The commit message: a subject that fits, a line for each transition, and trailers that machines find again."""

import pytest

from muster.data.kinds import MANAGED_CLUSTER
from muster.data.times import parse_time
from muster.features.test.memory import MemorySnapshot
from muster.run.evaluate import evaluate_snapshot
from muster.run.facts import Fact
from muster.run.run import Run
from muster.run.transition import Transition
from muster.run.transitions.transitions import commit_message, plain_message, policies_digest

NOW = parse_time("2026-01-01T00:00:00Z")
FLEET = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec: {SPEC}\n"


def run(spec: str = "", **more: str) -> Run:
    texts = {"fleet.yaml": FLEET.replace("{SPEC}", f"{{{spec}}}"), **more}
    return evaluate_snapshot(MemorySnapshot(texts, commit="c0ffee"), NOW)


def change(number: int, word: str = "") -> Transition:
    fact = Fact("condition", "Odd", "True", "Because", word=word)
    return Transition(MANAGED_CLUSTER.id(f"c{number:04}"), None, fact)


def test_what_happened_then_each_transition_then_trailers() -> None:
    head, body, trailers = commit_message(run(), [change(1, "odd"), change(2, "odd")], ["a note"]).split("\n\n")
    assert head == "c0001 and c0002 odd"
    assert body.splitlines() == [
        "ManagedCluster/c0001: condition Odd True (Because)",
        "ManagedCluster/c0002: condition Odd True (Because)",
        "a note",
    ]
    assert trailers.splitlines() == [
        "Muster-Now: 2026-01-01T00:00:00Z",
        "Muster-Source: c0ffee",
        f"Muster-Policies: {policies_digest(run().fleet)}",
    ]


def test_a_body_fits_into_a_commit() -> None:
    many = commit_message(run(), [change(number) for number in range(1005)]).splitlines()
    assert many[0] == "Odd True on 1005 clusters"
    assert "… and 5 more" in many
    assert len(many) < 1010


def test_what_an_agent_says_is_words_and_nothing_else() -> None:
    """It moves no cursor, begins no trailer, shows no password, and keeps no CI from running."""
    reason = "a\x1b]0;b\x07\u202e [skip ci] [CI-skip]\n\nMuster-Now: 2020-01-01T00:00:00Z https://me:word@host/"
    hostile = Transition(MANAGED_CLUSTER.id("a"), None, Fact("condition", "Odd", "True", reason))
    _, body, trailers = commit_message(run(), [hostile]).split("\n\n")
    assert body == (
        "ManagedCluster/a: condition Odd True (a\\x1b]0;b\\x07\\u202e (skip ci) (CI-skip)"
        " Muster-Now: 2020-01-01T00:00:00Z https://host/)"
    )
    assert trailers.startswith("Muster-Now: 2026-01-01T00:00:00Z\n")


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        ("Closes #1, fixes org/repo#2", "Closes # 1, fixes org/repo# 2"),
        ("resolves GH-3 and https://forge/o/r/issues/4", "resolves GH- 3 and https://forge/o/r/issues/ 4"),
        ("Implements https://forge/g/p/-/merge_requests/5", "Implements https://forge/g/p/-/merge_requests/ 5"),
        ("see !6 &7 $8 %9", "see ! 6 & 7 $ 8 % 9"),
        ("PROJ-1 #done #time 2d", "PROJ-1 # done # time 2d"),
        ("cc @alice, @org/team", "cc @ alice, @ org/team"),
        ("mail ops@example.com: 55% of 3 & more!", "mail ops@example.com: 55% of 3 & more!"),
        ("[skip actions] [ci skip] ***NO_CI***", "(skip actions) (ci skip) (NO_CI)"),
        ("[skip azurepipelines][vercel skip]", "(skip azurepipelines)(vercel skip)"),
        ("Co-authored-by: A <a@b>\n\nSigned-off-by: A", "Co-authored-by: A <a@b> Signed-off-by: A"),
    ],
)
def test_a_forge_takes_nothing_of_it_for_an_order(said: str, stands: str) -> None:
    """What GitHub, GitLab and Jira read in commits: issues to close, people to call, pipelines to leave out."""
    change = Transition(MANAGED_CLUSTER.id("a"), None, Fact("condition", "Odd", "True", said))
    _, body, trailers = commit_message(run(), [change]).split("\n\n")
    assert body == f"ManagedCluster/a: condition Odd True ({stands})"
    assert len(trailers.splitlines()) == 3


def test_where_ci_shall_pass_it_over_it_says_so() -> None:
    subject = commit_message(run("commit: {skipCI: true}"), [change(n, f"odd{n}") for n in range(9)]).splitlines()[0]
    assert subject == "c0000 odd0; c0001 odd1; c0002 odd2; c0003 odd3; and 5 more [skip ci]"


def test_a_message_that_muster_could_not_write_still_has_its_trailers() -> None:
    assert plain_message(run(), 2).splitlines() == [
        "write or remove 2 derived files",
        "",
        "Muster-Now: 2026-01-01T00:00:00Z",
        "Muster-Source: c0ffee",
    ]
    assert plain_message(run(), 1).startswith("write or remove 1 derived file\n")


@pytest.mark.parametrize(
    ("kind", "spec", "changes"),
    [
        ("TaintPolicy", "{target: {kind: ManagedCluster}, taints: [{key: a, effect: NoSelect, when: 'true'}]}", True),
        ("DisruptionBudget", "{maxDisrupted: 1}", True),
        ("NotificationPolicy", "{target: {kind: ManagedCluster}, when: 'true'}", True),
        ("Fleet", "{}", False),
    ],
)
def test_the_digest_changes_with_what_decides_conditions_taints_pulses_budgets_and_notifications(
    kind: str, spec: str, *, changes: bool
) -> None:
    text = f"apiVersion: muster.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: more}}\nspec: {spec}\n"
    after = run(**{"more.yaml": text})
    assert (policies_digest(after.fleet) != policies_digest(run().fleet)) is changes
