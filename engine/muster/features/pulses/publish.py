"""Publish each due pulse to the sinks that its policy names, and remember it.

At least once: a pulse is published when all of its sinks have accepted it. Otherwise it stays due, with the same event
id, for the sinks that lack it. A sink that is unreachable or slow is skipped for the rest of the run.
"""

import contextlib
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from pathlib import Path

from muster.data.decision import Pulse, PulseKey
from muster.data.finding import Finding
from muster.data.printable import without_secrets
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.pulses.sinks import (
    DeliveryError,
    RetryPatience,
    Sink,
    SinkSettings,
    credentials,
    deliver,
    sink_settings,
)
from muster.fleet.faults import stage_fault
from muster.git.errors import RepositoryError
from muster.git.memory.pulses import Arrived, PulseMemory, read_memory, remember
from muster.git.repository import Repository
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.pulses.policy import PulsePolicy
from muster.run.progress import RunStep, doing
from muster.run.run import Run

#: How long a sink may delay a run by failing deliveries; then it is skipped.
MAX_FAILING_SECONDS = 60.0
#: How many pulses are published before they are remembered; a killed run may publish them again.
BATCH = 200
PATIENT = RetryPatience(time.sleep, random.random)


@dataclass
class DeliveryCounts:
    """Notifications by type of sink: how many were sent, refused and are waiting; `oldest`: when the oldest waiting one
    was due."""

    sent: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)
    oldest: datetime | None = None


@dataclass
class Publication:
    """The result of publishing: how many pulses were `due`, how many were accepted by all their sinks, and the failures
    by sink.

    `faults`: faults of muster; their pulses are due again in the next run. `next`: when the next waiting message is
    due. `told`: counts of notifications.
    """

    due: int = 0
    published: int = 0
    failures: dict[str, list[str]] = field(default_factory=dict)
    faults: list[Finding] = field(default_factory=list)
    next: datetime | None = None
    told: DeliveryCounts = field(default_factory=DeliveryCounts, compare=False)

    def lines(self) -> list[str]:
        """The failures, one line per sink: how many, and the first reason."""
        return [
            f"sink {name}: {len(reasons)} not delivered: {reasons[0]}"
            for name, reasons in sorted(self.failures.items())
        ]


Opener = Callable[[SinkSettings], Sink]


def publish(
    fleet: FleetWithPolicies,
    pulses: Sequence[Pulse],
    memory: PulseMemory,
    *,
    open_sink: Opener,
    remember: Callable[[PulseMemory], None],
    patience: RetryPatience = PATIENT,
) -> Publication:
    """Publish pulses to the fleet's sinks and add deliveries to `memory`; `remember` is called after each batch.

    Without sinks nothing is published or remembered.
    """
    settings = {sink.name: sink for sink in sink_settings(fleet.settings.spec)}
    wanted = {policy.id.name: policy.sinks for policy in fleet.compiled.of(PulsePolicy)}
    if not fleet.partial:  # a partial run does not know all objects
        memory.keep(fleet.objects.keys())
    result = Publication(len(pulses) if settings else 0)
    deliverer = Deliverer(settings, open_sink, patience, result)
    publisher = _Publisher(deliverer, memory)
    try:
        for start in range(0, len(pulses) if settings else 0, BATCH):
            for pulse in pulses[start : start + BATCH]:
                names = wanted.get(pulse.policy) or settings.keys()
                publisher.publish(pulse, sorted(names & settings.keys()))
            remember(memory)
    finally:
        deliverer.close()
    return result


def publish_due(
    repository: Repository,
    run: Run,
    remote: str | None = None,
    environ: Mapping[str, str] = os.environ,
    patience: RetryPatience = PATIENT,
    *,
    folder: Path | None = None,
) -> Publication:
    """Publish the pulses of a run whose commit is durable, and remember them in the repository and on the remote.

    Pulses that another process has published meanwhile are skipped. File sinks write below `folder`, and refuse without
    one. RepositoryError if the memory cannot be read; a fault of ours is in the result.
    """
    try:
        return _publish_due(repository, run, remote, environ, patience, folder)
    except RepositoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary: what was committed is committed
        return Publication(len(run.fleet.pulses), faults=[stage_fault("publishing pulses", error, "they stay due")])


def _publish_due(
    repository: Repository,
    run: Run,
    remote: str | None,
    environ: Mapping[str, str],
    patience: RetryPatience,
    folder: Path | None,
) -> Publication:
    pulses = run.fleet.pulses
    if not pulses or not sink_settings(run.fleet.settings.spec):
        return Publication()
    doing(RunStep.PUBLISHING)
    memory = read_memory(repository, remote)
    fresh = [pulse for pulse in pulses if not _is_published(pulse, memory)]
    troubles: list[str] = []
    done = publish(
        run.fleet,
        fresh,
        memory,
        open_sink=opener(folder, environ),
        remember=lambda published: troubles.extend(filter(None, [remember(repository, published, remote)])),
        patience=patience,
    )
    if troubles:
        done.failures["memory"] = troubles
    done.failures = {
        name: [without_secrets(reason, environ) for reason in reasons] for name, reasons in done.failures.items()
    }
    return done


