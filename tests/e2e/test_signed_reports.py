"""Signed reports, the whole way: a bare repository, an agent with its certificate, a hub, a person, and somebody who
can push to the agent's branch and has no key. In real time: what arrives is judged by the clock on the wall."""

import base64
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copytree

import pytest
import yaml

from muster.agents.heartbeat.availability import Availability
from muster.agents.heartbeat.facts import ClusterFacts
from muster.agents.heartbeat.heartbeat import Heartbeat
from muster.agents.hub.pushed_ref import PushedRef
from muster.agents.hub.remote import RemoteHub
from muster.agents.hub.view import HubView
from muster.agents.identity.authority import Approved, load_authority
from muster.agents.identity.request import new_request
from muster.agents.identity.rotation import Rotation
from muster.agents.identity.store import AgentSeal, Store
from muster.data.times import format_time
from muster.git.signatures.signature import sealed
from tests.agents.heartbeat.test_heartbeat import hub
from tests.support.authority import agent_certificate, new_authority
from tests.support.commandline import Run, muster
from tests.support.git import Repo, clone

__all__ = ["hub", "muster"]  # fixtures
REF = "refs/heads/agents/edge"
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec: {agents: {signing: required}}
"""
SIGNER = "kubernetes.io/kube-apiserver-client"
FAR = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: far}
spec: {hubAcceptsClient: false}
"""
REPORT = (
    "report",
    "--adapter",
    "dns",
    "--cluster",
    "edge",
    "--observed-generation",
    "1",
    "--condition",
    "Available=True",
)


@dataclass
class World:
    """The hub, and everybody about it."""

    hub: Repo
    muster: Run
    path: Path
    ca: tuple[str, str]
    heart: Heartbeat

    def run(self, *arguments: str, at: datetime | None = None) -> str:
        code, out, err = self.muster(
            *arguments, "--repo", str(self.hub.path), *(() if at is None else ("--now", format_time(at)))
        )
        assert code in (0, 1), (out, err)
        return out + err

    def reconcile(self, at: datetime | None = None) -> str:
        return self.run("reconcile", "--branch", "main", at=at or datetime.now(UTC))

    def sign(self, ago: int = 0) -> None:
        """Sign what is approved, so many seconds ago."""
        certificate, key = self.ca
        files = ("--ca-cert", certificate, "--ca-key", key, "--longest", "600s", "--branch", "main")
        self.run("sign", *files, at=datetime.now(UTC) - timedelta(seconds=ago))

    def join(self) -> None:
        """The agent asks, a person lets it in, and its certificate is signed and taken."""
        self.heart.beat()
        self.run("accept", "--clusters", "edge", "--branch", "main")
        self.reconcile()
        self.sign()
        self.heart.beat()

    def conditions(self) -> dict[str, dict[str, str]]:
        text = self.hub.show("derived/managedclusters/edge.yaml", "main")
        return {one["type"]: one for one in yaml.safe_load(text)["status"]["conditions"]}

    def verified(self) -> tuple[str, str]:
        found = self.conditions()["AgentIdentityVerified"]
        return found["status"], found["reason"]

    def requests(self) -> list[str]:
        """The derived parts of requests."""
        return [path for path in self.hub.paths("main") if path.startswith("derived/certificatesigningrequests/")]

    def name(self) -> str:
        """The only request whose certificate stands."""
        (path,) = (path for path in self.requests() if "certificate: " in self.hub.show(path, "main"))
        return Path(path).stem

    def available(self) -> str:
        return self.conditions()["ManagedClusterConditionAvailable"]["status"]


@pytest.fixture
def world(hub: Repo, muster: Run, tmp_path: Path) -> World:
    person = clone(hub, tmp_path / "person")
    person.commit({"fleet.yaml": FLEET})
    person.git("push", "--quiet", "origin", "main")
    certificate, key = new_authority(tmp_path / "ca")
    environ = {name: value for name, value in hub.environ.items() if not name.endswith("_DATE")}
    rotation = Rotation("edge", Store(tmp_path / "identity"), "kubernetes.io/kube-apiserver-client")

    def view() -> HubView:
        assert heart.rotation is not None
        looking = RemoteHub(str(hub.path), "main", "edge", environ, 30, heart.rotation.request_names)
        try:
            return looking.look()
        finally:
            looking.close()

    heart = Heartbeat(
        PushedRef(str(hub.path), "edge", 30, environ, AgentSeal(rotation.store)),
        "me",
        lambda: Availability("True", "Fine", "fine"),
        ClusterFacts,
        view,
        lambda: datetime.now(UTC).replace(microsecond=0),
        time.monotonic,
        lambda _: False,
        rotation=rotation,
    )
    return World(hub, muster, tmp_path, (str(certificate), str(key)), heart)


