"""The files of a site: what shows it, and what it shows.

A page from a disk may read no file but those that its own tags name, so data lies in scripts, one call each. Clusters'
details are cut into files that are read when somebody looks. Texts of anybody's are data throughout: the page builds
elements and sets their text, and its policy lets nothing run that is not one of these files.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from importlib.resources import files
from typing import Final

from muster.data.kinds import CLUSTERS
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.history.history import Begins, FleetHistory
from muster.features.page.availability import availability, file_of, members_of
from muster.features.page.overview import ClusterDetails, Singles, overview, placement_details
from muster.features.page.timeline import Timeline
from muster.git.forges import Links, links_of
from muster.git.repository import Repository
from muster.run.run import Run

ASSETS = ("index.html", "site.css", "site.js", "table.js", "availability.js")
#: Clusters whose details lie in one file.
_IN_A_FILE: Final = 50
_CLUSTERS: Final = re.compile(r"data/clusters/(0|[1-9][0-9]{0,5})\.js", re.ASCII)
#: So many files are kept once they are made.
_MOST_KEPT: Final = 64


class FleetSite:
    """The site of a fleet, file by file, each made when somebody wants it.

    `run` may have looked at a part of the fleet, where `known` says the rest and `details` gives a run that has
    looked at the clusters of some names.
    `links`: how files and commits are linked to, as templates with `{commit}`, `{path}`; None for not at all.
    `history` gives what the repository knows of clusters over time; it is asked once, for the first file that says
    any of it. `live`: there is a server that says when there is another one. `upcoming`: what happens next, as
    `muster.features.forecast.forecast.moment_row` has it; None where that was not asked.
    """

    def __init__(
        self, run: Run, title: str, links: Tree, history: Callable[[], FleetHistory], *, live: bool = False,
        upcoming: Tree = None, known: Singles | None = None, details: Callable[[Sequence[str]], Run] | None = None,
    ) -> None:  # fmt: skip
        self._known, self._ask_details = known, details
        self._run, self._title, self._links, self._ask_history = run, title, links, history
        self._live, self._upcoming = live, upcoming
        self._kept: dict[str, bytes] = {}

    def paths(self) -> Iterator[str]:
        """The paths of its files."""
        yield from ASSETS
        yield from (f"data/clusters/{number}.js" for number in range(-(-len(self._names) // _IN_A_FILE)))
        yield from ("data/placements.js", "data/availability.js", "data/fleet.js")

    def read(self, path: str) -> bytes:
        """Return the content of a file. KeyError where there is none of that path."""
        found = self._kept.get(path)
        if found is None:
            found = self._made(path)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[path] = found
        return found

    def _made(self, path: str) -> bytes:
        if path in ASSETS:
            return asset(path)
        if path == "data/fleet.js":
            where = {name: number // _IN_A_FILE for number, name in enumerate(self._names)}
            told = {"details": where, "links": self._links, "live": self._live, "upcoming": self._upcoming}
            return _call("fleet", {**self._overview, **told})
        if path == "data/availability.js":
            members = members_of(self._run, self._overview["clusters"])
            return _call("availability", availability(self._run.commit or "", self._run.now, members, self._history))
        if path == "data/placements.js":
            return _call("placements", list(placement_details(self._run)))
        match = _CLUSTERS.fullmatch(path)
        first = int(match[1]) * _IN_A_FILE if match else len(self._names)
        if first >= len(self._names):
            raise KeyError(path)
        some = self._names[first : first + _IN_A_FILE]
        details = self._details if self._ask_details is None else ClusterDetails(self._ask_details(some))
        return _call("details", {
            name: {"objects": details.of(name), "history": list(self._told(name))} for name in some
        })  # fmt: skip

    def _told(self, name: str) -> Iterator[Tree]:
        """The latest commits that changed what is derived of a cluster."""
        for kind in CLUSTERS:
            for one in self._history.latest.get(file_of(kind, name), ()):
                yield {"commit": one.commit, "time": format_time(one.at), "subject": one.subject}

    @cached_property
    def _overview(self) -> Tree:
        return overview(self._run, self._title, self._known or Singles.of(self._run))

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
    """What shows any fleet: one of `ASSETS`."""
    return (files(__package__) / "assets" / name).read_bytes()


def _call(name: str, value: Tree) -> bytes:
    """A script that hands a value over; whatever is in it, it ends no tag and begins none."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return f"muster.put({json.dumps(name)},{text.replace('<', chr(92) + 'u003c')});\n".encode()


def site_of(
    run: Run, repository: Repository | None, title: str, link: str | None, *, live: bool = False, upcoming: Tree = None,
    timeline: Timeline | None = None, known: Singles | None = None,
    details: Callable[[Sequence[str]], Run] | None = None,
) -> FleetSite:  # fmt: skip
    """Return the site of what was evaluated. `link`: where files are shown, if not where `origin` is; `live` and
    `upcoming`: see `FleetSite`; `timeline`: what was looked at of the history before."""
    links = Links(link) if link else links_of(repository) if repository else None

    def history() -> FleetHistory:
        if repository is None or run.commit is None:
            return FleetHistory(begins=run.now, reason=Begins.NONE)
        return (timeline or Timeline(repository)).upto(run.commit, run.now)

    return FleetSite(run, title, asdict(links) if links else None, history, live=live, upcoming=upcoming,
                known=known, details=details)  # fmt: skip
