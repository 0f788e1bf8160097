"""Is this cluster available? What the registration agent asks of its API server and of itself.

Source: seed 000 ("check the managed cluster kube-apiserver health ..., and check the registration agent is running with
the minimum deployment") and upstream's available reconciler: `/livez`, and `/healthz` only where that is not found or
forbidden; a failure must last 20 seconds before it is believed, any success ends it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from muster.data.kinds import MANAGED_CLUSTER

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
class Patience:
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
