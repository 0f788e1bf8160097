"""`muster site`: write the fleet as a page."""

from datetime import timedelta
from pathlib import Path

import click

from muster.cli import options
from muster.cli.exits import FAULT, FINE
from muster.cli.outcome import reported_findings
from muster.fleet.faults import is_any_fault


@click.command()
@click.argument("folder", metavar="DIR", type=options.FOLDER)
@click.option("--title", metavar="TEXT", help="The page's title.  [default: the Fleet's name, else the folder's]")
@click.option(
    "--link", metavar="URL", help="The URL of a file, with {commit} and {path}.  [default: of GitHub or GitLab]"
)
@click.option(
    "--forecast",
    metavar="DURATION",
    type=options.DurationType(),
    help="Also show what happens in that time without new input (see muster forecast).",
)
@click.option(
    "--replay",
    type=options.FILE_THERE,
    multiple=True,
    metavar="FILE",
    help="Also show a setting that was tried on the past: what muster replay --set -o json has written.",
)
@click.option("--no-drills", is_flag=True, help="Do not rehearse the fleet's Drills.")
@options.source_options
def command(
    folder: Path,
    source: options.Source,
    title: str | None,
    link: str | None,
    forecast: timedelta | None,
    replay: tuple[Path, ...],
    no_drills: bool,
) -> int:
    """Write the fleet as a web page into DIR: an overview, every cluster with the reasons for its state, Placements,
    pools. If the fleet has Drills, they are rehearsed for it, which takes as long as muster drill.

    The page needs no server and loads nothing from other hosts. You can publish it on GitHub Pages or GitLab Pages.
    muster writes only to an empty folder, or to one that it has written before.

    \b
    Examples:
      muster site public
      muster site public --forecast 24h
      muster site public --replay grace.json
    """
    from muster.features.page.writing import write_site

    count, reading, run = write_site(folder, source, title, link, forecast, replay, drills=not no_drills)
    reading.print_age(source.now, err=True)
    click.echo(f"{count} files in {folder}: open {folder / 'index.html'}")
    return FAULT if any(map(is_any_fault, reported_findings(run))) else FINE
