"""`muster mcp`: lets an assistant ask about the fleet."""

from pathlib import Path

import click

from muster.cli import options
from muster.cli.options import present
from muster.data.extras import install_command


@click.command()
@options.repo_option
@options.rev_option
def command(repo: Path, rev: str | None) -> int:
    """Answer an assistant's questions about the fleet over the Model Context Protocol, on standard input and output.

    The tools are get, explain, forecast, history, plan and replay. They only read: the commit that is checked out, or
    --rev, with what agents say now. Needs the extra mcp.

    \b
    Example:
      claude mcp add fleet -- muster mcp --repo ~/fleet
    """
    try:
        from muster.features.api.mcp import server
    except ImportError as error:
        raise click.UsageError(f"muster mcp needs an extra: {install_command('mcp')}") from error
    server(repo, rev, present).run("stdio")
    return 0
