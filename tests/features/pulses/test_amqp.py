"""The RabbitMQ sink against a real broker, which the tests start for themselves."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cloudevents.core.bindings.rabbitmq import RabbitMQMessage, from_rabbitmq
from cloudevents.core.formats.json import JSONFormat

from muster.data.tree import Tree
from muster.features.pulses.amqp import AmqpSink
from muster.features.pulses.sinks import DeliveryError
from tests.features.pulses.test_http import EVENT

#: Where Debian has the server itself; what is on its PATH is a wrapper that changes to another user.
SERVER = shutil.which("rabbitmq-server", path=f"/usr/lib/rabbitmq/bin:{os.environ['PATH']}")
EVENT_WITH_TOPIC: Tree = {**EVENT, "topic": "clusters"}


#: A port that is free may be somebody's a moment later: the machine may be crowded.
ATTEMPTS = 3


def free_ports(count: int) -> list[int]:
    """Ports that nobody has now, no two alike."""
    with ExitStack() as probes:
        taken = [probes.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [probe.getsockname()[1] for probe in taken]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The URL of a broker that lives as long as this module's tests, and the environment of its programs."""
    pytest.importorskip("pika", reason="the extra amqp is not installed")
    if SERVER is None:
        pytest.skip("no rabbitmq-server on this machine: apt-get install rabbitmq-server")
    ended = list[str]()
    for _ in range(ATTEMPTS):
        with running(SERVER, tmp_path_factory.mktemp("rabbitmq")) as (url, why_not, environ):
            if url:
                yield url, environ
                return
            ended.append(why_not)
    pytest.fail("\n".join(ended))


@pytest.fixture
def broker(node: tuple[str, dict[str, str]]) -> str:
    """The broker's URL."""
    return node[0]


@contextmanager
def running(server: str, home: Path) -> Iterator[tuple[str, str, dict[str, str]]]:
    """A broker: its URL, or why it does not run; and its environment."""
    port, between, mapper = free_ports(3)
    environ = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "HOME": str(home),
        "RABBITMQ_HOME_DIR": str(home),
        "RABBITMQ_NODENAME": f"muster-{port}@localhost",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_DIST_PORT": str(between),
        "ERL_EPMD_PORT": str(mapper),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_MNESIA_BASE": str(home / "data"),
        "RABBITMQ_LOG_BASE": str(home / "log"),
        "RABBITMQ_PID_FILE": str(home / "pid"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
        "RABBITMQ_CONFIG_FILE": str(home / "none"),
        "RABBITMQ_SERVER_START_ARGS": "-setcookie muster",
    }
    (home / "plugins").write_text("[].", encoding="utf-8")
    with (home / "output").open("wb") as output:
        process = subprocess.Popen(
            [server], env=environ, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True
        )
    try:
        listens = _listens(process, port)
        why_not = "" if listens else (home / "output").read_text(errors="replace")[-2000:]
        url = f"amqp://127.0.0.1:{port}/" if listens else ""
        yield url, f"rabbitmq-server: {process.returncode}: {why_not}", environ
    finally:
        _end(process, environ)


def _listens(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until it does; False where it has ended, or takes too long."""
    pika = pytest.importorskip("pika")
    parameters = pika.ConnectionParameters("127.0.0.1", port, connection_attempts=1, socket_timeout=1)
    for _ in range(600):
        if process.poll() is not None:
            return False
        try:
            pika.BlockingConnection(parameters).close()
        except pika.exceptions.AMQPError:
            time.sleep(0.1)
        else:
            return True
    return False


def _end(process: subprocess.Popen[bytes], environ: dict[str, str]) -> None:
    """End the broker and the port mapper that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, 15)
    process.wait(60)
    epmd = shutil.which("epmd")
    if epmd is not None:
        subprocess.run([epmd, "-port", environ["ERL_EPMD_PORT"], "-kill"], capture_output=True, check=False)


