"""Reporters with a real bare repository, and time as a parameter."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from muster.agents.detect.report import Subject, read_report
from muster.agents.detect.reporters import FileReporter, Judgement, RefReporter
from muster.agents.hub.pushed_ref import PushedRef
from muster.data.kinds import KARMADA_CLUSTER
from muster.git.errors import RepositoryError
from tests.support.git import Repo, new_repository

SUBJECT = Subject(KARMADA_CLUSTER, "member1", "ServiceDomainNameResolutionReady")
REF = "refs/heads/agents/member1"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LEASE = 45


def judgement(healthy: bool, now: float, detail: str = "seen") -> Judgement:
    return Judgement(healthy, detail, NOON + timedelta(seconds=now), now)


def reporter(hub: Repo, me: str) -> RefReporter:
    return RefReporter(PushedRef(str(hub.path), "member1", 60, hub.environ), SUBJECT, me, LEASE)


@dataclass
class Hub:
    """The bare repository, and what stands on the cluster's ref."""

    repo: Repo

    @property
    def tip(self) -> str:
        return self.repo.tip(REF)

    def condition(self) -> dict[str, str]:
        condition: dict[str, str] = read_report(SUBJECT, self.repo.show(SUBJECT.path, REF).encode()).condition
        return condition

    def holder(self) -> tuple[str, int]:
        hold = read_report(SUBJECT, self.repo.show(SUBJECT.path, REF).encode()).hold
        assert hold is not None
        return hold.holder, hold.transitions


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(new_repository(tmp_path / "hub.git", bare=True))


def test_only_transitions_and_renewals_are_pushed(hub: Hub) -> None:
    one = reporter(hub.repo, "a")
    tips = []
    for now, healthy in (
        (0, True),
        (5, True),
        (10, True),
        (14, True),
        (15, True),
        (20, True),
        (21, False),
        (25, False),
    ):
        one.report(judgement(healthy, now))
        tips.append(hub.tip)
    assert [earlier != later for earlier, later in pairwise(tips)] == [
        False,
        False,
        False,
        True,
        False,
        True,
        False,
    ]
    assert hub.repo.git("rev-list", "--count", REF) == "1"


def test_what_is_reported(hub: Hub) -> None:
    one = reporter(hub.repo, "a")
    assert one.report(judgement(True, 0, "resolved")) == "reported True: resolved"
    assert one.report(judgement(True, 15, "resolved in 3 ms")) == ""
    assert hub.condition() == {
        "type": "ServiceDomainNameResolutionReady",
        "status": "True",
        "reason": "ServiceDomainNameResolutionReady",
        "message": "resolved",  # of the transition: a new one in each renewal would be a commit of each
        "lastTransitionTime": "2026-01-01T12:00:00Z",
        "lastUpdateTime": "2026-01-01T12:00:15Z",
    }
    assert one.report(judgement(False, 16, "no answer")) == "reported False: no answer"
    assert hub.condition() == {
        "type": "ServiceDomainNameResolutionReady",
        "status": "False",
        "reason": "ServiceDomainNameResolutionFailed",
        "message": "no answer",
        "lastTransitionTime": "2026-01-01T12:00:16Z",
        "lastUpdateTime": "2026-01-01T12:00:16Z",
    }


def test_one_reports_and_another_takes_over_after_a_lease_of_silence(hub: Hub) -> None:
    first, second = reporter(hub.repo, "a"), reporter(hub.repo, "b")
    first.report(judgement(True, 0))
    assert second.report(judgement(False, 1)) == "a reports"
    for now in (16, 31):
        assert second.report(judgement(False, now)) == ""
    assert hub.holder() == ("a", 0)
    assert second.report(judgement(False, 46)) == "reported False: seen"
    assert hub.holder() == ("b", 1)
    assert first.report(judgement(True, 47)) == "b reports"  # it lost the lease in its sleep, and cannot write
    assert hub.condition()["status"] == "False"


def test_a_holder_that_renews_is_never_replaced(hub: Hub) -> None:
    first, second = reporter(hub.repo, "a"), reporter(hub.repo, "b")
    for now in range(0, 300, 15):
        first.report(judgement(True, now))
        second.report(judgement(False, now + 1))
    assert hub.holder() == ("a", 0)
    assert hub.condition()["status"] == "True"


def test_a_lease_that_was_given_up_is_free_at_once(hub: Hub) -> None:
    first, second = reporter(hub.repo, "a"), reporter(hub.repo, "b")
    first.report(judgement(True, 0, "by a"))
    second.report(judgement(True, 1))
    first.close(NOON + timedelta(seconds=2))
    assert hub.condition()["status"] == "True"
    second.report(judgement(True, 16, "by b"))
    assert hub.holder()[0] == "b"
    assert hub.condition()["lastTransitionTime"] == "2026-01-01T12:00:00Z"
    assert hub.condition()["message"] == "by a"
    second.close(NOON)


