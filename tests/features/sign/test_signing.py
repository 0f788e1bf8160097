"""What is signed on a branch, and what is not: exactly what stands approved, once."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import Encoding

from muster.agents.identity.authority import Authority, load_authority
from muster.agents.identity.request import CertificateRequest, new_request
from muster.data.tree import Tree
from muster.features.edits.editing import Edited
from muster.features.reconcile.reconcile import reconcile
from muster.features.sign.signing import sign
from muster.git.repository import open_repository
from tests.support.authority import new_authority
from tests.support.git import Repo, clone, new_repository

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c1}
spec: {hubAcceptsClient: true}
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return load_authority(*new_authority(tmp_path_factory.mktemp("ca")), timedelta(hours=1), NOW)


def manifest(name: str, cluster: str, made: CertificateRequest, **spec: Tree) -> str:
    """A request of an agent, as it is sent."""
    body = {
        "request": base64.b64encode(made.pem).decode(),
        "signerName": "kubernetes.io/kube-apiserver-client",
        "usages": ["client auth"],
        **spec,
    }
    return yaml.safe_dump(
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": name, "labels": {"open-cluster-management.io/cluster-name": cluster}},
            "spec": body,
        }
    )


def request(name: str, *, renewal: bool = True, **spec: Tree) -> str:
    """A request of an agent of c1; one that the policy approves where it is a renewal."""
    made = new_request("c1")
    return manifest(name, "c1", made, **({"username": made.user} if renewal else {}), **spec)


def decided(repo: Repo) -> None:
    reconcile(open_repository(repo.path, repo.environ), lambda: NOW, branch="main", attempts=range(3))


def signing(repo: Repo, authority: Authority, remote: str | None = None) -> Edited:
    return sign(
        open_repository(repo.path, repo.environ),
        authority,
        lambda: NOW,
        branch="main",
        remote=remote,
        attempts=range(3),
    )


def derived(repo: Repo, name: str, branch: str = "main") -> Tree:
    return yaml.safe_load(repo.show(f"derived/certificatesigningrequests/{name}.yaml", branch))


def test_what_is_approved_is_signed_once_and_the_next_run_finds_nothing_to_do(
    authority: Authority, tmp_path: Path
) -> None:
    seed = new_repository(tmp_path / "seed")
    strange = request("strange", usages=["client auth", "code signing"])
    seed.commit(
        {
            "c1.yaml": CLUSTER,
            "a.yaml": request("a"),
            "b.yaml": request("b", expirationSeconds=600),
            "pending.yaml": request("pending", renewal=False),
            "strange.yaml": strange,
        }
    )
    origin = clone(seed, tmp_path / "origin.git", "--bare")
    decided(seed)
    seed.git("push", "--quiet", str(origin.path), "main")
    here = clone(origin, tmp_path / "here")
    done = signing(here, authority, "origin")
    assert done.pushed
    assert done.commit == origin.tip("main")
    assert [line.partition(":")[0] for line in done.changes] == [
        "CertificateSigningRequest/a",
        "CertificateSigningRequest/b",
    ]
    (refused,) = done.refused
    assert refused.startswith("CertificateSigningRequest/strange is not signed: it asks for code signing, which")
    assert base64.b64decode(derived(here, "a")["status"]["certificate"]).startswith(b"-----BEGIN CERTIFICATE-----")
    assert not here.git("ls-files", "derived/certificatesigningrequests/pending.yaml")
    signed = here.tip()
    decided(here)
    assert here.tip() == signed  # to the byte what the run itself writes
    assert signing(here, authority).commit is None

    certificate = derived(here, "a")["status"]["certificate"]
    here.commit({"a.yaml": request("a")})
    decided(here)
    assert "certificate" not in derived(here, "a")["status"]  # another request by the same name
    assert [line.partition(":")[0] for line in signing(here, authority).changes] == ["CertificateSigningRequest/a"]
    assert derived(here, "a")["status"]["certificate"] != certificate

    here.git("rm", "--quiet", "b.yaml")
    here.commit()
    decided(here)
    assert not here.git("ls-files", "derived/certificatesigningrequests/b.yaml")  # who asked takes it away again


def test_a_rotation_is_one_commit_of_the_signer(authority: Authority, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo")
    repo.commit({"c1.yaml": CLUSTER, "a.yaml": request("a")})
    decided(repo)
    signing(repo, authority)
    repo.commit_to("refs/heads/agents/c1", {"b.yaml": request("b")})
    decided(repo)
    assert derived(repo, "b")["status"]["muster"]["decided"]["vouchedBy"] == ["a"]
    assert signing(repo, authority).commit is not None
    assert set(derived(repo, "b")["status"]["muster"]["decided"]) == {"request", "signed", "vouchedBy"}
    signed = repo.tip()
    decided(repo)
    assert repo.tip() == signed, "the next run has nothing to write, not even an order"


APART = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec: {derived: {branch: muster/state}}
"""


