"""Publishing: each due pulse to the sinks that its policy names, then into the memory.

At least once: a pulse counts as gone out when all of its sinks have it. What a sink did not take stays due, with the
same event id, and the sinks that have it are not asked again. A sink that cannot be reached is given up for the rest of
the run, and so is one that keeps it waiting; the others get theirs.
"""

import contextlib
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from muster.data.decision import Pulse, PulseKey
from muster.data.finding import Finding
from muster.data.printable import without_secrets
from muster.data.tree import Tree
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
from muster.git.pulse_memory import Arrived, PulseMemory, read_memory, remember
from muster.git.repository import Repository
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.pulses.policy import PulsePolicy
from muster.run.progress import RunStep, doing
from muster.run.run import Run

#: So long a sink may keep a run waiting with what it does not take; then the rest stays due.
MOST_TROUBLE_SECONDS = 60.0
#: So many pulses are published before they are remembered: what a run that is killed may publish again.
BATCH = 200
PATIENT = RetryPatience(time.sleep, random.random)


@dataclass
class DeliveryCounts:
    """Messages to people, by the type of a sink: how many it took, did not take, and are waiting for it; `oldest`: when
    the oldest was due that is waiting although it is."""

    sent: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)
    oldest: datetime | None = None


@dataclass
class Publication:
    """What came of publishing: how many pulses were `due` at the sinks, how many all their sinks have, what failed, per
    sink, and how often.

    `faults` are those of muster itself: what they kept from going out is due again in the next run. `next`: when
    something that waits is due. `told`: what became of messages to people.
    """

    due: int = 0
    published: int = 0
    failures: dict[str, list[str]] = field(default_factory=dict)
    faults: list[Finding] = field(default_factory=list)
    next: datetime | None = None
    told: DeliveryCounts = field(default_factory=DeliveryCounts, compare=False)

    def lines(self) -> list[str]:
        """What failed, one line per sink: how often, and the first reason."""
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
    """Publish pulses to the fleet's sinks and note in `memory` what arrived; `remember` is called after each batch.

    Without sinks nothing is published and nothing remembered.
    """
    settings = {sink.name: sink for sink in sink_settings(fleet.settings.spec)}
    wanted = {policy.id.name: policy.sinks for policy in fleet.compiled.of(PulsePolicy)}
    if not fleet.partial:  # else there are others, which this run has not looked at
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

    What somebody else published since the run looked is left out. File sinks write below `folder`, and refuse where
    none is given. RepositoryError where the memory cannot be had; a fault of ours is in the result.
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
    fresh = [pulse for pulse in pulses if not _overtaken(pulse, memory)]
    troubles: list[str] = []
    done = publish(
        run.fleet,
        fresh,
        memory,
        open_sink=opener(folder, environ),
        remember=lambda known: troubles.extend(filter(None, [remember(repository, known, remote)])),
        patience=patience,
    )
    if troubles:
        done.failures["memory"] = troubles
    done.failures = {
        name: [without_secrets(reason, environ) for reason in reasons] for name, reasons in done.failures.items()
    }
    return done


def next_look(run: Run) -> datetime | None:
    """When a run has to be made again. A pulse that nobody takes is no reason to."""
    return run.horizon if sink_settings(run.fleet.settings.spec) else run.turn


def _overtaken(pulse: Pulse, memory: PulseMemory) -> bool:
    known = memory.published.get(PulseKey(pulse.object, pulse.policy))
    return known is not None and pulse.sent is not None and known.time >= pulse.sent.time


@dataclass
class _Publisher:
    deliverer: "Deliverer"
    memory: PulseMemory

    def publish(self, pulse: Pulse, names: Iterable[str]) -> None:
        """Bring one pulse to its sinks."""
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
    """Brings events to sinks, and notes in `result` what failed. `what` are its events, as messages call them."""

    settings: Mapping[str, SinkSettings]
    open_sink: Opener
    patience: RetryPatience
    result: Publication
    what: str = "pulses"
    _open: dict[str, Sink] = field(default_factory=dict)
    _given_up: dict[str, str] = field(default_factory=dict)
    _trouble: dict[str, float] = field(default_factory=dict)

    def deliver(self, name: str, event: Tree) -> bool:
        """Bring an event to a sink; return whether it has it."""
        if name in self._given_up:
            self.result.failures[name].append(self._given_up[name])
            return False
        began = self.patience.monotonic()
        try:
            if name not in self._open:
                self._open[name] = self.open_sink(self.settings[name])
            deliver(self._open[name], self.settings[name], event, self.patience)
        except DeliveryError as error:
            self._trouble[name] = self._trouble.get(name, 0.0) + self.patience.monotonic() - began
            if error.unreachable:
                self._given_up[name] = error.message
            elif self._trouble[name] > MOST_TROUBLE_SECONDS:
                self._given_up[name] = f"{error.message}, for {MOST_TROUBLE_SECONDS:g} seconds"
            self.result.failures.setdefault(name, []).append(error.message)
            return False
        except Exception as error:  # noqa: BLE001 - the boundary for sinks, as `each` is for objects
            self._given_up[name] = "muster failed on this sink"
            self.result.failures.setdefault(name, []).append(self._given_up[name])
            self.result.faults.append(stage_fault(f"publishing to sink {name!r}", error, f"its {self.what} stay due"))
            return False
        return True

    def close(self) -> None:
        """Close the sinks."""
        for sink in self._open.values():
            with contextlib.suppress(Exception):  # nothing is lost with a connection that cannot be closed
                sink.close()


def opener(folder: Path | None, environ: Mapping[str, str] = os.environ) -> Opener:
    """Return what opens sinks by their URL; files lie in `folder`, and there are none without it."""

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
            settings.url, mode=settings.mode, timeout=settings.timeout, login=secret, exchange=settings.exchange,
            routing_key=settings.routing_key,
        )  # fmt: skip

    return open_sink
