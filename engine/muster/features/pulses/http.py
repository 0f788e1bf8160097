"""Sends events over HTTP, with the CloudEvents HTTP binding.

TLS certificates are verified against the system's store. Only redirections with 307 or 308 are followed, which keep the
method and the body, and only on the same origin (scheme, host and port), which the sink's configuration trusts.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from http import HTTPStatus
from http.client import HTTPException
from urllib.parse import urljoin, urlsplit

import urllib3
from cloudevents.core.bindings import http as binding
from cloudevents.core.formats.json import JSONFormat

from muster.data.tree import Tree
from muster.features.pulses.sinks import DeliveryError, address, cloud_event
from muster.net.deadline import Deadline
from muster.net.http import exchange, new_pool, reason

_MAX_REDIRECTS = 5
_KEEPING_THE_METHOD = frozenset({307, 308})
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})


class HttpSink:
    """Posts events to a URL. `authorization` is the value of the header of that name."""

    def __init__(self, url: str, *, mode: str, timeout: timedelta, authorization: str = "") -> None:
        address(url, "http", "https")
        self._url = url
        self._binary = mode == "binary"
        self._authorization = authorization
        self._seconds = timeout.total_seconds()
        self._pool = new_pool(cert_reqs="CERT_REQUIRED")

    def send(self, event: Tree) -> None:
        """Post the event; a status of 2xx confirms it."""
        for suffix, message in self._messages(event):
            self._deliver(f"{self._url}{suffix}", message)

    def _deliver(self, url: str, message: binding.HTTPMessage) -> None:
        deadline = Deadline.after(self._seconds)
        for _ in range(_MAX_REDIRECTS + 1):
            status, headers = self._post(url, message, deadline)
            if status not in _KEEPING_THE_METHOD:
                _check(url, status, headers)
                return
            url = _next(url, headers)
        raise DeliveryError(f"{self._url}: redirected more than {_MAX_REDIRECTS} times", again=False)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _messages(self, event: Tree) -> Iterator[tuple[str, binding.HTTPMessage]]:
        """The messages of an event, each with what its URL has at its end."""
        yield "", self._message(event)

    def _message(self, event: Tree) -> binding.HTTPMessage:
        return (binding.to_binary if self._binary else binding.to_structured)(cloud_event(event), JSONFormat())

    def _post(self, url: str, message: binding.HTTPMessage, deadline: Deadline) -> tuple[int, Mapping[str, str]]:
        headers = dict(message.headers)
        if self._authorization:
            headers["Authorization"] = self._authorization
        try:
            answer = exchange(self._pool, deadline, "POST", url, body=message.body, headers=headers)
            # The body of the answer is not read: it could be endless.
            if answer.headers.get("Content-Length") == "0" or answer.status == HTTPStatus.NO_CONTENT:
                answer.drain_conn()
            answer.close()
        except (urllib3.exceptions.HTTPError, HTTPException, ValueError, OSError) as error:
            raise DeliveryError(f"{url}: {reason(error, deadline)}", unreachable=True, late=deadline.expired) from error
        return answer.status, answer.headers


def _check(url: str, status: int, headers: Mapping[str, str]) -> None:
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        moved = headers.get("Location", "nowhere")[:200]
        text = f"{url}: answered {status} and points to {moved}; give that as the sink's url if it takes events"
        raise DeliveryError(text, again=False)
    wait = headers.get("Retry-After", "")
    after = float(wait[:9]) if wait.isascii() and wait.isdigit() else 0.0
    raise DeliveryError(f"{url}: answered {status}", again=status in _RETRIED, after_seconds=after)


def _next(url: str, headers: Mapping[str, str]) -> str:
    """The target of a redirection on the same origin."""
    location = headers.get("Location", "")
    elsewhere = DeliveryError(
        f"{url}: redirects to {location[:200]!r}, which is another origin; give that as the sink's url if it takes"
        " events",
        again=False,
    )
    try:
        target = urljoin(url, location)
        address(target, "http", "https")
        is_elsewhere = origin(target) != origin(url)
    except (ValueError, DeliveryError) as error:
        raise elsewhere from error
    if is_elsewhere:
        raise elsewhere
    return target


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of a URL. ValueError for a malformed port."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
