"""`muster taint`: taint clusters by hand, as one commit that changes nothing else."""

from functools import partial
from typing import Any

import click

from muster.cli import options
from muster.features.edits.options import Destination, clusters_option, edit_options


def _parsed(text: str) -> object:
    """`KEY[=VALUE]:EFFECT`, or with `-` behind it to remove."""
    from muster.features.edits.tainting import TaintEdit

    return TaintEdit.parse(text)


@click.command()
@click.argument("taints", nargs=-1, required=True, type=options.ParsedType("taint", _parsed), metavar="TAINT...")
@options.repo_option
@clusters_option()
@edit_options
def command(taints: tuple[Any, ...], clusters: tuple[str, ...], into: Destination) -> int:
    """Add taints to clusters, or remove them, and commit that.

    A TAINT is KEY[=VALUE]:EFFECT, which adds it or changes its value; KEY:EFFECT- removes it, and KEY- every taint of
    that key. Since when a taint stands is for muster to say.
    """
    from muster.features.edits.tainting import taint

    subject = f"Taint {', '.join(clusters)}: {' '.join(f'{one}-' if one.removed else str(one) for one in taints)}"
    change = partial(taint, clusters=clusters, edits=taints)
    return into.commit(change, subject)
