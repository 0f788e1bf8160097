"""The receivers of notifications, as `Fleet.spec.notifications.sinks` has them."""

import json
import os
import smtplib
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from socket import SHUT_RDWR
from threading import Event, Timer
from typing import TypeVar
from urllib.parse import urlsplit

from cloudevents.core.bindings.http import HTTPMessage

from muster.data.times import parse_duration, parse_time
from muster.data.tree import Tree, mappings_at
from muster.features.pulses.http import HttpSink
from muster.features.pulses.sinks import DeliveryError, Sink, SinkSettings, address, credentials, secret, within

_PORTS = {"smtp": 25, "smtps": 465}
_LONGEST_SUBJECT = 150
#: Answers of this hundred are for good: trying again does not help.
_FOR_GOOD = 500


class MailSink:
    """Sends mails. `login` is `user:password`."""

    def __init__(self, url: str, *, sender: str, to: Sequence[str], timeout: timedelta, login: str = "") -> None:
        """DeliveryError where nobody is named who sends or gets them."""
        host, port = address(url, "smtp", "smtps")
        if not sender or not to:
            raise DeliveryError("a sink for mail needs `from` and `to`", again=False, unreachable=True)
        self._scheme = urlsplit(url).scheme
        self._host, self._port = host, port or _PORTS[self._scheme]
        self._sender, self._to, self._login = sender, to, login
        self._seconds = timeout.total_seconds()

    def send(self, event: Tree) -> None:
        """Send the message; the server has it when it says so."""
        late = Event()
        server: smtplib.SMTP | None = None

        def hang_up() -> None:
            """End an exchange that takes too long: the time-out of a socket begins anew with every byte."""
            late.set()
            with suppress(OSError, AttributeError):
                server.sock.shutdown(SHUT_RDWR)  # type: ignore[union-attr]

        watch = Timer(self._seconds, hang_up)
        watch.daemon = True
        watch.start()
        try:
            server = self._connected()
            server.send_message(self._mail(event), self._sender, list(self._to))
        except smtplib.SMTPResponseException as error:
            again = error.smtp_code < _FOR_GOOD
            raise DeliveryError(f"{self._host}: answered {error.smtp_code}", again=again) from error
        except smtplib.SMTPRecipientsRefused as error:
            raise DeliveryError(f"{self._host}: refuses every address", again=False) from error
        except ValueError as error:  # a line break in a header, an address that is none
            raise DeliveryError(f"{self._host}: the mail cannot be written: {error}", again=False) from error
        except (smtplib.SMTPException, OSError) as error:
            said = f"no answer within {self._seconds:g} seconds" if late.is_set() else str(error)
            raise DeliveryError(f"{self._host}: {said or type(error).__name__}", unreachable=True) from error
        finally:
            watch.cancel()
            if server is not None:
                server.close()

    def close(self) -> None:
        """Nothing is held: a connection that waits is closed by servers."""

    def _connected(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        if self._scheme == "smtps":
            server: smtplib.SMTP = smtplib.SMTP_SSL(self._host, self._port, timeout=self._seconds, context=context)
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=self._seconds)
            server.ehlo_or_helo_if_needed()
            if server.has_extn("starttls"):
                server.starttls(context=context)
            elif self._login:
                server.close()
                text = f"{self._host}: offers no TLS, and a password is sent over nothing else"
                raise DeliveryError(text, again=False, unreachable=True)
        if self._login:
            user, _, password = self._login.partition(":")
            server.login(user, password)
        return server

    def _mail(self, event: Tree) -> EmailMessage:
        """The message. ValueError for what no header can hold."""
        headers = {
            "From": self._sender, "To": ", ".join(self._to), "Subject": str(event["subject"])[:_LONGEST_SUBJECT],
            "Date": format_datetime(parse_time(event["time"])),
            "Message-ID": f"<{event['id']}@{self._sender.rpartition('@')[2]}>", "Auto-Submitted": "auto-generated",
        }  # fmt: skip
        mail = EmailMessage()
        for name, value in headers.items():
            if len(f"{value}.".splitlines()) > 1:  # EmailMessage takes one at the end, and the header ends there
                raise ValueError(f"{name} has a line break in it")
            mail[name] = value
        mail.set_content(str(event["data"]["text"]) + "\n")
        return mail


_SIGNS = {"info": "ℹ️", "warning": "⚠️", "critical": "🚨"}
_INERT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "＠", "`": "'"})


class ChatSink(HttpSink):
    """Posts messages as `{"text": ...}`."""

    def _message(self, event: Tree) -> HTTPMessage:
        data = event["data"]
        shown = str(data["text"]).translate(_INERT)
        title = f"{_SIGNS.get(str(data['severity']), '')} {str(event['subject']).translate(_INERT)}".strip()
        body = json.dumps({"text": f"{title}\n```\n{shown}\n```\n{event['id']}"}).encode()
        return HTTPMessage(headers={"Content-Type": "application/json", "Muster-Id": str(event["id"])}, body=body)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NoticeSink(SinkSettings):
    """One entry: `sort` is `slack`, `webhook` or `email`, `url_from` the variable with a URL that is a secret."""

    sort: str
    url_from: str
    sender: str
    to: tuple[str, ...]


def sinks_of(spec: Tree) -> dict[str, NoticeSink]:
    """Return the sinks of a Fleet's spec by name, sound by its schema; of two with one name, the first."""
    found: dict[str, NoticeSink] = {}
    for sink in mappings_at(spec, "notifications", "sinks"):
        settings = NoticeSink(
            name=sink["name"], url=sink.get("url", ""), mode="structured",
            timeout=within(parse_duration(sink.get("timeout", "10s"))), attempts=sink.get("attempts", 4),
            backoff=within(parse_duration(sink.get("backoff", "500ms"))),
            credentials_from=sink.get("credentialsFrom", ""), exchange="", routing_key="", sort=sink["type"],
            url_from=sink.get("urlFrom", ""), sender=sink.get("from", ""), to=tuple(sink.get("to") or ()),
        )  # fmt: skip
        found.setdefault(settings.name, settings)
    return found


def opener(sinks: Mapping[str, NoticeSink], environ: Mapping[str, str] = os.environ) -> Callable[[SinkSettings], Sink]:
    """Return what opens sinks by what they take."""

    def open_sink(settings: SinkSettings) -> Sink:
        sink = sinks[settings.name]
        if not sink.url_from:
            return _opened(sink, sink.url, environ)
        url = secret(sink.url_from, environ)
        return _Discreet(lambda: _opened(sink, url, environ), url)

    return open_sink


def _opened(sink: NoticeSink, url: str, environ: Mapping[str, str]) -> Sink:
    login = credentials(sink, environ)
    if sink.sort == "email":
        return MailSink(url, sender=sink.sender, to=sink.to, timeout=sink.timeout, login=login)
    if sink.sort == "slack":
        return ChatSink(url, mode=sink.mode, timeout=sink.timeout, authorization=login)

    return HttpSink(url, mode=sink.mode, timeout=sink.timeout, authorization=login)


class _Discreet:
    """A sink whose URL is a secret: what fails is told without it."""

    def __init__(self, opened: Callable[[], Sink], url: str) -> None:
        self._url = url
        self._sink = self._told(opened)

    def send(self, event: Tree) -> None:
        """Deliver an event."""
        self._told(lambda: self._sink.send(event))

    def close(self) -> None:
        """Let go of connections."""
        self._sink.close()

    def _told(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except DeliveryError as error:
            error.message = error.message.replace(self._url, "its URL")
            error.args = (error.message,)
            raise
