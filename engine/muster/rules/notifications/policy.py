"""Compiled NotificationPolicies: which transitions are notified, to whom, in which groups, and the quiet hours."""

from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from muster import cel
from muster.cel.types import STRING, ObjectType, required
from muster.data.codes import Code
from muster.data.kinds import NOTIFICATION_POLICY
from muster.data.times import parse_duration
from muster.data.tree import mapping_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.rules.calendars.calendar import Calendar
from muster.rules.policies.expressions import Compiler
from muster.rules.policies.policies import Policy, PolicyFields, PolicyKind

#: Names of days in policies, in the order of `datetime.weekday`.
DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: A transition in expressions: the object, what changed (`condition`, `Ready`), before, after, why.
CHANGE: Final = ObjectType(
    "change",
    required(**dict.fromkeys(("kind", "namespace", "object", "sort", "name", "before", "after", "reason"), STRING)),
)


@dataclass(frozen=True, slots=True)
class QuietHours:
    """No messages from `begin` to `end` in a time zone, if they begin on one of `days` (as in `weekday`), except for
    the severities in `exceptions`."""

    zone: ZoneInfo
    begin: time
    end: time
    days: frozenset[int]
    exceptions: frozenset[str]

    def over(self, at: datetime, calendars: Mapping[str, Calendar]) -> datetime:  # noqa: ARG002
        """Return the end of the quiet hours that an instant is in; the instant itself if in none."""
        local = at.astimezone(self.zone)
        for first in (local.date(), local.date() - timedelta(days=1)):
            if first.weekday() in self.days:
                last = first if self.begin < self.end else first + timedelta(days=1)
                begins = datetime.combine(first, self.begin, self.zone)
                ends = datetime.combine(last, self.end, self.zone)
                if begins <= local < ends:
                    return ends.astimezone(at.tzinfo)
        return at


@dataclass(frozen=True, slots=True)
class QuietOutside:
    """No messages while a Calendar is closed, except for the severities in `exceptions`."""

    calendar: str
    exceptions: frozenset[str]

    def over(self, at: datetime, calendars: Mapping[str, Calendar]) -> datetime:
        """Return when the Calendar opens next; the instant itself if it is open, never opens, or is missing: a message
        is rather early than lost."""
        calendar = calendars.get(self.calendar)
        if calendar is None or calendar.is_open(at):
            return at
        return calendar.next_change(at) or at


@dataclass(frozen=True, slots=True)
class NotificationPolicy(Policy):
    """Notifies of transitions. `sinks`: names of receivers; empty means all. `resolved`: which
    transitions end an incident. `by`: the group of a transition; a group's
    message waits for `window`."""

    when: cel.Program
    resolved: cel.Program | None
    by: cel.Program | None
    severity: str
    window: timedelta
    quiet: QuietHours | QuietOutside | None
    sinks: frozenset[str]


def _notification_policy(obj: Object, compiler: Compiler, common: PolicyFields) -> NotificationPolicy:
    group = mapping_at(obj.spec, "group")
    by = compiler.string(("spec", "group", "by")) if "by" in group else None
    resolved = compiler.condition(("spec", "resolvedWhen")) if "resolvedWhen" in obj.spec else None
    return NotificationPolicy(
        **common,
        when=compiler.condition(("spec", "when")),
        resolved=resolved,
        by=by,
        severity=str(obj.spec.get("severity", "warning")),
        window=parse_duration(group.get("window", "0s")),
        quiet=_quiet_hours(obj, compiler),
        sinks=frozenset(obj.spec.get("sinks") or ()),
    )


def _quiet_hours(obj: Object, compiler: Compiler) -> QuietHours | QuietOutside | None:
    quiet = mapping_at(obj.spec, "quietHours")
    if not quiet:
        return None
    exempt = frozenset(quiet.get("except", ["critical"]))
    if "outside" in quiet:
        return QuietOutside(str(quiet["outside"]), exempt)
    name = str(quiet.get("timeZone", "UTC"))
    try:
        zone = ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # invalid name, a folder, or missing
        hint = "take a name of the IANA database, such as Europe/Berlin or UTC"
        compiler.refuse(
            ("spec", "quietHours", "timeZone"), Code.VALUE_NOT_ALLOWED, f"no time zone is called {name!r}", hint
        )
        return None
    days = frozenset(map(DAYS.index, quiet.get("days") or DAYS))
    return QuietHours(zone, time.fromisoformat(quiet["from"]), time.fromisoformat(quiet["to"]), days, exempt)


NOTIFICATION_POLICIES: Final = PolicyKind(NOTIFICATION_POLICY, _notification_policy, {"change": CHANGE})
