"""Objects that git cannot read: they are no deletion, so nothing is decided from a commit that has lost one."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.cli import exits
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z"
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec: {commit: {skipCI: true}}
"""
REQUEST = """\
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: a, labels: {open-cluster-management.io/cluster-name: a}}
spec: {request: eA==, signerName: x/y, usages: [client auth]}
"""


OBSERVED = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c}
status:
  conditions:
  - {type: ManagedClusterConditionAvailable, status: "True", reason: ManagedClusterAvailable, message: Fine}
"""
AVAILABLE = "  - type: ManagedClusterConditionAvailable\n    status: "


def cluster(name: str) -> str:
    return (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        f"metadata: {{name: {name}}}\nspec: {{hubAcceptsClient: true}}\n"
    )


def lease(name: str, at: str = NOW) -> str:
    return (
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\n"
        f"metadata: {{name: managed-cluster-lease, namespace: {name}}}\n"
        f"spec: {{renewTime: '{at.replace('Z', '.000000Z')}', leaseDurationSeconds: 60}}\n"
    )


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what makes runs forget what earlier ones kept."""
    return lambda: monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another cache"))


@pytest.fixture
def repo(tmp_path: Path, muster: Run) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    files = {f"clusters/{name}/cluster.yaml": cluster(name) for name in "abc"}
    leases = {f"clusters/{name}/lease.yaml": lease(name) for name in "ab"}
    repo.commit({**files, **leases, "fleet.yaml": FLEET, "csr.yaml": REQUEST, ".musterignore": "notes/\n"})
    repo.commit_to("refs/heads/agents/c", {"lease.yaml": lease("c"), "observed.yaml": OBSERVED})
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] in (exits.FINE, exits.FINDINGS)
    return repo


def missing(repo: Repo, oid: str) -> None:
    (repo.path / ".git/objects" / oid[:2] / oid[2:]).unlink()


def zeroed(repo: Repo, oid: str) -> None:
    file = repo.path / ".git/objects" / oid[:2] / oid[2:]
    file.chmod(0o644)
    file.write_bytes(b"\0" * file.stat().st_size)


def zeroed_in_pack(repo: Repo, oid: str) -> None:
    """The bytes of one object, behind the header that says its size."""
    repo.git("repack", "-q", "-a", "-d", "--depth=0", "--window=0")
    (pack,) = (repo.path / ".git/objects/pack").glob("*.pack")
    offsets = {
        one.split()[0]: int(one.split()[4])
        for one in repo.git("verify-pack", "-v", str(pack)).splitlines()
        if len(one.split()) == 5 and one[40:41] == " "
    }
    pack.chmod(0o644)
    data = bytearray(pack.read_bytes())
    at = offsets[oid] + 6
    data[at : at + 12] = b"\0" * 12
    pack.write_bytes(data)


WHAT = (
    "clusters/a/cluster.yaml",
    "clusters/a",
    "clusters",
    "",
    "fleet.yaml",
    ".musterignore",
    "derived",
    "derived/managedclusters/a.yaml",
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", [missing, zeroed, zeroed_in_pack])
@pytest.mark.parametrize("what", WHAT)
def test_nothing_is_decided(
    what: str, how: Callable[[Repo, str], None], repo: Repo, muster: Run, cold: Callable[[], None]
) -> None:
    head = repo.tip()
    cold()
    how(repo, repo.tip(f"HEAD:{what}"))
    for arguments in ([], ["--workers", "2"]):
        code, out, err = muster("reconcile", "--repo", repo.path, "--now", LATER, *arguments)
        assert (code, repo.tip()) == (exits.REPOSITORY, head), f"{out}{err}"
        assert "Traceback" not in err
    for verb in ("plan", "get"):
        assert muster(verb, "--repo", repo.path, "--now", LATER)[0] == exits.REPOSITORY, verb


def test_it_says_what_is_lost_and_what_to_do(repo: Repo, muster: Run, cold: Callable[[], None]) -> None:
    cold()
    missing(repo, repo.tip("HEAD:clusters/b/cluster.yaml"))
    _, _, err = muster("reconcile", "--repo", repo.path, "--now", LATER)
    assert "nothing is decided: git cannot read clusters/b/cluster.yaml" in err
    assert "git fsck --full" in err


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("clusters/a/cluster.yaml", exits.REPOSITORY),
        ("fleet.yaml", exits.REPOSITORY),
    ],
)
def test_a_warm_run_removes_nothing_either(what: str, code: int, repo: Repo, muster: Run) -> None:
    """It need not look at what has not changed; what it looks at has to be there."""
    files = repo.paths()
    head = repo.commit({"clusters/a/lease.yaml": lease("a", LATER)})
    missing(repo, repo.tip(f"HEAD:{what}"))
    assert muster("reconcile", "--repo", repo.path, "--now", LATER)[0] == code
    assert repo.paths() == files
    assert repo.tip() == head


