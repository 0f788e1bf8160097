"""The hand of an agent: what it pushes is signed with the key of its certificate."""

from dataclasses import dataclass

from muster.agents.identity.store import Store
from muster.git.signatures.errors import IdentityError
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