def next_look(run: Run) -> datetime | None:
    """When the next run is due; pulses count only if there are sinks."""
    return run.horizon if sink_settings(run.fleet.settings.spec) else run.turn


def _is_published(pulse: Pulse, memory: PulseMemory) -> bool:
    before = memory.published.get(PulseKey(pulse.object, pulse.policy))
    return before is not None and pulse.sent is not None and before.time >= pulse.sent.time


@dataclass
class _Publisher:
    deliverer: "Deliverer"
    memory: PulseMemory

    def publish(self, pulse: Pulse, names: Iterable[str]) -> None:
        """Deliver one pulse to its sinks."""
        key, event = PulseKey(pulse.object, pulse.policy), pulse.event["id"]
        half = self.memory.arrived.get(key)
        have = set(half.sinks) if half is not None and half.event == event else set()
        missing = [name for name in names if name not in have and not self.deliverer.deliver(name, pulse.event)]
        if not missing:
            assert pulse.sent is not None
            self.memory.published[key] = pulse.sent
            self.memory.arrived.pop(key, None)
            self.deliverer.result.published += 1
        elif have := have | (set(names) - set(missing)):
            self.memory.arrived[key] = Arrived(event, frozenset(have))


@dataclass
class Deliverer:
    """Delivers events to sinks, and adds failures to `result`. `what`: the name of its events in messages."""

    settings: Mapping[str, SinkSettings]
    open_sink: Opener
    patience: RetryPatience
    result: Publication
    what: str = "pulses"
    _open: dict[str, Sink] = field(default_factory=dict)
    _skipped: dict[str, str] = field(default_factory=dict)
    _failing_seconds: dict[str, float] = field(default_factory=dict)

    def deliver(self, name: str, event: Tree) -> bool:
        """Deliver an event to a sink; return whether it was accepted."""
        if name in self._skipped:
            self.result.failures[name].append(self._skipped[name])
            return False
        began = self.patience.monotonic()
        try:
            if name not in self._open:
                self._open[name] = self.open_sink(self.settings[name])
            deliver(self._open[name], self.settings[name], event, self.patience)
        except DeliveryError as error:
            self._failing_seconds[name] = self._failing_seconds.get(name, 0.0) + self.patience.monotonic() - began
            if error.unreachable:
                self._skipped[name] = error.message
            elif self._failing_seconds[name] > MAX_FAILING_SECONDS:
                self._skipped[name] = f"{error.message}, for {MAX_FAILING_SECONDS:g} seconds"
            self.result.failures.setdefault(name, []).append(error.message)
            return False
        except Exception as error:  # noqa: BLE001 - the boundary for sinks, as `each` is for objects
            self._skipped[name] = "muster failed on this sink"
            self.result.failures.setdefault(name, []).append(self._skipped[name])
            self.result.faults.append(stage_fault(f"publishing to sink {name!r}", error, f"its {self.what} stay due"))
            return False
        return True

    def close(self) -> None:
        """Close the sinks."""
        for sink in self._open.values():
            with contextlib.suppress(Exception):  # a connection that cannot be closed does no harm
                sink.close()


def opener(folder: Path | None, environ: Mapping[str, str] = os.environ) -> Opener:
    """Return a function that opens sinks by URL; file sinks write below `folder`."""

    def open_sink(settings: SinkSettings) -> Sink:
        scheme = settings.url.partition(":")[0]
        if scheme == "stdout":
            from muster.features.pulses.lines import StreamSink

            return StreamSink(sys.stdout)
        if scheme == "file":
            from muster.features.pulses.lines import FileSink

            if folder is None:
                text = "files are written only below a directory that --sink-dir names"
                raise DeliveryError(text, again=False, unreachable=True)
            return FileSink(folder, settings.url.removeprefix("file:"))
        secret = credentials(settings, environ)
        if scheme in ("http", "https"):
            from muster.features.pulses.http import HttpSink

            return HttpSink(settings.url, mode=settings.mode, timeout=settings.timeout, authorization=secret)
        from muster.features.pulses.amqp import AmqpSink

        return AmqpSink(
            settings.url,
            mode=settings.mode,
            timeout=settings.timeout,
            login=secret,
            exchange=settings.exchange,
            routing_key=settings.routing_key,
        )

    return open_sink
