"""The status of a work from what is known of its manifests."""

from datetime import UTC, datetime, timedelta

import pytest

from muster.agents.works.observing import ConditionValue
from muster.agents.works.status import (
    IS_APPLIED,
    IS_AVAILABLE,
    IS_MISSING,
    ManifestResult,
    manifest_conditions,
    work_status,
)
from muster.data.tree import Tree

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
META = {
    "ordinal": 0,
    "group": "apps",
    "version": "v1",
    "kind": "Deployment",
    "resource": "deployments",
    "namespace": "shop",
    "name": "web",
}
FAILED = ConditionValue("False", "AppliedManifestFailed", "Failed to apply manifest: forbidden")


def evaluated(status: str) -> ConditionValue:
    return ConditionValue(status, "ConditionRuleEvaluated", f"is {status}")


def result(
    applied: ConditionValue | None = IS_APPLIED, available: ConditionValue = IS_AVAILABLE, **rules: str
) -> ManifestResult:
    found = {type_: evaluated(status) for type_, status in rules.items()}
    return ManifestResult(META, applied, available, ([], ConditionValue("True", "NoStatusFeedbackSynced")), found)


def brief(status: Tree) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([result()], {"Applied": ("True", "AppliedManifestWorkComplete"), "Available": ("True", "ResourcesAvailable")}),
        (
            [result(), result(FAILED, IS_MISSING)],
            {"Applied": ("False", "AppliedManifestWorkFailed"), "Available": ("False", "ResourcesNotAvailable")},
        ),
        (
            [ManifestResult(META, IS_APPLIED)],
            {"Applied": ("True", "AppliedManifestWorkComplete"), "Available": ("Unknown", "ResourcesStatusUnknown")},
        ),
        ([], {"Applied": ("True", "AppliedManifestWorkComplete"), "Available": ("Unknown", "ResourcesStatusUnknown")}),
        (
            [result(Progressing="False"), result(Progressing="True"), result(Degraded="False")],
            {
                "Applied": ("True", "AppliedManifestWorkComplete"),
                "Available": ("True", "ResourcesAvailable"),
                "Degraded": ("False", "ConditionRulesAggregated"),
                "Progressing": ("True", "ConditionRulesAggregated"),
            },
        ),
        (
            [result(Ready="True"), result(Ready="Unknown")],
            {
                "Applied": ("True", "AppliedManifestWorkComplete"),
                "Available": ("True", "ResourcesAvailable"),
                "Ready": ("Unknown", "ConditionRulesAggregated"),
            },
        ),
    ],
)
def test_conditions_of_a_work(results: list[ManifestResult], expected: dict[str, tuple[str, str]]) -> None:
    assert brief(work_status(results, 1, None, NOW)) == expected


def test_times_change_with_the_status_only_and_old_rules_leave() -> None:
    first = work_status([result(Progressing="True")], 1, None, NOW)
    same = work_status([result(Progressing="True")], 1, first, LATER)
    assert same == first
    second = work_status([result(FAILED, Degraded="False")], 2, first, LATER)
    found = {one["type"]: one for one in second["conditions"]}
    assert sorted(found) == ["Applied", "Available", "Degraded"], "the rule for Progressing is gone"
    assert {one["observedGeneration"] for one in found.values()} == {2}
    assert (found["Applied"]["lastTransitionTime"], found["Available"]["lastTransitionTime"]) == (
        "2026-01-01T00:05:00Z",
        "2026-01-01T00:00:00Z",
    )
    assert found["Applied"]["message"] == (
        "Failed to apply manifest work: 1 of 1 manifests: Failed to apply manifest: forbidden"
    )


def test_what_was_not_done_this_time_stays() -> None:
    first = work_status([result(Complete="True")], 1, None, NOW)
    gone = ManifestResult({**META, "ordinal": 3}, None, IS_MISSING)
    second = work_status([gone], 1, first, LATER)
    assert brief(second) == {
        "Applied": ("True", "AppliedManifestWorkComplete"),
        "Available": ("False", "ResourcesNotAvailable"),
        "Complete": ("True", "ConditionRulesAggregated"),
    }
    assert manifest_conditions(second, META)["Complete"]["status"] == "True"
    assert manifest_conditions(second, {**META, "name": "other"}) == {}
    assert brief(work_status([result()], 1, second, LATER, ["cannot remove x"]))["Applied"][0] == "False"
