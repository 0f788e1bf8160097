"""Notices for people: transitions, and the messages that contain them."""

import hashlib
from collections.abc import Iterable
from datetime import datetime

from muster.data.ids import ObjectId
from muster.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """A transition in a commit, with its `text` for people: the fact (`sort`, `name`: `condition`, `Ready`), its values
    before and after, and the reason. `resolves`: it ends the incident that it is about."""

    object: ObjectId
    sort: str
    name: str
    before: str
    after: str
    reason: str
    text: str
    commit: str
    at: datetime
    resolves: bool = False

    @property
    def id(self) -> str:
        """Identifies the transition, in all runs and processes."""
        return digest((self.commit, *self.object, self.sort, self.name))


@dataclass(frozen=True, slots=True)
class Message:
    """Notices that are sent together once `due`. `sinks` are the names of the recipients, empty for all; `arrived`
    those that have received it."""

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