class Consumer:
    """A queue on the broker, and what is in it."""

    def __init__(self, url: str, exchange: str, key: str) -> None:
        pika: Any = pytest.importorskip("pika")
        self._connection = pika.BlockingConnection(pika.URLParameters(f"{url}%2F"))
        self._channel = self._connection.channel()
        self.queue: str = self._channel.queue_declare("", exclusive=True).method.queue
        if exchange:
            self._channel.exchange_declare(exchange, "topic")
            self._channel.queue_bind(self.queue, exchange, key)

    def __enter__(self) -> "Consumer":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def take(self) -> Any:
        """The next event; None where there is none."""
        method, properties, body = self._channel.basic_get(self.queue, auto_ack=True)
        if method is None:
            return None
        return from_rabbitmq(RabbitMQMessage(properties.headers or {}, properties.content_type, body), JSONFormat())


def sink(url: str, **options: str) -> AmqpSink:
    return AmqpSink(url, mode=options.pop("mode", "structured"), timeout=timedelta(seconds=5), **options)


@pytest.mark.parametrize("mode", ["structured", "binary"])
def test_a_topic_exchange_routes_by_the_events_topic(broker: str, mode: str) -> None:
    with Consumer(broker, f"pulses-{mode}", "clusters") as consumer:
        one = sink(broker, mode=mode, exchange=f"pulses-{mode}")
        one.send(EVENT_WITH_TOPIC)
        one.send({**EVENT_WITH_TOPIC, "id": "second"})
        one.close()
        got = consumer.take()
        assert (got.get_id(), got.get_data()) == (EVENT["id"], EVENT["data"])
        assert consumer.take().get_id() == "second"
        assert consumer.take() is None


def test_without_an_exchange_the_routing_key_names_a_queue(broker: str) -> None:
    with Consumer(broker, "", "") as consumer:
        one = sink(broker, routing_key=consumer.queue, login="guest:guest")
        one.send(EVENT)
        one.close()
        assert consumer.take().get_id() == EVENT["id"]


def test_an_event_that_no_queue_takes_did_not_arrive(broker: str) -> None:
    one = sink(broker, routing_key="nobody")
    with pytest.raises(DeliveryError, match="no queue for 'nobody'") as caught:
        one.send(EVENT)
    one.close()
    assert not caught.value.again


def test_an_exchange_that_does_not_exist(broker: str) -> None:
    one = sink(broker, exchange="no-such-exchange")
    with pytest.raises(DeliveryError, match="no-such-exchange"):
        one.send(EVENT)
    one.close()


def test_a_wrong_password(broker: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        sink(broker, login="guest:wrong").send(EVENT)
    assert caught.value.unreachable


def test_a_broker_that_is_not_there() -> None:
    pytest.importorskip("pika", reason="the extra amqp is not installed")
    with pytest.raises(DeliveryError, match="refused") as caught:
        sink(f"amqp://127.0.0.1:{free_ports(1)[0]}/").send(EVENT)
    assert caught.value.unreachable


def test_a_broker_that_blocks_its_publishers_costs_a_timeout(node: tuple[str, dict[str, str]]) -> None:
    """One with too little memory takes connections, and reads nothing that is published."""
    url, environ = node
    program = shutil.which("rabbitmqctl", path=f"/usr/lib/rabbitmq/bin:{environ['PATH']}")
    if program is None:
        pytest.skip("no rabbitmqctl on this machine: apt-get install rabbitmq-server")

    def allow_memory(fraction: str) -> None:
        command = [program, "--erlang-cookie", "muster", "set_vm_memory_high_watermark", fraction]
        subprocess.run(command, env=environ, check=True, capture_output=True)

    with Consumer(url, "", "") as consumer:
        allow_memory("0")
        try:
            with pytest.raises(DeliveryError, match="no answer within 1 seconds"):
                AmqpSink(url, mode="structured", timeout=timedelta(seconds=1), routing_key=consumer.queue).send(EVENT)
        finally:
            allow_memory("0.4")
        again = sink(url, routing_key=consumer.queue)
        again.send(EVENT)
        again.close()
        assert consumer.take() is not None
