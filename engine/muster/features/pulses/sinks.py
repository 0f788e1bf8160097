"""Sinks, the receivers of events: their protocol, their settings, and retries."""

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from string import ascii_uppercase, digits
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from muster.data.printable import without_secrets
from muster.data.times import parse_duration, parse_time
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass
from muster.git.push import jittered

if TYPE_CHECKING:
    from cloudevents.core.v1.event import CloudEvent

MAX_PAUSE_SECONDS = 30.0
SHORTEST_TIMEOUT, LONGEST_TIMEOUT = timedelta(milliseconds=100), timedelta(hours=1)
_TRUSTED: Final = "MUSTER_SINK_"
_IN_VARIABLES: Final = f"{ascii_uppercase}{digits}_"
_NEVER: Final = {"again": False, "unreachable": True}


class DeliveryError(Exception):
    """An event was not delivered. `again`: a retry may help; `after_seconds`: but not before; `unreachable`: other
    events would fail, too. `late`: the receiver has used up its time, so this run does not try again."""

    def __init__(
        self,
        message: str,
        *,
        again: bool = True,
        after_seconds: float = 0.0,
        unreachable: bool = False,
        late: bool = False,
    ) -> None:
        self.message = without_secrets(message)
        super().__init__(self.message)
        self.again = again and not late
        self.after_seconds = after_seconds
        self.unreachable = unreachable


class Sink(Protocol):
    """A receiver of events."""

    def send(self, event: Tree) -> None:
        """Deliver one event in its JSON form; return once the receiver has confirmed it. DeliveryError."""

    def close(self) -> None:
        """Close connections."""


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
    """Return the sinks of a valid Fleet's spec; the first of two with the same name."""
    by_name: dict[str, SinkSettings] = {}
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
        by_name.setdefault(settings.name, settings)
    return list(by_name.values())


def within(timeout: timedelta) -> timedelta:
    """Clamp a time-out to a useful range."""
    return min(max(timeout, SHORTEST_TIMEOUT), LONGEST_TIMEOUT)


def cloud_event(event: Tree) -> "CloudEvent":
    """Return an event as an object of the CloudEvents library."""
    from cloudevents.core.v1.event import CloudEvent

    attributes = {name: value for name, value in event.items() if name != "data"}
    return CloudEvent({**attributes, "time": parse_time(event["time"])}, event.get("data"))


def address(url: str, *schemes: str) -> tuple[str, int | None]:
    """Return the host and port of a URL. DeliveryError for a malformed URL or another scheme."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise DeliveryError(f"{url}: this is not a URL: {error}", **_NEVER) from error
    if parts.scheme not in schemes or not host or port == 0 or parts.username is not None:
        raise DeliveryError(
            f"{url}: a receiver's URL has a scheme ({', '.join(schemes)}) and a host, and no user", **_NEVER
        )
    return host, port


def credentials(settings: SinkSettings, environ: Mapping[str, str]) -> str:
    """Return the sink's credentials; empty if it needs none. DeliveryError if they are missing."""
    return secret(settings.credentials_from, environ)


def secret(name: str, environ: Mapping[str, str]) -> str:
    """Return the value of a variable, or the content of the file that the variable `<name>_FILE` names; empty for an
    empty name. DeliveryError if both are missing."""
    if not name:
        return ""
    if not name.startswith(_TRUSTED) or name == _TRUSTED or name.strip(_IN_VARIABLES):
        raise DeliveryError("credentials come from variables whose names begin with MUSTER_SINK_", **_NEVER)
    value = environ.get(name, "")
    if not value and (file := environ.get(f"{name}_FILE")):
        try:
            value = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise DeliveryError(f"the file that {name}_FILE names cannot be read", **_NEVER) from error
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        # A line break would end the header and begin another one.
        text = f"the environment variable {name} has a line break or another control character in it"
        raise DeliveryError(text, **_NEVER)
    if not value:
        raise DeliveryError(f"the environment variable {name} is not set", again=False, unreachable=True)
    return value


@dataclass(frozen=True, slots=True)
class RetryPatience:
    """How retries wait; replaced in tests."""

    sleep: Callable[[float], None]
    random: Callable[[], float]
    monotonic: Callable[[], float] = time.monotonic


def deliver(sink: Sink, settings: SinkSettings, event: Tree, patience: RetryPatience) -> None:
    """Send an event, with retries after growing, jittered pauses if they may help. DeliveryError when they fail."""
    pauses = jittered(
        settings.attempts - 1,
        base_seconds=2 * settings.backoff.total_seconds(),
        most_seconds=MAX_PAUSE_SECONDS,
        random=patience.random,
    )
    for pause in _then_none(pauses):
        try:
            sink.send(event)
        except DeliveryError as error:
            if not error.again or pause is None:
                raise
            patience.sleep(min(max(pause, error.after_seconds), MAX_PAUSE_SECONDS))
        else:
            return


def _then_none(pauses: Iterable[float]) -> Iterable[float | None]:
    yield from pauses
    yield None
