"""The sinks of `Fleet.spec.notifications.sinks`: mail, chat and webhooks."""

import json
import os
import smtplib
import ssl
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from socket import socket
from typing import Any, TypeVar
from urllib.parse import urlsplit

from cloudevents.core.bindings.http import HTTPMessage

from muster.data.times import parse_duration, parse_time
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass
from muster.features.pulses.http import HttpSink
from muster.features.pulses.sinks import DeliveryError, Sink, SinkSettings, address, credentials, secret, within
from muster.net.deadline import Deadline
from muster.net.sockets import connect, with_deadlines

_PORTS = {"smtp": 25, "smtps": 465}
_MAX_SUBJECT = 150
#: SMTP replies from this code on are permanent: trying again does not help.
_PERMANENT = 500
#: No mail server says more than this.
_MOST_BYTES = 1 << 20


class _Smtp(smtplib.SMTP):
    """A mail client whose connection has a deadline, from the first address on."""

    def __init__(self, deadline: Deadline, context: ssl.SSLContext) -> None:
        super().__init__()
        self._deadline, self._context = deadline, context

    def connect(self, host: str = "localhost", port: int = 0, source_address: Any = None) -> tuple[int, bytes]:
        """See `smtplib.SMTP`."""
        self._host = host  # which the certificate must name
        return super().connect(host, port, source_address)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket:  # noqa: ARG002
        """Called by `connect`."""
        return connect((host, port), self._deadline, most_bytes=_MOST_BYTES)


class _SecureSmtp(_Smtp):
    """The same with TLS from the first byte on."""

    def _get_socket(self, host: str, port: int, timeout: float) -> socket:
        return self._context.wrap_socket(super()._get_socket(host, port, timeout), server_hostname=host)


class MailSink:
    """Sends mails. `login` is `user:password`."""

    def __init__(self, url: str, *, sender: str, to: Sequence[str], timeout: timedelta, login: str = "") -> None:
        """DeliveryError without a sender or recipients."""
        host, port = address(url, "smtp", "smtps")
        if not sender or not to:
            raise DeliveryError("a mail sink needs `from` and `to`", again=False, unreachable=True)
        self._scheme = urlsplit(url).scheme
        self._host, self._port = host, port or _PORTS[self._scheme]
        self._sender, self._to, self._login = sender, to, login
        self._seconds = timeout.total_seconds()

    def send(self, event: Tree) -> None:
        """Send the message; the server has confirmed it when this returns."""
        deadline = Deadline.after(self._seconds)
        server: smtplib.SMTP | None = None
        try:
            server = self._connected(deadline)
            server.send_message(self._mail(event), self._sender, list(self._to))
        except smtplib.SMTPResponseException as error:
            again = error.smtp_code < _PERMANENT
            raise DeliveryError(f"{self._host}: answered {error.smtp_code}", again=again) from error
        except smtplib.SMTPRecipientsRefused as error:
            raise DeliveryError(f"{self._host}: refuses every address", again=False) from error
        except ValueError as error:  # a line break in a header, a malformed address
            raise DeliveryError(f"{self._host}: the mail cannot be written: {error}", again=False) from error
        except (smtplib.SMTPException, OSError) as error:
            reason = deadline.missed if deadline.expired else str(error) or type(error).__name__
            raise DeliveryError(f"{self._host}: {reason}", unreachable=True, late=deadline.expired) from error
        finally:
            if server is not None:
                server.close()

    def close(self) -> None:
        """Nothing to close: each message has its own connection."""

    def _connected(self, deadline: Deadline) -> smtplib.SMTP:
        context = with_deadlines(ssl.create_default_context())
        server = (_SecureSmtp if self._scheme == "smtps" else _Smtp)(deadline, context)
        try:
            self._greet(server, context)
        except BaseException:
            server.close()
            raise
        return server

    def _greet(self, server: smtplib.SMTP, context: ssl.SSLContext) -> None:
        server.connect(self._host, self._port)
        if self._scheme == "smtp":
            server.ehlo_or_helo_if_needed()
            if server.has_extn("starttls"):
                server.starttls(context=context)
            elif self._login:
                text = f"{self._host}: offers no TLS, and a password is sent only over TLS"
                raise DeliveryError(text, again=False, unreachable=True)
        if self._login:
            user, _, password = self._login.partition(":")
            server.login(user, password)

    def _mail(self, event: Tree) -> EmailMessage:
        """The message. ValueError for a value that does not fit a header."""
        headers = {
            "From": self._sender, "To": ", ".join(self._to), "Subject": str(event["subject"])[:_MAX_SUBJECT],
            "Date": format_datetime(parse_time(event["time"])),
            "Message-ID": f"<{event['id']}@{self._sender.rpartition('@')[2]}>", "Auto-Submitted": "auto-generated",
        }  # fmt: skip
        mail = EmailMessage()
        for name, value in headers.items():
            if len(f"{value}.".splitlines()) > 1:  # EmailMessage accepts one at the end, which would end the header
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
    """A sink: `sort` is `slack`, `webhook` or `email`; `url_from` names the variable with a secret URL."""

    sort: str
    url_from: str
    sender: str
    to: tuple[str, ...]


def sinks_of(spec: Tree) -> dict[str, NoticeSink]:
    """Return the sinks of a valid Fleet's spec by name; the first of two with the same name."""
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
        return MailSink(url, sender=sink.sender, to=sink.to, timeout=sink.timeout, login=login)
    if sink.sort == "slack":
        return ChatSink(url, mode=sink.mode, timeout=sink.timeout, authorization=login)

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
