"""Rollouts and sets of works follow one rule: the same clusters get the revision at the same instants."""

from random import Random

import pytest

from tests.rules.progress.both import BothKinds

MINUTE = 60


@pytest.fixture
def fleet() -> BothKinds:
    """Three clusters that have version 1."""
    return _complete(BothKinds("abc"))


def _complete(fleet: BothKinds) -> BothKinds:
    fleet.rolls_out(1, type="All")
    fleet.step(0)
    fleet.says.update(dict.fromkeys(fleet.clusters, "done"))
    fleet.step(1)
    assert fleet.rollout_said().startswith("Complete")
    return fleet


def test_success_counts_from_the_run_that_sees_it(fleet: BothKinds) -> None:
    fleet.rolls_out(2, maxConcurrency=1, minSuccessTime="5m")
    assert fleet.step(31 * MINUTE) == "a2 b1 c1"
    fleet.says["a"] = "done"
    assert fleet.step(40 * MINUTE) == "a2 b1 c1"
    assert fleet.step(45 * MINUTE - 1) == "a2 b1 c1"
    assert fleet.step(45 * MINUTE) == "a2 b2 c1"


def test_a_failure_that_heals_soaks_from_then(fleet: BothKinds) -> None:
    fleet.rolls_out(2, maxConcurrency=1, minSuccessTime="5m")
    fleet.step(31 * MINUTE)
    fleet.says["a"] = "failed"
    fleet.step(32 * MINUTE)
    fleet.step(59 * MINUTE)
    fleet.says["a"] = "progressing"
    fleet.step(60 * MINUTE - 1)
    assert fleet.entry("a")["state"] == "Failed", "until it succeeds"
    assert fleet.states().startswith("a Failed")
    fleet.says["a"] = "done"
    assert fleet.step(60 * MINUTE) == "a2 b1 c1"
    assert fleet.step(65 * MINUTE - 1) == "a2 b1 c1"
    assert fleet.step(65 * MINUTE) == "a2 b2 c1"


@pytest.mark.parametrize("tolerating", [True, False])
def test_a_silent_cluster_keeps_its_place_and_soaks_anew(fleet: BothKinds, tolerating: bool) -> None:
    if tolerating:
        fleet.tolerating()
    fleet.rolls_out(2, maxConcurrency=1, minSuccessTime="10m")
    fleet.step(31 * MINUTE)
    fleet.says["a"] = "done"
    fleet.step(31 * MINUTE + 30)
    fleet.silent = {"a"}
    for minute in (37, 45, 60):
        assert fleet.step(minute * MINUTE) == "a2 b1 c1"
    assert fleet.said() == "False Progressing: waits for silent a"
    assert fleet.rollout_said().endswith("; waits for a (silent)")
    fleet.silent = set()
    assert fleet.step(70 * MINUTE) == "a2 b1 c1"
    assert fleet.step(80 * MINUTE - 1) == "a2 b1 c1"
    assert fleet.step(80 * MINUTE) == "a2 b2 c1"


@pytest.mark.parametrize("tolerating", [True, False])
@pytest.mark.parametrize("soaking", [True, False])
def test_a_version_that_kills_clusters_stops_at_the_first(
    tolerating: bool,
    soaking: bool,
) -> None:
    fleet = BothKinds("abcdefgh")
    if tolerating:
        fleet.tolerating()
    _complete(fleet)
    strategy = {"maxConcurrency": 1, "maxFailures": 0, "minSuccessTime": "10m", "progressDeadline": "30m"}
    fleet.rolls_out(2, **strategy)
    only_a = "a2 b1 c1 d1 e1 f1 g1 h1"
    for minute in range(1, 60, 6):
        assert fleet.step(minute * MINUTE) == only_a
        if soaking:
            fleet.says["a"] = "done"
            assert fleet.step(minute * MINUTE + 1) == only_a
        fleet.silent = {"a"}
    assert fleet.said() == "False Stopped: 1 cluster failed: a (silent)"
    assert fleet.rollout_said() == (
        "Stopped: stage Progressive: a (silent) failed at v2; 7 clusters keep another revision until their turn"
    )
    fleet.rolls_out(3, **strategy)
    first = "a3 b1" if tolerating else "b3"
    assert fleet.step(61 * MINUTE) == f"{first} c1 d1 e1 f1 g1 h1", "another version does not wait for it"


