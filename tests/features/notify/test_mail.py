"""Mails to a real SMTP server."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from muster.features.notify.mail import MailSink
from muster.features.pulses.sinks import DeliveryError
from tests.features.notify.test_notify import Fleet


class Mails:
    """What an SMTP server was given."""

    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.refusals = ["451 later", "550 never"]

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        self.taken.append(envelope)
        return self.refusals.pop() if self.refusals else "250 OK"


@contextmanager
def listening(mails: Mails) -> Iterator[int]:
    """Run a mail server while the block runs; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(mails, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield port
    finally:
        controller.stop()


def test_mails_come_with_an_id_and_without_foreign_headers(tmp_path: Path) -> None:
    mails = Mails()
    with listening(mails) as port:
        mail = (
            "{name: mail, type: email, from: m@x.example, to: [o@x.example], attempts: 1, url: 'smtp://127.0.0.1:%d'}"
        )
        fleet = Fleet(tmp_path / "fleet", mail % port)
        fleet.say("False", "a", reason="Down\\nBcc: all@x.example")
        assert fleet.run().failures == {"mail": ["127.0.0.1: answered 550"]}
        assert fleet.run(1).failures == {"mail": ["127.0.0.1: answered 451"]}
        assert fleet.run(1).published == 1
    first, second, third = (message_from_bytes(envelope.content) for envelope in mails.taken)
    assert mails.taken[0].rcpt_tos == ["o@x.example"]
    assert first["Message-ID"] == second["Message-ID"] == third["Message-ID"]
    assert first["Subject"] == "warning: availability: 1 transition"
    assert first["Bcc"] is None
    assert "Down\\nBcc" in str(first.get_payload()).replace("=\r\n", "")


@pytest.mark.parametrize("field", ["subject", "id"])
def test_a_mail_that_cannot_be_written_is_a_delivery_that_failed(field: str) -> None:
    """A line break would begin another header: nothing is sent, and the next message is."""
    mails = Mails()
    event = {"subject": "s", "id": "i", "time": "2026-01-01T00:00:00Z", "data": {"text": "t"}}
    with listening(mails) as port:
        url, limit = f"smtp://127.0.0.1:{port}", timedelta(seconds=20)
        sink = MailSink(url, sender="m@x.example", to=["o@x.example"], timeout=limit)
        for end in ("\r\nBcc: all@x.example", "\n", "\r"):
            with pytest.raises(DeliveryError, match="cannot be written") as caught:
                sink.send({**event, field: f"{event[field]}{end}"})
            assert not caught.value.again
        mails.refusals.clear()
        sink.send(event)
    assert [message_from_bytes(one.content)["Subject"] for one in mails.taken] == ["s"]
