"""How far each stage is at the end of a forecast, and how that reads."""

from datetime import timedelta

import pytest

from muster.data.kinds import MANIFEST_WORK_REPLICA_SET, ROLLOUT
from muster.data.tree import Tree
from muster.features.forecast.stages import RolloutForecasts, SupposedApproval, rollout_document, rollouts_text
from tests.support.example import NOON

WEB, SET = ROLLOUT.id("web", "apps"), MANIFEST_WORK_REPLICA_SET.id("base", "apps")


def _rollout(reason: str, message: str, *stages: Tree, revision: str = "v2") -> Tree:
    condition = {"type": "RolledOut", "status": str(reason == "Complete"), "reason": reason, "message": message}
    return {"status": {"revision": revision, "stages": list(stages), "conditions": [condition]}}


def _set(reason: str, **known: Tree) -> Tree:
    condition = {"type": "PlacementRolledOut", "status": str(reason == "Complete"), "reason": reason, "message": ""}
    return {"status": {"muster": {"rollout": {"revision": "1", **known}}, "conditions": [condition]}}


def _of(*bodies: tuple[int | None, Tree]) -> RolloutForecasts:
    """What is seen of objects at seconds after noon; None: before the forecast."""
    found = RolloutForecasts()
    for second, body in bodies:
        at = None if second is None else NOON + timedelta(seconds=second)
        found.see(SET if "muster" in body["status"] else WEB, body, at)
    return found


def test_when_each_stage_ends() -> None:
    canary, rest = {"name": "canary", "clusters": 1}, {"name": "rest", "clusters": 3}
    found = _of(
        (None, _rollout("Progressing", "", {**canary, "Succeeded": 1}, {**rest, "ToApply": 3})),
        (5, _rollout("Waiting", "approval", {**canary, "Succeeded": 1}, {**rest, "ToApply": 3})),
        (60, _rollout("Progressing", "", {**canary, "Succeeded": 1}, {**rest, "ToApply": 1, "Progressing": 2})),
    )
    asked = SupposedApproval(WEB, "rollout rest v2", "rollouts", NOON)
    end = _rollout("Stopped", "b failed", {**canary, "Succeeded": 1}, {**rest, "Succeeded": 2, "TimeOut": 1})
    found.see(WEB, end, NOON + timedelta(seconds=90))
    assert rollouts_text(found.shown, [asked], NOON) == (
        "Rollout/apps/web to v2 if all goes well:\n"
        "  stage canary: 1 of 1 already\n"
        "  stage rest: 2 of 3, 1 failed by 2026-01-01T12:01:30Z (in 1m30s), if you merge muster/proposals/rollouts at "
        "2026-01-01T12:00:00Z\n"
        "  Stopped by 2026-01-01T12:01:30Z (in 1m30s): b failed\n"
    )
    (stage,) = rollout_document(found.shown[0], [asked])["stages"][1:]
    assert (stage["at"], stage["approval"]["asked"]) == ("2026-01-01T12:01:30Z", "2026-01-01T12:00:00Z")


def test_a_set_has_one_line() -> None:
    found = _of((None, _set("Progressing", selected=2, done=1)), (7, _set("Complete", selected=2, done=2)))
    assert rollouts_text(found.shown, (), NOON) == (
        "ManifestWorkReplicaSet/apps/base if all goes well:\n"
        "  works: 2 of 2 by 2026-01-01T12:00:07Z (in 7s)\n"
        "  Complete by 2026-01-01T12:00:07Z (in 7s)\n"
    )


@pytest.mark.parametrize(
    ("reason", "stage", "rests"),
    [
        ("Complete", {"Succeeded": 1}, True),
        ("Paused", {"ToApply": 1}, True),
        ("Stopped", {"Failed": 1}, True),
        ("Stopped", {"Progressing": 1, "Failed": 1}, False),
        ("Soaking", {"Soaking": 1}, False),
        ("Waiting", {"ToApply": 1}, False),
    ],
)
def test_a_forecast_ends_when_nothing_goes_on(reason: str, stage: Tree, *, rests: bool) -> None:
    found = _of((None, _rollout(reason, "", {"name": "all", "clusters": 1, **stage})))
    assert found.at_rest is rests
    assert bool(found.shown) is (reason != "Complete")


def test_without_rollouts_there_is_nothing_to_say() -> None:
    assert rollouts_text((), (), NOON) == "No rollout is under way.\n"
