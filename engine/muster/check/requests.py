"""Requests for certificates that nobody can read."""

from collections.abc import Iterator

from muster.fleet.fleet import Fleet
from muster.fleet.places import place_of
from muster.model.finding import Finding
from muster.model.findings import finding
from muster.model.kinds import CSR
from muster.policy.csr import decoded


def request_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield a finding for each request that nobody can read."""
    for obj in fleet.of(CSR):
        if error := decoded(obj)["error"]:
            yield finding(
                "MUS240",
                f"spec.request of {obj.id} cannot be decoded: {error}",
                place_of(obj.parts, ("spec", "request")),
                hint="it is a PKCS #10 request, PEM in base64; it stays pending",
                object_=obj.id,
            )
