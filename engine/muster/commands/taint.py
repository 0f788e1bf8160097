"""`muster taint`: taint clusters by hand, as one commit that changes nothing else."""

from functools import partial
from typing import Any

import click

from muster.commands import options
from muster.commands.edits import Destination, clusters_option, edit_options


class TaintType(click.ParamType[object]):
    """`KEY[=VALUE]:EFFECT`, or with `-` behind it to remove."""

    name = "taint"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Return a TaintEdit."""
        from muster.acts.tainting import TaintEdit

        try:
            return TaintEdit.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


@click.command()
@click.argument("taints", nargs=-1, required=True, type=TaintType(), metavar="TAINT...")
@options.repo_option
@clusters_option()
@edit_options
def command(taints: tuple[Any, ...], clusters: tuple[str, ...], into: Destination) -> int:
    """Add taints to clusters, or remove them, and commit that.

    A TAINT is KEY[=VALUE]:EFFECT, which adds it or changes its value; KEY:EFFECT- removes it, and KEY- every taint of
    that key. Since when a taint stands is for muster to say.
    """
    from muster.acts.tainting import taint

    subject = f"Taint {', '.join(clusters)}: {' '.join(f'{one}-' if one.removed else str(one) for one in taints)}"
    change = partial(taint, clusters=clusters, edits=taints)
    return into.commit(change, subject)
