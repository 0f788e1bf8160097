"""Looking at the cluster, beside the heartbeat: an API server that hangs must not keep the lease from being renewed.

Upstream's agent has two loops for the same reason: a lease that runs out says "nobody knows", a failed probe says "it
does not work", and the one must not be taken for the other.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Event, Lock, Thread
from typing import Final

from muster.agents.facts import RETRY_SECONDS, Availability
from muster.data.tree import Tree

#: How often the cluster is asked whether it works, while it does, and what it is (upstream does both once a minute).
LOOK_SECONDS: Final = 10.0
FACTS_SECONDS: Final = 60.0
#: After so long without an answer of any kind, the probe itself hangs.
HANGING_SECONDS: Final = 180.0
_HANGS: Final = Availability(
    "False", "ManagedClusterKubeAPIServerUnavailable", "The kube-apiserver is not ok, it does not answer at all"
)


@dataclass
class Observer:
    """Looks again and again in a thread of its own; `verdict` and `facts` give what was seen last, at once.

    `news` is called when a probe says something else than the one before.
    """

    look: Callable[[], Availability | None]
    read_facts: Callable[[], Mapping[str, Tree]]
    news: Callable[[], None]
    _stop: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)
    _verdict: Availability | None = None
    _facts: Mapping[str, Tree] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        """Begin to look."""
        Thread(target=self._run, daemon=True, name="muster-observer").start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()

    def verdict(self) -> Availability | None:
        """Return the last verdict; None before the first."""
        with self._lock:
            return _HANGS if time.monotonic() - self._since > HANGING_SECONDS else self._verdict

    def facts(self) -> Mapping[str, Tree]:
        """Return the facts that were read last."""
        with self._lock:
            return self._facts

    def _run(self) -> None:
        read = float("-inf")
        while not self._stop.is_set():
            verdict, facts = self._looked(), None
            if verdict.status == "True" and time.monotonic() >= read + FACTS_SECONDS:
                facts, read = self._read(), time.monotonic()
            with self._lock:
                changed = self._verdict is None or self._verdict.status != verdict.status
                self._verdict, self._since = verdict, time.monotonic()
                self._facts = facts or self._facts
            if changed:
                self.news()
            self._stop.wait(LOOK_SECONDS if verdict.status == "True" else RETRY_SECONDS)

    def _looked(self) -> Availability:
        try:
            return self.look() or _HANGS
        except Exception as error:  # noqa: BLE001 - whatever happens to a probe, it is no answer
            return replace(_HANGS, message=f"The kube-apiserver cannot be asked: {type(error).__name__}")

    def _read(self) -> Mapping[str, Tree]:
        try:
            return self.read_facts()
        except Exception:  # noqa: BLE001 - what could not be read stays as it was
            return {}
