"""The way: each way that is shown suffices for real runs over a fleet in which people or agents go it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from muster.features.explain.how import search
from muster.features.explain.how.search import WaysToGoal, find_ways
from muster.features.explain.how.text import ways_text
from muster.features.whatif.rehearsal import rehearsal
from muster.fleet.assemble import assemble
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.run.incremental import Wanted
from tests.support.git import Repo
from tests.support.situations import NAMES, SITUATIONS, Edits, Situation, beats, derived, reconcile

_MEANWHILE = timedelta(minutes=4)


def ways_of(repo: Repo, situation: Situation) -> WaysToGoal:
    repository = open_repository(repo.path, repo.environ)
    wanted = Wanted(frozenset((str(situation.object), situation.object.name)), wide=True)
    with rehearsal(repository, repo.tip(), local_agent_refs(repository)) as trial:
        trial.step(situation.now)
        return find_ways(trial, assemble(trial.snapshot), situation.object, situation.field, situation.now, wanted)


def holds(repo: Repo, situation: Situation) -> bool:
    return situation.holds(lambda id_: derived(repo, id_))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", SITUATIONS)
def test_each_way_suffices(tmp_path: Path, name: str) -> None:
    situation = SITUATIONS[name]
    repo = situation.begin(tmp_path / "fleet")
    assert not holds(repo, situation)
    ways = ways_of(repo, situation)
    shown = ways_text(ways).splitlines()[1:]
    expected = [f"  {text}" for text in situation.ways]
    assert sorted(line for line in shown if not line.startswith("  wait until")) == sorted(expected)
    for way in ways.ways:
        edits = next(edits for text, edits in situation.ways.items() if text.startswith(way.text))
        _go(repo, situation, edits, way.at)
    _wait(repo, situation, ways.wait, situation.alone, ())
    _wait(repo, situation, ways.renewing, situation.renewing, [name for name in NAMES if name not in situation.silent])


def _go(repo: Repo, situation: Situation, edits: Edits, at: datetime | None) -> None:
    """The edits suffice for real runs, and before the instant that is said they do not."""
    start = repo.tip()
    repo.commit(edits)
    reconcile(repo, situation.now)
    assert holds(repo, situation) == (at is None), edits
    if at is not None:
        reconcile(repo, at)
        assert holds(repo, situation), edits
    repo.git("reset", "-q", "--hard", start)


def _wait(
    repo: Repo, situation: Situation, until: datetime | None, expected: timedelta | None, renewing: Sequence[str]
) -> None:
    """Time alone suffices at that instant, and not before, while some agents renew."""
    assert until == (None if expected is None else situation.now + expected)
    if until is None:
        return
    start, at = repo.tip(), situation.now
    silent = [name for name in NAMES if name not in renewing]
    while True:
        turn = reconcile(repo, at).last.turn
        at = min(max(turn or until, at + timedelta(seconds=1)), at + _MEANWHILE)
        if at >= until:
            break
        repo.commit(beats(at, silent) or {"README.md": f"{at}\n"})
    if renewing:
        repo.commit(beats(until - timedelta(seconds=1), silent))
        reconcile(repo, until - timedelta(seconds=1))
    assert not holds(repo, situation)
    reconcile(repo, until)
    assert holds(repo, situation)
    repo.git("reset", "-q", "--hard", start)


def test_the_number_of_rehearsals_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_TRIED", 1)
    situation = SITUATIONS["approval"]
    ways = ways_of(situation.begin(tmp_path / "fleet"), situation)
    assert (len(ways.ways), ways.tried, ways.limited) == (1, 1, True)
    assert ways.until == situation.now + timedelta(days=31)
    assert "1 rehearsal of changes, which is the limit: there may be other ways" in ways_text(ways)


def test_how_long_is_waited_is_bounded_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_TRIED", 0)
    monkeypatch.setattr(search, "MOST_INSTANTS", 1)
    situation = SITUATIONS["report"]
    ways = ways_of(situation.begin(tmp_path / "fleet"), situation)
    assert ways.until == situation.now + timedelta(minutes=5), "when all fall silent"
    assert "no change that was tried suffices, nor does waiting until 2026-01-01T12:07:00Z." in ways_text(ways)