@pytest.mark.parametrize("remote", [None, "origin"])
def test_certificates_go_to_the_branch_that_has_what_is_derived(
    remote: str | None, authority: Authority, tmp_path: Path
) -> None:
    """On the main branch nobody would read them."""
    seed = new_repository(tmp_path / "seed")
    seed.commit({"fleet.yaml": APART, "c1.yaml": CLUSTER, "a.yaml": request("a")})
    origin = clone(seed, tmp_path / "origin.git", "--bare")
    here = clone(origin, tmp_path / "here")
    main = here.tip("main")

    def decide() -> None:
        opened = open_repository(here.path, here.environ)
        reconcile(opened, lambda: NOW, branch="main", remote=remote, attempts=range(3))

    decide()
    done = signing(here, authority, remote)
    assert (done.pushed, done.commit) == (remote is not None, (origin if remote else here).tip("muster/state"))
    assert (here.tip("main"), origin.tip("main")) == (main, main)
    branch = f"{remote}/muster/state" if remote else "muster/state"
    assert derived(here, "a", branch)["status"]["certificate"]
    decide()
    assert here.git("rev-parse", branch) == done.commit, "the next run finds it as its own"
    assert signing(here, authority, remote).commit is None


def test_a_request_that_took_the_place_of_the_approved_one_is_not_signed(authority: Authority, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"c1.yaml": CLUSTER, "a.yaml": request("a")})
    decided(repo)
    assert derived(repo, "a")["status"]["conditions"][0]["type"] == "Approved"
    repo.commit({"a.yaml": request("a", renewal=False)})
    assert signing(repo, authority).commit is None


def test_a_certificate_written_under_derived_for_another_request_does_not_count(
    authority: Authority, tmp_path: Path
) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"c1.yaml": CLUSTER, "a.yaml": request("a")})
    decided(repo)
    body = derived(repo, "a")
    body["status"]["certificate"] = "AAAA"
    repo.commit({"derived/certificatesigningrequests/a.yaml": yaml.safe_dump(body)})
    decided(repo)
    assert "certificate" not in derived(repo, "a")["status"]


def _named(*authorities: Authority) -> str:
    text = "".join(one.certificate.public_bytes(Encoding.PEM).decode() for one in authorities)
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"}}
    return yaml.safe_dump({**body, "spec": {"signing": {"authority": text}}})


def test_the_authority_that_the_fleet_names_signs_and_no_other(authority: Authority, tmp_path: Path) -> None:
    other = load_authority(*new_authority(tmp_path / "other"), timedelta(hours=1), NOW)
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"c1.yaml": CLUSTER, "a.yaml": request("a"), "fleet.yaml": _named(other)})
    decided(repo)
    done = signing(repo, authority)
    assert (done.commit, done.refused) == (
        None,
        ("nothing is signed: --ca-cert is not an authority that Fleet.spec.signing.authority names",),
    )
    repo.commit({"fleet.yaml": _named(other, authority)})  # one takes the other's place
    done = signing(repo, authority)
    assert (len(done.changes), done.waiting) == (1, ())


def test_where_the_fleet_names_no_authority_the_signer_says_so(authority: Authority, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"c1.yaml": CLUSTER, "a.yaml": request("a")})
    decided(repo)
    (said,) = signing(repo, authority).waiting
    assert said.startswith("the Fleet names no authority")


def test_a_name_that_no_agent_has_is_not_signed_though_a_person_approved_it(
    authority: Authority, tmp_path: Path
) -> None:
    repo = new_repository(tmp_path / "fleet")
    odd = yaml.safe_load(manifest("odd", "c1", new_request("c1", "system:open-cluster-management:c1:x,*")))
    odd["status"] = {"conditions": [{"type": "Approved", "status": "True", "reason": "ByHand", "message": ""}]}
    repo.commit({"c1.yaml": CLUSTER, "odd.yaml": yaml.safe_dump(odd)})
    decided(repo)
    done = signing(repo, authority)
    assert done.commit is None
    (said,) = done.refused
    assert said.startswith(
        "CertificateSigningRequest/odd is not signed: 'system:open-cluster-management:c1:x,*' is not"
    )
