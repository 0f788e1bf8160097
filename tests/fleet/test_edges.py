"""Values that a pattern lets through and no program can hold: a finding at their place, and nobody else suffers."""

from datetime import timedelta

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.run.evaluate import evaluate_snapshot
from muster.run.settle import settle
from tests.support.example import EXAMPLE, NOON

REPORT = "clusters/eu/prod-eu-1/reports/dns.yaml"


def example() -> MemorySnapshot:
    return MemorySnapshot(
        {
            str(path.relative_to(EXAMPLE)): path.read_text(encoding="utf-8")
            for path in EXAMPLE.rglob("*.yaml")
            if "/." not in str(path)
        }
    )


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0000-06-01T00:00:00Z", "2026-02-29T00:00:00Z"]
)
def test_a_report_at_the_edge_of_time(time: str) -> None:
    snapshot = example()
    texts = {**snapshot.texts, REPORT: snapshot.texts[REPORT].replace("2026-01-01T11:50:00Z", time)}
    run = evaluate_snapshot(MemorySnapshot(texts), NOON + timedelta(days=1))
    found = [one for one in run.findings if one.severity.value == "error"]
    assert [(one.code, one.file, str(one.object)) for one in found] == [
        ("MUS270", REPORT, "AdapterReport/prod-eu-1/dns")
    ]
    assert found[0].line
    assert "derived/managedclusters/prod-us-2.yaml" in run.files, "the others are decided"


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize("maximum", ["0s", "30m", "2562047h"])
def test_a_report_within_the_calendar_is_judged(time: str, maximum: str) -> None:
    snapshot = example()
    texts = {**snapshot.texts, REPORT: snapshot.texts[REPORT].replace("2026-01-01T11:50:00Z", time)}
    texts["fleet.yaml"] += f"  reports: {{maxAge: {maximum}, maxAhead: {maximum}}}\n"
    for now in (NOON, NOON.replace(year=1), NOON.replace(year=9999, month=12, day=31)):
        settled = settle(MemorySnapshot(texts), now)
        # Ages of more than 292 years are an error in CEL, which is told of the policy.
        assert {one.code for one in settled.findings if one.severity.value == "error"} <= {"MUS401"}


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("fleet.yaml", "spec:\n", "spec:\n  reports: {maxAge: 99999999h}\n"),
        ("pools/ci/pool.yaml", "Timeout: 20m", "Timeout: 99999999h"),
    ],
)
def test_a_duration_that_is_too_long(path: str, old: str, new: str) -> None:
    snapshot = example()
    path = next(name for name in snapshot.texts if name.endswith(path) and old in snapshot.texts[name])
    texts = {**snapshot.texts, path: snapshot.texts[path].replace(old, new, 1)}
    run = evaluate_snapshot(MemorySnapshot(texts), NOON + timedelta(days=1))
    assert [(one.code, one.file) for one in run.findings if one.severity.value == "error"] == [("MUS271", path)]
    assert "derived/managedclusters/prod-us-2.yaml" in run.files
