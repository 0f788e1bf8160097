"""What a receiver of events is, how it is configured, and how an event is tried again."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from muster.data.printable import without_secrets
from muster.data.times import parse_duration, parse_time
from muster.data.tree import Tree, mappings_at
from muster.git.push import jittered

if TYPE_CHECKING:
    from cloudevents.core.v1.event import CloudEvent

MOST_PAUSE_SECONDS = 30.0
SHORTEST_TIMEOUT, LONGEST_TIMEOUT = timedelta(milliseconds=100), timedelta(hours=1)
_TRUSTED = re.compile(r"MUSTER_SINK_[A-Z0-9_]+", re.ASCII)
_NEVER: Final = {"again": False, "unreachable": True}


class DeliveryError(Exception):
    """An event did not arrive. `again`: whether trying again may help; `after_seconds`: not before that, as the
    receiver asked; `unreachable`: whether other events would fare no better."""

    def __init__(
        self, message: str, *, again: bool = True, after_seconds: float = 0.0, unreachable: bool = False
    ) -> None:
        self.message = without_secrets(message)
        super().__init__(self.message)
        self.again = again
        self.after_seconds = after_seconds
        self.unreachable = unreachable


class Sink(Protocol):
    """A receiver of events."""

    def send(self, event: Tree) -> None:
        """Deliver one event, given in its JSON form; return once the receiver has it, else raise DeliveryError."""

    def close(self) -> None:
        """Let go of connections."""


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """One entry of `Fleet.spec.pulses.sinks`."""

    name: str
    url: str
    mode: str
    timeout: timedelta
    attempts: int
    backoff: timedelta
    credentials_from: str
    exchange: str
    routing_key: str


def sink_settings(spec: Tree) -> list[SinkSettings]:
    """Return the sinks of a Fleet's spec, sound by its schema; of two with one name, the first."""
    found: dict[str, SinkSettings] = {}
    for sink in mappings_at(spec, "pulses", "sinks"):
        settings = SinkSettings(
            name=sink["name"],
            url=sink["url"],
            mode=sink.get("mode", "structured"),
            timeout=within(parse_duration(sink.get("timeout", "10s"))),
            attempts=sink.get("attempts", 4),
            backoff=min(parse_duration(sink.get("backoff", "500ms")), LONGEST_TIMEOUT),
            credentials_from=sink.get("credentialsFrom", ""),
            exchange=sink.get("exchange", ""),
            routing_key=sink.get("routingKey", ""),
        )
        found.setdefault(settings.name, settings)
    return list(found.values())


def within(timeout: timedelta) -> timedelta:
    """A time-out that a socket can have: none at all would be no attempt, and one of years is none."""
    return min(max(timeout, SHORTEST_TIMEOUT), LONGEST_TIMEOUT)


def cloud_event(event: Tree) -> "CloudEvent":
    """Return an event as the library has it that binds it to transports."""
    from cloudevents.core.v1.event import CloudEvent

    attributes = {name: value for name, value in event.items() if name != "data"}
    return CloudEvent({**attributes, "time": parse_time(event["time"])}, event.get("data"))


def address(url: str, *schemes: str) -> tuple[str, int | None]:
    """Return the host and port that a URL names. DeliveryError where it names none, or is of another scheme."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise DeliveryError(f"{url}: this is no URL: {error}", **_NEVER) from error
    if parts.scheme not in schemes or not host or port == 0 or parts.username is not None:
        raise DeliveryError(
            f"{url}: a receiver's URL has a scheme ({', '.join(schemes)}) and a host, and no user", **_NEVER
        )
    return host, port


def credentials(settings: SinkSettings, environ: Mapping[str, str]) -> str:
    """Return the sink's credentials; empty where it needs none. DeliveryError where they are not there."""
    return secret(settings.credentials_from, environ)


def secret(name: str, environ: Mapping[str, str]) -> str:
    """Return the value of a variable, else what is in the file that the variable of that name and `_FILE` names; empty
    for no name. DeliveryError where there is neither."""
    if not name:
        return ""
    if not _TRUSTED.fullmatch(name):
        raise DeliveryError("credentials come from variables whose names begin with MUSTER_SINK_", **_NEVER)
    value = environ.get(name, "")
    if not value and (file := environ.get(f"{name}_FILE")):
        try:
            value = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise DeliveryError(f"the file that {name}_FILE names cannot be read", **_NEVER) from error
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        # A line break would end the header, and what follows would be one of its own.
        text = f"the environment variable {name} has a line break or another control character in it"
        raise DeliveryError(text, **_NEVER)
    if not value:
        raise DeliveryError(f"the environment variable {name} is not set", again=False, unreachable=True)
    return value


@dataclass(frozen=True, slots=True)
class RetryPatience:
    """How waiting is done; a test does without."""

    sleep: Callable[[float], None]
    random: Callable[[], float]
    monotonic: Callable[[], float] = time.monotonic


def deliver(sink: Sink, settings: SinkSettings, event: Tree, patience: RetryPatience) -> None:
    """Send an event, again after a growing, jittered pause where that may help. DeliveryError when it is given up."""
    pauses = jittered(
        settings.attempts - 1,
        base_seconds=2 * settings.backoff.total_seconds(),
        most_seconds=MOST_PAUSE_SECONDS,
        random=patience.random,
    )
    for pause in _then_none(pauses):
        try:
            sink.send(event)
        except DeliveryError as error:
            if not error.again or pause is None:
                raise
            patience.sleep(min(max(pause, error.after_seconds), MOST_PAUSE_SECONDS))
        else:
            return


def _then_none(pauses: Iterable[float]) -> Iterable[float | None]:
    yield from pauses
    yield None
