"""Publishing: after the commit, at least once, each sink for itself, and remembered where a clone can have it."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.data.tree import Tree
from muster.features.pulses.publish import Publication, publish, publish_due
from muster.features.pulses.sinks import MAX_PAUSE_SECONDS, DeliveryError, RetryPatience, SinkSettings
from muster.features.reconcile.reconcile import reconcile
from muster.git.memory.pulses import PulseMemory, read_memory
from muster.git.open import open_snapshot
from muster.git.repository import Repository, open_repository
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run
from tests.features.pulses.receiver import receiving
from tests.support.git import Repo, clone, new_repository

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HURRIED = RetryPatience(lambda _: None, lambda: 0.5)

CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: %s}
spec: {hubAcceptsClient: true}
"""
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec:
  adapters: {ManagedCluster: [dns]}
  pulses: {sinks: [%s]}
"""


@dataclass
class Recorder:
    """A sink that takes what it is sent, but for the events of subjects that it is told to refuse."""

    refused: Mapping[str, DeliveryError] = field(default_factory=dict)
    taken: list[Tree] = field(default_factory=list)
    asked: int = 0

    def send(self, event: Tree) -> None:
        self.asked += 1
        if event["subject"] in self.refused:
            raise self.refused[event["subject"]]
        self.taken.append(event)

    def close(self) -> None:
        """Nothing is held."""

    @property
    def subjects(self) -> list[str]:
        """Whom the events were about."""
        return [event["subject"] for event in self.taken]


def evaluated(tmp_path: Path, memory: PulseMemory, now: datetime = NOON) -> Run:
    (tmp_path / "fleet.yaml").write_text(FLEET % "{name: a, url: 'stdout:'}, {name: b, url: 'stdout:'}")
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(CLUSTER % name)
    return evaluate_snapshot(open_snapshot(tmp_path), now, memory.published)


def test_a_sink_that_keeps_a_run_waiting_is_given_up(tmp_path: Path) -> None:
    """It says for each pulse that it shall be asked again later: that of the first counts, and that of the second."""
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    class Busy(Recorder):
        def send(self, event: Tree) -> None:
            self.asked += 1
            raise DeliveryError("answered 429", after_seconds=1e9)

    busy, other = Busy(), Recorder()
    memory = PulseMemory({})
    run = evaluated(tmp_path, memory)
    pulses = list(run.fleet.pulses) * 50
    done = publish(
        run.fleet,
        pulses,
        memory,
        open_sink=lambda settings: busy if settings.name == "a" else other,
        remember=lambda _: None,
        patience=RetryPatience(sleep, lambda: 0.5, lambda: clock[0]),
    )
    assert busy.asked == 4
    assert clock[0] == 3 * MAX_PAUSE_SECONDS
    assert set(done.failures["a"][1:]) == {"answered 429, for 60 seconds"}
    assert len(done.failures["a"]) == len(pulses)
    assert set(other.subjects) == {"ManagedCluster/one", "ManagedCluster/two"}


def published(run: Run, memory: PulseMemory, sinks: Mapping[str, Recorder]) -> Publication:
    def open_sink(settings: SinkSettings) -> Recorder:
        return sinks[settings.name]

    return publish(run.fleet, run.fleet.pulses, memory, open_sink=open_sink, remember=lambda _: None, patience=HURRIED)


def test_every_sink_gets_every_pulse_and_none_is_due_again(tmp_path: Path) -> None:
    memory, sinks = PulseMemory(), {"a": Recorder(), "b": Recorder()}
    done = published(evaluated(tmp_path, memory), memory, sinks)
    assert (done.published, done.failures) == (2, {})
    assert sinks["a"].subjects == sinks["b"].subjects == ["ManagedCluster/one", "ManagedCluster/two"]
    assert evaluated(tmp_path, memory).pulses == []


def test_a_sink_that_refuses_one_event_gets_the_same_event_again_and_the_other_sink_does_not(tmp_path: Path) -> None:
    memory = PulseMemory()
    sinks = {"a": Recorder(), "b": Recorder({"ManagedCluster/one": DeliveryError("no", again=False)})}
    done = published(evaluated(tmp_path, memory), memory, sinks)
    assert (done.published, done.failures) == (1, {"b": ["no"]})
    again = {"a": Recorder(), "b": Recorder()}
    done = published(evaluated(tmp_path, memory, NOON + timedelta(seconds=2)), memory, again)
    assert (done.published, again["a"].subjects, again["b"].subjects) == (1, [], ["ManagedCluster/one"])
    assert again["b"].taken[0]["id"] == sinks["a"].taken[0]["id"]


def test_a_sink_that_cannot_be_reached_is_asked_once(tmp_path: Path) -> None:
    memory = PulseMemory()
    down = DeliveryError("no route", again=False, unreachable=True)
    sinks = {"a": Recorder(), "b": Recorder({"ManagedCluster/one": down, "ManagedCluster/two": down})}
    done = published(evaluated(tmp_path, memory), memory, sinks)
    assert sinks["b"].asked == 1
    assert done.lines() == ["sink b: 2 not delivered: no route"]
    assert sinks["a"].subjects == ["ManagedCluster/one", "ManagedCluster/two"]


def test_what_is_due_is_remembered_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.features.pulses.publish.BATCH", 1)
    memory, seen = PulseMemory(), list[int]()
    run = evaluated(tmp_path, memory)
    publish(
        run.fleet,
        run.fleet.pulses,
        memory,
        open_sink=lambda _: Recorder(),
        patience=HURRIED,
        remember=lambda known: seen.append(len(known.published)),
    )
    assert seen == [1, 2]


# -- with git and a server


def fleet_repository(path: Path, url: str) -> Repo:
    repo = new_repository(path)
    repo.commit({"fleet.yaml": FLEET % f"{{name: log, url: '{url}'}}", "one.yaml": CLUSTER % "one"})
    return repo


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def reconciled(repo: Repo, now: datetime, remote: str | None = None) -> Run:
    done = reconcile(opened(repo), lambda: now, branch="main", remote=remote, attempts=range(1, 9))
    return done.settled.last


def test_a_run_that_was_killed_after_its_commit_publishes_in_the_next(tmp_path: Path) -> None:
    with receiving() as receiver:
        repo = fleet_repository(tmp_path / "fleet", receiver.url)
        killed = reconciled(repo, NOON)
        after = reconciled(repo, NOON + timedelta(seconds=3))
        assert [pulse["id"] for pulse in after.pulses] == [pulse["id"] for pulse in killed.pulses]
        assert publish_due(opened(repo), after, patience=HURRIED).published == 1
        assert reconciled(repo, NOON + timedelta(seconds=4)).pulses == []
    assert [json.loads(request.body)["subject"] for request in receiver.requests] == ["ManagedCluster/one"]


def test_a_run_that_was_killed_before_it_remembered_sends_the_same_event_twice(tmp_path: Path) -> None:
    with receiving() as receiver:
        repo = fleet_repository(tmp_path / "fleet", receiver.url)
        first = reconciled(repo, NOON)
        publish_due(opened(repo), first, patience=HURRIED)
        repo.git("update-ref", "-d", "refs/muster/pulses")
        publish_due(opened(repo), reconciled(repo, NOON + timedelta(seconds=1)), patience=HURRIED)
    ids = [json.loads(request.body)["id"] for request in receiver.requests]
    assert len(ids) == 2
    assert len(set(ids)) == 1


def test_a_fresh_clone_does_not_publish_again(tmp_path: Path) -> None:
    with receiving() as receiver:
        first = fleet_repository(tmp_path / "fleet", receiver.url)
        hub = clone(first, tmp_path / "hub.git", "--bare")
        first.git("remote", "add", "origin", str(hub.path))
        run = reconciled(first, NOON, "origin")
        assert publish_due(opened(first), run, "origin", patience=HURRIED).published == 1
        second = clone(hub, tmp_path / "second")
        assert reconciled(second, NOON + timedelta(seconds=1), "origin").pulses == []
    assert len(receiver.requests) == 1


def test_two_who_decide_at_one_time_publish_once(tmp_path: Path) -> None:
    with receiving() as receiver:
        repo = fleet_repository(tmp_path / "fleet", receiver.url)
        one, other = reconciled(repo, NOON), reconciled(repo, NOON)
        assert publish_due(opened(repo), one, patience=HURRIED).published == 1
        assert publish_due(opened(repo), other, patience=HURRIED).published == 0
    assert len(receiver.requests) == 1


def test_the_memory_makes_no_commit_and_dirties_nothing(tmp_path: Path) -> None:
    repo = fleet_repository(tmp_path / "fleet", "file:pulses.jsonl")
    run = reconciled(repo, NOON)
    head = repo.tip()
    publish_due(opened(repo), run, patience=HURRIED, folder=tmp_path / "sinks")
    assert repo.tip() == head
    assert repo.git("status", "--porcelain") == ""
    lines = (tmp_path / "sinks" / "pulses.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["subject"] for line in lines] == ["ManagedCluster/one"]


def test_credentials_come_from_the_environment_alone(tmp_path: Path) -> None:
    with receiving() as receiver:
        sink = f"{{name: log, url: '{receiver.url}', credentialsFrom: MUSTER_SINK_LOG}}"
        repo = new_repository(tmp_path / "fleet")
        repo.commit({"fleet.yaml": FLEET % sink, "one.yaml": CLUSTER % "one"})
        run = reconciled(repo, NOON)
        done = publish_due(opened(repo), run, environ={}, patience=HURRIED)
        assert done.lines() == ["sink log: 1 not delivered: the environment variable MUSTER_SINK_LOG is not set"]
        publish_due(opened(repo), run, environ={**os.environ, "MUSTER_SINK_LOG": "Bearer x"}, patience=HURRIED)
    assert receiver.requests[0].headers["authorization"] == "Bearer x"


def test_objects_that_are_gone_are_forgotten(tmp_path: Path) -> None:
    repo = fleet_repository(tmp_path / "fleet", "file:pulses.jsonl")
    publish_due(opened(repo), reconciled(repo, NOON), patience=HURRIED, folder=tmp_path)
    repo.commit({"one.yaml": None, "two.yaml": CLUSTER % "two"})
    publish_due(opened(repo), reconciled(repo, NOON + timedelta(seconds=9)), patience=HURRIED, folder=tmp_path)
    assert [key.object.name for key in read_memory(opened(repo)).published] == ["two"]


@pytest.mark.parametrize("url", ["file:x.jsonl", "file:../hooks/x"])
def test_files_are_written_where_the_command_line_says_and_nowhere_else(url: str, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"fleet.yaml": FLEET % f"{{name: log, url: '{url}'}}", "one.yaml": CLUSTER % "one"})
    before = sorted(tmp_path.rglob("*"))
    done = publish_due(opened(repo), reconciled(repo, NOON), patience=HURRIED)
    assert done.published == 0
    made = {path for path in tmp_path.rglob("*") if path not in before and ".git/objects" not in str(path)}
    assert not [path for path in made if path.name in ("x", "x.jsonl")]


@pytest.mark.parametrize(
    ("sink", "code"),
    [
        ("credentialsFrom: GITHUB_TOKEN", "MUS205"),
        ("url: 'file:../hooks/x'", "MUS205"),
        ("timeout: 99999999h", "MUS271"),
        ("colour: red", "MUS201"),
    ],
)
def test_a_broken_fleet_publishes_nothing(sink: str, code: str, tmp_path: Path) -> None:
    """Not to its sound sinks either: an error in the Fleet is no reason to trust the rest of it."""
    with receiving() as receiver:
        entries = [f"{{name: sound, url: '{receiver.url}'}}"]
        more = f", {sink}" if sink.startswith("url") else f", url: '{receiver.url}', {sink}"
        repo = new_repository(tmp_path / "fleet")
        repo.commit({"fleet.yaml": FLEET % f"{entries[0]}, {{name: log{more}}}", "one.yaml": CLUSTER % "one"})
        run = reconciled(repo, NOON)
        environ = {**os.environ, "GITHUB_TOKEN": "t0ken"}
        done = publish_due(opened(repo), run, environ=environ, patience=HURRIED, folder=tmp_path / "in")
    assert {found.code for found in run.findings} >= {code, "MUS275"}
    assert (done.published, done.failures, receiver.requests) == (0, {}, [])
    assert not (tmp_path / "in").exists()


@pytest.mark.parametrize(
    "value", ["Bearer x\nX-Injected: 1", "Bearer x\r\n\r\nbody", "x\n", "\0"], ids=["header", "body", "final", "null"]
)
def test_credentials_with_a_line_break_are_not_sent(value: str, tmp_path: Path) -> None:
    with receiving() as receiver:
        sink = f"{{name: log, url: '{receiver.url}', credentialsFrom: MUSTER_SINK_LOG}}"
        repo = new_repository(tmp_path / "fleet")
        repo.commit({"fleet.yaml": FLEET % sink, "one.yaml": CLUSTER % "one"})
        environ = {**os.environ, "MUSTER_SINK_LOG": value}
        done = publish_due(opened(repo), reconciled(repo, NOON), environ=environ, patience=HURRIED)
    assert receiver.requests == []
    assert "MUSTER_SINK_LOG has a line break" in done.lines()[0]
    assert "Bearer" not in "".join(done.lines())


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:x/",
        "http://[::1",
        "http:///x",
        "http://:80/",
        "amqp://127.0.0.1:99999/",
        "amqp:///",
        "amqps://[::1",
        "http://\u2100/",
        "http://a..b/",
    ],
)
def test_a_url_that_leads_nowhere_is_said_of_its_sink(url: str, tmp_path: Path) -> None:
    with receiving() as receiver:
        repo = new_repository(tmp_path / "fleet")
        sinks = f"{{name: bad, url: '{url}'}}, {{name: good, url: '{receiver.url}'}}"
        repo.commit({"fleet.yaml": FLEET % sinks, "one.yaml": CLUSTER % "one"})
        done = publish_due(opened(repo), reconciled(repo, NOON), patience=HURRIED)
    assert len(receiver.requests) == 1, "the other sink gets its event"
    assert list(done.failures) == ["bad"]
    assert done.faults == []


@pytest.mark.parametrize("timeout", ["0s", "1ns", "2562047h"])
def test_any_time_out_is_one(timeout: str, tmp_path: Path) -> None:
    with receiving() as receiver:
        repo = new_repository(tmp_path / "fleet")
        sink = f"{{name: log, url: '{receiver.url}', timeout: {timeout}, backoff: {timeout}}}"
        repo.commit({"fleet.yaml": FLEET % sink, "one.yaml": CLUSTER % "one"})
        assert publish_due(opened(repo), reconciled(repo, NOON), patience=HURRIED).published == 1


def test_a_fault_about_one_sink_leaves_the_other_its_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(*_: object) -> None:
        raise KeyError("hunter2")

    monkeypatch.setattr("muster.features.pulses.lines.FileSink.send", planted)
    with receiving() as receiver:
        repo = new_repository(tmp_path / "fleet")
        sinks = f"{{name: bad, url: 'file:x'}}, {{name: good, url: '{receiver.url}'}}"
        repo.commit({"fleet.yaml": FLEET % sinks, "one.yaml": CLUSTER % "one"})
        done = publish_due(opened(repo), reconciled(repo, NOON), patience=HURRIED, folder=tmp_path / "in")
    assert len(receiver.requests) == 1
    assert [found.code for found in done.faults] == ["MUS491"]
    assert "hunter2" not in f"{done.faults}{done.lines()}"
