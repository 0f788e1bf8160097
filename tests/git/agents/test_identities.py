"""Who is behind what agents' refs hold: real commits, signed and not, and certificates that stand in a real tree."""

import base64
import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import Encoding

from muster.agents.identity.authority import Approved, Authority, load_authority
from muster.agents.identity.request import CertificateRequest, new_request
from muster.agents.relay.relay import Relay
from muster.data.snapshot import SignerIdentity
from muster.git.agents.identities import VERIFIED, identify_signers
from muster.git.agents.listing import local_agent_refs
from muster.git.agents.refs import agent_refs
from muster.git.agents.relays import COMMIT, cluster_folder
from muster.git.agents.settings import agent_settings
from muster.git.repository import Repository, open_repository
from muster.git.signatures.signature import sealed
from muster.git.snapshot import CommitSnapshot
from tests.support.authority import new_authority
from tests.support.git import Repo, new_repository

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
REF = "refs/heads/agents/c1"
FLEET = {
    "fleet.yaml": "{apiVersion: muster.dev/v1alpha1, kind: Fleet, metadata: {name: f},"
    " spec: {agents: {signing: required, relays: [{name: edge, clusters: ['*']}]}}}\n"
}


@dataclass
class Hub:
    """A repository in which certificates stand, and to which agents push."""

    repo: Repo
    authority: Authority
    issued: dict[str, str] = field(default_factory=dict)
    digests: dict[bytes, str] = field(default_factory=dict)

    @property
    def repository(self) -> Repository:
        return open_repository(self.repo.path, self.repo.environ)

    def agent(self, name: str, cluster: str = "c1", begin: datetime = NOW, user: str = "") -> CertificateRequest:
        """An agent whose certificate stands, for an hour; of a `user` that there is already, a further one."""
        request = new_request(cluster, user)
        pem = self.authority.sign(Approved(request.pem, request.user, [], ["client auth"]), begin)
        self.digests[request.pem] = hashlib.sha256(pem).hexdigest()
        body = {"kind": "CertificateSigningRequest", "status": {"certificate": base64.b64encode(pem).decode()}}
        self.issued[f"derived/certificatesigningrequests/{name}.yaml"] = yaml.safe_dump(body, width=10**6)
        return request

    def push(self, by: CertificateRequest | None, text: str, date: datetime = NOW, to: Repo | None = None) -> str:
        """Put a commit on the ref, signed by somebody or nobody."""
        repo = to or self.repo
        commit = repo.commit_to(REF, {"lease.yaml": text, "reports/dns.yaml": "r\n"}, date=date.isoformat())
        if by is not None:
            raw = sealed(repo.git_bytes("cat-file", "commit", commit), by.key)
            commit = repo.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw).strip()
            repo.git("update-ref", REF, commit)
        return commit

    def read(self, present: datetime = NOW + timedelta(minutes=1)) -> tuple[str, SignerIdentity]:
        """What is read of the ref, and who is behind it."""
        self.repo.git("rm", "-rqf", "--ignore-unmatch", "derived")
        self.repo.commit({**FLEET, **self.issued})
        (newest,) = agent_refs(self.repository, present, agent_settings(self.repository, "HEAD"))
        (ref,) = identify_signers(self.repository, (newest,), "HEAD", present)
        assert ref.identity is not None
        assert ref.commit == newest.commit
        return ref.commit, ref.identity

    def vouched(self, agent: CertificateRequest) -> SignerIdentity:
        """Who is behind what an agent signed: itself, and its certificate vouches."""
        return SignerIdentity(agent.user, certificate=self.digests[agent.pem])

    def lease(self, present: datetime = NOW + timedelta(minutes=1)) -> tuple[str, str]:
        """What the ref says of the cluster's lease, and what is thought of who says it."""
        _, identity = self.read(present)
        refs = agent_refs(self.repository, present, agent_settings(self.repository, "HEAD"))
        snapshot = CommitSnapshot(self.repository, self.repo.tip(), refs)
        said = {file.path: file.read().decode() for file in snapshot.files() if file.ref}
        return said.get("lease.yaml", ""), identity.reason


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return load_authority(*new_authority(tmp_path_factory.mktemp("ca")), HOUR, NOW)


