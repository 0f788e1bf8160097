"""A forecast: what happens next if nobody says anything more, or if agents go on as they do.

By following horizons, not by sampling: each run says when time alone will next change anything, and that is the instant
of the next one. What is told is what real runs at these instants would commit (`muster.features.whatif.rehearsal`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from muster.cli.documents import change_document, held_document, object_document
from muster.data.decision import Held, Pulse
from muster.data.ids import ObjectId
from muster.data.printable import printable
from muster.data.times import format_duration, format_time
from muster.data.tree import Tree
from muster.features.whatif.rehearsal import Rehearsal
from muster.features.whatif.supposing import Beat, Supposition, beats, renewals
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from muster.git.snapshot import CommitSnapshot
from muster.run.change import Change
from muster.run.changes import summary


@dataclass(frozen=True, slots=True)
class Moment:
    """What happens at an instant: transitions, effects that a budget begins to hold and those that it lets go, and
    pulses that are due."""

    at: datetime
    changes: tuple[Change, ...]
    held: tuple[Held, ...]
    released: tuple[tuple[ObjectId, str], ...]
    pulses: tuple[Pulse, ...]

    def __bool__(self) -> bool:
        """Whether anything does."""
        return bool(self.changes or self.held or self.released or self.pulses)


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


def moment_text(moment: Moment, now: datetime) -> str:
    """Return an instant as a line of its own, and below it what happens then."""
    return "\n".join(map(printable, _lines(moment, now))) + "\n"


def _lines(moment: Moment, now: datetime) -> Iterator[str]:
    when = f"in {format_duration(moment.at - now)}" if moment.at > now else "now"
    yield f"{format_time(moment.at)}  {when}  {_summary(moment)}"
    yield from (f"  {line}" for line in _details(moment))


def _summary(moment: Moment) -> str:
    told = [summary(moment.changes)] if moment.changes else []
    if moment.held:
        told.append(f"{len(moment.held)} held")
    if moment.released:
        told.append(f"{len(moment.released)} held no longer")
    if moment.pulses:
        told.append(f"{len(moment.pulses)} pulse{'s' if len(moment.pulses) > 1 else ''}")
    return ", ".join(told)


def _details(moment: Moment) -> Iterator[str]:
    yield from map(str, moment.changes)
    yield from (f"{held.object}: {held.effect} held: {held.reason}" for held in moment.held)
    yield from (f"{id_}: {effect} is held no longer" for id_, effect in moment.released)
    yield from (f"{pulse.object}: pulse {pulse.policy}: {pulse.reason}" for pulse in moment.pulses)


def moment_row(moment: Moment, most: int) -> Tree:
    """Return an instant for the page, with so many lines of what happens at the most, and how many there are."""
    lines = list(_details(moment))
    return {"at": format_time(moment.at), "what": _summary(moment), "lines": lines[:most], "count": len(lines)}


def moment_document(moment: Moment) -> Tree:
    """Return an instant as data."""
    return {
        "at": format_time(moment.at),
        "summary": summary(moment.changes),
        "changes": [change_document(change) for change in moment.changes],
        "held": [held_document(held) for held in moment.held],
        "released": [{"object": object_document(id_), "effect": effect} for id_, effect in moment.released],
        "pulses": [
            {"object": object_document(one.object), "policy": one.policy, "reason": one.reason} for one in moment.pulses
        ],
    }
