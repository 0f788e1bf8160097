"""A compiled Calendar: is it open at an instant, and when does that change?

    calendar = rules.calendars_by_name["office-hours"]
    calendar.is_open(now)        # True
    calendar.next_change(now)    # when it closes; None if it never does

Expressions read it as text: `calendar('office-hours')` is `now.inWindow(calendars['office-hours'])`.
"""

from collections.abc import Callable, Iterable
from dataclasses import field
from datetime import datetime
from typing import TypeVar

from muster.cel.runtime import windows
from muster.cel.runtime.windows import Period, WindowError, Windows
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.names import did_you_mean
from muster.data.tree import At, Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.places import finding_at

_T = TypeVar("_T")
#: What an invalid Calendar means for expressions and rollouts.
_UNTIL = "until then the calendar is missing: what asks for it gets an error, and is not open"


@dataclass(frozen=True, slots=True)
class Calendar:
    """A compiled Calendar. `text`: the same as text, for expressions; `freezes`: its freezes with their reasons."""

    id: ObjectId
    windows: Windows
    text: str
    freezes: tuple[tuple[Period, str], ...] = ()

    def is_open(self, at: datetime) -> bool:
        """Is the Calendar open at an instant?"""
        return windows.state_then(self.windows, at)[0]

    def next_change(self, at: datetime) -> datetime | None:
        """Return when it next opens or closes; None if it never does."""
        return windows.state_then(self.windows, at)[1]

    def why_closed(self, at: datetime) -> str:
        """Why it is closed at an instant, as a clause: `calendar 'office-hours' is frozen: year end`."""
        local = at.astimezone(self.windows.zone).date()
        name = f"calendar {self.id.name!r}"
        for period, reason in self.freezes:
            if period.covers(at, local):
                return f"{name} is frozen{': ' if reason else ''}{reason}"
        if any(period.covers(at, local) for period in self.windows.closed):
            return f"{name} has a holiday"
        return f"it is outside the windows of {name}"


def compile_calendar(obj: Object) -> tuple[Calendar | None, list[Finding]]:
    """Compile a Calendar; None if it has a mistake."""
    reader = FieldReader(obj, _UNTIL)
    zone = reader.read(windows.zone, ("spec", "timeZone"), "UTC")
    spans = []
    for index in range(len(mappings_at(obj.spec, "windows"))):
        at: At = ("spec", "windows", index)
        days = reader.read(windows.days_of, (*at, "days"), "Mon-Sun")
        start = reader.read(windows.minute_of, (*at, "from"), "00:00")
        end = reader.read(windows.minute_of, (*at, "to"), "24:00")
        if days is not None and start is not None and end is not None:
            if start == end:
                reader.refuse(
                    (*at, "to"), "a window that ends when it begins is never open", "write 24:00 for midnight"
                )
            spans.append((days, start, end))
    holidays = [
        reader.read(windows.period, ("spec", "except", index)) for index in range(len(dig(obj.spec, "except") or ()))
    ]
    freezes = [
        (reader.read(windows.period, ("spec", "freezes", index, "period")), str(entry.get("reason", "")))
        for index, entry in enumerate(mappings_at(obj.spec, "freezes"))
    ]
    if reader.findings or zone is None:
        return None, reader.findings
    frozen = tuple((period, reason) for period, reason in freezes if period is not None)
    closed = (*(period for period in holidays if period is not None), *(period for period, _ in frozen))
    return Calendar(obj.id, windows.weekly(spans, zone, closed), _text(obj), frozen), []


def _text(obj: Object) -> str:
    """A Calendar in the notation of `window()`."""
    weekly = "; ".join(
        f"{window.get('days', 'Mon-Sun')} {window.get('from', '00:00')}-{window.get('to', '24:00')}"
        for window in mappings_at(obj.spec, "windows")
    )
    closed = ", ".join(
        (*(dig(obj.spec, "except") or ()), *(freeze["period"] for freeze in mappings_at(obj.spec, "freezes")))
    )
    return f"{weekly or 'always'} in {obj.spec.get('timeZone', 'UTC')}{f' except {closed}' if closed else ''}"


@dataclass(frozen=True, slots=True)
class FieldReader:
    """Parses fields with days, times and periods of an object, with a finding for each mistake. `hint` follows if
    there is no nearer word."""

    obj: Object
    hint: str
    findings: list[Finding] = field(default_factory=list)

    def read(self, parse: Callable[[str], _T], at: At, default: str = "") -> _T | None:
        """Return the parsed field, or the default's value if it is missing; None if it has a mistake."""
        value = _value_at(self.obj.body, at)
        try:
            return parse(default if value is None else value)
        except WindowError as error:
            self.refuse(at, error.message, did_you_mean(error.word, error.candidates()) or self.hint)
            return None

    def refuse(self, at: At, message: str, hint: str) -> None:
        """Record a mistake in a field."""
        self.findings.append(finding_at(self.obj, at, Code.MALFORMED_VALUE, message, hint))


def _value_at(body: Tree, at: Iterable[str | int | tuple[str, ...]]) -> Tree:
    for step in at:
        if isinstance(body, dict):
            body = body.get(step)
        else:
            body = body[step] if isinstance(body, list) and isinstance(step, int) and step < len(body) else None
    return body
