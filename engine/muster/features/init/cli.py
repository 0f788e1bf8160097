"""`muster init`: lays down a fleet repository, with a hook and a scheduled job.

Both install muster from where this one came from, or have a marked line for a person to fill in: see `origin`.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import click

from muster.cli.options import FOLDER

_SKELETON = Path(__file__).parent / "skeleton"


@click.command()
@click.argument("directory", type=FOLDER, default=".")
def command(directory: Path) -> int:
    """Lay down a fleet repository in DIRECTORY. Files that exist already are left as they are.

    Its scheduled job and its hook install muster from where this one came from, pinned. Where another machine could not
    have it from there, they have a line that is marked FILL IN.
    """
    from muster.features.init.origin import filled, marked, origin
    from muster.fleet.schema_store import FOLDER, schema_store

    directory.mkdir(parents=True, exist_ok=True)
    if not _in_repository(directory):
        subprocess.run(["git", "-C", str(directory), "init", "--quiet", "--initial-branch=main"], check=True)
        click.echo(f"initialized a git repository in {directory}")
    came = origin()
    to_fill: list[str] = []
    for source in sorted(path for path in _SKELETON.rglob("*") if path.is_file()):
        name = source.relative_to(_SKELETON)
        target = directory / name
        if os.path.lexists(target):
            click.echo(f"kept    {name} (exists)")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        text = filled(source.read_text(encoding="utf-8"), came)
        target.write_text(text, encoding="utf-8", newline="\n")
        click.echo(f"created {name}")
        to_fill += [f"{name}:{line}" for line in marked(text)]
    schemas = directory / FOLDER
    if os.path.lexists(schemas):
        click.echo(f"kept    {FOLDER} (exists)")
    else:
        write_files(schemas, schema_store())
        click.echo(f"created {FOLDER}, for editors")
    click.echo(f"\nmuster is published on no index; this one came from {came.told}.")
    if to_fill:
        click.echo(f"Fill in where other machines can have it from, in the lines marked so: {', '.join(to_fill)}.")
    click.echo("Next: git add --all && git commit -m 'A fleet', then muster plan and muster reconcile.")
    return 0


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, by their names, into a folder, which is made where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _in_repository(directory: Path) -> bool:
    done = subprocess.run(
        ["git", "-C", str(directory), "rev-parse", "--git-dir"], check=False, capture_output=True, text=True
    )
    return done.returncode == 0
