"""NotificationPolicies: quiet hours in their time zone, and what is wrong with a policy."""

from datetime import time
from zoneinfo import ZoneInfo

import pytest

from muster.data.times import format_time, parse_time
from muster.features.test.memory import MemorySnapshot
from muster.rules.notifications.policy import NotificationPolicy, QuietHours
from muster.run.evaluate import evaluate_snapshot

POLICY = """\
apiVersion: muster.dev/v1alpha1
kind: NotificationPolicy
metadata: {name: a}
spec:
  target: {kind: ManagedCluster}
  when: %s
  quietHours: {timeZone: %s, from: "22:00", to: "07:00"}
"""
BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = QuietHours(BERLIN, time(22), time(7), frozenset(range(7)), frozenset())
LUNCH = QuietHours(BERLIN, time(12), time(13), frozenset((0,)), frozenset())  # on Mondays


@pytest.mark.parametrize(
    ("quiet", "at", "over"),
    [
        (NIGHT, "2026-01-01T20:59:59Z", "2026-01-01T20:59:59Z"),
        (NIGHT, "2026-01-01T21:00:00Z", "2026-01-02T06:00:00Z"),
        (NIGHT, "2026-01-02T05:59:59Z", "2026-01-02T06:00:00Z"),
        (NIGHT, "2026-01-02T06:00:00Z", "2026-01-02T06:00:00Z"),
        (NIGHT, "2026-03-28T23:00:00Z", "2026-03-29T05:00:00Z"),  # an hour of that night there is not
        (NIGHT, "2026-10-24T21:00:00Z", "2026-10-25T06:00:00Z"),  # one there is twice
        (LUNCH, "2026-01-05T11:30:00Z", "2026-01-05T12:00:00Z"),
        (LUNCH, "2026-01-06T11:30:00Z", "2026-01-06T11:30:00Z"),
    ],
)
def test_when_quiet_hours_are_over(quiet: QuietHours, at: str, over: str) -> None:
    assert format_time(quiet.over(parse_time(at), {})) == over


@pytest.mark.parametrize(
    ("when", "zone", "said"),
    [
        ("change.after != 'True'", "Europe/Berlin", None),
        ("change.afer != 'True'", "UTC", "afer"),
        ("change.after", "UTC", "bool"),
        ("self.spec.hubAcceptsClientt", "UTC", "hubAcceptsClientt"),
        ("change.name == 'true'", "Europe/Berln", "no time zone is called 'Europe/Berln'"),
        ("change.name == 'true'", "../../etc/passwd", "no time zone is called"),
    ],
)
def test_what_is_wrong_with_a_policy(when: str, zone: str, said: str | None) -> None:
    run = evaluate_snapshot(MemorySnapshot({"policy.yaml": POLICY % (when, zone)}), parse_time("2026-01-01T00:00:00Z"))
    errors = [found for found in run.findings if found.fails]
    assert [found.file for found in errors] == ([] if said is None else ["policy.yaml"])
    assert said is None or said in errors[0].message
    assert len(run.fleet.compiled.of(NotificationPolicy)) == (said is None)
