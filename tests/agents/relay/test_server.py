"""Agents that come to a relay with their certificates, over TLS, and sign what they say. In real time: certificates are
judged by the clock on the wall."""

import hashlib
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from muster.agents.heartbeat.availability import Availability
from muster.agents.heartbeat.facts import ClusterFacts
from muster.agents.heartbeat.heartbeat import Heartbeat
from muster.agents.hub.local import LocalHub
from muster.agents.hub.relayed_ref import Credentials, RelayedRef
from muster.agents.identity.rotation import Rotation
from muster.agents.identity.store import AgentSeal, Store
from muster.agents.relay.authentication import Authentication, ClientCertificates, TokenFile
from muster.cli import exits
from muster.data.times import format_time
from muster.git.agents.relays import COMMIT, cluster_folder
from muster.git.errors import RepositoryError
from muster.git.memory.rootref import NO_CONTENTS
from muster.net.serving.server import server_context
from tests.agents.relay.test_relay import SETTINGS, Site, serving, site
from tests.support.authority import new_authority, server_certificate
from tests.support.commandline import Run, muster
from tests.support.git import Repo

__all__ = ["muster", "site"]  # fixtures
CLUSTER = "edge-h"


def wall() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


@dataclass
class World:
    """A relay that speaks TLS, its hub, a person there, and the folder of all their keys."""

    site: Site
    muster: Run
    path: Path
    copy: LocalHub

    @property
    def person(self) -> Repo:
        return Repo(self.path / "person", self.site.hub.environ)

    @contextmanager
    def serving(self) -> Iterator[str]:
        (self.path / "tokens").write_text(f"{CLUSTER} {hashlib.sha256(b'first').hexdigest()}\n")
        context = server_context(
            self.path / "server.crt", self.path / "server.key", self.path / "ca.crt", optional=True
        )
        doors = Authentication(TokenFile(self.path / "tokens"), ClientCertificates(self.copy, wall), context)
        with serving(self.site, None, doors, self.copy) as url:
            yield url

    def credentials(self, *, token: str = "", store: Store | None = None) -> Credentials:
        if token:
            (self.path / "token").write_text(token)
        shown = None if store is None else store.current_file
        return Credentials(self.path / "token" if token else None, shown, self.path / "server.crt")

    def run(self, *arguments: str) -> str:
        code, out, err = self.muster(*arguments, "--repo", str(self.person.path), "--push")
        assert code in (exits.FINE, exits.FINDINGS), (out, err)
        return out + err

    def refresh(self) -> None:
        """What is new at the relay goes to the hub, which decides; and comes back."""
        self.site.relay.step()
        self.run("reconcile", "--now", format_time(wall()))
        self.hear()

    def hear(self) -> None:
        self.site.relay.fetch_hub()
        self.copy.refresh()

    def sign(self) -> None:
        self.run("sign", "--ca-cert", str(self.path / "ca.crt"), "--ca-key", str(self.path / "ca.key"))
        self.hear()

    def condition(self, type_: str) -> tuple[str, str]:
        text = self.site.hub.show(f"derived/managedclusters/{CLUSTER}.yaml", "main")
        found = {one["type"]: one for one in yaml.safe_load(text)["status"]["conditions"]}
        return found[type_]["status"], found[type_]["reason"]


@pytest.fixture
def world(site: Site, muster: Run, tmp_path: Path) -> World:
    person = Repo(tmp_path / "person", site.hub.environ)
    person.commit({"fleet.yaml": SETTINGS.replace("relays:", "signing: required, relays:")})
    person.git("push", "--quiet", "origin", "main")
    new_authority(tmp_path)
    server_certificate(tmp_path)
    site.relay.clock = wall
    return World(site, muster, tmp_path, LocalHub(site.relay.repository, "main"))


