"""How many clusters were available over time: of the fleet, of each region and set, as history has it.

Clusters are counted where their labels say that they are today; those that are there no more, in the whole fleet alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from muster.data.kinds import Kind
from muster.data.locations import SUFFIX, file_name
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.history.history import FleetHistory, StatusChange, Told
from muster.features.page.levels import NONE, Event, Level, Span, window
from muster.fleet.state import state_of
from muster.run.run import Run

#: The windows, each with how many columns it is drawn in.
WINDOWS: Final = (("24h", timedelta(hours=24), 144), ("30d", timedelta(days=30), 180))
#: So many of the latest changes are told one by one.
_MOST_CHANGES: Final = 40

#: A group: by what it is one (fleet, region, set), and its name.
_Group = tuple[str, str]
_FLEET: Final[_Group] = ("", "")
#: Clusters that are denied, or have not joined, count in no level.
_ONE: Final = {"True": Level(1, 0, 0), "Unknown": Level(0, 1, 0), "False": Level(0, 0, 1)}


class Member(NamedTuple):
    """A cluster: the groups that it is in besides the fleet, its state as it is evaluated, and as it is
    committed."""

    groups: tuple[_Group, ...]
    status: str
    committed: str


def members_of(run: Run, rows: Iterable[Sequence[str]]) -> dict[str, Member]:
    """Return the clusters of a run by `<plural>/<file>` of what is derived of them; `rows`: of the overview."""
    found = {}
    for obj, row in zip(run.fleet.clusters(), rows, strict=True):
        # Of a cluster that stands nothing is read but that something is derived of it, which is what stands.
        stands = obj.id in run.fleet.beyond.standing or run.fleet.previous.get(obj.id) == {}
        before = row[3] if stands else state_of(obj.kind, run.fleet.conditions_before(obj.id))
        groups = (("region", row[6]), ("set", row[7]))
        found[file_of(obj.kind, obj.id.name)] = Member(groups, row[3], before)
    return found


def file_of(kind: Kind, name: str) -> str:
    """`<plural>/<file>` of what is derived of a cluster, as history names it."""
    return f"{kind.plural}/{file_name(name)}{SUFFIX}"


class _Change(NamedTuple):
    """What a step made of groups: the level before and after. `number`: of the step."""

    at: datetime
    number: int
    groups: dict[_Group, tuple[Level, Level]]


def availability(commit: str, now: datetime, members: Mapping[str, Member], history: FleetHistory) -> Tree:
    """Return the levels of each group over the windows that end `now`, and the latest commits that changed any.

    Levels are `[available, unknown, not]`; windows are those of `levels.window`, and `known` says how many seconds of
    one nothing is known of. `changes`: `[instant, commit, [[group, *before, *after]]]`, the newest first, with numbers
    of groups and commits, -1 for what is not committed.
    """
    steps = [(step.told, step.changes) for step in history.steps]
    pending = [
        StatusChange(name, one.committed, one.status) for name, one in members.items() if one.committed != one.status
    ]
    if pending:
        steps.append((Told("", now, ""), tuple(pending)))
    first, changes = _changes(steps, members)
    last = first | {group: after for change in changes for group, (_, after) in change.groups.items()}
    numbers = {group: number for number, group in enumerate(sorted(first))}
    events: dict[_Group, list[Event]] = {group: [] for group in first}
    for change in changes:
        for group, (_, after) in change.groups.items():
            events[group].append(Event(change.at, after, change.number))
    spans = [Span.ending(now, length, columns, history.begins) for _, length, columns in WINDOWS]
    drawn = {group: [window(events[group], first[group], span) for span in spans] for group in sorted(first)}
    told = changes[-_MOST_CHANGES:][::-1]
    commits = _Commits([told for told, _ in steps])
    return {
        "commit": commit, "until": format_time(now),
        "begins": format_time(history.begins) if history.begins else "",
        "reason": history.reason.value if history.reason else "",
        "windows": [{"key": key, "seconds": int(length.total_seconds()), "columns": columns,
                     "known": span.seconds(span.known)}
                    for (key, length, columns), span in zip(WINDOWS, spans, strict=True)],
        "groups": [{"by": by, "name": name, "now": list(last[by, name]),
                    "windows": [commits.in_window(one) for one in found]}
                   for (by, name), found in drawn.items()],
        "changes": [[format_time(change.at), commits.of(change.number),
                     [[numbers[group], *before, *after] for group, (before, after) in sorted(change.groups.items())]]
                    for change in told],
        "commits": [[one.commit, one.subject] for one in commits.named],
    }  # fmt: skip


class _Commits:
    """Those that something is said of, numbered as they come up."""

    def __init__(self, all_told: Sequence[Told]) -> None:
        self._all, self._numbers = all_told, dict[int, int]()

    def of(self, number: int) -> int:
        """The number by which one is known to whom it is told; -1 for none."""
        if number < 0 or not self._all[number].commit:
            return -1
        return self._numbers.setdefault(number, len(self._numbers))

    def in_window(self, found: Tree) -> Tree:
        """What is said of a window, with those numbers."""
        return {
            **found,
            "steps": [[*step[:-1], self.of(step[-1])] for step in found["steps"]],
            "worst": found["worst"] and [*found["worst"][:-1], self.of(found["worst"][-1])],
        }

    @property
    def named(self) -> list[Told]:
        """The commits by their numbers."""
        return [self._all[number] for number in self._numbers]


def _changes(
    steps: Iterable[tuple[Told, Sequence[StatusChange]]], members: Mapping[str, Member]
) -> tuple[dict[_Group, Level], list[_Change]]:
    """The level of each group before all steps, and what became of it with each that changed any."""
    deltas = [_delta(changes, members) for _, changes in steps]
    level: dict[_Group, Level] = {_FLEET: NONE}
    for one in members.values():
        for group in (_FLEET, *one.groups):
            level[group] = level.get(group, NONE).plus(_ONE.get(one.status, NONE))
    for delta in reversed(deltas):
        for group, change in delta.items():
            level[group] = level[group].plus(change, -1)
    first, found = dict(level), []
    for number, ((told, _), delta) in enumerate(zip(steps, deltas, strict=True)):
        moved = {group: (level[group], level[group].plus(change)) for group, change in delta.items()}
        if moved:
            found.append(_Change(told.at, number, moved))
            level |= {group: after for group, (_, after) in moved.items()}
    return first, found


def _delta(changes: Iterable[StatusChange], members: Mapping[str, Member]) -> dict[_Group, list[int]]:
    """By how much a step changes the level of each group that it changes."""
    found: dict[_Group, list[int]] = {}
    for change in changes:
        member = members.get(change.cluster)
        for group in (_FLEET, *(member.groups if member else ())):
            counts = found.setdefault(group, [0, 0, 0])
            for status, sign in ((change.before, -1), (change.after, 1)):
                for number, one in enumerate(_ONE.get(status, NONE)):
                    counts[number] += sign * one
    return {group: counts for group, counts in found.items() if any(counts)}
