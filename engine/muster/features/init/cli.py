"""`muster init`: create a fleet repository, with a hook and a scheduled job.

Both install muster from the source of this installation, or have a marked line for a person to fill in: see `origin`.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import click

from muster.cli.options import FOLDER, ParsedType, make_folder

_SKELETON = Path(__file__).parent / "skeleton"
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
@click.option("--policies", "chosen", type=ParsedType("names", _policies), default="", metavar="NAMES",
              help="Policies of the library to copy, with their tests: nodes-healthy,quarantine.")  # fmt: skip
def command(directory: Path, programs: tuple[str, ...], chosen: dict[str, str]) -> int:
    """Create a fleet repository in DIRECTORY. Existing files stay as they are.

    The hook and the CI jobs install muster from where this installation comes from, at the same version. If other
    machines cannot reach that place, these files have a line marked FILL IN instead.

    \b
    Examples:
      muster init my-fleet
      muster init --policies nodes-healthy,quarantine
    """
    from git import Repo
    from muster.features.init.origin import filled, marked, origin
    from muster.fleet.schema_store import FOLDER, schema_store

    make_folder(directory)
    if not _is_repository(directory):
        Repo.init(directory, initial_branch="main")
        click.echo(f"initialized a git repository in {directory}")
    source_of_muster = origin()
    to_fill: list[str] = []
    groups = dict.fromkeys(group for program in programs for group in _GROUPS[program])
    skeleton = {path.relative_to(_SKELETON): path.read_text("utf-8") for path in _SKELETON.rglob("*") if path.is_file()}
    for name, content in sorted((skeleton | {Path("policies", name): text for name, text in chosen.items()}).items()):
        target = directory / name
        if os.path.lexists(target):
            click.echo(f"kept    {name} (exists)")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        text = filled(content, source_of_muster)
        if groups and name == Path("fleet.yaml"):
            text = text.replace("spec: {}\n", f"spec:\n  foreign: [{', '.join(groups)}]\n")
        target.write_text(text, encoding="utf-8", newline="\n")
        click.echo(f"created {name}")
        to_fill += [f"{name}:{line}" for line in marked(text)]
    schemas = directory / FOLDER
    if os.path.lexists(schemas):
        click.echo(f"kept    {FOLDER} (exists)")
    else:
        write_files(schemas, schema_store())
        click.echo(f"created {FOLDER}, for editors")
    click.echo(f"\nmuster is not published on any index; this one was installed from {source_of_muster.text}.")
    if to_fill:
        click.echo(f"Fill in a source that other machines can use, in the lines marked FILL IN: {', '.join(to_fill)}.")
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
