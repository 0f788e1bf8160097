"""A forecast is what runs at every second would derive, found by looking at a few of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from muster.features.forecast.forecast import Moment, RenewingAgents, forecast
from muster.features.whatif.rehearsal import Rehearsal, rehearsal
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.git.snapshot import CommitSnapshot
from muster.run.overlay import Overlay
from muster.run.settle import settle
from muster.run.transition import Transition
from tests.support.example import EXAMPLE, NOON
from tests.support.git import Repo, new_repository
from tests.support.living import Living

SECOND = timedelta(seconds=1)


@contextmanager
def trial(repo: Repo) -> Iterator[Rehearsal]:
    repository = open_repository(repo.path, repo.environ)
    with rehearsal(repository, repo.tip(), local_agent_refs(repository)) as found:
        yield found


def of(living: Living, span: timedelta) -> list[Moment]:
    with trial(living.repo) as found:
        return list(forecast(found, living.now, living.now + span))


def second_by_second(living: Living, span: timedelta) -> list[tuple[datetime, list[str], set[tuple[str, str]]]]:
    """What runs at every second derive, each over what the one before it did; and what is held then."""
    repository = open_repository(living.repo.path, living.repo.environ)
    heard, files, told, held = local_agent_refs(repository), dict[str, str | None](), [], set[tuple[str, str]]()
    snapshot = CommitSnapshot(repository, living.repo.tip(), heard.refs, heard.agents)
    now = living.now
    while now <= living.now + span:
        settled = settle(Overlay(snapshot, files), now)
        files.update(settled.files)
        holds = {(str(one.object), one.effect) for one in settled.last.fleet.held}
        if settled.changes or holds != held:
            told.append((now, _told(settled.changes), holds))
        held, now = holds, now + SECOND
    return told


def _told(changes: Sequence[Transition]) -> list[str]:
    return [str(change) for change in changes]


@pytest.mark.parametrize("seed", (12,))
def test_it_equals_runs_at_every_second(tmp_path: Path, seed: int) -> None:
    """The fleet has lived for some steps, so that there is something to happen: its leases run out after five minutes,
    four of which are over.

    `make soak` has more of them, and looks at each for longer.
    """
    equal_to_runs_at_every_second(tmp_path, seed, timedelta(seconds=70), over=timedelta(minutes=4))


def equal_to_runs_at_every_second(
    tmp_path: Path, seed: int, span: timedelta = timedelta(minutes=7), *, over: timedelta = timedelta(0)
) -> None:
    living = Living.small(tmp_path / "fleet", seed, 8)
    for _ in range(8):
        living.step()
    living.now += over
    held, expected = set[tuple[str, str]](), second_by_second(living, span)
    found = []
    for moment in of(living, span):
        held |= {(str(one.object), one.effect) for one in moment.held}
        held -= {(str(id_), effect) for id_, effect in moment.released}
        found.append((moment.at, _told(moment.changes), set(held)))
    assert found == expected
    assert len(expected) > 1, "something has happened"


@pytest.fixture
def example(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()})
    return repo


def test_agents_that_go_on_renewing_stay_available(example: Repo) -> None:
    with trial(example) as found:
        agents = RenewingAgents.of(found, ("*",), NOON)
        moments = list(forecast(found, NOON, NOON + timedelta(minutes=30), agents))
    assert {beat.cluster for beat in agents.agents} >= {"prod-eu-1", "prod-us-2", "edge-us-1"}
    assert "edge-eu-1" not in {beat.cluster for beat in agents.agents}, "who is silent stays silent"
    text = " ".join(_told(tuple(change for moment in moments for change in moment.changes)))
    assert "True -> Unknown" not in text
    assert "ClusterDeployment/ci-5/ci-5: condition Broken True (FailedToStart)" in text


def test_a_lost_agent_is_not_among_them(example: Repo) -> None:
    with trial(example) as found:
        agents = RenewingAgents.of(found, ("prod-*",), NOON, lost=("prod-eu-1",))
    names = {beat.cluster for beat in agents.agents}
    assert "prod-eu-2" in names
    assert not {"prod-eu-1", "edge-us-1"} & names


def test_nothing_of_it_reaches_the_repository(example: Repo) -> None:
    before = (example.refs(), example.git("count-objects", "-v"), example.status())
    with trial(example) as found:
        assert list(forecast(found, NOON, NOON + timedelta(minutes=10)))
        folder = found.repository.git_dir
    assert (example.refs(), example.git("count-objects", "-v"), example.status()) == before
    assert not folder.exists()


def test_pulses_are_told_where_they_are_asked_for(example: Repo) -> None:
    with trial(example) as found:
        moments = list(forecast(found, NOON, NOON + timedelta(seconds=6), pulses=True))
    assert [len(moment.pulses) for moment in moments] == [5, 4, 2]
