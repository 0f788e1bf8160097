"""What the registration agent asks, and when it believes a failure."""

import pytest

from muster.agents.heartbeat.availability import Availability, FailureThreshold, check_api_server, check_deployment
from muster.agents.kube.apiserver import ApiError

GOOD = Availability("True", "ManagedClusterAvailable", "Managed cluster is available")
BAD = Availability(
    "False", "ManagedClusterKubeAPIServerUnavailable", "The kube-apiserver is not ok, status code: 500, down"
)


@pytest.mark.parametrize(
    ("answers", "status", "message"),
    [
        ({"/livez": 200}, "True", "Managed cluster is available"),
        ({"/livez": 404, "/healthz": 200}, "True", "Managed cluster is available"),
        ({"/livez": 403, "/healthz": 200}, "True", "Managed cluster is available"),
        ({"/livez": 404, "/healthz": 500}, "False", "The kube-apiserver is not ok, status code: 500, said"),
        ({"/livez": 500, "/healthz": 200}, "False", "The kube-apiserver is not ok, status code: 500, said"),
        ({"/livez": 401, "/healthz": 200}, "False", "The kube-apiserver is not ok, status code: 401, said"),
        ({"/livez": 0, "/healthz": 200}, "False", "The kube-apiserver is not ok, status code: 0, said"),
    ],
)
def test_probe(answers: dict[str, int], status: str, message: str) -> None:
    verdict = check_api_server(lambda path: (answers[path], "said"))
    assert (verdict.status, verdict.message) == (status, message)


@pytest.mark.parametrize(("replicas", "minimum", "status"), [(1, 1, "True"), (0, 1, "False"), (1, 2, "False")])
def test_the_agent_itself_must_be_deployed(replicas: int, minimum: int, status: str) -> None:
    asked = []

    def get(path: str) -> dict[str, object]:
        asked.append(path)
        return {"status": {"availableReplicas": replicas}}

    assert check_deployment(get, "agents/registration", minimum).status == status
    assert asked == ["/apis/apps/v1/namespaces/agents/deployments/registration"]


def test_a_deployment_of_which_nobody_knows_is_not_available() -> None:
    def get(path: str) -> dict[str, object]:
        raise ApiError(404, f"GET {path}: status 404")

    verdict = check_deployment(get, "agents/registration", 1)
    assert verdict.status == "False"
    assert "status 404" in verdict.message


def test_a_failure_must_last_twenty_seconds_and_any_success_ends_it() -> None:
    patience = FailureThreshold()
    assert patience.confirmed(GOOD, 0) == GOOD
    assert patience.confirmed(BAD, 1) is None
    assert patience.confirmed(BAD, 20.9) is None
    assert patience.confirmed(BAD, 21) == BAD
    assert patience.confirmed(GOOD, 22) == GOOD
    assert patience.confirmed(BAD, 23) is None
