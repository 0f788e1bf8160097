"""From a stranger's request to a certificate, and from that to the next: a real hub, a person, a signer, an agent."""

import base64
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from muster.agents.heartbeat.availability import Availability
from muster.agents.heartbeat.facts import ClusterFacts
from muster.agents.heartbeat.heartbeat import Heartbeat
from muster.agents.hub.pushed_ref import PushedRef
from muster.agents.hub.remote import RemoteHub
from muster.agents.identity.rotation import Rotation
from muster.agents.identity.store import Store
from muster.data.times import format_time
from muster.git.errors import IdentityError
from tests.agents.heartbeat.test_heartbeat import Clocks, hub
from tests.support.authority import new_authority
from tests.support.commandline import Run, muster
from tests.support.git import Repo, clone, git_environ

__all__ = ["hub", "muster"]  # fixtures
REF = "refs/heads/agents/edge"
REQUESTS = "derived/certificatesigningrequests"
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec: {agents: {certificates: required}}
"""
LONGEST = 600


@dataclass
class Story:
    """A hub with the agent of one cluster, and a clock that they share."""

    hub: Repo
    muster: Run
    folder: Path
    ca: tuple[Path, Path]
    clocks: Clocks
    stack: ExitStack
    _heart: Heartbeat | None = None

    @property
    def heart(self) -> Heartbeat:
        """The agent's process."""
        if self._heart is None:
            environ = git_environ(self.hub.path.parent)
            rotation = Rotation("edge", Store(self.folder), "kubernetes.io/kube-apiserver-client")
            view = RemoteHub(str(self.hub.path), "main", "edge", environ, 30, rotation.request_names)
            self.stack.callback(view.close)
            self._heart = Heartbeat(
                PushedRef(str(self.hub.path), "edge", 30, environ),
                "me",
                lambda: Availability("True", "Fine", "fine"),
                ClusterFacts,
                view.look,
                self.clocks.now,
                lambda: self.clocks.seconds,
                self.clocks.wait,
                rotation=rotation,
            )
        return self._heart

    def restart(self) -> None:
        """The agent's process ends, and another one begins."""
        self._heart = None

    def run(self, verb: str, *options: str, code: int = 0) -> str:
        """Run a verb on the hub as of the clock; return what it printed."""
        timed = ["--now", format_time(self.clocks.now())] if verb in ("reconcile", "sign") else []
        done, out, err = self.muster(verb, "--repo", str(self.hub.path), "--branch", "main", *timed, *options)
        assert done == code, (out, err)
        return out + err

    def edit(self, path: str, text: str) -> None:
        """Commit a file by hand."""
        person = clone(self.hub, self.hub.path.parent / "person")
        person.commit({path: text})
        person.git("push", "--quiet", "origin", "main")

    def sign(self, *options: str, code: int = 0) -> str:
        certificate, key = self.ca
        files = ("--ca-cert", str(certificate), "--ca-key", str(key))
        return self.run("sign", *files, "--longest", f"{LONGEST}s", *options, code=code)

    def round(self) -> str:
        """The agent beats, the hub decides and signs, and the agent looks again."""
        self.heart.beat()
        self.run("reconcile")
        self.sign()
        return self.heart.beat()

    @property
    def certificate(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.folder / "agent.pem").read_bytes())

    def requests(self) -> list[str]:
        """Those on the agent's ref."""
        return [path for path in self.hub.paths(REF) if path.startswith("requests/")]

    def derived(self) -> dict[str, Any]:
        """The derived parts of requests, by name."""
        paths = [path for path in self.hub.paths("main") if path.startswith(REQUESTS)]
        return {Path(path).stem: yaml.safe_load(self.hub.show(path, "main")) for path in paths}

    def cluster(self) -> dict[str, Any]:
        text = self.hub.show("derived/managedclusters/edge.yaml", "main")
        return {one["type"]: one for one in yaml.safe_load(text)["status"]["conditions"]}


@pytest.fixture
def story(hub: Repo, muster: Run, tmp_path: Path) -> Iterator[Story]:
    with ExitStack() as stack:
        yield Story(hub, muster, tmp_path / "identity", new_authority(tmp_path / "ca"), Clocks(), stack)


