"""`muster mcp`: lets an assistant ask about the fleet."""

from pathlib import Path

import click

from muster.cli import options
from muster.cli.options import present


@click.command()
@options.repo_option
@options.rev_option
def command(repo: Path, rev: str | None) -> int:
    """Answer an assistant's questions about the fleet over the Model Context Protocol, on standard input and output.

    The tools are get, explain, forecast, history, plan and replay. They only read, from local refs. Needs the
    extra mcp.

    \b
    Example:
      claude mcp add fleet -- muster mcp --repo ~/fleet
    """
    try:
        from muster.features.api.mcp import server
    except ImportError as error:
        raise click.UsageError("muster mcp needs an extra: pip install 'muster-fleet[mcp]'.") from error
    server(repo, rev, present).run("stdio")
    return 0
