"""How many clusters were available over time, in the fleet and in each region and set, from the history.

Clusters count in the region and set that their labels name today; removed ones only in the whole fleet.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from muster.data.kinds import Kind
from muster.data.locations import SUFFIX, file_name
from muster.data.times import format_time, later
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.history.history import CommittedTransition, FleetHistory, StatusChange
from muster.fleet.clusters import state_of
from muster.run.run import Run


class Level(NamedTuple):
    """How many clusters are available, Unknown and not available; undecided ones do not count."""

    available: int
    unknown: int
    not_available: int

    @property
    def share(self) -> float:
        """The share of available clusters; more than 1 if there are no decided ones."""
        judged = sum(self)
        return self.available / judged if judged else 2.0

    def plus(self, change: Sequence[int], sign: int = 1) -> "Level":
        """The level after a change; with sign -1, before it."""
        return Level(*(max(0, have + sign * more) for have, more in zip(self, change, strict=True)))


NONE: Final = Level(0, 0, 0)


class Event(NamedTuple):
    """When a group reached a level, and the number of the commit, -1 for none."""

    at: datetime
    level: Level
    commit: int


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A window of time, drawn in columns. History begins at `known`."""

    since: datetime
    until: datetime
    known: datetime
    columns: int

    @classmethod
    def ending(cls, until: datetime, length: timedelta, columns: int, begins: datetime | None) -> "TimeWindow":
        """The window with a length and an end, of a history that begins at `begins` (None: before the window)."""
        since = later(until, -length) or until
        return cls(since, until, since if begins is None else min(until, max(since, begins)), columns)

    def seconds(self, at: datetime) -> int:
        """Seconds since the window began."""
        return int((at - self.since).total_seconds())

    def column(self, at: datetime) -> int:
        """The column of an instant."""
        return min(self.columns - 1, int((at - self.since) / (self.until - self.since) * self.columns))


class _Stretch(NamedTuple):
    """The time from one event to the next."""

    since: datetime
    until: datetime
    level: Level
    commit: int


def window(events: Sequence[Event], first: Level, span: TimeWindow) -> Tree:
    """Return the levels of a group over a window. `events`: in order of time; `first`: the level before them.

    `start`: the first level; `steps`: for each column with a change `[column, *lowest, *last, seconds, commit]`: the
    lowest and the last level, and when and by which commit the lowest was reached; `mean`: the share of all clusters'
    time in which they were available, None if none was decided; `worst`: `[*level, from, to, commit]` of the latest
    stretch with the lowest share, None if it was always the same. Times are in seconds since the window began.
    """
    stretches = list(_stretches(events, first, span))
    judged = sum(sum(stretch.level) * (stretch.until - stretch.since).total_seconds() for stretch in stretches)
    available = sum(stretch.level.available * (stretch.until - stretch.since).total_seconds() for stretch in stretches)
    return {
        "start": list(stretches[0].level),
        "steps": [
            [column, *low.level, *last.level, span.seconds(low.since), low.commit]
            for column, low, last in _columns(stretches[1:], span)
        ],
        "mean": round(available / judged, 6) if judged else None,
        "worst": _worst(stretches, span),
    }


def _stretches(events: Sequence[Event], first: Level, span: TimeWindow) -> Iterator[_Stretch]:
    """The stretches of the window, from `known` on, without those of no duration, except the last."""
    at, level, commit = span.known, first, -1
    for event in events:
        if event.at > at:
            yield _Stretch(at, min(event.at, span.until), level, commit)
            at = event.at
        level, commit = event.level, event.commit
    yield _Stretch(at, max(at, span.until), level, commit)


def _columns(stretches: Sequence[_Stretch], span: TimeWindow) -> Iterator[tuple[int, _Stretch, _Stretch]]:
    """The lowest and the last level in each column."""
    last_drawn: tuple[int, _Stretch, _Stretch] | None = None
    for stretch in stretches:
        column = span.column(stretch.since)
        if last_drawn is None or last_drawn[0] != column:
            if last_drawn is not None:
                yield last_drawn
            last_drawn = column, stretch, stretch
        else:
            last_drawn = column, min(last_drawn[1], stretch, key=lambda each: each.level.share), stretch
    if last_drawn is not None:
        yield last_drawn


