"""What the commands of agents share that sign what they push: with which identity."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli.options import FOLDER

if TYPE_CHECKING:
    from muster.agents.identity.seal import AgentSeal

identity_option = click.option(
    "--identity", type=FOLDER, metavar="DIR",
    help="Sign what is pushed with the certificate that muster heartbeat keeps here.",
)  # fmt: skip


@contextmanager
def identities() -> Iterator[None]:
    """Have what the block does with certificates need their library; click.UsageError for what is wrong with either."""
    from muster.git.signatures.errors import IdentityError, require_library

    try:
        require_library()
        yield
    except IdentityError as error:
        raise click.UsageError(f"{error}.") from error


def seal_of(folder: Path | None) -> "AgentSeal | None":
    """What signs with the identity in a folder; None for no folder. click.UsageError where there is none in it."""
    if folder is None:
        return None
    with identities():
        from muster.agents.identity.seal import AgentSeal
        from muster.agents.identity.store import Store

        seal = AgentSeal(Store(folder))
        if seal.store.current() is None:
            raise click.UsageError(f"{folder} has no certificate yet: muster heartbeat --identity asks for one.")
    return seal
