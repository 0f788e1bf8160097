"""The memory that request bodies may take, in all: a client that sends many large ones gets no more than its share."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

from muster.net.serving.http11 import HEAD_BYTES, Response, response

#: Bytes for the bodies that are being received or answered.
BODIES_BYTES: Final = 96 << 20
#: One sender may have one out of this many bytes, but always one body.
_SHARE: Final = 2
_RETRY_SECONDS: Final = "5"


class BodyBudget:
    """The bodies that are in memory, by sender. For one thread."""

    def __init__(self, most: int = BODIES_BYTES) -> None:
        self._most = most
        self._taken = Counter[str]()

    @property
    def taken(self) -> int:
        """The bytes that are reserved."""
        return self._taken.total()

    @contextmanager
    def reserve(self, sender: str, length: int) -> Iterator[Response | None]:
        """Reserve the length of a body for the block. Yields a refusal if there is no room: 429 if the sender has its
        share, 503 if all have too much.

        A body that is no longer than a head is never refused, so that leases are renewed: there are at most as many as
        connections.
        """
        counted = length if length > HEAD_BYTES else 0
        if counted and (refusal := self._refusal(sender, counted)):
            yield refusal
            return
        self._taken[sender] += counted
        try:
            yield None
        finally:
            self._taken[sender] -= counted
            if not self._taken[sender]:
                del self._taken[sender]

    def _refusal(self, sender: str, length: int) -> Response | None:
        taken = self._taken[sender]
        if taken and taken + length > self._most // _SHARE:
            return _later(HTTPStatus.TOO_MANY_REQUESTS, "your other requests have too large bodies")
        if self.taken and self.taken + length > self._most:
            return _later(HTTPStatus.SERVICE_UNAVAILABLE, "too many large bodies in progress")
        return None


def _later(status: HTTPStatus, reason: str) -> Response:
    body = json.dumps({"error": reason}).encode()
    return response(status, body, Content_Type="application/json", Retry_After=_RETRY_SECONDS)
