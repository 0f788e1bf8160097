"""Objects that do not come to rest: they are named and left alone, and the rest of the fleet goes on."""

from muster.data.times import parse_time
from muster.features.test.memory import MemorySnapshot
from muster.run.run import Settled
from muster.run.settle import settle
from tests.features.pulses.test_walkthrough import cluster

NOW = parse_time("2026-01-01T00:00:00Z")

#: Turns over whatever it said before, on the cluster of a label.
TURNCOAT = """\
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata:
  name: turncoat
spec:
  target:
    kind: ManagedCluster
    selector: {matchLabels: {odd: "yes"}}
  type: Turned
  rules:
  - {name: over, when: "status(previous, 'Turned') == 'True'", status: "False", reason: Over, message: Over}
  - {name: back, status: "True", reason: Back, message: Back}
"""
#: Says something else each time, and never the same again.
COUNTER = (
    TURNCOAT.replace("Turned", "Counted")
    .replace("turncoat", "counter")
    .replace(
        'status: "False", reason: Over, message: Over',
        "status: \"True\", reason: More, messageExpression: \"previous['Counted'].message + 'x'\"",
    )
)


def odd(name: str) -> str:
    return cluster(name).replace(f"{{name: {name}}}", f"{{name: {name}, labels: {{odd: 'yes'}}}}", 1)


def files(**more: str) -> dict[str, str]:
    return {"clusters/a/cluster.yaml": odd("a"), "clusters/b/cluster.yaml": cluster("b"), **more}


def settled(given: dict[str, str]) -> Settled:
    return settle(MemorySnapshot(given), NOW)


def test_an_object_that_goes_back_and_forth_is_named_with_both_states_and_not_written() -> None:
    done = settled(files(**{"policies/turncoat.yaml": TURNCOAT}))
    assert not done.rested
    assert sorted(path for path in done.files if "managedclusters" in path) == ["derived/managedclusters/b.yaml"]
    (found,) = (finding for finding in done.last.findings if finding.code == "MUS262")
    assert (found.file, found.severity.value, str(found.object)) == (
        "clusters/a/cluster.yaml",
        "error",
        "ManagedCluster/a",
    )
    assert found.message == (
        "ManagedCluster/a does not come to rest: at 2026-01-01T00:00:00Z it goes back and forth between "
        "(status.conditions[Turned].message Back, status.conditions[Turned].reason Back, "
        "status.conditions[Turned].status True) and (status.conditions[Turned].message Over, "
        "status.conditions[Turned].reason Over, status.conditions[Turned].status False)"
    )


def test_it_keeps_what_it_had() -> None:
    sound = files()
    sound |= {path: text for path, text in settled(sound).files.items() if text is not None}
    assert settled(sound).files == {}
    done = settled(sound | {"policies/turncoat.yaml": TURNCOAT, "clusters/c/cluster.yaml": cluster("c")})
    assert [path for path in done.files if "managedclusters" in path] == ["derived/managedclusters/c.yaml"]
    assert {change.object.name for change in done.changes if change.object.kind == "ManagedCluster"} == {"c"}


def test_what_changes_in_every_pass_and_never_repeats_is_found_by_the_limit() -> None:
    fleet = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {limits: {passes: 7}}\n"
    done = settled(files(**{"policies/counter.yaml": COUNTER, "fleet.yaml": fleet}))
    assert [str(f.object) for f in done.last.findings if f.code == "MUS262"] == ["ManagedCluster/a"]
    assert "derived/managedclusters/b.yaml" in done.files
    assert "derived/managedclusters/a.yaml" not in done.files


def test_a_policy_that_reads_what_it_said_and_agrees_with_itself_rests() -> None:
    calm = TURNCOAT.replace("== 'True'", "== 'Nonsense'")
    done = settled(files(**{"policies/calm.yaml": calm}))
    assert done.rested
    assert "derived/managedclusters/a.yaml" in done.files
