"""Of whom a certificate is: of an agent of a cluster, by its name, or of nobody that muster knows."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.agents.identity.authority import Approved, Authority, load_authority
from muster.agents.identity.request import new_request
from muster.data.agentref import GROUP
from muster.git.signatures.certificate import issued_of
from tests.support.authority import new_authority

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return load_authority(*new_authority(tmp_path_factory.mktemp("ca")), timedelta(hours=1), NOW)


@pytest.mark.parametrize(
    ("name", "cluster"),
    [
        (f"{GROUP}c1:agent", "c1"),
        (f"{GROUP}c.1-2:0", "c.1-2"),
        (f"{GROUP}c1", None),
        (f"{GROUP}c1:", None),
        (f"{GROUP}c1:agent:more", None),
        ("c1:agent", None),
        (f"x{GROUP}c1:agent", None),
        (f"{GROUP}c1:x,*", None),
        (f'{GROUP}c1:x\n* namespaces="git" ssh-ed25519 AAAA', None),
        (f"{GROUP}c1:{'a' * 65}", None),
        (f"{GROUP}C1:agent", None),
    ],
)
def test_it_is_an_agents_where_its_name_says_so(authority: Authority, name: str, cluster: str | None) -> None:
    pem = authority.sign(Approved(new_request("c1").pem, name, [], ["client auth"]), NOW)
    found = issued_of(pem)
    assert (found.cluster if found else None) == cluster
    if found is not None:
        assert (found.user, found.end) == (name, NOW + timedelta(hours=1))


def test_what_is_no_certificate_is_nobodys(tmp_path: Path) -> None:
    certificate, key = new_authority(tmp_path)
    assert [issued_of(pem) for pem in (b"", key.read_bytes(), certificate.read_bytes())] == [None] * 3
