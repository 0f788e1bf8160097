"""A forecast: what happens next if nobody says anything more, or if agents go on as they do.

By following horizons, not by sampling: each run says when time alone will next change anything, and that is the instant
of the next one. What is told is what real runs at these instants would commit (`muster.features.whatif.rehearsal`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from muster.data.decision import Held
from muster.data.ids import ObjectId
from muster.features.forecast.moment import Moment
from muster.features.whatif.rehearsal import Rehearsal
from muster.features.whatif.supposing import Beat, Supposition, beats, renewals
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from muster.git.snapshot import CommitSnapshot

_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Beating:
    """The agents that go on renewing, over the leases as they were in the beginning."""

    fleet: Fleet
    agents: tuple[Beat, ...]

    @classmethod
    def of(cls, rehearsal: Rehearsal, patterns: Iterable[str], now: datetime, *, lost: Iterable[str] = ()) -> "Beating":
        """Those of the clusters whose names match, but for the `lost` ones; an agent that is silent stays silent."""
        with CommitSnapshot(
            rehearsal.repository, rehearsal.commit, rehearsal.heard.refs, rehearsal.heard.agents
        ) as all_:
            fleet, gone = assemble(all_), frozenset(lost)
            return cls(fleet, tuple(beat for beat in beats(fleet, patterns, now) if beat.cluster not in gone))

    def until(self, rehearsal: Rehearsal, now: datetime) -> None:
        """Have them renew until an instant."""
        supposition = Supposition(self.fleet)
        renewals(supposition, self.agents, now)
        rehearsal.suppose(supposition.edits)


def forecast(
    rehearsal: Rehearsal, now: datetime, until: datetime, beating: Beating | None = None, *, pulses: bool = False
) -> Iterator[Moment]:
    """Yield what happens from now to `until`, both included, in order. What is due now comes first.

    `pulses`: tell of them too. As nobody answers any, they come thick and fast, and they change nothing else.
    """
    at, held = now, dict[tuple[ObjectId, str], Held]()
    while True:
        if beating is not None:
            beating.until(rehearsal, at)
        settled = rehearsal.step(at)
        holds = {(one.object, one.effect): one for one in settled.last.fleet.held}
        if at == now:  # what was held before is no news
            begun = {(change.object, change.fact.name) for change in settled.changes if change.fact.sort == "held"}
            held = {key: one for key, one in holds.items() if key not in begun}
        moment = Moment(
            at, tuple(settled.changes), tuple(one for key, one in holds.items() if key not in held),
            tuple(sorted(held.keys() - holds.keys())), settled.last.fleet.pulses if pulses else (),
        )  # fmt: skip
        if moment:
            yield moment
        held, horizon = holds, settled.last.horizon if pulses else settled.last.turn
        if horizon is None:
            return
        at = max(horizon, at + _SECOND)
        if at > until:
            return
