"""Where muster finds a longer way round a fault of its own, it says so; and in tests it finds none."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muster.fleet.faults import fell_back, listening_to_fallbacks
from muster.git.changes import staged_changes
from muster.git.repository import open_repository, resolve
from muster.run.incremental import answer
from muster.run.question import Question
from muster.run.shards.workers import Workers
from muster.run.uncommitted import check_question, check_uncommitted
from tests.run.test_incremental import state_in
from tests.support.example import NOON
from tests.support.living import Living, told

Told = list[tuple[str, Exception]]


@pytest.fixture(name="heard")
def _heard() -> Iterator[Told]:
    heard: Told = []
    with listening_to_fallbacks(lambda doing, error: heard.append((doing, error))):
        yield heard


def fails(*_: object) -> None:
    """What nobody thought of."""
    raise KeyError("nobody thought of it")


def test_elsewhere_a_test_fails() -> None:
    with pytest.raises(ZeroDivisionError):
        fell_back("dividing", ZeroDivisionError())


@pytest.mark.falls_back
class TestWays:
    """Each shorter way, and what is told where it fails."""

    @pytest.fixture
    def living(self, tmp_path: Path) -> Living:
        return Living.small(tmp_path / "fleet", 5, 6)

    def test_of_a_part(self, living: Living, tmp_path: Path, heard: Told, monkeypatch: pytest.MonkeyPatch) -> None:
        state = state_in(tmp_path)
        answer(living.question(), state).remember(state)
        living.a_label()
        monkeypatch.setattr("muster.run.incremental.run_part", fails)
        found = answer(living.question(), state)
        assert found.looked_at.startswith("the whole fleet: KeyError")
        assert told(found.settled) == living.whole()
        assert [doing for doing, _ in heard] == ["deciding a part of the fleet"]

    def test_of_shards(self, living: Living, heard: Told, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("muster.run.shards.sharded.decide_in_shards", fails)
        found = answer(living.question(), None, Workers(2))
        assert told(found.settled) == living.whole()
        assert [doing for doing, _ in heard] == ["deciding in shards"]

    def test_of_what_is_not_committed(
        self, living: Living, tmp_path: Path, heard: Told, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository, state = open_repository(living.repo.path, living.repo.environ), state_in(tmp_path)
        tip = resolve(repository, "HEAD")

        def asked() -> Question:
            return check_question(repository, tip, staged_changes(repository, tip))

        check_uncommitted(asked(), state, now=NOON)
        monkeypatch.setattr("muster.run.uncommitted._check_part", fails)
        living.repo.write(f"clusters/{living.names[0]}/cluster.yaml", "")
        living.repo.git("add", "--all")
        check_uncommitted(asked(), state, now=NOON)
        assert [doing for doing, _ in heard] == ["checking a part of the fleet"]


@pytest.mark.falls_back
def test_a_fault_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    from muster.commandline import _Fallbacks

    say: Callable[[str, Exception], None] = _Fallbacks()
    error = ZeroDivisionError("secret")
    for _ in range(3):
        say("dividing", error)
    said = capsys.readouterr().err
    assert said.count("while dividing") == 1
    assert "ZeroDivisionError at " in said
    assert "secret" not in said