@pytest.fixture
def hub(authority: Authority, tmp_path: Path) -> Hub:
    return Hub(new_repository(tmp_path / "hub"), authority)


def test_what_the_agent_signed_is_received_and_nothing_that_others_write_over_it(hub: Hub) -> None:
    agent, stranger = hub.agent("a"), new_request("c1")
    other = hub.agent("b", cluster="c2")
    good = hub.push(agent, "one")
    assert hub.read() == (good, hub.vouched(agent))
    assert hub.repo.tip(f"{VERIFIED}c1") == good
    for by, reason in ((None, "NotSigned"), (stranger, "UnknownKey"), (other, "UnknownKey")):
        hub.push(by, "two")
        _, behind = hub.read()
        assert (behind.user, behind.reason) == ("", reason)
        assert hub.repo.tip(f"{VERIFIED}c1") == good
    better = hub.push(agent, "three", NOW + timedelta(seconds=30))
    assert hub.read() == (better, hub.vouched(agent))


def test_an_older_commit_that_is_put_back_is_not_received(hub: Hub) -> None:
    agent = hub.agent("a")
    old = hub.push(agent, "one")
    assert hub.read()[0] == old
    new = hub.push(agent, "two", NOW + timedelta(seconds=10))
    assert hub.read()[0] == new
    hub.repo.git("update-ref", REF, old)
    commit, behind = hub.read()
    assert (commit, behind.user, behind.reason) == (old, "", "Replayed")


def test_a_certificate_vouches_within_its_life_and_for_as_long_as_that_lasts(hub: Hub) -> None:
    agent = hub.agent("a")
    received = hub.push(agent, "one")
    assert hub.read()[0] == received
    late = NOW + HOUR + timedelta(seconds=1)
    assert hub.read(late)[1].reason == "CertificateExpired"  # whoever asks, and whatever was received where
    for dated in (NOW + timedelta(minutes=30), late):  # also where it is dated back
        hub.push(agent, f"at {dated}", dated)
        _, behind = hub.read(late + timedelta(seconds=1))
        assert (behind.user, behind.reason) == ("", "CertificateExpired")
    hub.push(agent, "early", NOW - HOUR)
    assert hub.read()[1].reason == "CertificateExpired"
    hub.push(agent, "ahead", NOW + timedelta(minutes=20))
    assert hub.read()[1].reason == "DatedAhead"


def test_the_key_of_a_certificate_that_ended_says_nothing_more_though_the_agent_has_another_one(hub: Hub) -> None:
    """Both stand, and for a while both were good: whoever has the old key dates what he says into that while."""
    agent = hub.agent("a")
    renewed = hub.agent("b", begin=NOW + timedelta(minutes=40), user=agent.user)
    received = hub.push(agent, "one")
    assert hub.read()[0] == received
    both, late = NOW + timedelta(minutes=50), NOW + timedelta(minutes=70)
    hub.push(agent, "stolen", both)
    _, behind = hub.read(late)
    assert (behind.user, behind.reason) == ("", "CertificateExpired")
    for dated in (both, late):
        good = hub.push(renewed, f"at {dated}", dated)
        assert hub.read(late) == (good, hub.vouched(renewed))
    hub.push(renewed, "before it began", NOW + timedelta(minutes=30))
    assert hub.read(late)[1].reason == "CertificateExpired"


def test_what_stands_as_a_certificate_and_is_none_vouches_for_nobody(hub: Hub) -> None:
    agent = hub.agent("a")
    for number, said in enumerate(
        ("AAAA", "AAA", base64.b64encode(hub.authority.certificate.public_bytes(Encoding.PEM)).decode())
    ):
        body = {"kind": "CertificateSigningRequest", "status": {"certificate": said}}
        hub.issued[f"derived/certificatesigningrequests/{number}.yaml"] = yaml.safe_dump(body)
    good = hub.push(agent, "one")
    assert hub.read() == (good, hub.vouched(agent))


