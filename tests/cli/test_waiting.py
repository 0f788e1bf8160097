"""Who waits: what counts as an answer."""

from datetime import UTC, datetime

import pytest

from muster.cli.waiting import waiting, waiting_rows
from muster.data.tree import Tree

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


def request(*conditions: Tree, **status: Tree) -> Tree:
    return {
        "kind": "CertificateSigningRequest",
        "spec": {"request": "no request"},
        "metadata": {"name": "r", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"conditions": list(conditions), **status},
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (request(), [["-", "approval of r", "1h", "-", "-"]]),
        (request({"type": "Approved", "status": "True"}), [["-", "a signature of r", "1h", "-", "muster sign"]]),
        (request({"type": "Denied", "status": "True"}), []),
        (request(certificate="x"), []),
        ({"kind": "ManagedCluster", "metadata": {"name": "declared"}, "spec": {}}, []),
    ],
)
def test_requests(body: Tree, expected: list[list[str]]) -> None:
    assert list(waiting_rows(waiting([body], {}), NOW)) == expected
