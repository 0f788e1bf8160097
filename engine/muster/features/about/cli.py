"""`muster version`, `muster api-resources` and `muster completion`."""

import click

from muster.cli import options
from muster.version import __version__

#: How each shell sources what `_MUSTER_COMPLETE` prints.
_SHELLS = {
    "bash": 'eval "$(_MUSTER_COMPLETE=bash_source muster)"',
    "zsh": 'eval "$(_MUSTER_COMPLETE=zsh_source muster)"',
    "fish": "_MUSTER_COMPLETE=fish_source muster | source",
}


@click.command()
@options.output_option("text", "json")
def version(output: str) -> None:
    """Show versions, installed extras, and where data is kept between runs.

    That data only saves time: you can delete the directory whenever you want. The next run then evaluates the whole
    fleet, with the same result.
    """
    from muster.cli.documents import json_text
    from muster.features.about.versions import versions

    rows = versions(__version__)
    if output == "json":
        click.echo(json_text(rows), nl=False)
        return
    extras = [name for name, present in rows["extras"].items() if present]
    click.echo(f"muster {rows['muster']}, Python {rows['python']}, {rows['git'] or 'no git'}")
    click.echo(f"extras: {', '.join(extras) or 'none'}")
    cache = rows["cache"]
    kept = (
        "nothing is kept: MUSTER_CACHE_DIR is empty"
        if cache is None
        else "{directory}, {size:.1f} MB".format(directory=cache["directory"], size=cache["bytes"] / 1e6)
    )
    click.echo(f"cache: {kept}")


@click.command()
@click.argument("shell", type=click.Choice(tuple(_SHELLS)))
def completion(shell: str) -> None:
    """Print the line that lets SHELL complete commands, kinds and names of objects.

    Add it to ~/.bashrc, to ~/.zshrc after compinit, or to ~/.config/fish/completions/muster.fish.

    \b
    Example:
      muster completion bash >> ~/.bashrc
    """
    click.echo(_SHELLS[shell])


@click.command()
@options.output_option("table", "name", "json")
def api_resources(output: str) -> None:
    """List the kinds, their short names, and who writes them."""
    from muster.features.about.resources import print_resources

    print_resources(output)
