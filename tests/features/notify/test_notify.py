"""Notifications over real commits, to real receivers: told once, grouped, when people may be told, and safely."""

import json
import re
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muster.cli.reconcile_result import ReconcileResult
from muster.features.notify import notify
from muster.features.notify.notify import notify_due
from muster.features.pulses.publish import DeliveryCounts, Publication
from muster.features.pulses.sinks import RetryPatience
from muster.features.reconcile.reconcile import reconcile
from muster.git.memory.notices import read_memory
from muster.git.repository import Repository, open_repository
from muster.rules.notifications import transitions as notifying
from muster.run.memo.state import RunState
from muster.run.shards.executors import Executor, Here
from muster.run.shards.workers import Workers
from tests.features.pulses.receiver import Receiver, receiving
from tests.features.pulses.test_walkthrough import lease
from tests.run.test_incremental import state_in
from tests.support.git import Repo, clone, new_repository

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HURRIED = RetryPatience(lambda _: None, lambda: 0.5)
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: %s, labels: {region: %s}}
spec: {hubAcceptsClient: true}
"""
POLICY = """\
apiVersion: muster.dev/v1alpha1
kind: NotificationPolicy
metadata: {name: availability}
spec:
  target: {kind: ManagedCluster}
  when: change.sort == 'condition' && change.name == 'ManagedClusterConditionAvailable' && change.before != ''
  %s
