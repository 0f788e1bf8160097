"""The option --identity, and its errors, of the commands that sign what they push."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli.options import FOLDER
from muster.git.errors import IdentityError, require_library

if TYPE_CHECKING:
    from muster.agents.identity.store import AgentSeal

identity_option = click.option(
    "--identity",
    type=FOLDER,
    metavar="DIR",
    help="Sign pushed commits with the certificate that muster heartbeat keeps in this directory.",
)


@contextmanager
def identity_errors() -> Iterator[None]:
    """Turn IdentityErrors of the block into click.UsageError; raise one at once if the extra `identity` is missing."""
    try:
        require_library()
        yield
    except IdentityError as error:
        raise click.UsageError(str(error)) from error


def seal_of(folder: Path | None) -> "AgentSeal | None":
    """Return the seal of the identity in a folder; None for no folder. click.UsageError if it has no certificate."""
    if folder is None:
        return None
    with identity_errors():
        from muster.agents.identity.store import (
            AgentSeal,  # needs the extra `identity`
            Store,
        )

        seal = AgentSeal(Store(folder))
        if seal.store.current() is None:
            raise click.UsageError(f"{folder} has no certificate yet: muster heartbeat --identity asks for one.")
    return seal
