"""The sinks of `Fleet.spec.notifications.sinks`: mail, chats, pagers and webhooks.

What sends is imported when the first message is: most runs have none.
"""

import os
from collections.abc import Callable, Mapping
from typing import TypeVar

from muster.data.times import parse_duration
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass
from muster.features.pulses.sinks import DeliveryError, Sink, SinkSettings, credentials, secret, within

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NoticeSink(SinkSettings):
    """A sink: `sort` is its `type` in the Fleet; `url_from` names the variable with a secret URL."""

    sort: str
    url_from: str
    sender: str
    to: tuple[str, ...]


def sinks_of(spec: Tree) -> dict[str, NoticeSink]:
    """Return the sinks of a valid Fleet's spec by name; the first of two with the same name."""
    sinks: dict[str, NoticeSink] = {}
    for sink in mappings_at(spec, "notifications", "sinks"):
        settings = NoticeSink(
            name=sink["name"],
            url=sink.get("url", ""),
            mode="structured",
            timeout=within(parse_duration(sink.get("timeout", "10s"))),
            attempts=sink.get("attempts", 4),
            backoff=within(parse_duration(sink.get("backoff", "500ms"))),
            credentials_from=sink.get("credentialsFrom", ""),
            exchange="",
            routing_key="",
            sort=sink["type"],
            url_from=sink.get("urlFrom", ""),
            sender=sink.get("from", ""),
            to=tuple(sink.get("to") or ()),
        )
        sinks.setdefault(settings.name, settings)
    return sinks


def opener(sinks: Mapping[str, NoticeSink], environ: Mapping[str, str] = os.environ) -> Callable[[SinkSettings], Sink]:
    """Return a function that opens sinks."""

    def open_sink(settings: SinkSettings) -> Sink:
        sink = sinks[settings.name]
        if not sink.url_from:
            return _opened(sink, sink.url, environ)
        url = secret(sink.url_from, environ)
        return _SecretUrlSink(lambda: _opened(sink, url, environ), url)

    return open_sink


def _opened(sink: NoticeSink, url: str, environ: Mapping[str, str]) -> Sink:
    login = credentials(sink, environ)
    if sink.sort == "email":
        from muster.features.notify.mail import MailSink

        return MailSink(url, sender=sink.sender, to=sink.to, timeout=sink.timeout, login=login)
    if sink.sort in ("pagerduty", "opsgenie"):
        from muster.features.notify.pagers import OpsgenieSink, PagerDutySink

        if not login:
            raise DeliveryError(f"a sink of {sink.sort} needs `credentialsFrom`", again=False, unreachable=True)
        pager = PagerDutySink if sink.sort == "pagerduty" else OpsgenieSink
        return pager(url, timeout=sink.timeout, key=login)
    if sink.sort in ("slack", "teams"):
        from muster.features.notify.chat import ChatSink, TeamsSink

        chat = ChatSink if sink.sort == "slack" else TeamsSink
        return chat(url, mode=sink.mode, timeout=sink.timeout, authorization=login)
    from muster.features.pulses.http import HttpSink

    return HttpSink(url, mode=sink.mode, timeout=sink.timeout, authorization=login)


class _SecretUrlSink:
    """A sink whose URL is secret: errors are reported without it."""

    def __init__(self, opened: Callable[[], Sink], url: str) -> None:
        self._url = url
        self._sink = self._without_url(opened)

    def send(self, event: Tree) -> None:
        """Deliver an event."""
        self._without_url(lambda: self._sink.send(event))

    def close(self) -> None:
        """Close connections."""
        self._sink.close()

    def _without_url(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except DeliveryError as error:
            error.message = error.message.replace(self._url, "its URL")
            error.args = (error.message,)
            raise