def test_a_lease_is_given_up_though_another_agent_moved_the_ref(hub: Hub) -> None:
    one = reporter(hub.repo, "a")
    one.report(judgement(True, 0))
    hub.repo.commit_to(REF, {"lease.yaml": "# beat\n", SUBJECT.path: hub.repo.show(SUBJECT.path, REF)})
    one.close(NOON)
    assert hub.holder()[0] == ""
    assert hub.repo.show("lease.yaml", REF) == "# beat"


def test_who_holds_nothing_gives_nothing_up(hub: Hub) -> None:
    first, second = reporter(hub.repo, "a"), reporter(hub.repo, "b")
    second.close(NOON)
    first.report(judgement(True, 0))
    second.report(judgement(True, 1))
    before = hub.tip
    second.close(NOON)
    assert hub.tip == before


def test_other_agents_files_stay(hub: Hub) -> None:
    lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: member1, namespace: member1}\n"
    hub.repo.commit_to(REF, {"lease.yaml": lease, "deep/ly/note.txt": b"\xff\x00"})
    one = reporter(hub.repo, "a")
    one.report(judgement(True, 0))
    assert hub.repo.show("lease.yaml", REF) == lease.removesuffix("\n")
    assert hub.repo.git_bytes("show", f"{REF}:deep/ly/note.txt") == b"\xff\x00"
    hub.repo.commit_to(REF, {"lease.yaml": "# renewed\n", SUBJECT.path: hub.repo.show(SUBJECT.path, REF)})
    one.report(judgement(False, 1))  # the ref moved under it: it looks again and keeps what is new
    assert hub.repo.show("lease.yaml", REF) == "# renewed"
    assert hub.condition()["status"] == "False"


def test_a_damaged_report_is_written_anew(hub: Hub) -> None:
    hub.repo.commit_to(REF, {SUBJECT.path: "{{{ no yaml"})
    one = reporter(hub.repo, "a")
    assert one.last_status() is None
    one.report(judgement(False, 0))
    assert hub.condition()["status"] == "False"


def test_a_restart_knows_what_was_reported(hub: Hub) -> None:
    assert reporter(hub.repo, "a").last_status() is None
    reporter(hub.repo, "a").report(judgement(False, 0))
    again = reporter(hub.repo, "a")
    assert again.last_status() is False
    again.report(judgement(False, 100))
    assert hub.holder() == ("a", 0)


def test_a_remote_that_fails_is_left_alone_for_a_while(tmp_path: Path) -> None:
    away = tmp_path / "away.git"
    one = RefReporter(PushedRef(str(away), "member1", 60, new_repository(tmp_path / "x").environ), SUBJECT, "a", LEASE)
    assert one.last_status() is None
    with pytest.raises(RepositoryError):
        one.report(judgement(True, 0))
    assert one.report(judgement(True, 0.9)) == ""
    with pytest.raises(RepositoryError):
        one.report(judgement(True, 1))
    assert one.report(judgement(True, 2.9)) == ""
    hub = Hub(new_repository(away, bare=True))
    assert one.report(judgement(True, 3)) == "reported True: seen"
    assert hub.holder() == ("a", 0)


def test_a_remote_that_refuses_says_why(hub: Hub) -> None:
    one = reporter(hub.repo, "a")
    one.report(judgement(True, 0))
    hub.repo.git("config", "receive.denyNonFastForwards", "true")
    with pytest.raises(RepositoryError, match="refuses refs/heads/agents/member1"):
        one.report(judgement(False, 1))


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "clusters" / "member1" / "detector.yaml"
    one = FileReporter(path, SUBJECT, renew_seconds=15)
    assert one.last_status() is None
    assert one.report(judgement(True, 0, "resolved")) == "reported True: resolved"
    written = path.stat().st_mtime_ns, path.stat().st_ino
    assert one.report(judgement(True, 14)) == ""
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == written
    one.report(judgement(True, 15))
    assert "lastUpdateTime: '2026-01-01T12:00:15Z'" in path.read_text().replace('"', "'")
    one.report(judgement(False, 16))
    assert FileReporter(path, SUBJECT, renew_seconds=15).last_status() is False
    assert [file.name for file in path.parent.iterdir()] == ["detector.yaml"]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RepositoryError, match="cannot be written"):
        FileReporter(tmp_path / "file" / "below.yaml", SUBJECT, 15).report(judgement(True, 0))