def test_what_is_not_signed_was_not_received(world: World) -> None:
    world.heart.beat()
    world.run("accept", "--clusters", "edge", "--branch", "main")
    told = world.reconcile()
    assert "MUS513" in told  # a stranger speaks for it, and wants a certificate
    assert world.verified() == ("False", "NotSigned")
    assert "ManagedClusterJoined" not in world.conditions()
    world.sign(ago=490)  # so that there is not much left of its life
    world.heart.beat()
    world.reconcile()
    assert world.verified() == ("True", "SignatureVerified")
    assert (world.available(), world.conditions()["ManagedClusterJoined"]["status"]) == ("True", "True")

    code, out, _ = world.muster("export", "allowed-signers", "--repo", str(world.hub.path))
    assert code == 0
    (world.path / "allowed").write_text(out)
    verify = ("-c", f"gpg.ssh.allowedSignersFile={world.path / 'allowed'}", "verify-commit", REF)
    world.hub.git(*verify)

    # It asks anew at once, in its own name, so nobody has to approve; the old hand vouches until the new one is there.
    world.heart.beat()
    requests = [path for path in world.hub.paths(REF) if path.startswith("requests/")]
    assert len(requests) == 2
    world.reconcile()
    world.sign()
    world.heart.beat()
    assert world.verified() == ("True", "SignatureVerified")
    assert "nothing to do" not in world.reconcile()  # the certificate that was replaced goes
    assert world.verified() == ("True", "SignatureVerified")
    assert len([path for path in world.hub.paths(REF) if path.startswith("requests/")]) == 1
    with pytest.raises(AssertionError):
        world.hub.git(*verify)  # the new key is not among those of before

    # Somebody writes over it, who has no key: a lease of tomorrow, and that all is well.
    good = world.hub.tip(REF)
    lease = yaml.safe_load(world.hub.show("lease.yaml", REF))
    lease["spec"]["renewTime"] = format_time(datetime.now(UTC) + timedelta(days=1))
    now = datetime.now(UTC)
    world.hub.commit_to(REF, {"lease.yaml": yaml.safe_dump(lease)}, date=format_time(now))
    told = world.reconcile()
    assert "what the agent of ManagedCluster/edge says is not received: its newest commit has no valid" in told
    assert world.verified() == ("False", "NotSigned")
    assert world.available() == "True"  # what it said before counts, until its lease runs out
    world.hub.git("update-ref", REF, good)
    world.reconcile()
    assert world.verified() == ("True", "SignatureVerified")
    world.hub.commit_to(REF, {"lease.yaml": yaml.safe_dump(lease)}, date=format_time(now))
    world.reconcile()
    assert (world.available(), world.verified()) == ("True", ("False", "NotSigned"))
    assert "edge Unknown" in world.reconcile(datetime.now(UTC) + timedelta(minutes=6))
    assert world.available() == "Unknown"

    # A clone that knows nothing of before loses no certificate, and the agent takes over nothing that it did not sign.
    fresh = clone(world.hub, world.path / "fresh", "--bare")
    at = format_time(datetime.now(UTC) + timedelta(minutes=6))
    assert world.muster("reconcile", "--repo", str(fresh.path), "--branch", "main", "--now", at)[0] in (0, 1)
    (derived,) = [path for path in fresh.paths("main") if path.startswith("derived/certificatesigningrequests/")]
    assert "certificate" in yaml.safe_load(fresh.show(derived, "main"))["status"]
    world.hub.commit_to(REF, {"reports/evil.yaml": "a: 1\n"}, date=format_time(now))
    world.heart.beat()
    world.heart.beat()
    assert "reports/evil.yaml" not in world.hub.paths(REF)


def test_an_adapter_signs_with_the_agents_identity(world: World) -> None:
    world.join()
    identity, remote = str(world.path / "identity"), str(world.hub.path)
    code, _, err = world.muster(*REPORT, "--remote", remote, "--identity", str(world.path / "none"))
    assert (code, "has no certificate yet" in err) == (2, True)
    assert world.muster(*REPORT, "--remote", remote, "--repo", str(world.path), "--identity", identity)[0] == 0
    world.heart.beat()
    world.reconcile()
    assert "reports/dns.yaml" in world.hub.paths(REF)
    assert world.verified() == ("True", "SignatureVerified")
    assert '"adapter": "dns"' in world.run("get", "AdapterReport", "-o", "json")
    assert world.muster(*REPORT, "--remote", remote, "--repo", str(world.path))[0] == 0
    world.reconcile()
    assert world.verified() == ("False", "NotSigned")


