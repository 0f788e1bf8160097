"""Messages over SMTP, with TLS where the URL (`smtps://`) or the server (STARTTLS) has it, which passwords need."""

import smtplib
import ssl
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from socket import SHUT_RDWR
from threading import Event, Timer
from urllib.parse import urlsplit

from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.pulses.sinks import DeliveryError, address

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
