"""What the commands of agents share that sign what they push: with which identity."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from muster.agents.identity.store import Store
from muster.cli.options import FOLDER
from muster.git.signatures.errors import IdentityError, require_library
from muster.git.signatures.signature import sealed, signing_key


@dataclass(frozen=True, slots=True)
class AgentSeal:
    """Signs with what is kept in a store at the time. Satisfies `muster.git.rootref.Seal`."""

    store: Store

    def sealed(self, commit: bytes) -> bytes:
        """Sign; a stranger, who has no certificate yet, does not."""
        try:
            current = self.store.current()
        except IdentityError:  # told by who rotates it; what is not signed is not received
            return commit
        return commit if current is None else sealed(commit, current.request.key)

    def vouches(self, commit: bytes) -> bool:
        """Whether the agent itself signed it, be it before the last rotation. A stranger knows no hand."""
        try:
            return self.store.current() is None or signing_key(commit) in self.store.hands()
        except IdentityError:
            return False


identity_option = click.option(
    "--identity", type=FOLDER, metavar="DIR",
    help="Sign what is pushed with the certificate that muster heartbeat keeps here.",
)  # fmt: skip


@contextmanager
def identities() -> Iterator[None]:
    """Have what the block does with certificates need their library; click.UsageError for what is wrong with either."""
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
        seal = AgentSeal(Store(folder))
        if seal.store.current() is None:
            raise click.UsageError(f"{folder} has no certificate yet: muster heartbeat --identity asks for one.")
    return seal
