"""What an agent keeps of its identity, and how."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

from muster.agents.identity.authority import Approved, Authority, load_authority
from muster.agents.identity.options import identity_errors
from muster.agents.identity.request import CertificateRequest, new_request
from muster.agents.identity.store import AgentIdentity, Store, identity_of
from muster.data.extras import install_command
from muster.git.errors import IdentityError
from tests.support.authority import new_authority

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return load_authority(*new_authority(tmp_path_factory.mktemp("ca")), timedelta(hours=1), NOW)


def made(authority: Authority, request: CertificateRequest) -> AgentIdentity:
    return identity_of(request, authority.sign(Approved(request.pem, request.user, [], ["client auth"]), NOW))


def test_what_was_kept_is_there_again_and_nobody_elses(authority: Authority, tmp_path: Path) -> None:
    store = Store(tmp_path / "deep/identity")
    assert (store.current(), store.pending()) == (None, None)
    request = new_request("c1")
    sent = CertificateRequest(request.key, request.pem, b"kind: CertificateSigningRequest\n")
    store.set_pending(sent)
    assert store.pending() == sent
    identity = made(authority, sent)
    store.set_current(identity)
    assert (store.current(), store.pending()) == (identity, None)
    assert [path.name for path in store.folder.iterdir()] == ["agent.pem"]
    assert stat.S_IMODE((store.folder / "agent.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    store.drop_current()
    assert store.current() is None


def test_a_certificate_of_another_key_or_name_is_nobodys(authority: Authority) -> None:
    mine = new_request("c1")
    for other in (new_request("c1"), new_request("c1", mine.user)):
        with pytest.raises(IdentityError, match="another key, or another name"):
            identity_of(mine, made(authority, other).pem)
    renamed = authority.sign(Approved(mine.pem, "somebody", [], ["client auth"]), NOW)
    with pytest.raises(IdentityError, match="another key, or another name"):
        identity_of(mine, renamed)
    with pytest.raises(IdentityError, match="cannot be read"):
        identity_of(mine, b"nothing")


def test_half_a_file_is_said_and_not_guessed_at(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    store = Store(tmp_path)
    (tmp_path / "next.pem").write_bytes(new_request("c1").pem)
    with pytest.raises(IdentityError, match="lacks its key or its request: remove it to start anew"):
        store.pending()


def test_a_certificate_that_is_damaged_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "agent.pem").write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    with pytest.raises(IdentityError, match=f"a certificate in {tmp_path} cannot be read"):
        Store(tmp_path).signing_keys()


def test_a_folder_into_which_others_may_write_is_not_used(tmp_path: Path) -> None:
    """Whoever puts a key of his there speaks for the cluster."""
    store, request = Store(tmp_path / "identity"), new_request("c1")
    store.set_pending(request)
    store.folder.chmod(0o777)
    for use in (store.pending, store.current, store.signing_keys, lambda: store.set_pending(new_request("c1"))):
        with pytest.raises(IdentityError, match=f"others on this machine may write into {store.folder}: chmod 700"):
            use()
    store.folder.chmod(0o700)
    assert store.pending() == request


def test_requests_are_called_after_their_cluster_and_content() -> None:
    one, other = new_request("c1"), new_request("c1")
    assert one.object_name("c1").startswith("c1-")
    assert one.object_name("c1") != other.object_name("c1")
    assert len(one.object_name("c" * 253)) <= 253
    assert one.user != other.user
    assert new_request("c1", one.user).user == one.user


def test_a_cluster_may_have_the_longest_name_that_kubernetes_gives(authority: Authority) -> None:
    cluster = ".".join(["c" * 63] * 4)[:253]  # longer than X.509's upper bound of a name, which nobody holds to
    request = new_request(cluster)
    assert f":{cluster}:" in request.user
    assert made(authority, request).request == request


def test_the_command_that_installs_the_extra_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(click.UsageError) as raised, identity_errors():
        pass
    assert raised.value.message.endswith(install_command("identity"))