def test_an_agent_that_has_lost_its_key_asks_as_a_stranger(world: World) -> None:
    world.join()
    world.reconcile()
    assert world.verified() == ("True", "SignatureVerified")
    lost = Rotation("edge", Store(world.path / "another"), "kubernetes.io/kube-apiserver-client")
    world.heart.rotation, world.heart._contents = lost, None
    ref = world.heart.ref
    assert isinstance(ref, PushedRef)
    world.heart.ref = replace(ref, seal=AgentSeal(lost.store))
    world.heart.beat()
    world.reconcile()
    assert world.verified() == ("False", "NotSigned")
    assert world.available() == "True"
    world.run("accept", "--clusters", "edge", "--branch", "main")
    world.reconcile()
    world.sign()
    world.heart.beat()
    world.reconcile()
    assert world.verified() == ("True", "SignatureVerified")
    assert lost.current is not None


def test_a_deleted_ref_ends_neither_the_clusters_availability_nor_its_certificate(world: World) -> None:
    """Nor does it for a clone that never saw the ref; and the agent goes on where it was."""
    world.join()
    other = clone(world.hub, world.path / "other")
    other.commit_to("refs/heads/agents/far", {"cluster.yaml": FAR})
    other.git("push", "--quiet", "origin", "refs/heads/agents/far")  # so that a ref that is missing is known to be gone
    world.run("accept", "--clusters", "far", "--branch", "main")
    world.reconcile()
    assert (world.verified(), world.available()) == (("True", "SignatureVerified"), "True")
    requests = [path for path in world.hub.paths("main") if path.startswith("derived/certificatesigningrequests/")]
    before = world.hub.show(requests[0], "main")
    world.hub.git("update-ref", "-d", REF)
    fresh, now = clone(world.hub, world.path / "fresh", "--bare"), datetime.now(UTC)
    for place in (world.hub, fresh):
        options = ("--repo", str(place.path), "--branch", "main", "--now", format_time(now))
        assert world.muster("reconcile", *options)[0] in (0, 1)
    assert fresh.git("rev-parse", "main^{tree}") == world.hub.git("rev-parse", "main^{tree}")
    assert (world.verified(), world.available()) == (("False", "RefGone"), "True")
    assert [world.hub.show(path, "main") for path in requests] == [before]
    late = now + timedelta(minutes=6)
    for place in (world.hub, fresh):
        options = ("--repo", str(place.path), "--branch", "main", "--now", format_time(late))
        assert world.muster("reconcile", *options)[0] in (0, 1)
    assert fresh.git("rev-parse", "main^{tree}") == world.hub.git("rev-parse", "main^{tree}")
    assert world.available() == "Unknown"
    assert [world.hub.show(path, "main") for path in requests] == [before]

    world.heart.beat()
    world.run("reconcile", "--branch", "main", "--back-in-time", at=datetime.now(UTC))
    assert (world.verified(), world.available()) == (("True", "SignatureVerified"), "True")


def test_an_agent_whose_certificate_the_hub_lost_says_so_and_asks_anew(world: World) -> None:
    world.join()
    world.reconcile()
    assert world.heart.rotation is not None
    lost = world.heart.rotation.current
    person = clone(world.hub, world.path / "forgetful")
    requests = [path for path in person.paths("HEAD") if path.startswith("derived/certificatesigningrequests/")]
    person.git("rm", "--quiet", *requests)
    person.commit({"notes.txt": "a bad merge\n"})
    person.git("push", "--quiet", "origin", "main")
    world.reconcile()
    assert world.verified() == ("False", "UnknownKey")
    said = world.heart.beat()
    assert "the hub ignores it: UnknownKey: Not received: its newest commit is signed with" in said
    assert world.heart.rotation.current is None
    (asked,) = (path for path in world.hub.paths(REF) if path.startswith("requests/"))
    assert lost is not None
    assert lost.request.object_name("edge") not in asked
    world.reconcile()
    told = world.run("sign", "--ca-cert", world.ca[0], "--ca-key", world.ca[1], "--branch", "main")
    assert "nothing to do" in told
    assert "waits for approval: muster accept edge" in told
    world.run("accept", "--clusters", "edge", "--branch", "main")
    world.reconcile()
    world.sign()
    assert "waits" not in world.run("sign", "--ca-cert", world.ca[0], "--ca-key", world.ca[1], "--branch", "main")
    world.heart.beat()
    world.reconcile()
    assert (world.verified(), world.available()) == (("True", "SignatureVerified"), "True")
    assert "counts nothing" not in world.heart.beat()


