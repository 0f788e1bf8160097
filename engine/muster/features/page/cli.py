"""`muster site`: write the fleet as a page."""

import shutil
import tempfile
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muster.cli import options
from muster.cli.exits import FAULT, FINE
from muster.cli.outcome import reported_findings
from muster.cli.progress import working
from muster.cli.reading import FleetReading
from muster.data.tree import Tree
from muster.fleet.faults import is_any_fault

if TYPE_CHECKING:
    from muster.features.page.pages import FleetSite
    from muster.run.run import Run

#: A file that marks folders which this verb wrote.
MARKER: Final = ".muster-site"
#: Limits of the forecast: instants, and lines per instant.
_MAX_INSTANTS, _MAX_LINES = 12, 20


@click.command()
@click.argument("folder", metavar="DIR", type=options.FOLDER)
@options.source_options
@click.option("--title", metavar="TEXT", help="The page's title.  [default: the name of the repository's folder]")
@click.option(
    "--link", metavar="URL", help="The URL of a file, with {commit} and {path}.  [default: of GitHub or GitLab]"
)
@click.option(
    "--forecast", metavar="DURATION", type=options.DurationType(),
    help="Also show what happens in that time without new input (see muster forecast).",
)  # fmt: skip
def command(
    folder: Path, source: options.Source, title: str | None, link: str | None, forecast: timedelta | None
) -> int:
    """Write the fleet as a page into DIR: an overview, every cluster with the reasons for its state, Placements, pools.

    The page needs no server, loads nothing from other hosts, and can be published on GitHub Pages or GitLab Pages. A
    folder with other content is not written to.
    """
    _require_own(folder)
    reading, run = source.evaluated()
    upcoming = _upcoming(reading, source.now, forecast) if forecast else None
    count = _write(folder, reading, run, title or source.repo.resolve().name.removesuffix(".git"), link, upcoming)
    reading.print_age(source.now, err=True)
    click.echo(f"{count} files in {folder}: open {folder / 'index.html'}")
    return FAULT if any(map(is_any_fault, reported_findings(run))) else FINE


def write_site(folder: Path, repo: Path, now: datetime) -> None:
    """Write the page of a repository's last commit. click.UsageError if the folder has other content."""
    _require_own(folder)
    reading, run = options.Source(repo, None, worktree=False, offline=True, now=now).evaluated()
    _write(folder, reading, run, repo.name, None, _upcoming(reading, now, timedelta(hours=1)))


def _require_own(folder: Path) -> None:
    """click.UsageError for a folder with content that this verb did not write."""
    if folder.is_symlink() or (folder.exists() and any(folder.iterdir()) and not (folder / MARKER).is_file()):
        raise click.UsageError(f"{folder} holds something else; name a new folder, or an empty one.")


def _upcoming(reading: FleetReading, now: datetime, span: timedelta) -> Tree:
    """The forecast's first instants; more of them would take longer."""
    from muster.features.forecast.forecast import forecast, moment_row
    from muster.features.whatif.options import Supposed

    with working("looking ahead"), Supposed.tried(reading, reading.state) as trial:
        start = reading.instant(now).now
        moments = islice(forecast(trial, start, start + span), _MAX_INSTANTS)
        return [moment_row(moment, _MAX_LINES) for moment in moments]


def _write(folder: Path, reading: FleetReading, run: "Run", title: str, link: str | None, upcoming: Tree) -> int:
    from muster.features.page.pages import site_of

    with working("writing the page"):
        return _put(folder, site_of(run, reading.repository, title, link, upcoming=upcoming))


def _put(folder: Path, site: "FleetSite") -> int:
    """Write the files beside the folder, and swap them in, so that the page is never incomplete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        count = 0
        for path in site.paths():
            target = made / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(site.read(path))
            count += 1
        (made / MARKER).write_text("written by muster site, which may overwrite it\n", encoding="utf-8")
        made.chmod(0o755)
        _require_own(folder)
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return count