def test_what_was_signed_with_a_revoked_certificate_does_not_count_any_more(hub: Hub) -> None:
    agent = hub.agent("a")
    hub.push(agent, "one")
    assert hub.read()[1].user
    hub.issued.clear()
    commit, behind = hub.read()
    assert (commit, behind.user, behind.reason) == (hub.repo.tip(REF), "", "UnknownKey")  # as of a stranger


def test_of_a_stranger_it_is_known_that_he_is_one_where_anybody_asks(hub: Hub) -> None:
    hub.agent("a")
    unsigned = hub.push(None, "one")
    commit, behind = hub.read()
    assert (commit, behind.user, behind.reason) == (unsigned, "", "NotSigned")
    known = local_agent_refs(hub.repository).agents.identities
    assert known is not None
    assert known["c1"] == behind
    hub.repo.commit({"fleet.yaml": FLEET["fleet.yaml"].replace("required", "optional")})
    assert local_agent_refs(hub.repository).agents.identities is None


def test_a_relay_carries_what_agents_signed_and_makes_none_of_it(hub: Hub, tmp_path: Path) -> None:
    agent, site = hub.agent("a"), new_repository(tmp_path / "site", bare=True)
    relay = Relay(open_repository(site.path, site.environ), "edge", str(hub.repo.path), "main", lambda: NOW)
    signed = hub.push(agent, "one", to=site)
    relay.step()
    assert hub.lease() == ("one", "")

    hub.push(None, "two", to=site)
    relay.step()
    assert hub.lease() == ("two", "NotSigned")
    later = NOW + timedelta(seconds=20)
    hub.push(agent, "three", later, to=site)
    relay.step()
    assert hub.lease() == ("three", "")
    site.git("update-ref", REF, signed)
    relay.step()
    assert hub.lease() == ("one", "Replayed")

    # The relay itself says something else than what was signed: another file, one more, none.
    ref, folder, kept = "refs/heads/relays/edge", cluster_folder("c1"), site.git_bytes("cat-file", "commit", signed)
    for files in (
        {"lease.yaml": "mine", "reports/dns.yaml": "r\n"},
        {"lease.yaml": "one"},
        {"lease.yaml": "one", "reports/dns.yaml": "r\n", "more.yaml": "m"},
        {},
    ):
        everything = {**files, COMMIT: kept.decode()}
        hub.repo.commit_to(ref, {f"{folder}/{path}": text for path, text in everything.items()}, date=later.isoformat())
        assert hub.lease() == (files.get("lease.yaml", ""), "NotSigned")

    # It was heard through a relay, and pushes itself from now on; and the other way round.
    hub.repo.git("update-ref", "-d", ref)
    hub.push(None, "four", later)
    assert hub.lease() == ("four", "NotSigned")
    hub.push(agent, "five", later + timedelta(seconds=1))
    assert hub.lease() == ("five", "")


def test_only_certificates_of_the_authority_that_the_fleet_names_count(hub: Hub, tmp_path: Path) -> None:
    other = load_authority(*new_authority(tmp_path / "other"), HOUR, NOW)
    pems = [one.certificate.public_bytes(Encoding.PEM).decode() for one in (hub.authority, other)]

    def names(*authorities: str) -> None:
        fleet = yaml.safe_load(FLEET["fleet.yaml"])
        fleet["spec"]["signing"] = {"authority": "".join(authorities)}
        hub.issued["fleet.yaml"] = yaml.safe_dump(fleet)

    agent = hub.agent("a")
    good = hub.push(agent, "one")
    forger = Hub(hub.repo, other)
    forged = forger.agent("zz", user=agent.user)
    hub.issued |= forger.issued
    for authorities, counts in ((pems[:1], "a"), (pems[1:], "zz"), (pems, "a zz"), (["nothing"], ""), ([], "a zz")):
        names(*authorities)
        for name, by in (("a", agent), ("zz", forged)):
            hub.push(by, "two")
            assert bool(hub.read()[1].user) == (name in counts.split()), (authorities, name)
    assert good
