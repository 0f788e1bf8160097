"""A forecast in which all goes well is what runs derive while agents report success at once, and people approve."""

import random
from datetime import datetime, timedelta
from typing import cast

import pytest
import yaml

from muster.data.kinds import ROLLOUT
from muster.data.times import format_time
from muster.data.tree import Tree, dig
from muster.data.yaml.emitter import emit
from muster.features.forecast.forecast import forecast
from muster.features.forecast.success import SupposedSuccess, all_well_text
from muster.features.forecast.usual import UsualTime
from muster.features.test.memory import MemorySnapshot
from muster.features.whatif.rehearsal import Rehearsal
from muster.fleet.assemble import assemble
from muster.run.run import Settled
from tests.features.forecast.test_rollouts import SECOND, MemoryRehearsal, a_fleet, instants
from tests.support.example import NOON
from tests.support.living import lease, observed

SPAN = timedelta(seconds=40)
#: How long the fleet lives before the forecast.
LIVED = 10
EVERY_SECOND = 0  # this fleet has a run each second
RUNS = {
    "name": "runs",
    "expression": "self.status.clusterClaims.exists(c, c.name == 'app' && c.value == rollout.revision)",
    "onFalse": "Wait",
}
WORK = "work.open-cluster-management.io"


class World(MemoryRehearsal):
    """Agents of clusters that report success a second after they get something, unless they fail; and a person."""

    def __init__(self, files: dict[str, str], failing: frozenset[str] = frozenset()) -> None:
        super().__init__(files)
        self.failing, self.approved = failing, list[Tree]()

    def act(self, settled: Settled, now: datetime) -> None:
        """Do what follows from a run by an instant."""
        for path in [path for path in self.files if path.startswith("derived/managed")]:
            name = path.rpartition("/")[2].removesuffix(".yaml")
            entry = dig(_read(self.files[path]), "status", "muster", "rollouts", "apps/web")
            if dig(entry, "state") == "Progressing" and name not in self.failing:
                claims = f"  clusterClaims: [{{name: app, value: {entry['revision']}}}]\n"
                self.files[f"{name}-observed.yaml"] = observed(name) + claims
        for path in [path for path in self.files if path.startswith("derived/manifestworks")]:
            work = _read(self.files[path])
            name = work["metadata"]["namespace"]
            if work["status"]["muster"]["rollout"]["state"] in ("ToApply", "Progressing") and name not in self.failing:
                self.files[f"{name}-work.yaml"] = _report(work, now)
        self.approved += [
            {"object": str(held.object), "effect": held.effect, "since": format_time(held.wait.since)}
            for held in settled.last.fleet.held
            if held.wait is not None and held.wait.topic == "rollouts"
        ]
        if self.approved:
            body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Approval", "metadata": {"name": "rollouts"}}
            self.files["approval.yaml"] = emit({**body, "spec": {"effects": self.approved}})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", (0, 1, 2, 5, 6, 8, 10, 11, 14, 17))
def test_it_is_what_happens_to_the_second(seed: int) -> None:
    world = _lived(random.Random(seed))
    told = MemoryRehearsal(world.files)
    success = SupposedSuccess(assemble(MemorySnapshot(told.files)), NOON)
    success.begin(cast("Rehearsal", told), (), NOON + SPAN)
    foreseen = [
        (one.at, [str(change) for change in one.changes])
        for one in forecast(cast("Rehearsal", told), NOON, NOON + SPAN, success)
        if one.changes
    ]
    happens, settled = list[tuple[datetime, list[str]]](), None
    for now in instants({at for at, _ in foreseen}, often=seed == EVERY_SECOND, span=SPAN):
        if settled is not None:
            world.act(settled, now)
        settled = world.step(now)
        if settled.changes:
            happens.append((now, [str(change) for change in settled.changes]))
    assert foreseen == happens
    print(
        seed,
        len(foreseen),
        [
            f"{o.object.kind} {o.reason} {[(st.succeeded, st.failed, st.clusters) for st in o.stages.values()]}"
            for o in success.forecasts.shown
        ],
        len(success.approvals),
    )


