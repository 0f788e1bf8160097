"""A forecast of a Rollout is what runs derive, to the second: 50 of them."""

import random
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
import yaml

from muster.data.times import format_time
from muster.features.forecast.forecast import forecast
from muster.features.test.memory import MemorySnapshot
from muster.features.whatif.rehearsal import Rehearsal
from muster.features.whatif.supposing import Edits
from muster.run.run import Settled
from muster.run.settle import settle
from tests.support.example import NOON
from tests.support.living import BINDING, cluster, lease, observed, placement

SECOND = timedelta(seconds=1)
SPAN = timedelta(seconds=75)
EVERY_SECOND = 10  # of the fleets, have a run each second


class MemoryRehearsal:
    """Real runs over files in memory, each over what the one before it derived."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = dict(files)

    def suppose(self, edits: Edits) -> None:
        """Edit files."""
        for (_, path), data in edits.items():
            if data is None:
                self.files.pop(path, None)
            else:
                self.files[path] = data.decode()

    def step(self, now: datetime) -> Settled:
        """Run at an instant."""
        settled = settle(MemorySnapshot(dict(self.files)), now)
        for path, text in settled.files.items():
            if text is None:
                del self.files[path]
            else:
                self.files[path] = text
        return settled


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(50))
def test_it_is_what_happens_to_the_second(seed: int) -> None:
    files = a_fleet(random.Random(seed))
    told = cast("Rehearsal", MemoryRehearsal(files))
    foreseen = [(one.at, [str(c) for c in one.changes]) for one in forecast(told, NOON, NOON + SPAN) if one.changes]
    happens, really = list[tuple[datetime, list[str]]](), MemoryRehearsal(files)
    for now in instants({at for at, _ in foreseen}, often=seed < EVERY_SECOND):
        if changes := really.step(now).changes:
            happens.append((now, [str(change) for change in changes]))
    assert foreseen == happens
    assert len(foreseen) > 1


def instants(foreseen: set[datetime], *, often: bool, span: timedelta = SPAN) -> list[datetime]:
    """Every second, or those around what is foreseen and every fifth: a run makes up for what was due before it.

    So a change that nobody foresaw is seen all the same.
    """
    seconds = [NOON + number * SECOND for number in range(int(span / SECOND) + 1)]
    near = {at + step for at in foreseen for step in (-SECOND, timedelta(), SECOND)}
    return [at for number, at in enumerate(seconds) if often or number % 5 == 0 or at in near]


def a_fleet(chance: random.Random) -> dict[str, str]:
    files = {"binding.yaml": BINDING, "placement.yaml": placement("web", 9)}
    for number in range(chance.randint(3, 5)):
        name = f"c{number}"
        renewed = NOON + timedelta(seconds=chance.choice((0, 0, 0, -260)))  # one may fall silent soon
        files[f"{name}.yaml"] = cluster(name, region=chance.choice(("eu", "us")))
        files[f"{name}-observed.yaml"] = observed(name, healthy=chance.random() < 0.9)
        files[f"{name}-lease.yaml"] = lease(name, renewed)
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Rollout", "metadata": {"name": "web", "namespace": "apps"}}
    files["rollout.yaml"] = yaml.safe_dump({**body, "spec": a_spec(chance)})
    if chance.random() < 0.4:
        begin = NOON + timedelta(seconds=chance.choice((-1, 2, 9)))
        period = f"{format_time(begin)}/{format_time(begin + timedelta(seconds=chance.choice((6, 17, 30))))}"
        freeze = {
            "name": "audit",
            "period": period,
            **chance.choice(({}, {"selector": {"matchLabels": {"region": "us"}}})),
        }
        body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "small"}}
        files["fleet.yaml"] = yaml.safe_dump({**body, "spec": {"freezes": [freeze]}})
    return files


def a_spec(chance: random.Random) -> dict[str, Any]:
    def limits() -> dict[str, Any]:
        return {
            "minSuccessTime": chance.choice(("0s", "7s", "15s")),
            "progressDeadline": chance.choice(("None", "9s", "20s")),
            "maxFailures": chance.choice((0, 1, "50%")),
            "maxConcurrency": chance.choice((0, 1, 2)),
        }

    after = chance.choice((0, 3, 11))
    gates = (
        f"now - rollout.since >= duration('{after}s')",
        f"now >= timestamp('2026-01-01T12:00:{after + 20}Z')",
        f"now < timestamp('2026-01-01T12:00:{after + 20}Z')",
        "status(conditions, 'ManagedClusterConditionAvailable') == 'True'",
    )
    gate = [{"name": "well", "expression": chance.choice(gates), "onFalse": chance.choice(("Wait", "Wait", "Fail"))}]
    spec: dict[str, Any] = {"placementRef": {"name": "web"}, "revision": "v1", "gate": gate}
    if chance.random() < 0.3:
        kind = chance.choice(("progressive", "progressivePerGroup"))
        own = {key: value for key, value in limits().items() if key != "maxConcurrency" or kind == "progressive"}
        return {**spec, "strategy": {"type": kind[0].upper() + kind[1:], kind: own}}
    first = {"name": "eu", "selector": {"matchLabels": {"region": "eu"}}, **limits()}
    return {**spec, "stages": [first, {"name": "rest", **limits()}]}