def _worst(stretches: Sequence[_Stretch], span: TimeWindow) -> Tree:
    shares = [stretch.level.share for stretch in stretches]
    judged = [share for share in shares if share <= 1]
    if not judged or min(judged) == max(judged):
        return None
    lowest = min(judged)
    end = max(number for number, share in enumerate(shares) if share == lowest)
    begin = end
    while begin and shares[begin - 1] == lowest:
        begin -= 1
    stretch = stretches[begin]
    return [*stretch.level, span.seconds(stretch.since), span.seconds(stretches[end].until), stretch.commit]


#: The windows: name, length, and number of columns.
WINDOWS: Final = (
    ("24h", timedelta(hours=24), 144),
    ("7d", timedelta(days=7), 168),
    ("30d", timedelta(days=30), 180),
    ("90d", timedelta(days=90), 180),
    ("1y", timedelta(days=365), 182),
)
#: The window of all history, if that is shorter than the longest of them, and the shortest that says anything.
_ALL, _COLUMNS, _SHORTEST = "all", 180, timedelta(minutes=10)
#: How many of the latest changes are listed.
_MAX_CHANGES: Final = 40

#: A group: its type ("" for the fleet, region, set), and its name.
_Group = tuple[str, str]
_FLEET: Final[_Group] = ("", "")
#: Denied clusters and those that have not joined do not count.
_ONE: Final = {"True": Level(1, 0, 0), "Unknown": Level(0, 1, 0), "False": Level(0, 0, 1)}


class Member(NamedTuple):
    """A cluster: its groups besides the fleet, its evaluated state, and its committed state."""

    groups: tuple[_Group, ...]
    status: str
    committed: str


def members_of(run: Run, rows: Iterable[Sequence[str]]) -> dict[str, Member]:
    """Return the clusters of a run by `<plural>/<file>` of their derived files; `rows`: those of the overview."""
    members = {}
    for obj, row in zip(run.fleet.clusters(), rows, strict=True):
        # For a cluster that this run did not read, the committed state is the row's.
        stands = obj.id in run.fleet.beyond.standing or run.fleet.previous.get(obj.id) == {}
        before = row[3] if stands else state_of(obj.kind, run.fleet.conditions_before(obj.id))
        groups = (("region", row[6]), ("set", row[7]))
        members[file_of(obj.kind, obj.id.name)] = Member(groups, row[3], before)
    return members


def file_of(kind: Kind, name: str) -> str:
    """`<plural>/<file>` of a cluster's derived file, the key in the history."""
    return f"{kind.plural}/{file_name(name)}{SUFFIX}"


class _LevelChange(NamedTuple):
    """How a step changed groups: their levels before and after. `number`: of the step."""

    at: datetime
    number: int
    groups: dict[_Group, tuple[Level, Level]]


def availability(commit: str, now: datetime, members: Mapping[str, Member], history: FleetHistory) -> Tree:
    """Return the levels of each group over the windows that end at `now`, and the latest commits that changed any.

    Levels are `[available, unknown, not]`; windows as `window` returns them, those that history fills; `known`: how
    many seconds of a window are before the history. `changes`: `[instant, commit, [[group, *before, *after]]]`, newest
    first, with indexes of groups and commits, -1 for an uncommitted change.
    """
    steps = [(step.commit, step.changes) for step in history.steps]
    pending = [
        StatusChange(name, member.committed, member.status)
        for name, member in members.items()
        if member.committed != member.status
    ]
    if pending:
        steps.append((CommittedTransition("", now, ""), tuple(pending)))
    first, changes = _changes(steps, members)
    last = first | {group: after for change in changes for group, (_, after) in change.groups.items()}
    numbers = {group: number for number, group in enumerate(sorted(first))}
    events: dict[_Group, list[Event]] = {group: [] for group in first}
    for change in changes:
        for group, (_, after) in change.groups.items():
            events[group].append(Event(change.at, after, change.number))
    windows = _windows(now, history.begins)
    spans = [TimeWindow.ending(now, length, columns, history.begins) for _, length, columns in windows]
    drawn = {group: [window(events[group], first[group], span) for span in spans] for group in sorted(first)}
    latest = changes[-_MAX_CHANGES:][::-1]
    commits = _Commits([commit for commit, _ in steps])
    return {
        "commit": commit,
        "until": format_time(now),
        "begins": format_time(history.begins) if history.begins else "",
        "reason": history.reason.value if history.reason else "",
        "windows": [
            {"key": key, "seconds": int(length.total_seconds()), "columns": columns, "known": span.seconds(span.known)}
            for (key, length, columns), span in zip(windows, spans, strict=True)
        ],
        "groups": [
            {
                "by": by,
                "name": name,
                "now": list(last[by, name]),
                "windows": [commits.in_window(drawn_window) for drawn_window in drawn_windows],
            }
            for (by, name), drawn_windows in drawn.items()
        ],
        "changes": [
            [
                format_time(change.at),
                commits.of(change.number),
                [[numbers[group], *before, *after] for group, (before, after) in sorted(change.groups.items())],
            ]
            for change in latest
        ],
        "commits": [[named.commit, named.subject] for named in commits.named],
    }


