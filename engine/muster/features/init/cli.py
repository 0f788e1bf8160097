"""`muster init`: create a fleet repository, with a hook and CI jobs.

The hook runs the muster of the PATH. muster is on no package index, so each job has a line marked FILL IN for the place
from which it installs muster; until then it fails.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import click

from muster.cli.options import FOLDER, ParsedType, make_folder

_SKELETON = Path(__file__).parent / "skeleton"
#: Marks a line that a person has to fill in. A job with it fails and installs nothing.
_MARK = "FILL IN"
#: The API groups of the objects that people write for other programs, as YAML.
_GROUPS = {
    "argocd": ("argoproj.io", "kustomize.config.k8s.io"),
    "flux": ("'*.fluxcd.io'", "kustomize.config.k8s.io"),
}


def _programs(text: str) -> tuple[str, ...]:
    """The programs in a text such as `argocd,flux`."""
    names = tuple(name for name in text.split(",") if name)
    if unknown := [name for name in names if name not in _GROUPS]:
        raise ValueError(f"{unknown[0]!r} is none of {', '.join(sorted(_GROUPS))}")
    return names


def _policies(text: str) -> dict[str, str]:
    """The files of policies in a text such as `nodes-healthy,quarantine`."""
    from muster.features.init.library import files_of

    return files_of(name for name in text.split(",") if name)


@click.command()
@click.argument("directory", type=FOLDER, default=".")
@click.option(
    "--with",
    "programs",
    type=ParsedType("names", _programs),
    default="",
    metavar="NAMES",
    help="Other programs whose objects are in the repository: argocd, flux.",
)
@click.option(
    "--policies",
    "chosen",
    type=ParsedType("names", _policies),
    default="",
    metavar="NAMES",
    help="Policies of the library to copy, with their tests: nodes-healthy,quarantine.",
)
def command(directory: Path, programs: tuple[str, ...], chosen: dict[str, str]) -> int:
    """Create a fleet repository in DIRECTORY. Existing files stay as they are.

    The hook runs the muster of your PATH. Each CI job has a line marked FILL IN: the place from which it installs
    muster, which is on no package index.

    \b
    Examples:
      muster init my-fleet
      muster init --policies nodes-healthy,quarantine
    """
    from git import Repo
    from muster.fleet.schema_store import FOLDER, schema_store

    make_folder(directory)
    if not _is_repository(directory):
        Repo.init(directory, initial_branch="main")
        click.echo(f"initialized a git repository in {directory}")
    to_fill: list[str] = []
    groups = dict.fromkeys(group for program in programs for group in _GROUPS[program])
    skeleton = {path.relative_to(_SKELETON): path.read_text("utf-8") for path in _SKELETON.rglob("*") if path.is_file()}
    for name, content in sorted((skeleton | {Path("policies", name): text for name, text in chosen.items()}).items()):
        target = directory / name
        if os.path.lexists(target):
            click.echo(f"kept    {name} (exists)")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        foreign = f"spec:\n  foreign: [{', '.join(groups)}]\n"
        text = content.replace("spec: {}\n", foreign) if groups and name == Path("fleet.yaml") else content
        target.write_text(text, encoding="utf-8", newline="\n")
        click.echo(f"created {name}")
        to_fill += [f"{name}:{number}" for number, line in enumerate(text.split("\n"), 1) if _MARK in line]
    schemas = directory / FOLDER
    if os.path.lexists(schemas):
        click.echo(f"kept    {FOLDER} (exists)")
    else:
        write_files(schemas, schema_store())
        click.echo(f"created {FOLDER}, for editors")
    if to_fill:
        click.echo(f"\nSay where CI jobs install muster from, in the lines marked FILL IN: {', '.join(to_fill)}.")
    click.echo("Next: git add --all && git commit -m 'A fleet', then muster plan and muster reconcile.")
    return 0


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder, which is created if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _is_repository(directory: Path) -> bool:
    """Is it the top of a repository? A folder inside one becomes a repository of its own."""
    done = subprocess.run(
        ["git", "-C", str(directory), "rev-parse", "--show-prefix"], check=False, capture_output=True, text=True
    )
    return done.returncode == 0 and not done.stdout.strip()