@pytest.mark.parametrize("dropping", [False, True])
def test_an_observer_that_goes_blind_moves_nothing(dropping: bool) -> None:
    fleet = BothKinds("abcde")
    if dropping:  # the default budget would hold the taints of a whole fleet
        fleet.without_budget()
    _complete(fleet)
    fleet.on_failure = "Rollback"
    fleet.rolls_out(2, maxConcurrency=2, minSuccessTime="10m", progressDeadline="30m")
    fleet.step(10 * MINUTE)
    fleet.says["a"] = "done"
    fleet.step(11 * MINUTE)
    assert fleet.step(21 * MINUTE) == "a2 b2 c2 d1 e1"
    fleet.silent = set("abcde")
    for minute in range(27, 100, 12):
        assert fleet.step(minute * MINUTE) == ("b2 c2" if dropping else "a2 b2 c2 d1 e1")
    assert fleet.rollout_said().startswith("Stopped: stage Progressive: b (silent), c (silent) failed at v2")
    fleet.silent = set()
    fleet.says["b"] = "progressing"
    assert fleet.step(100 * MINUTE) == ("b2 c2" if dropping else "a2 b2 c2 d1 e1")
    assert fleet.step(129 * MINUTE) == ("b2 c2" if dropping else "a2 b2 c2 d1 e1"), "they have their deadline again"
    fleet.says.update({"b": "done", "c": "done"})
    fleet.step(129 * MINUTE + 1)
    assert fleet.step(139 * MINUTE + 1) == ("a2 b2 c2 d2" if dropping else "a2 b2 c2 d2 e2")


@pytest.mark.parametrize("why", ["labels", "removed", "denied"])
def test_people_end_the_wait_for_a_silent_cluster(fleet: BothKinds, why: str) -> None:
    inside = {"matchExpressions": [{"key": "out", "operator": "DoesNotExist"}]}
    fleet.placement("web", predicates=[{"requiredClusterSelector": {"labelSelector": inside}}])
    fleet.rolls_out(2, maxConcurrency=1)
    fleet.step(10 * MINUTE)
    fleet.silent = {"a"}
    assert fleet.step(20 * MINUTE) == "a2 b1 c1"
    if why == "labels":
        fleet.label("a", out="true")
    elif why == "denied":
        fleet.label("a", accepted=False)
    else:
        for file in ("cluster", "observed", "lease"):
            fleet.write(f"clusters/a/{file}.yaml", None)
        fleet.clusters = "bc"
    assert fleet.step(21 * MINUTE) == "b2 c1"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(8))
def test_random_lives(seed: int) -> None:
    random = Random(seed)
    fleet = BothKinds("abcdef")
    for name in fleet.clusters:
        fleet.label(name, wave=random.choice("xyz"))
    groups = [
        {"groupName": wave, "groupClusterSelector": {"labelSelector": {"matchLabels": {"wave": wave}}}} for wave in "xy"
    ]
    grouped = {"groupStrategy": {"decisionGroups": groups}} if random.random() < 0.6 else {}
    tolerations = [{"key": "cluster.open-cluster-management.io/unreachable", "operator": "Exists"}]
    fleet.placement("web", decisionStrategy=grouped, **({"tolerations": tolerations} if random.random() < 0.5 else {}))
    fleet.without_budget()  # a set does not ask it
    _complete(fleet)
    strategy = {
        "type": random.choice(["Progressive", "Progressive", "ProgressivePerGroup", "All"]),
        "minSuccessTime": random.choice(["0s", "4m", "9m"]),
        "progressDeadline": random.choice(["None", "13m", "40m"]),
        "maxFailures": random.choice([0, 1, "40%"]),
    }
    if strategy["type"] == "Progressive":
        strategy["maxConcurrency"] = random.choice([1, 2, "50%"])
    if grouped and strategy["type"] != "All" and random.random() < 0.5:
        strategy["mandatoryDecisionGroups"] = [{"groupName": random.choice("xy")}]
    version, now = 2, 600
    fleet.rolls_out(version, **strategy)
    for _ in range(16):
        fleet.step(now)
        if fleet.rollout_said().split(":")[0] in ("Complete", "RollingBack"):
            break  # what follows has a rule of its own
        now += random.choice([1, 30, 120, 301, 600])
        for name in random.sample(fleet.clusters, 2):
            _live(random, fleet, name)
        if random.random() < 0.06:
            version += 1
            fleet.rolls_out(version, **strategy)


def _live(random: Random, fleet: BothKinds, name: str) -> None:
    """A cluster goes on, fails, heals, falls silent or is heard again."""
    event = random.choice(["on", "on", "on", "fail", "silent", "heard"])
    said = fleet.says.get(name, "none")
    if event == "silent":
        fleet.silent.add(name)
    elif event == "heard":
        fleet.silent.discard(name)
    elif event == "fail":
        fleet.says[name] = "failed"
    else:
        fleet.says[name] = {"none": "progressing"}.get(said, "done")
