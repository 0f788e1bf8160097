"""A forecast: what happens next without new input, or if agents keep renewing.

It follows horizons and does not sample: the horizon of each run is the instant of the next. Its results are those of
real runs at these instants (`muster.features.whatif.rehearsal`).
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final, Protocol

from muster.cli.documents import change_document, held_document, object_document
from muster.data.decision import Held, Pulse
from muster.data.ids import ObjectId
from muster.data.printable import printable
from muster.data.times import age, earliest, format_time
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.whatif.rehearsal import Rehearsal
from muster.features.whatif.supposing import Beat, Supposition, beats, renewals
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from muster.run.run import Settled
from muster.run.transition import Transition
from muster.run.transitions.subjects import subject_line


@dataclass(frozen=True, slots=True)
class Moment:
    """What happens at an instant: transitions, effects that a budget begins to hold or releases, and due pulses."""

    at: datetime
    changes: tuple[Transition, ...]
    held: tuple[Held, ...]
    released: tuple[tuple[ObjectId, str], ...]
    pulses: tuple[Pulse, ...]

    def __bool__(self) -> bool:
        """Does anything happen?"""
        return bool(self.changes or self.held or self.released or self.pulses)


_SECOND: Final = timedelta(seconds=1)


class ForecastAgents(Protocol):
    """What agents and people do in a forecast, as suppositions around its runs."""

    def before(self, rehearsal: Rehearsal, now: datetime) -> None:
        """Suppose what they have done by the instant of the next run."""

    def after(self, rehearsal: Rehearsal, settled: Settled) -> datetime | None:
        """Suppose what they do because of a run. Returns when they next do something that a run must see."""


@dataclass(frozen=True, slots=True)
class RenewingAgents:
    """The agents that keep renewing, and the fleet with their leases at the start."""

    fleet: Fleet
    agents: tuple[Beat, ...]

    @classmethod
    def of(
        cls, rehearsal: Rehearsal, patterns: Iterable[str], now: datetime, *, lost: Iterable[str] = ()
    ) -> "RenewingAgents":
        """The agents of clusters whose names match, without the `lost` and the silent ones."""
        fleet, gone = assemble(rehearsal.snapshot), frozenset(lost)
        return cls(fleet, tuple(beat for beat in beats(fleet, patterns, now) if beat.cluster not in gone))

    def before(self, rehearsal: Rehearsal, now: datetime) -> None:
        """Renew the leases until an instant."""
        supposition = Supposition(self.fleet)
        renewals(supposition, self.agents, now)
        rehearsal.suppose(supposition.edits)

    def after(self, _rehearsal: Rehearsal, _settled: Settled) -> None:
        """A run does not change when they renew."""


def instants(
    rehearsal: Rehearsal,
    now: datetime,
    until: datetime,
    agents: ForecastAgents | None = None,
    *,
    pulses: bool = False,
    ends: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[datetime, Settled]]:
    """Yield the result of the run at `now`, and at each instant until `until`, included, at which time alone changes
    something. `pulses`: also if only a pulse becomes due. `ends`: asked after each run whether to stop.
    """
    at = now
    while True:
        if agents is not None:
            agents.before(rehearsal, at)
        settled = rehearsal.step(at)
        acts = agents.after(rehearsal, settled) if agents is not None else None
        yield at, settled
        horizon = earliest(settled.last.horizon if pulses else settled.last.turn, acts)
        if horizon is None or ends():
            return
        at = max(horizon, at + _SECOND)
        if at > until:
            return


def forecast(
    rehearsal: Rehearsal,
    now: datetime,
    until: datetime,
    agents: ForecastAgents | None = None,
    *,
    pulses: bool = False,
    ends: Callable[[], bool] = lambda: False,
) -> Iterator[Moment]:
    """Yield what happens from now to `until`, both included, in order.

    `pulses`: include pulses. They are many, as no adapter answers them, and they change nothing else. `ends`: asked
    after each run whether to stop.
    """
    held = dict[tuple[ObjectId, str], Held]()
    for at, settled in instants(rehearsal, now, until, agents, pulses=pulses, ends=ends):
        holds = {(effect.object, effect.effect): effect for effect in settled.last.fleet.held}
        if at == now:  # effects that were already held are not reported
            begun = {(change.object, change.fact.name) for change in settled.changes if change.fact.sort == "held"}
            held = {key: effect for key, effect in holds.items() if key not in begun}
        moment = Moment(
            at,
            tuple(settled.changes),
            tuple(effect for key, effect in holds.items() if key not in held),
            tuple(sorted(held.keys() - holds.keys())),
            settled.last.fleet.pulses if pulses else (),
        )
        if moment:
            yield moment
        held = holds


def moment_text(moment: Moment, now: datetime) -> str:
    """Return a line with the instant and a summary, and below it a line for each thing that happens."""
    when = age(moment.at, now) if moment.at > now else "now"
    lines = [f"{format_time(moment.at)}  {when}  {_summary(moment)}", *(f"  {line}" for line in _details(moment))]
    return "\n".join(map(printable, lines)) + "\n"


def _summary(moment: Moment) -> str:
    parts = [subject_line(moment.changes)] if moment.changes else []
    if moment.held:
        parts.append(f"{len(moment.held)} held")
    if moment.released:
        parts.append(f"{len(moment.released)} held no longer")
    if moment.pulses:
        parts.append(f"{len(moment.pulses)} pulse{'s' if len(moment.pulses) > 1 else ''}")
    return "; ".join(parts)


def _details(moment: Moment) -> Iterator[str]:
    yield from map(str, moment.changes)
    yield from (f"{held.object}: {held.effect} held: {held.reason}" for held in moment.held)
    yield from (f"{id_}: {effect} is held no longer" for id_, effect in moment.released)
    yield from (f"{pulse.object}: pulse {pulse.policy}: {pulse.reason}" for pulse in moment.pulses)


def moment_row(moment: Moment, most: int) -> Tree:
    """Return an instant for the page, with at most `most` lines of detail, and their full number."""
    lines = list(_details(moment))
    return {"at": format_time(moment.at), "what": _summary(moment), "lines": lines[:most], "count": len(lines)}


def moment_document(moment: Moment) -> Tree:
    """Return an instant as data."""
    return {
        "at": format_time(moment.at),
        "summary": subject_line(moment.changes),
        "changes": [change_document(change) for change in moment.changes],
        "held": [held_document(held) for held in moment.held],
        "released": [{"object": object_document(id_), "effect": effect} for id_, effect in moment.released],
        "pulses": [
            {"object": object_document(pulse.object), "policy": pulse.policy, "reason": pulse.reason}
            for pulse in moment.pulses
        ],
    }
