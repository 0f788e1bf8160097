"""Notifications of runs that keep what they need not look at again: one that has nothing to do sends what waits."""

import json
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from muster.cli.options import present
from muster.data.times import format_time
from tests.features.notify.test_notify import CLUSTER, FLEET, OBSERVED, POLICY
from tests.features.pulses.receiver import receiving
from tests.features.pulses.test_walkthrough import lease
from tests.support import slow_peers
from tests.support.commandline import Run
from tests.support.git import new_repository
from tests.support.patience import wait_until
from tests.support.processes import running


def test_a_watch_wakes_up_for_what_waits(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    with receiving() as receiver:
        sink = f"{{name: hook, type: webhook, url: '{receiver.url}'}}"
        now = format_time(present())
        repo.commit(
            {
                "fleet.yaml": FLEET % sink,
                "policy.yaml": POLICY % "group: {window: 3s}",
                "a.yaml": CLUSTER % ("a", "eu"),
                "lease.yaml": lease("a", now),
                "observed.yaml": OBSERVED % ("a", "True", "Up"),
            }
        )
        with running("watch", "--repo", str(repo.path), environ=repo.environ) as watch:
            watch.wait_for("a available")
            repo.commit({"observed.yaml": OBSERVED % ("a", "False", "Down")})
            watch.wait_for("a unavailable")
            assert receiver.requests == []
            wait_until(lambda: len(receiver.requests) == 1, lambda: str(watch.lines))


def test_no_run_waits_for_a_mail_server_longer_than_its_limit(tmp_path: Path, muster: Run) -> None:
    """In a reconcile and in a watch: the commits are made, and the next ones as well."""
    repo = new_repository(tmp_path / "fleet")
    with slow_peers.peer(slow_peers.REPLIES) as port:
        url = f"smtp://127.0.0.1:{port}"
        sink = f"{{name: m, type: email, from: m@x.example, to: [o@x.example], attempts: 1, timeout: 1s, url: '{url}'}}"
        now = format_time(present())
        repo.commit(
            {
                "fleet.yaml": FLEET % sink,
                "policy.yaml": POLICY % "group: {window: 1s}",
                "a.yaml": CLUSTER % ("a", "eu"),
                "lease.yaml": lease("a", now),
                "observed.yaml": OBSERVED % ("a", "True", "Up"),
            }
        )
        assert muster("reconcile", "--repo", repo.path)[0] == 0
        repo.commit({"observed.yaml": OBSERVED % ("a", "False", "Down")})
        code, out, err = muster("reconcile", "--repo", repo.path)
        assert (code, "a unavailable" in out) == (0, True), err
        with running("watch", "--repo", str(repo.path), environ=repo.environ) as watch:
            for status, said in (("True", "a available"), ("False", "a unavailable"), ("True", "a available")):
                count = 1 + sum(said in line for line in watch.lines)
                repo.commit({"observed.yaml": OBSERVED % ("a", status, "Up")})
                wait_until(lambda: sum(said in line for line in watch.lines) == count, lambda: str(watch.lines))  # noqa: B023


def test_a_run_that_looks_at_nothing_sends_what_waited(tmp_path: Path, muster: Run) -> None:
    repo, metrics = new_repository(tmp_path / "fleet"), tmp_path / "muster.prom"
    with receiving() as receiver:
        sink = f"{{name: hook, type: webhook, url: '{receiver.url}', attempts: 1, timeout: 1s}}"
        repo.commit(
            {
                "fleet.yaml": FLEET % sink,
                "policy.yaml": POLICY % "group: {by: self.metadata.labels.region, window: 2m}",
                **{f"{name}.yaml": CLUSTER % (name, "eu") for name in "abc"},
                **{f"{name}-lease.yaml": lease(name, "2026-01-01T12:00:00Z") for name in "abc"},
                **{f"{name}-observed.yaml": OBSERVED % (name, "True", "Up") for name in "abc"},
            }
        )

        def run(at: str) -> str:
            now = f"2026-01-01T{at}Z"
            code, out, err = muster("reconcile", "--repo", repo.path, "--now", now, "--metrics", metrics)
            assert (code, err) == (0, "")
            return out

        def counted() -> tuple[float, float]:
            found = text_string_to_metric_families(metrics.read_text())
            numbers = {
                one.name: one.value for family in found for one in family.samples if one.labels.get("type") == "webhook"
            }
            return numbers["muster_notifications_waiting"], numbers["muster_notifications_sent_total"]

        run("12:00:00")
        repo.commit({"b-observed.yaml": OBSERVED % ("b", "False", "Down")})
        assert "sent 1" not in run("12:00:10")
        assert "sent 1" not in run("12:01:00")
        assert counted() == (1, 0)
        assert "sent 1 notification\n" in run("12:02:10")
        assert "sent 1" not in run("12:02:20")
        assert counted() == (0, 1)
        (request,) = receiver.requests
        event = json.loads(request.body)
        assert event["subject"] == "warning: availability eu: 1 transition"
        assert [one["object"] for one in event["data"]["transitions"]] == ["b"]