def test_from_a_strangers_request_to_a_certificate_and_the_next(story: Story) -> None:
    story.edit("fleet.yaml", FLEET)
    assert story.heart.beat() == "asked to join"
    story.run("reconcile")
    assert "waits for approval: muster accept edge" in story.sign()  # nobody has said yes
    story.run("accept", "--clusters", "edge")
    story.run("reconcile")
    story.heart.beat()
    story.run("reconcile")
    assert "ManagedClusterJoined" not in story.cluster()  # accepted, and it speaks, but nobody has signed
    assert "signed for the agent of edge" in story.sign()
    assert story.run("reconcile").startswith("nothing to do") is False  # it joins, and nothing else
    assert story.cluster()["ManagedClusterJoined"]["status"] == "True"
    assert story.run("reconcile").startswith("nothing to do")

    story.heart.beat()
    assert stat.S_IMODE((story.folder / "agent.pem").stat().st_mode) == 0o600
    first = story.certificate
    (name,) = [one.value for one in first.subject if one.oid == x509.NameOID.COMMON_NAME]
    groups = {one.value for one in first.subject if one.oid == x509.NameOID.ORGANIZATION_NAME}
    assert str(name).startswith("system:open-cluster-management:edge:")
    assert groups == {
        "system:open-cluster-management:edge",
        "system:open-cluster-management:managed-clusters",
    }
    assert first.not_valid_after_utc == story.clocks.now() + timedelta(seconds=LONGEST)
    assert not (story.folder / "next.pem").exists()
    assert len(story.requests()) == 1

    story.clocks.seconds += LONGEST * 0.7
    story.heart.beat()
    assert len(story.requests()) == 1  # not yet
    story.clocks.seconds += LONGEST * 0.12
    story.heart.beat()
    assert len(story.requests()) == 2  # the old one stays until the new one is signed
    story.restart()
    story.round()
    second = story.certificate
    assert second.public_key() != first.public_key()
    assert second.subject == first.subject
    assert len(story.requests()) == 1
    rotated = yaml.safe_load(story.hub.show("cluster.yaml", REF))["status"]["conditions"][-1]
    assert rotated["type"] == "ClusterCertificateRotated"
    assert (rotated["status"], rotated["reason"]) == ("True", "ClientCertificateUpdated")
    life = f"{format_time(second.not_valid_before_utc)} to {format_time(second.not_valid_after_utc)}"
    assert rotated["message"] == f"client certificate rotated starting from {life}"
    story.run("reconcile")
    assert len(story.derived()) == 1  # the certificate that was replaced is gone
    assert story.run("reconcile").startswith("nothing to do")


def joined(story: Story) -> Story:
    story.heart.beat()
    story.run("accept", "--clusters", "edge")
    story.round()
    assert story.certificate
    story.run("reconcile")
    return story


def test_a_certificate_that_people_deny_is_revoked(story: Story) -> None:
    joined(story)
    (name,) = story.derived()
    story.run("deny", "--request", name)
    story.run("reconcile")
    assert "certificate" not in story.derived()[name]["status"]
    assert story.sign() == "nothing to do\n"
    story.heart.beat()
    assert not (story.folder / "agent.pem").exists()
    story.run("reconcile")
    (other,) = set(story.derived()) - {name} or {Path(story.requests()[0]).stem}
    assert other != name  # a stranger again, with another key and name
    assert f"nothing to do\nCertificateSigningRequest/{other} waits for approval" in story.sign()
    story.run("accept", "--clusters", "edge")
    story.round()
    assert story.certificate


def test_of_a_denied_cluster_nothing_is_signed_and_what_was_ends(story: Story) -> None:
    joined(story)
    story.run("deny", "--clusters", "edge")
    assert story.sign() == "nothing to do\n"
    story.run("reconcile")
    (body,) = story.derived().values()
    assert "certificate" not in body["status"]
    story.heart.beat()
    assert not (story.folder / "agent.pem").exists()


def test_an_expired_certificate_is_forgotten_and_a_stranger_asks_again(story: Story) -> None:
    joined(story)
    (before,) = story.requests()
    story.clocks.seconds += LONGEST + 1
    story.heart.beat()
    assert not (story.folder / "agent.pem").exists()
    (after,) = story.requests()
    assert after != before
    assert "username" not in yaml.safe_load(story.hub.show(after, REF))["spec"]
    condition = yaml.safe_load(story.hub.show("cluster.yaml", REF))["status"]["conditions"][-1]
    assert (condition["status"], condition["reason"]) == ("False", "ClientCertificateUpdateFailed")


def test_a_certificate_of_another_key_is_not_taken(story: Story) -> None:
    joined(story)
    certificate = (story.folder / "agent.pem").read_bytes()
    story.clocks.seconds += LONGEST * 0.82
    story.heart.beat()
    story.run("reconcile")
    (waiting,) = [name for name, body in story.derived().items() if "certificate" not in body["status"]]
    path = f"{REQUESTS}/{waiting}.yaml"
    body = story.derived()[waiting]
    body["status"]["certificate"] = base64.b64encode(certificate.partition(b"-----BEGIN PRIVATE")[0]).decode()
    story.edit(path, yaml.safe_dump(body))
    story.heart.beat()
    condition = yaml.safe_load(story.hub.show("cluster.yaml", REF))["status"]["conditions"][-1]
    assert (
        condition["message"] == "Failed to rotated client certificate: the certificate has another key, or another name"
    )
    assert (story.folder / "agent.pem").read_bytes() == certificate


def test_a_folder_that_others_may_write_into_is_not_used(story: Story) -> None:
    story.folder.mkdir(mode=0o700)
    agent = story.heart
    story.folder.chmod(0o777)
    others = f"others on this machine may write into {story.folder}: chmod 700 {story.folder}"
    assert agent.beat() == f"asked to join; {others}"  # the heartbeat goes on
    assert story.requests() == []
    story.restart()
    with pytest.raises(IdentityError, match="others on this machine"):
        _ = story.heart