def test_what_has_failed_stays_so() -> None:
    """And what has succeeded, too, for as long as it takes: a usual time is not that of a cluster that succeeds."""
    files = a_fleet(random.Random(3))
    names = sorted(path.removesuffix("-lease.yaml") for path in files if path.endswith("-lease.yaml"))
    spec = {
        "placementRef": {"name": "web"},
        "revision": "v1",
        "gate": [RUNS],
        "stages": [{"name": "all", "maxConcurrency": 1, "maxFailures": 1, "progressDeadline": "5s"}],
    }
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Rollout", "metadata": {"name": "web", "namespace": "apps"}}
    files["rollout.yaml"] = yaml.safe_dump({**body, "spec": spec})
    files |= {f"{name}-lease.yaml": lease(name, NOON + timedelta(days=1)) for name in names}
    files |= {f"{name}-observed.yaml": observed(name) for name in names}
    files.pop("fleet.yaml", None)
    rehearsal = MemoryRehearsal(files)
    rehearsal.step(NOON)
    rehearsal.step(NOON + 5 * SECOND)
    start = NOON + 6 * SECOND
    usual = {ROLLOUT.id("web", "apps"): UsualTime(4 * SECOND, 2)}
    success = SupposedSuccess(assemble(MemorySnapshot(rehearsal.files)), start, usual)
    success.begin(cast("Rehearsal", rehearsal), (), start + SPAN)
    list(forecast(cast("Rehearsal", rehearsal), start, start + SPAN, success, ends=lambda: success.forecasts.at_rest))
    (found,) = success.forecasts.shown
    (stage,) = found.stages.values()
    assert (stage.succeeded, stage.failed, found.done) == (len(names) - 1, 1, True)
    assert stage.at == NOON + 5 * SECOND + 4 * SECOND * (len(names) - 1), "one after the other, each in its usual time"
    assert "clusters succeed 4s after they get it, the median of 2 earlier times" in all_well_text(success)


def _lived(chance: random.Random) -> World:
    """A fleet that has rolled out for some seconds, in which a cluster may have failed; the others report at once."""
    files = a_fleet(chance)
    rollout = _read(files["rollout.yaml"])
    rollout["spec"]["gate"] = [RUNS]
    for stage in rollout["spec"].get("stages", ())[1:]:
        stage["approval"] = chance.random() < 0.4
    rollout["spec"]["onFailure"] = chance.choice(("Pause", "Rollback"))
    files["rollout.yaml"] = yaml.safe_dump(rollout)
    if chance.random() < 0.4:
        files["set.yaml"] = emit(_set(chance))
    names = [f"c{number}" for number in range(5) if f"c{number}.yaml" in files]
    for name in names:
        silent = name == names[-1] and chance.random() < 0.2
        files[f"{name}-lease.yaml"] = lease(name, NOON + timedelta(days=-1 if silent else 1))
        files[f"{name}-observed.yaml"] = observed(name)
    world = World(files, frozenset(chance.choices(names)) if chance.random() < 0.7 else frozenset())
    for second in range(-LIVED, -1, 2):
        now = NOON + second * SECOND
        world.act(world.step(now), now + SECOND)
        if second == -LIVED + 4:
            world.files["rollout.yaml"] = files["rollout.yaml"].replace("revision: v1", "revision: v2")
    world.failing = frozenset()
    world.act(world.step(NOON - SECOND), NOON)  # what is in flight has succeeded when the forecast begins
    return world


def _set(chance: random.Random) -> Tree:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}
    limits = {"minSuccessTime": chance.choice(("0s", "7s")), "maxConcurrency": chance.choice((1, 2))}
    strategy = {"type": "Progressive", "progressive": {**limits, "progressDeadline": "9s"}}
    return {
        "apiVersion": f"{WORK}/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "web", "namespace": "apps"},
        "spec": {
            "manifestWorkTemplate": {"workload": {"manifests": [manifest]}},
            "placementRefs": [{"name": "web", "rolloutStrategy": strategy}],
        },
    }


def _report(work: Tree, now: datetime) -> str:
    conditions = [
        {
            "type": type_,
            "status": status,
            "reason": "Done",
            "message": "",
            "lastTransitionTime": format_time(now),
            "observedGeneration": work["metadata"]["generation"],
        }
        for type_, status in (("Applied", "True"), ("Available", "True"), ("Progressing", "False"))
    ]
    metadata = {key: work["metadata"][key] for key in ("name", "namespace")}
    body = {"apiVersion": f"{WORK}/v1", "kind": "ManifestWork", "metadata": metadata}
    return emit({**body, "status": {"conditions": conditions}})


def _read(text: str) -> Tree:
    return yaml.load(text, yaml.CSafeLoader)