def test_what_a_stolen_key_asked_for_ends_with_it(world: World) -> None:
    """A thief who has the key for one beat asks for a key in the agent's name, and with that one for the next."""
    world.heart.beat()
    world.run("accept", "--clusters", "edge", "--branch", "main")
    world.reconcile()
    world.sign(ago=490)  # so that whoever has it asks anew at once
    world.heart.beat()
    world.reconcile()
    names = [world.name()]
    copytree(world.path / "identity", world.path / "thief")
    thief, mine, ref = Rotation("edge", Store(world.path / "thief"), SIGNER), world.heart, world.heart.ref
    assert isinstance(ref, PushedRef)
    mine.rotation, mine.ref, mine._contents = thief, replace(ref, seal=AgentSeal(thief.store)), None
    for ago in (490, 490, 0):
        mine.beat()
        world.reconcile()
        world.sign(ago=ago)
        mine.beat()
        world.reconcile()
        names.append(world.name())
    assert world.verified() == ("True", "SignatureVerified")
    assert len(set(names)) == 4
    known = yaml.safe_load(world.hub.show(f"derived/certificatesigningrequests/{names[-1]}.yaml", "main"))
    assert known["status"]["muster"]["decided"]["vouchedBy"] == names[-2::-1]

    mine.beat()
    told = world.run("deny", "--request", names[0], "--branch", "main")
    assert f"CertificateSigningRequest/{names[-1]}: denied in " in told
    assert f"because {names[0]} vouched for it" in told
    world.reconcile()
    for _ in range(2):
        world.reconcile()
        assert all("certificate: " not in world.hub.show(path, "main") for path in world.requests())
    assert world.verified() == ("False", "UnknownKey")
    mine.beat()
    assert thief.current is None


def test_a_request_that_is_under_way_ends_with_the_one_that_vouched_for_it(world: World) -> None:
    world.heart.beat()
    world.run("accept", "--clusters", "edge", "--branch", "main")
    world.reconcile()
    world.sign(ago=490)
    world.heart.beat()
    world.reconcile()
    name = world.name()
    world.run("deny", "--request", name, "--branch", "main")
    world.heart.beat()  # no run has said so yet: it asks for the next one with the certificate that was denied
    assert len([path for path in world.hub.paths(REF) if path.startswith("requests/")]) == 2
    for _ in range(3):
        world.reconcile()
        world.sign()
        assert all("certificate: " not in world.hub.show(path, "main") for path in world.requests())


@pytest.mark.parametrize(
    ("own", "named"),
    [(False, False), (True, False), (False, True), (True, True)],
    ids=["signs itself", "of their own authority", "signs itself, authority named", "of an authority of the same name"],
)
def test_a_certificate_in_a_persons_file_makes_nobody_an_agent(world: World, own: bool, named: bool) -> None:
    world.join()
    world.reconcile()
    assert world.verified() == ("True", "SignatureVerified")
    before = world.conditions()
    person = clone(world.hub, world.path / "another")
    stranger = new_request("edge")
    now = datetime.now(UTC).replace(microsecond=0)
    certificate = agent_certificate(stranger.user, stranger.key, now)
    if own:
        authority = load_authority(*new_authority(world.path / "own"), timedelta(hours=1), now)
        certificate = authority.sign(Approved(stranger.pem, stranger.user, [], ["client auth"]), now)
    body = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "edge-evil", "labels": {"open-cluster-management.io/cluster-name": "edge"}},
        "spec": {
            "request": base64.b64encode(stranger.pem).decode(),
            "signerName": SIGNER,
            "usages": ["client auth"],
        },
        "status": {
            "certificate": base64.b64encode(certificate).decode(),
            "conditions": [{"type": "Approved", "status": "True", "reason": "Fine", "message": "fine"}],
        },
    }
    files = {"requests/evil.yaml": yaml.safe_dump(body, sort_keys=False)}
    if named:
        spec = {"agents": {"signing": "required"}, "signing": {"authority": Path(world.ca[0]).read_text()}}
        files["fleet.yaml"] = yaml.safe_dump(
            {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": spec}
        )
    person.commit(files)
    person.git("push", "--quiet", "origin", "main")
    line = files["requests/evil.yaml"].partition("  certificate:")[0].count("\n") + 1
    said = world.reconcile()
    if not (own and named):  # a name that fits is not seen to be another's before it is used
        assert f"requests/evil.yaml:{line}:" in said
        assert "MUS516" in said
        assert "signing.authority" in said
    code, out, _ = world.muster("export", "allowed-signers", "--repo", str(world.hub.path))
    assert (code, stranger.user in out) == (0, False)

    lease = yaml.safe_load(world.hub.show("lease.yaml", REF))
    lease["spec"]["renewTime"] = format_time(now + timedelta(days=1))
    commit = world.hub.commit_to(REF, {"lease.yaml": yaml.safe_dump(lease)}, date=format_time(datetime.now(UTC)))
    raw = sealed(world.hub.git_bytes("cat-file", "commit", commit), stranger.key)
    signed = world.hub.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw).strip()
    world.hub.git("update-ref", REF, signed)
    assert "MUS513" in world.reconcile()
    after = world.conditions()
    assert world.verified() == ("False", "UnknownKey")
    assert {**after, "AgentIdentityVerified": None} == {**before, "AgentIdentityVerified": None}
