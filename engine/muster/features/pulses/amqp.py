"""Sends events to RabbitMQ (AMQP 0-9-1), with publisher confirms: an event that no queue takes is not delivered.

pika's blocking connection waits without a limit for most answers. So its other connection runs here, on a loop that
ends at the deadline of a message.
"""

import os
import ssl
from contextlib import suppress
from datetime import timedelta
from importlib import import_module
from socket import SHUT_RDWR, socket
from types import ModuleType
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from cloudevents.core.bindings import rabbitmq as binding
from cloudevents.core.formats.json import JSONFormat

from muster.data.extras import install_command
from muster.data.tree import Tree
from muster.features.pulses.sinks import DeliveryError, address, cloud_event
from muster.net.deadline import Deadline

_PORTS = {"amqp": 5672, "amqps": 5671}
_PERSISTENT = 2
_CLOSE_SECONDS: Final = 1.0


class AmqpSink:
    """Publishes events to an exchange. `login` is `user:password`; empty for RabbitMQ's user guest.

    The routing key is the configured one, else the event's topic, else its type.
    """

    def __init__(
        self, url: str, *, mode: str, timeout: timedelta, login: str = "", exchange: str = "", routing_key: str = ""
    ) -> None:
        self._host, self._port = address(url, *_PORTS)
        self._url, self._login, self._binary = url, login, mode == "binary"
        self._exchange, self._routing_key = exchange, routing_key
        self._seconds = timeout.total_seconds()
        self._broker: _Broker | None = None

    def send(self, event: Tree) -> None:
        """Publish the event; return once the broker has confirmed it."""
        pika = _pika()
        message = self._message(event)
        properties = pika.BasicProperties(
            content_type=message.content_type,
            headers=message.headers or None,
            delivery_mode=_PERSISTENT,
            message_id=event["id"],
        )
        key = self._routing_key or event.get("topic") or event["type"]
        deadline = Deadline.after(self._seconds)
        try:
            self._opened(deadline).publish(self._exchange, key, message.body, properties, deadline)
        except pika.exceptions.UnroutableError as error:
            where = f"exchange {self._exchange!r} has no queue for {key!r}"
            raise DeliveryError(f"{self._url}: {where}", again=False) from error
        except pika.exceptions.NackError as error:
            raise DeliveryError(f"{self._url}: the broker refused the event") from error
        except (pika.exceptions.AMQPError, OSError, ValueError) as error:
            self.close()
            why, late = (deadline.missed, True) if deadline.expired else (_error_text(error), False)
            raise DeliveryError(f"{self._url}: {why}", unreachable=True, late=late) from error

    def close(self) -> None:
        """Close the connection, in any state."""
        broker, self._broker = self._broker, None
        if broker is not None:
            broker.close()

    def _message(self, event: Tree) -> binding.RabbitMQMessage:
        return (binding.to_binary if self._binary else binding.to_structured)(cloud_event(event), JSONFormat())

    def _opened(self, deadline: Deadline) -> "_Broker":
        if self._broker is None or not self._broker.is_open:
            self.close()
            self._broker = _Broker(self._parameters())
            self._broker.open(deadline)
        return self._broker

    def _parameters(self) -> object:
        pika = _pika()
        parts = urlsplit(self._url)
        host, seconds = self._host, self._seconds
        tls = pika.SSLOptions(ssl.create_default_context(), host) if parts.scheme == "amqps" else None
        user, _, password = self._login.partition(":")
        login = {"credentials": pika.PlainCredentials(user, password)} if self._login else {}
        return pika.ConnectionParameters(
            host=host,
            port=self._port or _PORTS[parts.scheme],
            virtual_host=unquote(parts.path[1:]) or "/",
            ssl_options=tls,
            socket_timeout=seconds,
            stack_timeout=seconds,
            blocked_connection_timeout=seconds,
            connection_attempts=1,
            **login,
        )


