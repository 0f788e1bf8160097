"""`muster init`: lays down a fleet repository, with a hook and a scheduled job."""

import os
import shutil
import subprocess
from pathlib import Path

import click

_SKELETON = Path(__file__).parent / "skeleton"


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=".")
def command(directory: Path) -> int:
    """Lay down a fleet repository in DIRECTORY. Files that exist already are left as they are."""
    directory.mkdir(parents=True, exist_ok=True)
    if not _in_repository(directory):
        subprocess.run(["git", "-C", str(directory), "init", "--quiet", "--initial-branch=main"], check=True)
        click.echo(f"initialized a git repository in {directory}")
    for source in sorted(path for path in _SKELETON.rglob("*") if path.is_file()):
        name = source.relative_to(_SKELETON)
        target = directory / name
        if os.path.lexists(target):
            click.echo(f"kept    {name} (exists)")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        click.echo(f"created {name}")
    click.echo("\nNext: git add --all && git commit -m 'A fleet', then muster plan and muster reconcile.")
    return 0


def _in_repository(directory: Path) -> bool:
    done = subprocess.run(
        ["git", "-C", str(directory), "rev-parse", "--git-dir"], check=False, capture_output=True, text=True
    )
    return done.returncode == 0
