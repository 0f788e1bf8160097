"""Who wrote a line of a fleet's files, and when."""

from collections.abc import Callable
from datetime import datetime
from functools import cache

from muster.cli.reading import FleetReading
from muster.data.source import Place
from muster.data.times import ago
from muster.fleet.files import PREFIX
from muster.git.authors import line_author


def blame_in(reading: FleetReading, now: datetime) -> Callable[[Place], str]:
    """Return a function that says who wrote a place and when, if git knows."""
    repository, commit = reading.repository, reading.snapshot.commit

    @cache
    def blame(place: Place) -> str:
        if repository is None or not place.line or place.file.startswith(PREFIX):
            return ""
        ref, _, path = place.file.rpartition(":")
        if ref and reading.past is not None:
            return reading.past.heartbeat(ref)
        revision = reading.tip_of(ref) if ref else commit
        author = line_author(repository, revision, path, place.line) if revision else None
        if author is None:
            return ""
        when = ago(author.time, now) if author.time <= now else f"on {author.time:%Y-%m-%d}"
        return f"{author.commit} by {author.author}, {when}"

    return blame
