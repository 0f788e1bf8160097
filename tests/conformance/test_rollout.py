"""Open Cluster Management's rollout cases pass, and its handler with muster's switches agrees with muster anywhere."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.conformance import rollout, rollout_upstream

CASES = Path(__file__).parent / "cases"


def test_every_case_passes() -> None:
    outcomes = rollout.run(CASES)
    assert len(outcomes) > 130
    assert [outcome for outcome in outcomes if outcome.status == "failed"] == []


@pytest.mark.parametrize("seed", range(300))
def test_any_situation_gives_what_upstreams_rules_and_our_differences_give(seed: int) -> None:
    given = _situation(Random(seed))
    case = {"id": str(seed), "area": "rollout-progressive", "given": given}
    assert rollout.judge({**case, "expect": rollout_upstream.rolled_out(given)}).status == "passed"


def test_a_wrong_expectation_fails() -> None:
    case = next(case for case in rollout.cases(CASES) if case["id"] == "prog-d14-breach-unseen-when-full")
    assert rollout.judge(case).status == "passed"
    assert rollout.judge({**case, "expect": {**case["expect"], "maxFailureBreach": True}}).status == "failed"
    assert rollout.judge({**case, "expect": {"colour": "blue"}}).status == "skipped"


def _situation(random: Random) -> Any:
    names = [f"c{number}" for number in range(random.randint(1, 8))]
    random.shuffle(names)
    groups: list[Any] = []
    index = 0
    while names:
        size = random.randint(1, 4)
        groups.append({"name": random.choice(["", "a", "b"]), "index": index, "clusters": sorted(names[:size])})
        names, index = names[size:], index + random.choice([1, 1, 1, 2])
    everyone = [name for group in groups for name in group["clusters"]] + ["gone"]
    existing = [
        {"cluster": name, "status": random.choice(["ToApply", "Progressing", "Succeeded", "Failed", "TimeOut", "Skip"])}
        | ({"lastTransitionTime": f"2025-12-31T23:5{random.randint(0, 9)}:00Z"} if random.random() < 0.8 else {})
        for name in everyone
        if random.random() < 0.6
    ]
    type_ = random.choice(["All", "Progressive", "ProgressivePerGroup"])
    body: dict[str, Any] = {
        "minSuccessTime": random.choice(["0s", "3m"]),
        "progressDeadline": random.choice(["None", "4m", "0s"]),
        "maxFailures": random.choice([0, 1, 2, "20%", "100%", 20]),
        "maxConcurrency": random.choice([0, 1, 2, 3, "50%", 20]),
    }
    if type_ != "All" and random.random() < 0.5:
        keys: list[Any] = [{"groupName": "a"}, {"groupIndex": 1}, {"groupName": "b"}, {"groupIndex": 0}]
        body["mandatoryDecisionGroups"] = random.sample(keys, random.randint(1, 2))
    key = {"All": "all", "Progressive": "progressive", "ProgressivePerGroup": "progressivePerGroup"}[type_]
    return {
        "now": "2026-01-01T00:00:00Z",
        "strategy": {"type": type_, key: body},
        "groups": groups,
        "existing": existing,
    }
