"""Instants before the next one at which a run said that anything may change: a run there changes nothing.

The horizon of a run is a promise to all that skip the instants before it: incremental runs, `watch` and `forecast`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count

from muster.features.forecast.forecast import Moment, forecast
from muster.features.whatif.rehearsal import rehearsal
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.git.snapshot import CommitSnapshot
from muster.run.incremental import answer
from muster.run.memo.state import RunState
from muster.run.overlay import Overlay
from muster.run.settle import settle
from tests.support.living import Living, told

_SECOND = timedelta(seconds=1)
#: How far to look if time alone never changes anything.
_FAR = timedelta(days=40)
#: So many runs of a forecast are compared.
_RUNS = 12


def quiet_until_turn(living: Living, state: RunState, turn: datetime | None, number: int) -> None:
    """Fail if a run at some instants between now and `turn` changes anything, or an incremental run says otherwise.

    The last run has been committed and recorded in the state.
    """
    now = living.now
    try:
        for at in _between(living, turn, number):
            living.now = at
            warm, cold = answer(living.question(), state), living.cold()
            assert not cold.files, (at, turn, [str(change) for change in cold.changes])
            assert told(warm.settled) == told(cold), (at, turn, warm.looked_at)
    finally:
        living.now = now


def _between(living: Living, turn: datetime | None, number: int) -> Sequence[datetime]:
    """Some instants after now and before `turn`: the first and the last as often as any other."""
    last = int(((turn or living.now + _FAR) - living.now) / _SECOND) - 1
    if last < 1:
        return ()
    seconds = [1, last, *(living.chance.randint(1, last) for _ in range(number))]
    return sorted(living.now + second * _SECOND for second in {*living.chance.sample(seconds, number)})


def equals_forecast(living: Living, span: timedelta, instants: Sequence[datetime]) -> None:
    """Fail if the forecast of a span differs from runs at its own moments and at further instants.

    A forecast that goes on and on is compared as far as its first runs.
    """
    repository = open_repository(living.repo.path, living.repo.environ)
    heard = local_agent_refs(repository)
    with rehearsal(repository, living.repo.tip(), heard) as rehearsed:
        runs, until = count(1), living.now + span
        moments = {
            moment.at: moment for moment in forecast(rehearsed, living.now, until, ends=lambda: next(runs) > _RUNS)
        }
    if next(runs) > _RUNS:
        until = max(moments, default=living.now)
    snapshot, files = CommitSnapshot(repository, living.repo.tip(), heard.refs, heard.agents), dict[str, str | None]()
    around = {at + shift for at in moments for shift in (-_SECOND, timedelta(0), _SECOND)}
    for at in sorted(one for one in {*instants, *around, living.now, until} if living.now <= one <= until):
        settled = settle(Overlay(snapshot, files), at)
        files.update(settled.files)
        expected = _texts(moments.get(at))
        assert [str(change) for change in settled.changes] == expected, at


def _texts(moment: Moment | None) -> list[str]:
    return [] if moment is None else [str(change) for change in moment.changes]
