"""Which certificates of files count in a fleet that requires signed reports."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from muster.agents.identity.authority import Approved, Authority, load_authority
from muster.agents.identity.request import new_request
from muster.data.kinds import CSR
from muster.data.tree import Tree, dig
from muster.features.test.memory import MemorySnapshot
from muster.fleet.approvals import CERTIFICATE
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from tests.support.authority import agent_certificate, new_authority

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ID = CSR.id("r")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`ca` and `other`: authorities; `issued` is by `ca`, `own` signs itself."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("ca", "other")}
    texts = {name: new_authority(folder)[0].read_text() for name, folder in folders.items()}
    authority = _load(folders["ca"])
    request = new_request("c1")
    issued = authority.sign(Approved(request.pem, request.user, [], ["client auth"]), NOW)
    return {**texts, "issued": issued.decode(), "own": agent_certificate(request.user, request.key, NOW).decode()}


def _load(folder: Path) -> Authority:
    return load_authority(folder / "ca.crt", folder / "ca.key", timedelta(hours=1), NOW)


def fleet_with(certificate: str, signing: str, authority: str = "", derived: str = "") -> Fleet:
    def request(text: str) -> Tree:
        return {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": "r"},
            "spec": {},
            "status": {"certificate": base64.b64encode(text.encode()).decode()},
        }

    settings: Tree = {"agents": {"signing": signing}, **({"signing": {"authority": authority}} if authority else {})}
    fleet = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": settings}
    files = {"fleet.yaml": fleet, "r.yaml": request(certificate)}
    if derived:
        files["derived/certificatesigningrequests/r.yaml"] = request(derived)
    return assemble(MemorySnapshot({path: yaml.safe_dump(body) for path, body in files.items()}))


@pytest.mark.parametrize(
    ("certificate", "authority", "reason"),
    [
        ("own", "", "names no authority"),
        ("issued", "", "names no authority"),
        ("own", "other", "its issuer is no authority"),
        ("own", "ca", "its issuer is no authority"),
    ],
)
def test_a_certificate_that_no_authority_issued_does_not_count(
    certificates: dict[str, str], certificate: str, authority: str, reason: str
) -> None:
    text = certificates[certificate]
    fleet = fleet_with(text, "required", certificates.get(authority, ""), derived=text)
    (finding,) = fleet.findings
    assert (finding.code.value, finding.file, finding.line > 1, finding.column) == ("MUS516", "r.yaml", True, 3)
    assert reason in finding.message
    assert "signing.authority" in finding.hint
    assert dig(fleet.objects[ID].body, *CERTIFICATE) is None
    assert dig(fleet.previous[ID], *CERTIFICATE) is None


def test_what_cannot_be_read_does_not_count(certificates: dict[str, str]) -> None:
    (finding,) = fleet_with("no certificate", "required", certificates["ca"]).findings
    assert "cannot be read" in finding.message


@pytest.mark.parametrize(("certificate", "signing", "authority"), [("issued", "required", "ca"), ("own", "", "")])
def test_it_counts_if_its_authority_is_named_or_nobody_has_to_sign(
    certificates: dict[str, str], certificate: str, signing: str, authority: str
) -> None:
    fleet = fleet_with(certificates[certificate], signing or "optional", certificates.get(authority, ""))
    assert not [one for one in fleet.findings if one.code.value == "MUS516"]
    assert dig(fleet.objects[ID].body, *CERTIFICATE)


def test_what_muster_signed_counts_beside_it(certificates: dict[str, str]) -> None:
    fleet = fleet_with(certificates["own"], "required", derived=certificates["issued"])
    assert dig(fleet.previous[ID], *CERTIFICATE) == base64.b64encode(certificates["issued"].encode()).decode()
