"""Writing the page of a fleet into a folder."""

import shutil
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muster.cli.options import Source
from muster.cli.progress import working
from muster.cli.reading import FleetReading
from muster.data.kinds import FLEET
from muster.data.tree import Tree
from muster.features.page.pages import FleetSite, site_of
from muster.features.page.trees import MOST, witness
from muster.features.page.tried import read_tried
from muster.rules.drills.policy import Drill
from muster.run.run import Run

if TYPE_CHECKING:
    from muster.features.drill.drill import DrillResult

#: A file that marks folders which `muster site` wrote.
MARKER: Final = ".muster-site"
#: Limits of the forecast: instants, and lines per instant.
_MAX_INSTANTS, _MAX_LINES = 12, 20


def write_site(
    folder: Path,
    source: Source,
    title: str | None = None,
    link: str | None = None,
    forecast: timedelta | None = None,
    tried: Sequence[Path] = (),
    *,
    drills: bool = True,
) -> tuple[int, FleetReading, Run]:
    """Write the page of a fleet, with `forecast` what happens in that time, and the settings in the files `tried`;
    return the number of its files.

    `title` is by default the Fleet's name, else the repository's; `link` as in `site_of`. With `drills`, the fleet's
    Drills are rehearsed, if it is read from a repository. click.UsageError if the folder has other content.
    """
    _require_own(folder)
    settings = read_tried(tried) or None
    reading, run = source.evaluated(witness=witness(MOST))
    upcoming = _upcoming(reading, source.now, forecast) if forecast else None
    fleets = [obj.id.name for obj in run.fleet.of(FLEET) if obj.parts]
    title = title or next(iter(fleets), "") or source.repo.resolve().name.removesuffix(".git")
    rehearsed = _drilled(reading, run, source.now) if drills else ()
    with working("writing the page"):
        site = site_of(run, reading.repository, title, link, upcoming=upcoming, tried=settings, drills=rehearsed)
        count = _put(folder, site)
    return count, reading, run


def _require_own(folder: Path) -> None:
    """click.UsageError for a folder with content that `muster site` did not write."""
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


def _drilled(reading: FleetReading, run: Run, now: datetime) -> "Sequence[DrillResult]":
    """The results of the fleet's Drills; none without a commit to rehearse them on."""
    if not run.fleet.compiled.of(Drill) or reading.base is None:
        return ()
    from muster.features.drill.cli import drilled

    with working("rehearsing the Drills"):
        return drilled(reading, now, ())[0]


def _put(folder: Path, site: FleetSite) -> int:
    """Write the files beside the folder, and swap them in, so that the page is never incomplete. click.UsageError if
    no folder can be made there."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except (FileExistsError, FileNotFoundError, NotADirectoryError) as error:
        raise click.UsageError(f"{folder} cannot be created: {error.strerror}") from error
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
