"""Cluster availability: the checks that the agent makes on the API server and on its own deployment.

Source: seed 000 ("check the managed cluster kube-apiserver health ..., and check the registration agent is running with
the minimum deployment") and upstream's available reconciler: `/livez`, and `/healthz` only if `/livez` is not found or
forbidden; a failure counts after 20 seconds, any success resets it.

The checks run beside the heartbeat, as in upstream's agent, because an API server that hangs must not delay the renewal
of the Lease. The two signals mean different things: an expired Lease means "unknown", a failed check means "broken".
"""

import time
from collections.abc import Callable
from dataclasses import field, replace
from threading import Event, Lock, Thread
from typing import Final

from muster.agents.heartbeat.facts import ClusterFacts
from muster.agents.kube.apiserver import ApiError
from muster.data.kinds import MANAGED_CLUSTER
from muster.dataclass import dataclass

AVAILABLE: Final = MANAGED_CLUSTER.headline
FAILURE_THRESHOLD_SECONDS: Final = 20.0
RETRY_SECONDS: Final = 5.0
#: Upstream checks the API server and reads the facts once a minute each.
CHECK_SECONDS: Final = 10.0
FACTS_SECONDS: Final = 60.0
#: A check without any answer for this long is taken for a failure: the check itself hangs.
HANGING_SECONDS: Final = 180.0
_OK: Final = 200
_NOT_FOUND_OR_FORBIDDEN: Final = (403, 404)

#: Gets a path of the API server: the status code (0: no answer), and the body or what went wrong.
Get = Callable[[str], tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Availability:
    """Status, reason and message of the condition that the agent reports."""

    status: str
    reason: str
    message: str


_HEALTHY: Final = Availability("True", "ManagedClusterAvailable", "Managed cluster is available")
_HANGS: Final = Availability(
    "False", "ManagedClusterKubeAPIServerUnavailable", "The kube-apiserver is not ok, it does not answer at all"
)


def check_api_server(get: Get) -> Availability:
    """Check the API server once."""
    code, body = get("/livez")
    if code in _NOT_FOUND_OR_FORBIDDEN:
        code, body = get("/healthz")
    if code == _OK:
        return _HEALTHY
    return replace(_HANGS, message=f"The kube-apiserver is not ok, status code: {code}, {body}")


def check_deployment(get_json: Callable[[str], dict[str, object]], deployment: str, minimum: int) -> Availability:
    """Check that the agent's own deployment `namespace/name` has at least `minimum` available replicas.

    `get_json` raises ApiError if there is no such answer.
    """
    namespace, _, name = deployment.rpartition("/")
    try:
        status = get_json(f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}").get("status")
    except ApiError as error:
        problem = str(error)
    else:
        replicas = status.get("availableReplicas", 0) if isinstance(status, dict) else 0
        if isinstance(replicas, int) and replicas >= minimum:
            return _HEALTHY
        problem = f"{replicas} of {minimum} replicas are available"
    message = f"The registration agent {deployment} is not ok: {problem}"
    return Availability("False", "ManagedClusterRegistrationAgentUnavailable", message)


@dataclass
class FailureThreshold:
    """Confirms a failure once it has lasted. `since`: when it began, in seconds on a monotonic clock."""

    since: float | None = None

    def confirmed(self, verdict: Availability, now: float) -> Availability | None:
        """Return the verdict if it counts by now; None while the previous report stays valid."""
        if verdict.status == "True":
            self.since = None
            return verdict
        if self.since is None:
            self.since = now
        return verdict if now - self.since >= FAILURE_THRESHOLD_SECONDS else None


@dataclass
class ClusterObserver:
    """Checks the cluster repeatedly in a thread of its own; `verdict` and `facts` return the latest results at once.

    `on_change` is called when a check gives another status than the one before.
    """

    check: Callable[[], Availability | None]
    read_facts: Callable[[], ClusterFacts]
    on_change: Callable[[], None]
    _stop: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)
    _verdict: Availability | None = None
    _facts: ClusterFacts = field(default_factory=ClusterFacts)
    _checked: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        """Start the thread."""
        Thread(target=self._run, daemon=True, name="muster-observer").start()

    def stop(self) -> None:
        """Stop the thread after its current check."""
        self._stop.set()

    def verdict(self) -> Availability | None:
        """Return the latest verdict; None before the first."""
        with self._lock:
            return _HANGS if time.monotonic() - self._checked > HANGING_SECONDS else self._verdict

    def facts(self) -> ClusterFacts:
        """Return the facts that were read last."""
        with self._lock:
            return self._facts

    def _run(self) -> None:
        read = float("-inf")
        while not self._stop.is_set():
            verdict, facts = self._check(), None
            if verdict.status == "True" and time.monotonic() >= read + FACTS_SECONDS:
                facts, read = self._read_facts(), time.monotonic()
            with self._lock:
                changed = self._verdict is None or self._verdict.status != verdict.status
                self._verdict, self._checked = verdict, time.monotonic()
                self._facts = facts or self._facts
            if changed:
                self.on_change()
            self._stop.wait(CHECK_SECONDS if verdict.status == "True" else RETRY_SECONDS)

    def _check(self) -> Availability:
        try:
            return self.check() or _HANGS
        except Exception as error:  # noqa: BLE001 - a check that raises has no answer
            return replace(_HANGS, message=f"The kube-apiserver cannot be asked: {type(error).__name__}")

    def _read_facts(self) -> ClusterFacts | None:
        try:
            return self.read_facts()
        except Exception:  # noqa: BLE001 - facts that cannot be read keep their last values
            return None
