"""What the commands of agents share that sign what they push: with which identity."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from muster.identity.seal import AgentSeal

identity_option = click.option(
    "--identity", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Sign what is pushed with the certificate that muster heartbeat keeps here.",
)  # fmt: skip


def seal_of(folder: Path | None) -> "AgentSeal | None":
    """What signs with the identity in a folder; None for no folder. click.UsageError where there is none in it."""
    from muster.identity.errors import IdentityError, require_library

    if folder is None:
        return None
    try:
        require_library()
        from muster.identity.seal import AgentSeal
        from muster.identity.store import Store

        seal = AgentSeal(Store(folder))
        if seal.store.current() is None:
            raise click.UsageError(f"{folder} has no certificate yet: muster heartbeat --identity asks for one.")
    except IdentityError as error:
        raise click.UsageError(f"{error}.") from error
    return seal
