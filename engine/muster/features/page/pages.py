"""The files of a site: assets and data.

A page on a disk may load only files that its own tags name, so data is in scripts, one call each. Clusters' details are
split into files that are loaded on demand. Texts from the fleet are data throughout: the page builds elements and sets
their text, and its content security policy runs only these files.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from importlib.resources import files
from typing import Final

from muster.data.kinds import CLUSTERS
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.drill.drill import DrillResult
from muster.features.history.history import Begins, FleetHistory
from muster.features.page.availability import Member, availability, file_of, members_of
from muster.features.page.details import ClusterDetails
from muster.features.page.drills import broken_cells, drill_matrices
from muster.features.page.overview import ClusterRows, overview, placement_details, rollout_details
from muster.features.page.timeline import BEATS_WINDOW, Timeline, heartbeats
from muster.git.forges import Links, links_of
from muster.git.repository import Repository
from muster.run.run import Run

ASSETS = (
    "index.html",
    "site.css",
    "site.js",
    "table.js",
    "list.js",
    "availability.js",
    "cluster.js",
    "rollouts.js",
    "drills.js",
    "tried.js",
)
#: How many clusters' details are in one file.
_IN_A_FILE: Final = 50
_CLUSTERS: Final = ("data/clusters/", ".js")
_MOST_DIGITS: Final = 6
#: How many files are cached.
_MOST_KEPT: Final = 64


class FleetSite:
    """The site of a fleet, file by file, each made on demand.

    `run` may be partial; then `known` has the rows of all clusters, and `details` makes a run of the clusters with some
    names. `links`: URL templates of files and commits with `{commit}` and `{path}`, or None. `history` and `beats` (see
    `timeline.heartbeats`) are called once, for the first file that needs them. `live`: a server
    announces new commits. `upcoming`: the forecast, as rows of `muster.features.forecast.forecast.moment_row`, or None.
    `tried`: settings that were tried on the past (`muster.features.page.tried`), or None. `drills`: the results of the
    fleet's Drills; empty if they were not rehearsed.
    """

    def __init__(
        self,
        run: Run,
        title: str,
        links: Tree,
        history: Callable[[], FleetHistory],
        *,
        live: bool = False,
        upcoming: Tree = None,
        known: ClusterRows | None = None,
        details: Callable[[Sequence[str]], Run] | None = None,
        beats: Callable[[], Mapping[str, Sequence[int]]] = dict,
        tried: Tree = None,
        drills: Sequence[DrillResult] = (),
    ) -> None:
        self._known, self._ask_details, self._ask_beats = known, details, beats
        self._run, self._title, self._links, self._ask_history = run, title, links, history
        self._live, self._upcoming, self._tried, self._drills = live, upcoming, tried, drills
        self._kept: dict[str, bytes] = {}

    def paths(self) -> Iterator[str]:
        """The paths of the site's files."""
        yield from ASSETS
        yield from (f"data/clusters/{number}.js" for number in range(-(-len(self._names) // _IN_A_FILE)))
        yield from ("data/drills.js",) if self._drills else ()
        yield from ("data/placements.js", "data/rollouts.js", "data/availability.js", "data/fleet.js")

    def read(self, path: str) -> bytes:
        """Return the content of a file. KeyError for an unknown path."""
        content = self._kept.get(path)
        if content is None:
            content = self._made(path)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[path] = content
        return content

    def _made(self, path: str) -> bytes:
        if path in ASSETS:
            return asset(path)
        if path == "data/fleet.js":
            where = {name: number // _IN_A_FILE for number, name in enumerate(self._names)}
            more = {"details": where, "links": self._links, "live": self._live, "upcoming": self._upcoming}
            more |= {"tried": self._tried, "drills": broken_cells(self._drills) if self._drills else None}
            return _call("fleet", {**self._overview, **more})
        if path == "data/availability.js":
            data = availability(self._run.commit or "", self._run.now, self._members, self._history)
            return _call("availability", data)
        if path == "data/placements.js":
            return _call("placements", list(placement_details(self._run)))
        if path == "data/rollouts.js":
            return _call("rollouts", rollout_details(self._run))
        if path == "data/drills.js" and self._drills:
            return _call("drills", drill_matrices(self._drills))
        before, behind = _CLUSTERS
        number = path.removeprefix(before).removesuffix(behind)
        numbered = number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS
        named = numbered and path == f"{before}{int(number)}{behind}"
        first = int(number) * _IN_A_FILE if named else len(self._names)
        if first >= len(self._names):
            raise KeyError(path)
        some = self._names[first : first + _IN_A_FILE]
        details = self._details if self._ask_details is None else ClusterDetails(self._ask_details(some))
        return _call(
            "details",
            {
                name: {
                    "card": details.card(name),
                    "objects": details.of(name),
                    "history": list(self._latest(name)),
                    "day": self._day(name, details.lease_files(name)),
                }
                for name in some
            },
        )

    def _day(self, name: str, leases: Iterable[str]) -> Tree:
        """The last day of a cluster: from which second on it is known, the changes of its state, and its heartbeats."""
        begins = self._history.begins
        known = (begins - self._run.now + BEATS_WINDOW).total_seconds() if begins else 0
        beats = next((self._beats[path] for path in leases if path in self._beats), [])
        pending = [
            [int(BEATS_WINDOW.total_seconds()), member.committed, member.status]
            for kind in CLUSTERS
            if (member := self._members.get(file_of(kind, name))) is not None and member.committed != member.status
        ]
        return {"known": max(0, int(known)), "states": [*self._days.get(name, ()), *pending], "beats": beats}

    @cached_property
    def _members(self) -> Mapping[str, Member]:
        return members_of(self._run, self._overview["clusters"])

    @cached_property
    def _beats(self) -> Mapping[str, Sequence[int]]:
        return self._ask_beats()

    @cached_property
    def _days(self) -> dict[str, list[Tree]]:
        """The changes of each cluster's state in the last day: seconds since it began, the states before and after."""
        since = self._run.now - BEATS_WINDOW
        names = {file_of(kind, name): name for kind in CLUSTERS for name in self._names}
        days: dict[str, list[Tree]] = {}
        for step in self._history.steps:
            for change in step.changes if step.commit.at >= since else ():
                row = [int((step.commit.at - since).total_seconds()), change.before, change.after]
                days.setdefault(names.get(change.cluster, ""), []).append(row)
        return days

    def _latest(self, name: str) -> Iterator[Tree]:
        """The latest commits that changed a cluster's derived file."""
        for kind in CLUSTERS:
            for transition in self._history.latest.get(file_of(kind, name), ()):
                yield {"commit": transition.commit, "time": format_time(transition.at), "subject": transition.subject}

    @cached_property
    def _overview(self) -> Tree:
        return overview(self._run, self._title, self._known or ClusterRows.of(self._run))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(obj.id.name for obj in self._run.fleet.clusters()))

    @cached_property
    def _details(self) -> ClusterDetails:
        return ClusterDetails(self._run)

    @cached_property
    def _history(self) -> FleetHistory:
        return self._ask_history()


def asset(name: str) -> bytes:
    """The content of one of `ASSETS`."""
    return (files(__package__) / "assets" / name).read_bytes()


def _call(name: str, value: Tree) -> bytes:
    """A script that passes a value to the page; `<` is escaped, so that no text can open or close a tag."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return f"muster.put({json.dumps(name)},{text.replace('<', chr(92) + 'u003c')});\n".encode()


def site_of(
    run: Run,
    repository: Repository | None,
    title: str,
    link: str | None,
    *,
    live: bool = False,
    upcoming: Tree = None,
    timeline: Timeline | None = None,
    known: ClusterRows | None = None,
    details: Callable[[Sequence[str]], Run] | None = None,
    tried: Tree = None,
    drills: Sequence[DrillResult] = (),
) -> FleetSite:
    """Return the site of a run. `link`: the URL template of files, if not the one of `origin`'s forge; `timeline`: with
    the history read before; all else as in `FleetSite`."""
    links = Links(link) if link else links_of(repository) if repository else None

    def history() -> FleetHistory:
        if repository is None or run.commit is None:
            return FleetHistory(begins=run.now, reason=Begins.NONE)
        return (timeline or Timeline(repository)).upto(run.commit, run.now)

    def beats() -> Mapping[str, Sequence[int]]:
        return {} if repository is None or run.commit is None else heartbeats(repository, run.commit, run.now)

    return FleetSite(
        run,
        title,
        asdict(links) if links else None,
        history,
        live=live,
        upcoming=upcoming,
        known=known,
        details=details,
        beats=beats,
        tried=tried,
        drills=drills,
    )
