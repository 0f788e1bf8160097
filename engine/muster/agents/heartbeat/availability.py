"""Is this cluster available? What the registration agent asks of its API server and of itself.

Source: seed 000 ("check the managed cluster kube-apiserver health ..., and check the registration agent is running with
the minimum deployment") and upstream's available reconciler: `/livez`, and `/healthz` only where that is not found or
forbidden; a failure must last 20 seconds before it is believed, any success ends it.

Looking at the cluster, beside the heartbeat: an API server that hangs must not keep the lease from being renewed.

Upstream's agent has two loops for the same reason: a lease that runs out says "nobody knows", a failed probe says "it
does not work", and the one must not be taken for the other.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Event, Lock, Thread
from typing import Final

from muster.data.kinds import MANAGED_CLUSTER
from muster.data.tree import Tree

AVAILABLE: Final = MANAGED_CLUSTER.headline
FAILURE_THRESHOLD_SECONDS: Final = 20.0
RETRY_SECONDS: Final = 5.0
_OK: Final = 200
_ASK_AGAIN: Final = (403, 404)

#: Gets a path of the API server: the status code (0: no answer), and the body or what went wrong.
Get = Callable[[str], tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Availability:
    """What the agent reports: status, reason and message of the condition."""

    status: str
    reason: str
    message: str


_HEALTHY: Final = Availability("True", "ManagedClusterAvailable", "Managed cluster is available")


def probe(get: Get) -> Availability:
    """Ask the API server once."""
    code, said = get("/livez")
    if code in _ASK_AGAIN:
        code, said = get("/healthz")
    if code == _OK:
        return _HEALTHY
    message = f"The kube-apiserver is not ok, status code: {code}, {said}"
    return Availability("False", "ManagedClusterKubeAPIServerUnavailable", message)


def deployed(get_json: Callable[[str], dict[str, object]], deployment: str, minimum: int) -> Availability:
    """Whether the deployment `namespace/name` of the agent itself has at least `minimum` available replicas.

    `get_json` raises OSError or ValueError where there is no such answer.
    """
    namespace, _, name = deployment.rpartition("/")
    try:
        status = get_json(f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}").get("status")
    except (OSError, ValueError) as error:
        said = str(error)
    else:
        replicas = status.get("availableReplicas", 0) if isinstance(status, dict) else 0
        if isinstance(replicas, int) and replicas >= minimum:
            return _HEALTHY
        said = f"{replicas} of {minimum} replicas are available"
    message = f"The registration agent {deployment} is not ok: {said}"
    return Availability("False", "ManagedClusterRegistrationAgentUnavailable", message)


@dataclass
class FailurePatience:
    """Believes a failure when it has lasted. `since` is when it began, in seconds on a clock that never goes back."""

    since: float | None = None

    def believed(self, verdict: Availability, now: float) -> Availability | None:
        """Return the verdict if it counts by now; None while what was reported before stands."""
        if verdict.status == "True":
            self.since = None
            return verdict
        if self.since is None:
            self.since = now
        return verdict if now - self.since >= FAILURE_THRESHOLD_SECONDS else None


#: How often the cluster is asked whether it works, while it does, and what it is (upstream does both once a minute).
LOOK_SECONDS: Final = 10.0
FACTS_SECONDS: Final = 60.0
#: After so long without an answer of any kind, the probe itself hangs.
HANGING_SECONDS: Final = 180.0
_HANGS: Final = Availability(
    "False", "ManagedClusterKubeAPIServerUnavailable", "The kube-apiserver is not ok, it does not answer at all"
)


@dataclass
class ClusterObserver:
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
