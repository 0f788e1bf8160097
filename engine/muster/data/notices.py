"""What people are told: transitions, and the messages that they go into."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from muster.data.ids import ObjectId


@dataclass(frozen=True, slots=True)
class Notice:
    """A transition that a commit made, in `text` as people read it: of what (`sort`, `name`: `condition`, `Ready`),
    from what to what, and why."""

    object: ObjectId
    sort: str
    name: str
    before: str
    after: str
    reason: str
    text: str
    commit: str
    at: datetime

    @property
    def id(self) -> str:
        """The same for the same transition, whoever tells it and how often."""
        return digest((self.commit, *self.object, self.sort, self.name))


@dataclass(frozen=True, slots=True)
class Message:
    """What is told together, once `due`. `sinks` are the names of those that are told, none meaning all; `arrived`
    those that have it."""

    id: str
    policy: str
    key: str
    severity: str
    sinks: frozenset[str]
    due: datetime
    notices: tuple[Notice, ...]
    arrived: frozenset[str] = frozenset()


def digest(parts: Iterable[str]) -> str:
    """Return a short digest of texts."""
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]
