"""The site of a fleet, with what its repository knows besides: links to the forge, and the commits of each cluster."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

from muster.data.tree import Tree
from muster.features.history.history import Begins, FleetHistory
from muster.features.page.overview import Singles
from muster.features.page.pages import Site
from muster.features.page.timeline import Timeline
from muster.git.forges import Links, links_of
from muster.git.repository import Repository
from muster.run.run import Run


def site_of(
    run: Run, repository: Repository | None, title: str, link: str | None, *, live: bool = False, upcoming: Tree = None,
    timeline: Timeline | None = None, known: Singles | None = None,
    details: Callable[[Sequence[str]], Run] | None = None,
) -> Site:  # fmt: skip
    """Return the site of what was evaluated. `link`: where files are shown, if not where `origin` is; `live` and
    `upcoming`: see `Site`; `timeline`: what was looked at of the history before."""
    links = Links(link) if link else links_of(repository) if repository else None

    def history() -> FleetHistory:
        if repository is None or run.commit is None:
            return FleetHistory(begins=run.now, reason=Begins.NONE)
        return (timeline or Timeline(repository)).upto(run.commit, run.now)

    return Site(run, title, asdict(links) if links else None, history, live=live, upcoming=upcoming,
                known=known, details=details)  # fmt: skip
