"""What a receiver of events is, how it is configured, and how an event is tried again."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from muster.gitio.retry import jittered
from muster.model.times import parse_duration
from muster.model.tree import Tree, mappings_at

MOST_PAUSE_SECONDS = 30.0


class DeliveryError(Exception):
    """An event did not arrive. `again`: whether trying again may help; `after_seconds`: not before that, as the
    receiver asked; `unreachable`: whether other events would fare no better."""

    def __init__(
        self, message: str, *, again: bool = True, after_seconds: float = 0.0, unreachable: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
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
            timeout=parse_duration(sink.get("timeout", "10s")),
            attempts=sink.get("attempts", 4),
            backoff=parse_duration(sink.get("backoff", "500ms")),
            credentials_from=sink.get("credentialsFrom", ""),
            exchange=sink.get("exchange", ""),
            routing_key=sink.get("routingKey", ""),
        )
        found.setdefault(settings.name, settings)
    return list(found.values())


def credentials(settings: SinkSettings, environ: Mapping[str, str]) -> str:
    """Return the sink's credentials; empty where it needs none. DeliveryError where they are not there."""
    if not settings.credentials_from:
        return ""
    value = environ.get(settings.credentials_from, "")
    if not value:
        raise DeliveryError(
            f"the environment variable {settings.credentials_from} is not set", again=False, unreachable=True
        )
    return value


@dataclass(frozen=True, slots=True)
class Patience:
    """How waiting is done; a test does without."""

    sleep: Callable[[float], None]
    random: Callable[[], float]


def deliver(sink: Sink, settings: SinkSettings, event: Tree, patience: Patience) -> None:
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
