"""docs/notifications.md: what stands there is valid, and tells."""

import re
from pathlib import Path

from muster.data.times import parse_time
from muster.features.notify.sinks import sinks_of
from muster.features.test.memory import MemorySnapshot
from muster.features.test.policytest import run_tests
from muster.rules.notifications.policy import NotificationPolicy
from muster.run.checking import check_snapshot
from muster.run.evaluate import evaluate_snapshot

PAGE = (Path(__file__).parents[2] / "docs/notifications.md").read_text(encoding="utf-8")


def test_the_files_of_the_page_are_sound() -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    files = {f"{number}.yaml": block for number, block in enumerate(blocks)}
    (case,) = run_tests(check_snapshot(MemorySnapshot(files)))
    assert case.failures == ()
    run = evaluate_snapshot(MemorySnapshot(files), parse_time("2026-01-01T12:00:00Z"))
    assert [found for found in run.findings if found.fails] == []
    assert [policy.id.name for policy in run.fleet.compiled.of(NotificationPolicy)] == [
        "back-again",
        "freezes",
        "frozen-rollouts",
        "production-unavailable",
    ]
    assert {name: sink.sort for name, sink in sinks_of(run.fleet.settings.spec).items()} == {
        "chat": "slack",
        "hook": "webhook",
        "pager": "pagerduty",
        "office": "email",
    }
