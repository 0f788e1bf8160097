"""Freezes: times at which sorts of effects are held (`Fleet.spec.freezes`), each a period or the times at which a
Calendar is closed.

An Approval on the branch of its topic breaks a freeze for one effect (`muster.rules.effects.approval`); nothing else
does. Recovery and the rollback of a Rollout are never held.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from muster.cel.runtime import windows
from muster.cel.runtime.windows import WindowError, Windows
from muster.data.agentref import proposal_branch
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CALENDAR, FLEET, MANAGED_CLUSTER
from muster.data.names import did_you_mean
from muster.data.times import format_time
from muster.data.tree import At, Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.clusters import CLUSTER_SET, DEFAULT
from muster.fleet.fleet import Fleet
from muster.fleet.places import finding_at
from muster.fleet.settings import Settings
from muster.fleet.view import View
from muster.rules.calendars.calendar import FieldReader, compile_calendar
from muster.rules.effects.budget import labels_of
from muster.rules.policies.selectors import LabelSelector, selector_mistakes

FREEZES: Final = "freezes"
#: The start of `heldBy` of a frozen effect, before the freeze.
FROZEN_BY: Final = "freeze"
#: The start of a freeze's topic.
PREFIX: Final = "freeze-"
#: The sort of each effect that a freeze may hold, by the first word of its name.
SORTS: Final[Mapping[str, str]] = {
    "rollout": "rollouts",
    "remedy": "remedies",
    "move": "placements",
    "deletion": "deletions",
    "removal": "deletions",
}
ALL_SORTS: Final = tuple(dict.fromkeys(SORTS.values()))
_UNTIL: Final = "until then the last valid settings of the Fleet are in force"


@dataclass(frozen=True, slots=True)
class Freeze:
    """A freeze. It is in force while `windows` are closed; None: always, because its Calendar is missing."""

    name: str
    windows: Windows | None
    holds: frozenset[str]
    selector: LabelSelector
    reason: str = ""

    @property
    def sorts(self) -> list[str]:
        """The sorts of effects that it holds, in their usual order."""
        return [sort for sort in ALL_SORTS if sort in self.holds]

    @property
    def topic(self) -> str:
        """The topic under which effects are proposed that are to happen although it is in force."""
        return f"{PREFIX}{self.name}"

    def in_force(self, at: datetime) -> bool:
        """Is it in force at an instant?"""
        return self.windows is None or not windows.state_then(self.windows, at)[0]

    def next_change(self, at: datetime) -> datetime | None:
        """Return when it next begins or ends; None if it never does."""
        return None if self.windows is None else windows.state_then(self.windows, at)[1]

    def selects(self, view: View, cluster: ObjectId) -> bool:
        """Does it hold effects on this cluster (or cluster of a pool)? Also if its labels are unknown."""
        obj = view.objects.get(cluster)
        if obj is None or not self.selector.requirements:
            return True
        labels = labels_of(obj)
        if MANAGED_CLUSTER.has(cluster):
            labels[CLUSTER_SET] = labels.get(CLUSTER_SET) or DEFAULT
        return self.selector.matches(labels)

    def text(self, at: datetime) -> str:
        """`freeze 'holidays' (year end) until 2027-01-04T00:00:00Z`."""
        cause = "its calendar is missing" if self.windows is None else self.reason
        end = self.next_change(at)
        return f"freeze {self.name!r}{f' ({cause})' if cause else ''}{f' until {format_time(end)}' if end else ''}"

    def held_text(self, at: datetime) -> str:
        """What releases an effect that it holds, as a sentence without a full stop."""
        return f"{self.text(at)}; to break it, merge {proposal_branch(self.topic)}"


def freezes_of(settings: Settings, view: View) -> tuple[Freeze, ...]:
    """Return the freezes of the settings in force, in their order. The Calendars are in the view."""
    entries = mappings_at(settings.spec, FREEZES)
    named = {str(entry["calendar"]) for entry in entries if "calendar" in entry}
    calendars = {obj.id.name: compile_calendar(obj)[0] for obj in view.of(CALENDAR) if obj.id.name in named}
    freezes = []
    for entry in entries:
        holds = frozenset(entry.get("holds") or ALL_SORTS)
        if "calendar" in entry:
            calendar = calendars.get(str(entry["calendar"]))
            times = calendar.windows if calendar is not None else None
        else:
            try:
                zone = windows.zone(str(entry.get("timeZone", "UTC")))
                times = windows.weekly((), zone, (windows.period(str(entry.get("period"))),))
            except WindowError:
                continue  # a finding says so, and the Fleet with this entry is not in force
        selector = LabelSelector.parse(entry.get("selector"))
        freezes.append(Freeze(str(entry["name"]), times, holds, selector, str(entry.get("reason", ""))))
    return tuple(freezes)


def freeze_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield an error for each freeze that cannot be read, and a warning for each missing Calendar."""
    calendars = {obj.id.name for obj in fleet.of(CALENDAR)}
    for obj in fleet.of(FLEET):
        reader, names = FieldReader(obj, _UNTIL), set[Tree]()
        for index, entry in enumerate(mappings_at(obj.spec, FREEZES)):
            at: At = ("spec", FREEZES, index)
            if entry["name"] in names:
                reader.refuse(
                    (*at, "name"), f"two freezes are called {entry['name']!r}", "give every freeze a name of its own"
                )
            names.add(entry["name"])
            if ("period" in entry) is ("calendar" in entry):
                both = "both a period and a calendar" if "period" in entry else "neither a period nor a calendar"
                reader.refuse(at, f"the freeze {entry['name']!r} has {both}", "say when it is in force by one of them")
            if "period" in entry:
                reader.read(windows.period, (*at, "period"))
            reader.read(windows.zone, (*at, "timeZone"), "UTC")
            for below, mistake in selector_mistakes(entry.get("selector")):
                yield finding_at(obj, (*at, "selector", *below), Code.INVALID_SELECTOR, mistake, _UNTIL)
            name = dig(entry, "calendar")
            if name is not None and name not in calendars:
                message = f"there is no Calendar {name!r}, so the freeze {entry['name']!r} is always in force"
                yield finding_at(
                    obj, (*at, "calendar"), Code.UNKNOWN_REFERENCE, message, did_you_mean(str(name), calendars)
                )
        yield from reader.findings
