"""Is an API server ready, or does it start?

An API server that starts refuses requests for some seconds: its authorization does not know the roles yet (403), or it
cannot verify tokens (401) or read objects (500, 503). Such an answer says nothing about the request. `/readyz` tells
the two apart. Where roles are not known yet, or nobody may read it, it is refused as well: then a path that answered
before is asked for again; without one, refusals count once they have lasted.
"""

import time
from collections.abc import Callable
from dataclasses import field
from http import HTTPStatus
from threading import Lock
from typing import Final

from muster.dataclass import dataclass

#: Statuses of refusals that may be those of a server that starts.
DOUBTFUL: Final = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
#: A server that refuses everything for so long means it.
PATIENCE_SECONDS: Final = 60.0


@dataclass
class Readiness:
    """What is known of a server. `get` returns the status of a GET (0: no answer), perhaps one without a credential.
    Thread-safe."""

    get: Callable[..., int]
    monotonic: Callable[[], float] = time.monotonic
    _witness: str = ""  # a path that answered
    _refused_since: float | None = None
    _lock: Lock = field(default_factory=Lock)

    def answered(self, path: str) -> None:
        """Note that a GET of the path was answered with an object."""
        with self._lock:
            self._witness, self._refused_since = path, None

    def is_ready(self, refused: int) -> bool:
        """Does a refusal with this status count now?"""
        status = self.get("/readyz", anonymous=refused == HTTPStatus.UNAUTHORIZED)
        if status != HTTPStatus.FORBIDDEN:
            return 0 < status < HTTPStatus.INTERNAL_SERVER_ERROR
        with self._lock:
            witness, now = self._witness, self.monotonic()
            self._refused_since = now if self._refused_since is None else self._refused_since
            lasted = now - self._refused_since >= PATIENCE_SECONDS
        status = self.get(witness, anonymous=False) if witness else 0
        return lasted or (status not in DOUBTFUL and 0 < status < HTTPStatus.INTERNAL_SERVER_ERROR)