def test_from_a_token_to_a_certificate_and_signed_reports(world: World) -> None:
    rotation = Rotation(CLUSTER, Store(world.path / "identity"), "kubernetes.io/kube-apiserver-client")
    with world.serving() as url:
        ref = RelayedRef(
            url,
            CLUSTER,
            30.0,
            world.credentials(token="first", store=rotation.store),
            wall,
            AgentSeal(rotation.store),
            rotation.request_names,
        )
        heart = Heartbeat(
            ref,
            "me",
            lambda: Availability("True", "Fine", "fine"),
            ClusterFacts,
            ref.view,
            wall,
            time.monotonic,
            lambda _: False,
            rotation=rotation,
        )
        heart.beat()
        world.refresh()
        world.run("accept", "--clusters", CLUSTER)
        world.refresh()
        assert world.condition("AgentIdentityVerified") == ("False", "NotSigned")
        world.sign()
        heart.beat()
        assert rotation.current is not None
        said = heart.beat()
        assert said.startswith("renewed, ManagedClusterConditionAvailable is True; the hub ignores it: NotSigned")
        world.refresh()
        assert world.condition("AgentIdentityVerified") == ("True", "SignatureVerified")
        assert heart.beat() == "renewed, ManagedClusterConditionAvailable is True"
        assert world.condition("ManagedClusterConditionAvailable")[0] == "True"

        # From now on it needs no token. What others put there in its name it does not take over.
        ref.credentials = world.credentials(store=rotation.store)
        assert heart.beat().startswith("renewed")
        standing = ref.look()
        assert "lease.yaml" in standing.files
        stranger = RelayedRef(url, CLUSTER, 30.0, world.credentials(token="first"), wall)
        stranger.replace(standing, {"reports/evil.yaml": b"a: 1\n"}, "x")
        assert ref.look().files == {}
        heart._contents = None
        heart.beat()
        world.refresh()
        assert world.condition("AgentIdentityVerified") == ("True", "SignatureVerified")
        assert f"{cluster_folder(CLUSTER)}/reports/evil.yaml" not in world.site.hub.paths("relays/edge")
        again = world.site.again()
        assert again.look(CLUSTER).files.keys() >= {COMMIT, "lease.yaml"}  # also after a restart

        # One cluster's certificate opens no other's door, and none when it was revoked.
        other = RelayedRef(url, "edge-i", 30.0, ref.credentials, wall)
        with pytest.raises(RepositoryError, match="does not accept the certificate in"):
            other.look()
        (request,) = rotation.request_names()
        world.run("deny", "--request", request)
        world.refresh()
        with pytest.raises(RepositoryError, match="does not accept the certificate"):
            ref.look()


def test_what_comes_along_is_a_commit_of_the_files(site: Site) -> None:
    with pytest.raises(ValueError, match=r"\.commit is not a commit of the files beside it"):
        site.relay.post(CLUSTER, None, {"lease.yaml": b"a\n", COMMIT: b"tree " + b"0" * 40 + b"\n\nx\n"})
    assert site.relay.look(CLUSTER) == NO_CONTENTS


def test_whom_nobody_knows_is_not_connected(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """A certificate that another authority signed, and one who connects and says nothing: neither holds up the rest."""
    forged = world.path / "forged.pem"
    certificate, key = server_certificate(world.path / "stranger")
    forged.write_bytes(certificate.read_bytes() + key.read_bytes())
    with world.serving() as url:
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 30):
            stranger = RelayedRef(url, CLUSTER, 30.0, Credentials(None, forged, world.path / "server.crt"), wall)
            with pytest.raises(RepositoryError, match="the relay does not answer"):
                stranger.look()
            nobody = RelayedRef(url, CLUSTER, 30.0, world.credentials(), wall)
            with pytest.raises(RepositoryError, match="does not accept"):
                nobody.look()
            known = RelayedRef(url, CLUSTER, 30.0, world.credentials(token="first"), wall)
            assert known.look() == NO_CONTENTS
        mistaken = RelayedRef(url, CLUSTER, 30.0, Credentials(world.path / "token"), wall)
        with pytest.raises(RepositoryError, match=f"the relay does not answer: {url}: self-signed certificate"):
            mistaken.look()  # it does not know who signed the relay's certificate
    assert "Traceback" not in capsys.readouterr().err


def test_the_verb_says_what_goes_together(world: World) -> None:
    options = ("relay", "--repo", str(world.site.repo.path), "--remote", str(world.site.hub.path), "--name", "edge")
    listen, authority = ("--listen", "127.0.0.1:0"), ("--client-ca", str(world.path / "ca.crt"))
    certificate = ("--tls-cert", str(world.path / "server.crt"))
    for more, said in (
        ((*listen,), "--listen goes with --tokens, --client-ca or both"),
        ((*listen, *authority), "--tls-cert and --tls-key go together"),
        ((*listen, *authority, *certificate), "--tls-cert and --tls-key go together"),
        ((*listen, *authority, *certificate, "--tls-key", str(world.path / "ca.key")), "key values mismatch"),
    ):
        code, _, err = world.muster(*options, *more)
        assert code == exits.USAGE
        assert said in err


def test_old_versions_of_tls_are_not_spoken(world: World) -> None:
    context = server_context(world.path / "server.crt", world.path / "server.key", None, optional=False)
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.verify_mode == ssl.CERT_NONE
