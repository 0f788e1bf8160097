"""The site of a fleet, with what its repository knows besides: links to the forge, and the commits of each cluster."""

from dataclasses import asdict
from typing import Final

from muster.engine.run import Run
from muster.gitio.forges import Links, links_of
from muster.gitio.latest import latest_commits
from muster.gitio.repository import Repository
from muster.model.locations import FOLDER, derived_path
from muster.model.times import format_time
from muster.model.tree import Tree
from muster.output.site.pages import Site

#: Among so many of the latest commits history is looked for, and so many are shown of a cluster.
_LOOKED_AT: Final = 2000
_SHOWN: Final = 20


def site_of(
    run: Run, repository: Repository | None, title: str, link: str | None, *, live: bool = False, upcoming: Tree = None
) -> Site:
    """Return the site of what was evaluated. `link`: where files are shown, if not where `origin` is; `live` and
    `upcoming`: see `Site`."""
    links = Links(link) if link else links_of(repository) if repository else None
    return Site(
        run, title, asdict(links) if links else None, lambda: _history(run, repository), live=live, upcoming=upcoming
    )


def _history(run: Run, repository: Repository | None) -> dict[str, Tree]:
    """The latest commits that changed what is derived of each cluster: one look at git for all of them."""
    if repository is None or run.commit is None:
        return {}
    found = latest_commits(repository, run.commit, FOLDER, looked_at=_LOOKED_AT, each=_SHOWN)
    return {
        obj.id.name: [
            {"commit": one.commit, "time": format_time(one.time), "subject": one.subject}
            for one in found.get(derived_path(obj.id, run.fleet.settings.shards), ())
        ]
        for obj in run.fleet.clusters()
    }
