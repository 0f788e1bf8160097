"""Sends events to RabbitMQ (AMQP 0-9-1), with publisher confirms: an event that no queue takes is not delivered."""

import ssl
from datetime import timedelta
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from cloudevents.core.bindings import rabbitmq as binding
from cloudevents.core.formats.json import JSONFormat

from muster.data.extras import install_command
from muster.data.tree import Tree
from muster.features.pulses.sinks import DeliveryError, address, cloud_event

if TYPE_CHECKING:
    from pika import BlockingConnection
    from pika.adapters.blocking_connection import BlockingChannel

_PORTS = {"amqp": 5672, "amqps": 5671}
_PERSISTENT = 2


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
        self._connection: BlockingConnection | None = None
        self._channel: BlockingChannel | None = None

    def send(self, event: Tree) -> None:
        """Publish the event; return once the broker has confirmed it."""
        pika = _pika()
        message = self._message(event)
        properties = pika.BasicProperties(
            content_type=message.content_type, headers=message.headers or None, delivery_mode=_PERSISTENT,
            message_id=event["id"],
        )  # fmt: skip
        key = self._routing_key or event.get("topic") or event["type"]
        try:
            self._open().basic_publish(self._exchange, key, message.body, properties, mandatory=True)
        except pika.exceptions.UnroutableError as error:
            where = f"exchange {self._exchange!r} has no queue for {key!r}"
            raise DeliveryError(f"{self._url}: {where}", again=False) from error
        except pika.exceptions.NackError as error:
            raise DeliveryError(f"{self._url}: the broker refused the event") from error
        except (pika.exceptions.AMQPError, OSError, ValueError) as error:
            self.close()
            raise DeliveryError(f"{self._url}: {_error_text(error)}", unreachable=True) from error

    def close(self) -> None:
        """Close the connection, in any state."""
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None and connection.is_open:
            try:
                connection.close()
            except (_pika().exceptions.AMQPError, OSError):
                return

    def _message(self, event: Tree) -> binding.RabbitMQMessage:
        return (binding.to_binary if self._binary else binding.to_structured)(cloud_event(event), JSONFormat())

    def _open(self) -> "BlockingChannel":
        if self._channel is None or not self._channel.is_open:
            self.close()
            self._connection = _pika().BlockingConnection(self._parameters())
            self._channel = self._connection.channel()
            self._channel.confirm_delivery()
        return self._channel

    def _parameters(self) -> object:
        pika = _pika()
        parts = urlsplit(self._url)
        host, seconds = self._host, self._seconds
        tls = pika.SSLOptions(ssl.create_default_context(), host) if parts.scheme == "amqps" else None
        user, _, password = self._login.partition(":")
        login = {"credentials": pika.PlainCredentials(user, password)} if self._login else {}
        return pika.ConnectionParameters(
            host=host, port=self._port or _PORTS[parts.scheme], virtual_host=unquote(parts.path[1:]) or "/",
            ssl_options=tls, socket_timeout=seconds, stack_timeout=seconds, blocked_connection_timeout=seconds,
            connection_attempts=1, **login,
        )  # fmt: skip


def _error_text(error: Exception) -> str:
    """The text of an error, which pika puts into the arguments, or into their `exception`."""
    texts = (str(getattr(argument, "exception", argument)) for argument in error.args)
    return " ".join(filter(None, texts)) or type(error).__name__


def _pika() -> ModuleType:
    try:
        import_module("pika.exceptions")
        return import_module("pika")
    except ImportError as error:
        text = f"RabbitMQ needs an extra: {install_command('amqp')}"
        raise DeliveryError(text, again=False, unreachable=True) from error
