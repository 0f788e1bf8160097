"""One fleet through a few minutes of its life, with real git: what is committed, and what never is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from muster import commandline as cli
from muster.cli import exits
from tests.support.git import Repo, new_repository

Muster = Callable[..., tuple[int, str, str]]


def cluster(name: str, *, accepts: bool = True) -> str:
    return (
        "# a person's comment\n"
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        f"metadata: {{name: {name}}}\nspec: {{hubAcceptsClient: {str(accepts).lower()}}}\n"
    )


def lease(name: str, renewed: str) -> str:
    return (
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\n"
        f"metadata: {{name: managed-cluster-lease, namespace: {name}}}\nspec: {{renewTime: '{renewed}'}}\n"
    )


def observed(name: str) -> str:
    return (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        f"metadata: {{name: {name}}}\n"
        "status:\n  conditions:\n  - {type: ManagedClusterConditionAvailable, status: 'True', reason: Ok, message: ok,"
        " lastTransitionTime: '2026-01-01T00:00:00Z'}\n"
    )


def fleet(path: Path, **renewed: str) -> Repo:
    repo = new_repository(path)
    files: dict[str, str | bytes | None] = {}
    for name, time in renewed.items():
        files |= {
            f"clusters/{name}/cluster.yaml": cluster(name),
            f"clusters/{name}/lease.yaml": lease(name, time),
            f"clusters/{name}/observed.yaml": observed(name),
        }
    repo.commit(files)
    return repo


@pytest.fixture
def muster(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Muster:
    def run(repo: Repo, *arguments: str) -> tuple[int, str, str]:
        for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in repo.environ.items():
            monkeypatch.setenv(name, value)
        code = cli.run([arguments[0], "--repo", str(repo.path), *arguments[1:]])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def available(repo: Repo, name: str) -> tuple[str, bool]:
    """The condition's status and whether the unreachable taint is there, from the committed derived file."""
    text = repo.show(f"derived/managedclusters/{name}.yaml")
    section = text.split("- type: ManagedClusterConditionAvailable\n")[1]
    return section.split("status: ")[1].split("\n")[0].strip('"'), "unreachable" in text


def test_leases_run_out_and_come_back(tmp_path: Path, muster: Muster) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z", b="2026-01-01T00:04:00Z", c="2026-01-01T00:05:00Z")
    assert muster(repo, "reconcile", "--now", "2026-01-01T00:00:30Z")[0] == 0
    first = repo.tip()
    assert repo.git("log", "-1", "--format=%s") == "a, b and c available"

    code, out, _ = muster(repo, "reconcile", "--now", "2026-01-01T00:00:30Z")
    assert (code, out, repo.tip()) == (0, "nothing to do\n", first)

    assert muster(repo, "reconcile", "--now", "2026-01-01T00:06:30Z")[0] == 0
    assert repo.git("rev-list", "--count", f"{first}..HEAD") == "1"
    assert repo.git("diff", "--name-only", "HEAD~1").splitlines() == ["derived/managedclusters/a.yaml"]
    message = repo.git("log", "-1", "--format=%B")
    assert message.splitlines()[0] == "a Unknown"
    assert "ManagedCluster/a: condition ManagedClusterConditionAvailable True -> Unknown" in message
    assert "Muster-Now: 2026-01-01T00:06:30Z" in message
    assert f"Muster-Source: {first}" in message
    assert available(repo, "a") == ("Unknown", True)
    assert available(repo, "b") == ("True", False)

    repo.commit({"clusters/a/lease.yaml": lease("a", "2026-01-01T00:06:50Z")})
    assert muster(repo, "reconcile", "--now", "2026-01-01T00:07:00Z")[0] == 0
    assert repo.git("log", "-1", "--format=%s") == "a available"
    assert available(repo, "a") == ("True", False)
    assert repo.status() == []
    assert repo.git("fsck", "--strict") == ""


def test_a_persons_edits_stay_as_they_are(tmp_path: Path, muster: Muster) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    repo.write("clusters/a/cluster.yaml", cluster("a") + "# staged\n")
    repo.git("add", "clusters/a/cluster.yaml")
    repo.write("clusters/a/cluster.yaml", cluster("a") + "# staged\n# and more, not staged\n")
    repo.write("notes.txt", "untracked")
    before = repo.git("diff"), repo.git("diff", "--cached"), repo.status()
    assert muster(repo, "reconcile", "--now", "2026-01-01T00:00:30Z")[0] == 0
    assert (repo.git("diff"), repo.git("diff", "--cached"), repo.status()) == before
    assert (repo.path / "derived/managedclusters/a.yaml").is_file()


def test_an_edited_derived_file_makes_it_refuse(tmp_path: Path, muster: Muster) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    muster(repo, "reconcile", "--now", "2026-01-01T00:00:30Z")
    tip, name = repo.tip(), "derived/managedclusters/a.yaml"
    edited = (repo.path / name).read_text() + "# mine\n"
    repo.write(name, edited)
    code, _, err = muster(repo, "reconcile", "--now", "2026-01-01T00:06:00Z")
    assert code == exits.REPOSITORY
    assert name in err
    assert repo.tip() == tip
    assert (repo.path / name).read_text() == edited
    assert repo.status() == [f" M {name}"]


def test_two_clones_derive_the_same_tree(tmp_path: Path, muster: Muster) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z", b="2025-01-01T00:00:00Z")
    trees = set()
    for name in ("one", "two"):
        repo.git("clone", "--quiet", str(repo.path), str(tmp_path / name))
        clone = Repo(tmp_path / name, repo.environ)
        assert muster(clone, "reconcile", "--now", "2026-01-01T00:00:30Z")[0] == 0
        trees.add(clone.tip("HEAD^{tree}"))
    assert len(trees) == 1


def test_a_bare_repository_is_reconciled_too(tmp_path: Path, muster: Muster) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(tmp_path / "bare.git"))
    bare = Repo(tmp_path / "bare.git", repo.environ)
    assert muster(bare, "reconcile", "--now", "2026-01-01T00:00:30Z")[0] == 0
    assert "derived/managedclusters/a.yaml" in bare.paths()


def test_the_rest_of_the_fleet_is_committed_when_a_file_is_broken(tmp_path: Path, muster: Muster) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z", b="2026-01-01T00:00:00Z")
    muster(repo, "reconcile", "--now", "2026-01-01T00:00:30Z")
    repo.commit({"clusters/a/cluster.yaml": cluster("a").replace("spec: {", "spec: {{")})
    code, out, err = muster(repo, "reconcile", "--now", "2026-01-01T00:06:00Z")
    assert code == exits.FINDINGS
    assert "MUS001" in err
    assert "clusters/a/cluster.yaml:5" in err
    assert "ManagedCluster/b" in out
    assert available(repo, "a") == ("Unknown", False), "no typo hides silence; its effects wait for the file"
    assert available(repo, "b") == ("Unknown", True)