def _windows(now: datetime, begins: datetime | None) -> list[tuple[str, timedelta, int]]:
    """The windows that history fills: a chart shows no time before there was anything."""
    if begins is None:
        return list(WINDOWS)
    windows = [window for window in WINDOWS if window[1] <= now - begins]
    return [*windows, (_ALL, now - begins, _COLUMNS)] if now - begins >= _SHORTEST else windows


class _Commits:
    """The commits that are mentioned, numbered in the order of their first mention."""

    def __init__(self, commits: Sequence[CommittedTransition]) -> None:
        self._all, self._numbers = commits, dict[int, int]()

    def of(self, number: int) -> int:
        """The number of a step's commit; -1 for none."""
        if number < 0 or not self._all[number].commit:
            return -1
        return self._numbers.setdefault(number, len(self._numbers))

    def in_window(self, window: Tree) -> Tree:
        """A window with these numbers."""
        return {
            **window,
            "steps": [[*step[:-1], self.of(step[-1])] for step in window["steps"]],
            "worst": window["worst"] and [*window["worst"][:-1], self.of(window["worst"][-1])],
        }

    @property
    def named(self) -> list[CommittedTransition]:
        """The mentioned commits, by number."""
        return [self._all[number] for number in self._numbers]


def _changes(
    steps: Iterable[tuple[CommittedTransition, Sequence[StatusChange]]], members: Mapping[str, Member]
) -> tuple[dict[_Group, Level], list[_LevelChange]]:
    """The level of each group before all steps, and the changes by each step."""
    deltas = [_delta(changes, members) for _, changes in steps]
    level: dict[_Group, Level] = {_FLEET: NONE}
    for member in members.values():
        for group in (_FLEET, *member.groups):
            level[group] = level.get(group, NONE).plus(_ONE.get(member.status, NONE))
    for delta in reversed(deltas):
        for group, change in delta.items():
            level[group] = level[group].plus(change, -1)
    first, level_changes = dict(level), []
    for number, ((commit, _), delta) in enumerate(zip(steps, deltas, strict=True)):
        moved = {group: (level[group], level[group].plus(change)) for group, change in delta.items()}
        if moved:
            level_changes.append(_LevelChange(commit.at, number, moved))
            level |= {group: after for group, (_, after) in moved.items()}
    return first, level_changes


def _delta(changes: Iterable[StatusChange], members: Mapping[str, Member]) -> dict[_Group, list[int]]:
    """The difference that a step makes to the level of each group."""
    by_group: dict[_Group, list[int]] = {}
    for change in changes:
        member = members.get(change.cluster)
        for group in (_FLEET, *(member.groups if member else ())):
            counts = by_group.setdefault(group, [0, 0, 0])
            for status, sign in ((change.before, -1), (change.after, 1)):
                for number, amount in enumerate(_ONE.get(status, NONE)):
                    counts[number] += sign * amount
    return {group: counts for group, counts in by_group.items() if any(counts)}