"""
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec: {notifications: {sinks: [%s]}}
"""
OBSERVED = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: %s}
status: {conditions: [{type: ManagedClusterConditionAvailable, status: "%s", reason: "%s", message: m}]}
"""


class Fleet:
    """Three clusters whose agents report on them, and runs that tell what changes."""

    def __init__(self, path: Path, sinks: str, policy: str = "severity: warning", remote: str | None = None) -> None:
        self.repo = new_repository(path) if remote is None else Repo(path, {})
        self.environ: Mapping[str, str] = {}
        self.now, self.remote = NOON, remote
        self.state: RunState | None = None
        self.workers: Workers | None = None
        self.looked_at = ""
        self.repo.commit(
            {"fleet.yaml": FLEET % sinks, "policy.yaml": POLICY % policy}
            | {f"{name}.yaml": CLUSTER % (name, region) for name, region in (("a", "eu"), ("b", "eu"), ("c", "us"))}
        )
        self.say("True", "a", "b", "c")
        self.run()

    def say(self, status: str, *names: str, reason: str = "Said") -> None:
        """Have the agents of clusters report, and all of them renew their leases."""
        said = {f"{name}-observed.yaml": OBSERVED % (name, status, reason) for name in names}
        renewed = {f"{name}-lease.yaml": lease(name, self.now.strftime("%Y-%m-%dT%H:%M:%SZ")) for name in "abc"}
        self.repo.commit(said | renewed)

    def run(self, minutes: float = 0) -> Publication:
        """Reconcile and tell, so much later."""
        self.now += timedelta(minutes=minutes)
        done = self.reconcile()
        return notify_due(self.repository, done, self.remote, self.environ, HURRIED)

    def reconcile(self) -> ReconcileResult:
        """A run that is killed before it tells anything."""
        done = reconcile(
            self.repository,
            lambda: self.now,
            branch="main",
            remote=self.remote,
            attempts=range(3),
            state=self.state,
            workers=self.workers,
        )
        self.looked_at = done.looked_at
        return done

    @property
    def repository(self) -> Repository:
        """The repository, opened anew."""
        return open_repository(self.repo.path, self.repo.environ)


def events(receiver: Receiver) -> list[Any]:
    """What came, as JSON."""
    return [json.loads(request.body) for request in receiver.requests]


def told(event: Any) -> list[str]:
    """Whom an event tells of, and what became of it."""
    return [f"{one['object']} {one['before']}>{one['after']}" for one in event["data"]["transitions"]]


def webhook(receiver: Receiver, name: str = "hook") -> str:
    """A sink that is one."""
    return f"{{name: {name}, type: webhook, url: '{receiver.url}', attempts: 1, timeout: 500ms}}"


def test_what_changes_is_told_once_by_group(tmp_path: Path) -> None:
    with receiving() as receiver:
        fleet = Fleet(tmp_path / "fleet", webhook(receiver), "group: {by: self.metadata.labels.region}")
        assert receiver.requests == [], "what was before the first look is no news"
        fleet.say("False", "a", "b", "c")
        assert fleet.run().published == 2
        assert sorted(map(told, events(receiver))) == [["a True>False", "b True>False"], ["c True>False"]]
        first = next(event for event in events(receiver) if event["data"]["group"] == "eu")
        assert first["subject"] == "warning: availability eu: 2 transitions"
        assert first["type"] == "dev.muster.notification.v1"
        assert fleet.run(1) == Publication()
        assert len(receiver.requests) == 2
        fleet.repo.commit({"c.yaml": None, "c-observed.yaml": None, "c-lease.yaml": None})
        fleet.say("True", "a")
        fleet.run()
        assert told(events(receiver)[-1]) == ["a False>True"]


class InShards(Workers):
    """Has every neighbourhood decided by itself, in this process."""

    def executor(self, files: int) -> Executor:
        return Here()


@pytest.mark.parametrize(
    ("kept", "killed", "looked_at"),
    [(True, 0, "wide"), (True, 2, "nothing"), (True, 0, "shards"), (True, 2, "nothing"), (False, 0, "shards")],
    ids=["a part", "nothing", "shards", "nothing after shards", "shards, and nothing is kept"],
)
def test_the_same_is_told_however_much_a_run_looks_at(
    tmp_path: Path, request: pytest.FixtureRequest, kept: bool, killed: int, looked_at: str
) -> None:
    """What policies read is in no summary: when a Lease was renewed. Runs may be killed before they tell."""
    group = "group: {by: \"reported['ManagedClusterConditionAvailable'].reason + string(lease.spec.renewTime)\"}"
    with receiving() as receiver, closing(state_in(tmp_path)) as state:
        fleet = Fleet(tmp_path / "fleet", webhook(receiver), group)
        refused = CLUSTER.replace("true", "false")
        fleet.repo.commit({f"{number}.yaml": refused % (f"d{number}", "eu") for number in range(9)})
        fleet.state = state if kept else None
        if "shards" in request.node.name:
            fleet.reconcile()
            state.drop()
            fleet.workers = InShards(files=1)
        else:
            fleet.run()
            fleet.run()  # what was written is looked at once more
        fleet.say("False", "a", reason="Burning")
        fleet.say("False", "b", reason="Flooded")
        for _ in range(killed):
            fleet.reconcile()
        fleet.run()
        assert looked_at in fleet.looked_at
        found = {event["data"]["group"]: told(event) for event in events(receiver)}
    assert found == {
        "Burning2026-01-01T12:00:00Z": ["a True>False"],
        "Flooded2026-01-01T12:00:00Z": ["b True>False"],
    }


def test_a_window_and_quiet_hours_delay_and_lose_nothing(tmp_path: Path) -> None:
    quiet = "group: {window: 2m}\n  quietHours: {timeZone: Europe/Berlin, from: '22:00', to: '07:00'}"
    with receiving() as receiver:
        fleet = Fleet(tmp_path / "fleet", webhook(receiver), quiet)
        fleet.say("False", "a")
        assert fleet.run().next == NOON + timedelta(minutes=2)
        fleet.say("False", "b")
        fleet.run(1)
        assert receiver.requests == []
        assert fleet.run(1).published == 1
        assert told(events(receiver)[0]) == ["a True>False", "b True>False"]
        fleet.now = datetime(2026, 1, 1, 22, 30, tzinfo=UTC)  # 23:30 in Berlin
        fleet.say("True", "a")
        assert fleet.run().next == datetime(2026, 1, 2, 6, tzinfo=UTC)
        fleet.now += timedelta(hours=3)
        fleet.say("True", "b")
        fleet.run()
        assert len(receiver.requests) == 1
        fleet.now = datetime(2026, 1, 2, 6, tzinfo=UTC)
        fleet.say("True", "c")
        assert fleet.run().published == 1
        night = [one for one in told(events(receiver)[1]) if one.startswith(("a", "b"))]
        assert [one for one in night if one.endswith(">True")] == ["a False>True", "b False>True"]


def test_messages_wait_until_a_calendar_opens(tmp_path: Path) -> None:
    calendar = (
        "apiVersion: muster.dev/v1alpha1\nkind: Calendar\nmetadata: {name: office-hours}\n"
        "spec: {windows: [{days: Mon-Fri, from: '08:00', to: '17:00'}], except: ['2026-01-02']}\n"
    )
    with receiving() as receiver:
        fleet = Fleet(tmp_path / "fleet", webhook(receiver), "quietHours: {outside: office-hours}")
        fleet.repo.commit({"calendar.yaml": calendar})
        fleet.now = datetime(2026, 1, 1, 17, tzinfo=UTC)  # a Thursday, and Friday is a holiday
        fleet.say("False", "a")
        assert fleet.run().next == datetime(2026, 1, 5, 8, tzinfo=UTC)
        assert receiver.requests == []
        fleet.now = datetime(2026, 1, 5, 8, tzinfo=UTC)
        assert fleet.run().next is None
        assert "a True>False" in told(events(receiver)[0])
        fleet.repo.git("rm", "--quiet", "calendar.yaml")
        fleet.now = datetime(2026, 1, 5, 20, tzinfo=UTC)
        fleet.say("False", "b")
        assert fleet.run().next is None, "without its Calendar, a message does not wait"
        assert "b" in str(told(events(receiver)[-1]))


def test_what_is_critical_is_told_at_night(tmp_path: Path) -> None:
    with receiving() as receiver:
        fleet = Fleet(
            tmp_path / "fleet", webhook(receiver), "severity: critical\n  quietHours: {from: '00:00', to: '23:59'}"
        )
        fleet.say("False", "a")
        assert fleet.run().published == 1


def test_a_sink_that_refuses_or_hangs_gets_it_later_and_the_other_only_once(tmp_path: Path) -> None:
    with receiving() as good, receiving((500, {}), None, (204, {})) as bad:
        fleet = Fleet(tmp_path / "fleet", f"{webhook(good)}, {webhook(bad, 'bad')}")
        fleet.say("False", "a")
        first = fleet.run()
        assert list(first.failures) == ["bad"]
        assert first.told == DeliveryCounts({"webhook": 1}, {"webhook": 1}, {"webhook": 1}, fleet.now)  # type: ignore[arg-type]
        assert "500 ms" not in str(fleet.run(1).failures)
        bad.released.set()
        assert fleet.run(1).published == 1
        assert len(good.requests) == 1
        assert len(bad.requests) == 3
        assert len({event["id"] for event in [*events(good), *events(bad)]}) == 1


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("moment", ["before it is decided", "before it is sent", "after it was sent"])
def test_a_run_that_is_killed_loses_nothing_and_what_comes_twice_has_one_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    where = {"before it is decided": "read_memory", "before it is sent": "_send", "after it was sent": "_remembered"}[
        moment
    ]
    with receiving() as receiver:
        fleet = Fleet(tmp_path / "fleet", webhook(receiver))
        fleet.say("False", "a")
        original = getattr(notify, where)

        def killed(*arguments: Any) -> Any:
            if where == "_remembered" and not receiver.requests:
                return original(*arguments)
            raise Killed

        with monkeypatch.context() as patched, suppress(Killed):
            patched.setattr(notify, where, killed)
            fleet.run()
        sent = len(receiver.requests)
        assert sent == (moment == "after it was sent")
        fleet.run(1)
        fleet.run(1)
        assert len(receiver.requests) == sent + 1
        assert [told(event) for event in events(receiver)] == [["a True>False"]] * (sent + 1)
        assert len({event["id"] for event in events(receiver)}) == 1
        assert len({event["data"]["transitions"][0]["id"] for event in events(receiver)}) == 1


def test_another_clone_knows_what_was_told(tmp_path: Path) -> None:
    with receiving() as receiver:
        origin = new_repository(tmp_path / "origin", bare=True)
        near = Fleet(tmp_path / "near", webhook(receiver))
        near.repo.git("remote", "add", "origin", str(origin.path))
        near.repo.git("push", "--quiet", "origin", "main")
        near.remote = "origin"
        near.run()
        near.say("False", "a")
        near.repo.git("push", "--quiet", "origin", "main")
        near.run()
        assert len(receiver.requests) == 1
        far = clone(origin, tmp_path / "far")
        repository = open_repository(far.path, far.environ)
        done = reconcile(repository, lambda: near.now, branch="main", remote="origin", attempts=range(3))
        assert notify_due(repository, done, "origin", {}, HURRIED) == Publication()
        assert read_memory(repository, "origin").done != []
        assert len(receiver.requests) == 1


APART = "muster/state"


@pytest.mark.parametrize("pushing", [False, True], ids=["here", "pushing"])
def test_what_is_derived_may_lie_on_a_branch_of_its_own(tmp_path: Path, pushing: bool) -> None:
    """There it begins, moves and is looked at, also by a clone that has not decided it."""
    by = "group: {by: 'conditions[change.name].reason'}"
    with receiving() as receiver:
        fleet = Fleet(tmp_path / "fleet", webhook(receiver), by)
        settled = FLEET.replace("notifications", f"derived: {{branch: {APART}}}, notifications") % webhook(receiver)
        fleet.repo.commit({"fleet.yaml": settled})
        origin = clone(fleet.repo, tmp_path / "origin.git", "--bare")
        fleet.repo.git("remote", "add", "origin", str(origin.path))
        fleet.remote = "origin" if pushing else None
        with closing(state_in(tmp_path)) as fleet.state:
            assert fleet.run() == Publication(), "where it lies is no news"
            for minutes, status in enumerate(("False", "True")):
                fleet.say(status, "a", reason=f"Said{minutes}")
                if pushing:
                    fleet.repo.git("push", "--quiet", "origin", "main")
                if minutes == 1:
                    fleet.reconcile()
                assert fleet.run(1).published == 1, minutes
                assert fleet.run() == Publication()
        found = [(event["data"]["group"], told(event)) for event in events(receiver)]
        assert found == [("Said0", ["a True>False"]), ("Said1", ["a False>True"])]
        if pushing:
            assert fleet.repo.git("rev-list", "--count", "origin/main") == origin.git("rev-list", "--count", "main")
            assert read_memory(open_repository(origin.path, origin.environ)).upto == origin.tip(APART)
            far = Fleet.__new__(Fleet)
            far.__dict__.update(fleet.__dict__, repo=clone(origin, tmp_path / "far"), state=None)
            assert far.run() == Publication()
    assert fleet.repo.git("rev-list", "--count", "main", "--", "derived") == "1", "from before the switch"


def test_slack_shows_words_and_obeys_none(tmp_path: Path) -> None:
    with receiving() as receiver:
        fleet = Fleet(tmp_path / "fleet", "{name: chat, type: slack, urlFrom: MUSTER_SINK_CHAT}")
        fleet.say("False", "a", reason="<!channel> @here `x` <http://evil|y> *b*")
        assert fleet.run().failures == {"chat": ["the environment variable MUSTER_SINK_CHAT is not set"]}
        secret = tmp_path / "secret"
        secret.write_text(receiver.url.replace("/events", "/T0K3N") + "\n")
        fleet.environ = {"MUSTER_SINK_CHAT_FILE": str(secret)}
        assert fleet.run(1).published == 1
        (request,) = receiver.requests
        text = json.loads(request.body)["text"]
        assert request.path == "/T0K3N"
        assert "ManagedCluster/a: condition ManagedClusterConditionAvailable True -&gt; False" in text
        assert not re.search(r"[<@]|`(?!``)(?<!``)[^`]*x`", text)
        assert text.count("```") == 2
        secret.write_text("http://127.0.0.1:9/T0K3N")
        fleet.say("True", "a")
        (failed,) = fleet.run(1).failures["chat"]
        assert "T0K3N" not in failed


def test_what_cannot_be_decided_is_told(tmp_path: Path) -> None:
    with receiving() as receiver:
        fleet = Fleet(
            tmp_path / "fleet", webhook(receiver), "variables: [{name: x, expression: self.metadata.labels.no}]"
        )
        policy = (fleet.repo.path / "policy.yaml").read_text().replace("  when: ", "  when: variables.x == 'y' && ")
        fleet.repo.commit({"policy.yaml": policy})
        fleet.say("False", "a")
        assert fleet.run().published == 1
        assert "a True>False" in told(events(receiver)[0])


def test_much_is_cut_and_what_nobody_takes_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifying, "MOST_TOGETHER", 2)
    monkeypatch.setattr(notifying, "MOST_WAITING", 3)
    with receiving((500, {})) as receiver:
        fleet = Fleet(tmp_path / "fleet", webhook(receiver))
        fleet.say("False", "a", "b", "c")
        assert fleet.run().due == 2
        assert sorted(map(len, map(told, events(receiver)))) == [1, 2]
        fleet.say("True", "a")
        done = fleet.run(1)
        assert done.failures["memory"] == ["1 messages that no sink accepted for long are given up"]
        receiver.answers[:] = [(204, {})]
        assert fleet.run(1).published == 2
        assert told(events(receiver)[-1]) == ["a False>True"]
