"""Wait until no committed placement decision names clusters that are drained."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from muster.cli.following import FollowedFleet, follow
from muster.cli.options import Source
from muster.run.transitions.placement_moves import chosen

if TYPE_CHECKING:
    from muster.run.run import Run

_INTERVAL = timedelta(seconds=5)


class _LeftError(Exception):
    """Ends the wait: no decision names the drained clusters."""


def left_in_time(source: Source, clusters: Sequence[str], remote: str | None, timeout: timedelta) -> bool:
    """Follow the branch until no decision names one of the clusters, and print what leaves; whether that was in
    time."""
    waiting: dict[tuple[str, str], None] = {}

    def look(run: "Run") -> None:
        now = dict.fromkeys(_decided(run, clusters))
        for cluster, placement in waiting:
            if (cluster, placement) not in now:
                click.echo(f"{placement} left {cluster}")
        waiting.clear()
        waiting.update(now)
        if not now:
            raise _LeftError

    try:
        follow(FollowedFleet(source, None, remote, _INTERVAL), look, timeout)
    except _LeftError:
        click.echo(f"no placement chooses {', '.join(clusters)}")
        return True
    for cluster, placement in waiting:
        click.echo(f"{placement} still chooses {cluster}", err=True)
    click.echo("hint: the next reconcile moves the work, unless the placement tolerates the taint", err=True)
    return False


def _decided(run: "Run", clusters: Sequence[str]) -> Iterable[tuple[str, str]]:
    """What is committed, not what would be decided at this instant."""
    for id_, names in sorted(chosen(run.fleet.previous.items()).items()):
        yield from ((cluster, str(id_)) for cluster in clusters if cluster in names)
