"""What an authority signs, and what it does not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from muster.agents.identity.authority import Approved, Authority, load_authority
from muster.agents.identity.request import new_request
from muster.git.errors import IdentityError
from tests.support.authority import new_authority

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
USAGES = ("digital signature", "client auth")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return load_authority(*new_authority(tmp_path_factory.mktemp("ca")), HOUR, NOW)


def signed(
    authority: Authority, pem: bytes, usages: tuple[str, ...] = USAGES, seconds: int | None = None
) -> x509.Certificate:
    made = authority.sign(Approved(pem, "user", ["group"], usages, seconds), NOW)
    return x509.load_pem_x509_certificate(made)


def test_a_certificate_has_what_was_approved_and_nothing_beside_it(authority: Authority) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"),
            x509.NameAttribute(NameOID.COMMON_NAME, "me"),
        ]
    )
    greedy = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(name)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("hub.example.com")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    made = signed(authority, greedy.public_bytes(serialization.Encoding.PEM))
    assert made.subject.rfc4514_string() == "CN=user,O=group"
    assert {type(extension.value) for extension in made.extensions} == {
        x509.BasicConstraints,
        x509.ExtendedKeyUsage,
        x509.KeyUsage,
        x509.AuthorityKeyIdentifier,
    }
    assert not made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert list(made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [
        ExtendedKeyUsageOID.CLIENT_AUTH
    ]
    usage = made.extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature
    assert not any(
        (
            usage.key_encipherment,
            usage.data_encipherment,
            usage.content_commitment,
            usage.key_agreement,
            usage.key_cert_sign,
            usage.crl_sign,
        )
    )
    assert {extension.oid for extension in made.extensions if extension.critical} == {
        x509.BasicConstraints.oid,
        x509.KeyUsage.oid,
    }
    made.verify_directly_issued_by(authority.certificate)


@pytest.mark.parametrize(("asked", "lives"), [(None, HOUR), (600, timedelta(minutes=10)), (10**9, HOUR)])
def test_it_lives_no_longer_than_it_asks_for_and_the_signer_allows(
    authority: Authority, asked: int | None, lives: timedelta
) -> None:
    made = signed(authority, new_request("c").pem, seconds=asked)
    assert made.not_valid_after_utc == NOW + lives
    assert made.not_valid_before_utc == NOW - min(timedelta(minutes=5), lives / 10)


def test_it_does_not_outlive_its_authority(tmp_path: Path) -> None:
    files = new_authority(tmp_path, begin=NOW - timedelta(days=1) + timedelta(minutes=3), days=1)
    made = signed(load_authority(*files, HOUR, NOW), new_request("c").pem)
    assert made.not_valid_after_utc == NOW + timedelta(minutes=3)


@pytest.mark.parametrize(
    ("after", "signs"),
    [
        (timedelta(seconds=-1), False),
        (timedelta(0), True),
        (timedelta(days=1, seconds=-1), True),
        (timedelta(days=1), False),
        (timedelta(days=2), False),
    ],
)
def test_a_signer_that_stays_signs_nothing_once_its_own_certificate_has_ended(
    tmp_path: Path, after: timedelta, signs: bool
) -> None:
    authority, request = load_authority(*new_authority(tmp_path, begin=NOW, days=1), HOUR, NOW), new_request("c")
    asked = Approved(request.pem, "user", ["group"], USAGES)
    if signs:
        assert authority.sign(asked, NOW + after)
    else:
        with pytest.raises(IdentityError, match="the authority's own certificate is not valid now"):
            authority.sign(asked, NOW + after)


def _asks(key: CertificateIssuerPrivateKeyTypes) -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    digest = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    made: bytes = builder.sign(key, digest).public_bytes(serialization.Encoding.PEM)
    return made


SOUND = "its key is not ECDSA P-256, Ed25519, or RSA of 2048 bits or more"


def test_keys_that_agents_may_have(authority: Authority) -> None:
    for key in (
        ec.generate_private_key(ec.SECP256R1()),
        ed25519.Ed25519PrivateKey.generate(),
        rsa.generate_private_key(65537, 2048),
    ):
        assert signed(authority, _asks(key), USAGES)


@pytest.mark.parametrize("curve", [ec.SECP192R1, ec.SECP224R1, ec.SECP256K1, ec.SECP384R1, ec.SECP521R1])
def test_curves_that_agents_may_not_use(authority: Authority, curve: type[ec.EllipticCurve]) -> None:
    with pytest.raises(IdentityError, match=SOUND):
        signed(authority, _asks(ec.generate_private_key(curve())), USAGES)


def _forged() -> bytes:
    """A request for a key that whoever asks does not have."""
    mine, theirs = (x509.load_pem_x509_csr(new_request("c").pem) for _ in range(2))
    der = bytearray(mine.public_bytes(serialization.Encoding.DER))
    point = mine.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    other = theirs.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    at = der.index(point)
    der[at : at + len(point)] = other
    made: bytes = x509.load_der_x509_csr(bytes(der)).public_bytes(serialization.Encoding.PEM)
    return made


@pytest.mark.parametrize(
    ("pem", "usages", "said"),
    [
        (lambda: b"nothing", USAGES, "it cannot be read"),
        (_forged, USAGES, "it is not signed with its own key"),
        (lambda: _asks(rsa.generate_private_key(65537, 1024)), USAGES, SOUND),
        (lambda: new_request("c").pem, ("client auth", "server auth"), "it asks for server auth"),
        (lambda: new_request("c").pem, ("digital signature",), "it does not ask for 'client auth'"),
    ],
)
def test_what_is_not_signed(authority: Authority, pem: Callable[[], bytes], usages: tuple[str, ...], said: str) -> None:
    with pytest.raises(IdentityError, match=said):
        signed(authority, pem(), usages)


def test_files_that_are_no_authority(tmp_path: Path) -> None:
    def refused(certificate: Path, key: Path) -> str:
        with pytest.raises(IdentityError) as caught:
            load_authority(certificate, key, HOUR, NOW)
        return str(caught.value)

    certificate, key = new_authority(tmp_path / "a")
    assert refused(certificate, new_authority(tmp_path / "b")[1]).endswith(f"is not the key of {certificate}")
    assert "lack CA" in refused(*new_authority(tmp_path / "c", ca=False))
    assert "is not valid now: it ends at 2021-01-01" in refused(
        *new_authority(tmp_path / "d", begin=datetime(2020, 1, 2, tzinfo=UTC), days=365)
    )
    certificate.chmod(0o600)
    assert "cannot be read as a key" in refused(certificate, certificate)
    assert "cannot be read as a certificate" in refused(tmp_path / "none", key)
    key.chmod(0o644)
    assert refused(certificate, key) == f"every user of this machine may use {key}: chmod 600 {key}"
