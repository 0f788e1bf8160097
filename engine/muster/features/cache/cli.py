"""`muster cache`: show or drop the state that is kept between runs."""

import os
from pathlib import Path

import click

from muster.cli import options
from muster.cli.cache import STATES, cache_directory, open_state_of, state_path


@click.command()
@options.repo_option
@click.option("--branch", metavar="NAME", help="The branch to show.  [default: the one that is checked out]")
@options.state_option
@click.option("--drop", is_flag=True, help="Delete the state: the next run looks at the whole fleet.")
@click.option("--drop-all", is_flag=True, help="Delete the states of all fleets, and all compiled expressions.")
def command(repo: Path, branch: str | None, state: Path | None, drop: bool, drop_all: bool) -> None:
    """Show the state that is kept between runs: its file, its size, and its commit.

    The state only saves time: without it a run looks at the whole fleet, and decides the same.
    """
    from muster.git.landing import target_branch
    from muster.git.repository import open_repository

    if drop_all:
        _drop_all()
        return
    repository = open_repository(repo, os.environ)
    target = branch or target_branch(repository)
    path = state_path(os.environ, repository, target, state)
    if path is None:
        click.echo("nothing is kept: MUSTER_CACHE_DIR is empty")
        return
    if drop:
        click.echo(f"dropped {path}" if _remove(path) else f"there is none: {path}")
        return
    click.echo(f"state of {target}: {path}")
    kept = open_state_of(os.environ, repository, target, state) if path.is_file() else None
    if kept is None:
        click.echo("  none yet, or unusable: the next run looks at the whole fleet")
        return
    facts = kept.facts()
    size = path.stat().st_size
    if facts is None:
        click.echo(f"  {size / 1e6:.1f} MB, of another version: the next run looks at the whole fleet")
    else:
        click.echo(f"  {size / 1e6:.1f} MB, {kept.count()} neighbourhoods, as of commit {facts.commit[:12]}")
    kept.close()


def _drop_all() -> None:
    directory = cache_directory(os.environ)
    found = [*directory.glob("expressions-*.jsonl"), *directory.glob(f"{STATES}/*.sqlite")] if directory else []
    for path in found:
        _remove(path)
    click.echo(
        f"dropped {len(found)} files of {directory}" if directory else "nothing is kept: MUSTER_CACHE_DIR is empty"
    )


def _remove(path: Path) -> bool:
    """Delete a file and sqlite's files beside it. Return whether it existed."""
    existed = path.is_file()
    for end in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
    return existed
