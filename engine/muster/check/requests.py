"""Requests for certificates that nobody can read."""

from collections.abc import Iterator

from muster.fleet.fleet import Fleet
from muster.fleet.places import finding_at
from muster.model.finding import Finding
from muster.model.kinds import CSR
from muster.policy.csr import decoded


def request_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield a finding for each request that nobody can read."""
    for obj in fleet.of(CSR):
        if error := decoded(obj)["error"]:
            message = f"spec.request of {obj.id} cannot be decoded: {error}"
            hint = "it is a PKCS #10 request, PEM in base64; it stays pending"
            yield finding_at(obj, ("spec", "request"), "MUS240", message, hint)
