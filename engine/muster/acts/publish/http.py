"""Events over HTTP, as the CloudEvents HTTP binding puts them into messages.

TLS certificates are verified against the system's store. A receiver that moved for good says so with 307 or 308, which
keep the method and the body; any other redirection would turn the event into a request for a page, so it is an error.
"""

from collections.abc import Mapping
from datetime import timedelta
from http.client import HTTPException
from urllib.parse import urljoin, urlsplit

import urllib3
from cloudevents.core.bindings import http as binding
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from muster.acts.publish.sinks import DeliveryError, address
from muster.model.times import parse_time
from muster.model.tree import Tree

_MOST_REDIRECTS = 5
_KEEPING_THE_METHOD = frozenset({307, 308})
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


class HttpSink:
    """Posts events to a URL. `authorization` is the value of the header of that name, for the URL's own origin only."""

    def __init__(self, url: str, *, mode: str, timeout: timedelta, authorization: str = "") -> None:
        address(url, "http", "https")
        self._url = url
        self._binary = mode == "binary"
        self._authorization = authorization
        limit = urllib3.Timeout(total=timeout.total_seconds())
        self._pool = urllib3.PoolManager(timeout=limit, retries=False, cert_reqs="CERT_REQUIRED")

    def send(self, event: Tree) -> None:
        """Post the event; a status of 2xx means that the receiver has it."""
        message = self._message(event)
        url = self._url
        for _ in range(_MOST_REDIRECTS + 1):
            status, headers = self._post(url, message)
            if status not in _KEEPING_THE_METHOD:
                _check(url, status, headers)
                return
            url = _next(url, headers)
        raise DeliveryError(f"{self._url}: redirected more than {_MOST_REDIRECTS} times", again=False)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _message(self, event: Tree) -> binding.HTTPMessage:
        attributes = {name: value for name, value in event.items() if name != "data"}
        attributes["time"] = parse_time(event["time"])
        cloud_event = CloudEvent(attributes, event.get("data"))
        return (binding.to_binary if self._binary else binding.to_structured)(cloud_event, JSONFormat())

    def _post(self, url: str, message: binding.HTTPMessage) -> tuple[int, Mapping[str, str]]:
        headers = dict(message.headers)
        if self._authorization and _origin(url) == _origin(self._url):
            headers["Authorization"] = self._authorization
        try:
            response = self._pool.request(
                "POST", url, body=message.body, headers=headers, redirect=False, preload_content=False
            )
        except (urllib3.exceptions.HTTPError, HTTPException, ValueError, OSError) as error:
            raise DeliveryError(f"{url}: {_cause(error)}", unreachable=True) from error
        # What the receiver has to say beside its status is not read: it could go on for ever.
        if response.headers.get("Content-Length") == "0" or response.status == 204:
            response.drain_conn()
        response.close()
        return response.status, response.headers


def _check(url: str, status: int, headers: Mapping[str, str]) -> None:
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        moved = headers.get("Location", "nowhere")[:200]
        text = f"{url}: answered {status} and points to {moved}; give that as the sink's url if it takes events"
        raise DeliveryError(text, again=False)
    wait = headers.get("Retry-After", "")
    after = float(wait[:9]) if wait.isascii() and wait.isdigit() else 0.0
    raise DeliveryError(f"{url}: answered {status}", again=status in _AGAIN, after_seconds=after)


def _next(url: str, headers: Mapping[str, str]) -> str:
    """Where a redirection leads. Never from https to anything less."""
    location = headers.get("Location", "")
    schemes = ("https",) if urlsplit(url).scheme == "https" else ("http", "https")
    try:
        there = urljoin(url, location)
        address(there, *schemes)
    except (ValueError, DeliveryError) as error:
        raise DeliveryError(
            f"{url}: redirects to {location[:200]!r}, where an event must not go", again=False
        ) from error
    return there


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _cause(error: Exception) -> str:
    """The last part of urllib3's nested causes, which is the one that says something."""
    text = str(error)
    return text.rpartition(": ")[2] or type(error).__name__