class _Broker:
    """A connection to a broker, with one channel. Methods raise pika's errors, and TimeoutError at their deadline."""

    def __init__(self, parameters: object) -> None:
        self._parameters = parameters
        self._pika = _pika()
        self._sockets = set[int]()
        self._loop = self._new_loop()
        self._connection: Any = None
        self._channel: Any = None
        self._done: Any = None  # what ended the last wait
        self._returned = False

    @property
    def is_open(self) -> bool:
        """Can a message be published?"""
        return self._channel is not None and self._channel.is_open

    def open(self, deadline: Deadline) -> None:
        """Connect, and open a channel with confirms."""

        def connected(connection: Any) -> None:
            connection.channel(on_open_callback=opened)

        def opened(channel: Any) -> None:
            self._channel = channel
            channel.add_on_close_callback(lambda _channel, why: self._ended(why))
            channel.add_on_return_callback(lambda *_: setattr(self, "_returned", True))
            channel.confirm_delivery(self._ended, callback=self._ended)

        def failed(_connection: Any, why: object) -> None:
            self._channel = None
            self._ended(why)

        self._connection = self._pika.SelectConnection(
            self._parameters,
            on_open_callback=connected,
            on_open_error_callback=failed,
            on_close_callback=failed,
            custom_ioloop=self._loop,
        )
        self._wait(deadline)

    def publish(self, exchange: str, key: str, body: bytes, properties: object, deadline: Deadline) -> None:
        """Publish a message and wait for its confirmation."""
        self._returned = False
        self._channel.basic_publish(exchange, key, body, properties, mandatory=True)
        confirmed = self._wait(deadline)
        if self._returned:
            raise self._pika.exceptions.UnroutableError([])
        if isinstance(getattr(confirmed, "method", None), self._pika.spec.Basic.Nack):
            raise self._pika.exceptions.NackError([])

    def close(self) -> None:
        """Close the connection; a broker that does not take part in that is hung up on."""
        for close in (self._connection.close if self.is_open else self._hang_up, self._hang_up):
            with suppress(self._pika.exceptions.AMQPError, OSError):
                if not self._connection.is_closed:
                    close()
                    self._wait(Deadline.after(_CLOSE_SECONDS))
        self._loop.close()

    def _wait(self, deadline: Deadline) -> Any:
        """Run the loop until a callback has something: return it, or raise it. TimeoutError at the deadline."""
        self._done = None
        timer = self._loop.call_later(deadline.require(), self._loop.stop)
        self._loop.start()
        self._loop.remove_timeout(timer)
        if self._done is None:
            raise TimeoutError(deadline.missed)
        if isinstance(self._done, Exception):
            errors = self._pika.exceptions
            lost = isinstance(self._done, (errors.AMQPError, OSError))  # those of connecting are others
            raise self._done if lost else errors.AMQPConnectionError(self._done)
        return self._done

    def _ended(self, why: object) -> None:
        if self._done is None:  # of several, the first is the cause
            self._done = why
        self._loop.stop()

    def _hang_up(self) -> None:
        for number in self._sockets:
            with suppress(OSError), socket(fileno=os.dup(number)) as line:
                line.shutdown(SHUT_RDWR)

    def _new_loop(self) -> Any:
        sockets = self._sockets

        class Loop(import_module("pika.adapters.select_connection").IOLoop):  # type: ignore[misc]
            """Knows the sockets of its connection."""

            def add_handler(self, fd: int, handler: object, events: int) -> None:
                sockets.add(fd)
                super().add_handler(fd, handler, events)

            def remove_handler(self, fd: int) -> None:
                sockets.discard(fd)
                super().remove_handler(fd)

        return Loop()


def _error_text(error: BaseException) -> str:
    """The text of an error's cause, which pika puts into the arguments, or into attributes of errors of connecting."""
    while True:
        inner = [*getattr(error, "exceptions", ())[-1:], getattr(error, "exception", None), *error.args[:1]]
        cause = next((error_inside for error_inside in inner if isinstance(error_inside, BaseException)), None)
        if cause is None:
            return str(error) or type(error).__name__
        error = cause


def _pika() -> ModuleType:
    try:
        import_module("pika.exceptions")
        return import_module("pika")
    except ImportError as error:
        text = f"RabbitMQ needs an extra: {install_command('amqp')}"
        raise DeliveryError(text, again=False, unreachable=True) from error
