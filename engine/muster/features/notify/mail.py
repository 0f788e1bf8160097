"""Sends messages as mails: over TLS where the server offers it, and within one deadline."""

import smtplib
import ssl
from collections.abc import Sequence
from datetime import timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from socket import socket
from typing import Any
from urllib.parse import urlsplit

from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.pulses.sinks import DeliveryError, address
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
            "From": self._sender,
            "To": ", ".join(self._to),
            "Subject": str(event["subject"])[:_MAX_SUBJECT],
            "Date": format_datetime(parse_time(event["time"])),
            "Message-ID": f"<{event['id']}@{self._sender.rpartition('@')[2]}>",
            "Auto-Submitted": "auto-generated",
        }
        mail = EmailMessage()
        for name, value in headers.items():
            if len(f"{value}.".splitlines()) > 1:  # EmailMessage accepts one at the end, which would end the header
                raise ValueError(f"{name} has a line break in it")
            mail[name] = value
        mail.set_content(str(event["data"]["text"]) + "\n")
        return mail
