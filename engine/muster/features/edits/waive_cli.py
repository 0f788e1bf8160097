"""`muster waive`: answer for a finding until a day, as one commit."""

from datetime import datetime
from functools import partial

import click

from muster.cli import completion, options
from muster.features.edits.options import Destination, edit_options


@click.command()
@click.argument("code", shell_complete=completion.codes)
@click.argument("object_", metavar="OBJECT", shell_complete=completion.targets)
@click.option("--reason", required=True, metavar="TEXT", help="Why it is left as it is.")
@click.option("--owner", required=True, metavar="WHO", help="Who answers for it.")
@click.option("--until", required=True, metavar="DAY", help="First day on which it counts again: 2026-03-01, in UTC.")
@click.option("--name", default="", metavar="NAME", help="Name of the Waiver.  [default: after code and object]")
@options.repo_option
@options.now_option
@edit_options
def command(
    code: str, object_: str, reason: str, owner: str, until: str, name: str, now: datetime, into: Destination
) -> int:
    """Waive what CODE says of OBJECT (KIND/[NAMESPACE/]NAME, or a file), as it is found now.

    A warning, a note and advice are not told any more until that day; an error is, but no exit code counts it, and its
    object goes without its change as before. Another problem of the object counts. What stands already is extended.
    """
    from muster.features.edits.waiving import waive

    change = partial(waive, code=code, about=object_, reason=reason, owner=owner, until=until, now=now, name=name)
    return into.commit(change, f"Waive {code} of {object_}")