def test_what_is_staged_has_to_be_there(repo: Repo, muster: Run) -> None:
    repo.write("clusters/d.yaml", cluster("d"))
    repo.git("add", "clusters/d.yaml")
    missing(repo, repo.git("rev-parse", ":clusters/d.yaml"))
    for more in ([], ["--touched"]):
        assert muster("validate", "--staged", *more, "--repo", repo.path)[0] == exits.REPOSITORY


def test_what_a_slip_is_compared_with_has_to_be_there(repo: Repo, muster: Run, cold: Callable[[], None]) -> None:
    cold()
    head, before = repo.commit({"clusters/a/cluster.yaml": ""}), repo.tip("HEAD~1:clusters/a/cluster.yaml")
    missing(repo, before)
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", LATER)
    assert (code, repo.tip()) == (exits.REPOSITORY, head), f"{out}{err}"


def test_what_nothing_is_read_of_may_be_lost(repo: Repo, muster: Run, cold: Callable[[], None]) -> None:
    cold()
    repo.commit({"README.md": "x\n", "old.yaml": "# nothing\n"})
    repo.commit({"old.yaml": None})
    for lost in ("HEAD:README.md", "HEAD~1:old.yaml"):
        missing(repo, repo.tip(lost))
    assert muster("reconcile", "--repo", repo.path, "--now", LATER)[0] in (exits.FINE, exits.FINDINGS)


def test_when_it_is_back_everything_is_as_it_was(repo: Repo, muster: Run, cold: Callable[[], None]) -> None:
    cold()
    blob = repo.tip("HEAD:clusters/a/cluster.yaml")
    missing(repo, blob)
    assert muster("reconcile", "--repo", repo.path, "--now", LATER)[0] == exits.REPOSITORY
    repo.git("hash-object", "-w", "clusters/a/cluster.yaml")
    code, out, _ = muster("reconcile", "--repo", repo.path, "--now", LATER)
    assert (code in (exits.FINE, exits.FINDINGS), out.splitlines()[0]) == (True, "nothing to do")


@pytest.mark.parametrize("how", [missing, zeroed])
@pytest.mark.parametrize("what", ["", "^{tree}", ":lease.yaml"])
def test_an_agents_lost_word_is_not_silence(
    what: str, how: Callable[[Repo, str], None], repo: Repo, muster: Run, cold: Callable[[], None]
) -> None:
    """What was derived of its cluster stands until the lease runs out; the others are decided as ever."""
    cold()
    assert f'{AVAILABLE}"True"' in repo.show("derived/managedclusters/c.yaml")
    how(repo, repo.tip(f"refs/heads/agents/c{what}"))
    for at, stands in (("2026-01-01T00:00:30Z", True), ("2026-01-01T00:01:00Z", True), ("2026-01-01T01:00:00Z", False)):
        code, out, err = muster("reconcile", "--repo", repo.path, "--now", at)
        assert (code, "MUS133" in err) == (exits.FINDINGS, True), f"{out}{err}"
        assert (f'{AVAILABLE}"True"' in repo.show("derived/managedclusters/c.yaml")) == stands, out
    beat = {"lease.yaml": lease("c", "2026-01-01T00:59:50Z"), "observed.yaml": OBSERVED}
    repo.commit_to("refs/heads/agents/c", beat, date="2026-01-01T01:00:00Z")
    _, _, err = muster("reconcile", "--repo", repo.path, "--now", "2026-01-01T01:00:10Z")
    assert "MUS133" not in err
    assert f'{AVAILABLE}"True"' in repo.show("derived/managedclusters/c.yaml"), "it is heard again"


@pytest.mark.parametrize("lazy", ["blob:none", "tree:0"])
def test_a_partial_clone_fetches_what_it_lacks(lazy: str, repo: Repo, muster: Run, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    repo.git("clone", "--quiet", "--bare", f"--filter={lazy}", f"file://{repo.path}", str(tmp_path / "part"))
    code, out, err = muster("plan", "--repo", tmp_path / "part", "--now", LATER)
    assert (code in (exits.FINE, exits.FINDINGS), "cannot read" in err) == (True, False), f"{out}{err}"
    shutil.rmtree(tmp_path / "part")
    repo.git("clone", "--quiet", "--bare", f"--filter={lazy}", f"file://{repo.path}", str(tmp_path / "part"))
    away = repo.path.rename(tmp_path / "away")
    assert muster("plan", "--repo", tmp_path / "part", "--now", LATER, "--offline")[0] == exits.REPOSITORY
    away.rename(repo.path)
