"""What muster writes it reads and rests on: shards, names, ignore files and damage, through the command line."""

from pathlib import Path

import pytest

from tests.features.pulses.test_walkthrough import cluster, fleet
from tests.support.commandline import Run, muster
from tests.support.git import Repo, new_repository

__all__ = ["muster"]  # a fixture
NOW = ("--now", "2026-01-01T00:00:00Z")


def reconciled(muster: Run, repo: Repo) -> str:
    """Reconcile; what was done must stand: the second time nothing is left to do, in the work tree neither."""
    code, out, err = muster("reconcile", "--repo", repo.path, *NOW)
    assert code == 0, err
    assert muster("reconcile", "--repo", repo.path, *NOW)[1] == "nothing to do\n"
    assert muster("plan", "--worktree", "--exit-code", "--repo", repo.path, *NOW)[0] == 0
    return out


def sharded(number: int) -> str:
    return (
        "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\n"
        f"spec: {{derived: {{shards: {number}}}}}\n"
    )


def test_shards_switch_in_one_commit_of_renames(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({f"clusters/{name[:9]}.yaml": cluster(name) for name in ("a", "b", "prod-eu-1", "x" * 253)})
    reconciled(muster, repo)
    derived = [path for path in repo.paths() if path.startswith("derived/managedclusters/")]
    for number, digits in ((4096, 3), (16, 1), (256, 2), (1, 0)):
        before = repo.commit({"fleet.yaml": sharded(number)})
        told = reconciled(muster, repo).splitlines()[1:]
        assert [line for line in told if not line.startswith("  Fleet/")] == []  # it keeps the settings on record
        changed = repo.git("diff", "--name-status", "-M100%", before, "HEAD", "--", ":!derived/fleets").splitlines()
        assert {line[:4] for line in changed} == {"R100"}
        now = [path for path in repo.paths() if path.startswith("derived/managedclusters/")]
        assert sorted(path.rpartition("/")[2] for path in now) == sorted(path.rpartition("/")[2] for path in derived)
        assert {len(path.split("/")[2]) if path.count("/") == 3 else 0 for path in now} == {digits}


def test_a_number_of_shards_that_is_none_is_refused(tmp_path: Path, muster: Run) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    repo.commit({"fleet.yaml": sharded(64)})
    code, out, _ = muster("validate", "--repo", repo.path)
    assert code == 1
    assert "fleet.yaml:4:18: error MUS203: spec.derived.shards cannot be 64" in out
    assert "one of: 1, 16, 256, 4096" in out


@pytest.mark.parametrize("name", ["a" * 250, "a" * 251, "a" * 253, "con", "nul.eu", "com1"])
def test_every_valid_name_is_derived(tmp_path: Path, muster: Run, name: str) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": cluster(name)})
    reconciled(muster, repo)
    assert len([path for path in repo.paths() if path.startswith("derived/managedclusters/")]) == 1
    assert repo.status() == []
    repo.commit({"a.yaml": None, "b.yaml": cluster("b")})
    reconciled(muster, repo)
    assert [path for path in repo.paths() if path.startswith("derived/")] == [
        "derived/leases/b/managed-cluster-lease.yaml",
        "derived/managedclusters/b.yaml",
    ]


@pytest.mark.parametrize("patterns", ["derived/\n", "*.yaml\n!clusters/**\n", "derived/**/*.yaml\n"])
def test_an_ignore_file_does_not_hide_what_muster_wrote(tmp_path: Path, muster: Run, patterns: str) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    repo.commit({".musterignore": patterns})
    reconciled(muster, repo)
    assert "derived/managedclusters/a.yaml" in repo.paths()


DAMAGE = {
    "too large": "# " + "x" * (1 << 20) + "\n",
    "no YAML": "a: [\n",
    "not text": b"\xff\xfe\0",
    "carriage returns": None,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_under_derived_is_written_anew(tmp_path: Path, muster: Run, damage: str) -> None:
    path = "derived/managedclusters/a.yaml"
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    reconciled(muster, repo)
    whole = repo.show(path)
    content = DAMAGE[damage] or whole.replace("\n", "\r\n")
    repo.commit({path: content, "derived/managedclusters/left.yaml": content})
    code, _, err = muster("reconcile", "--repo", repo.path, *NOW)
    assert code == 0
    assert ("MUS501" in err) == (damage != "carriage returns")
    assert repo.show(path) == whole
    assert "derived/managedclusters/left.yaml" not in repo.paths()
    assert muster("reconcile", "--repo", repo.path, *NOW)[1] == "nothing to do\n"


def test_a_link_under_derived_gives_way(tmp_path: Path, muster: Run) -> None:
    path = "derived/managedclusters/a.yaml"
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    (repo.path / path).parent.mkdir(parents=True)
    (repo.path / path).symlink_to("/etc/passwd")
    (repo.path / "derived/leases").symlink_to("/tmp")
    repo.commit()
    assert "MUS501" in muster("reconcile", "--repo", repo.path, *NOW)[2]
    assert not (repo.path / path).is_symlink()
    assert "kind: ManagedCluster" in (repo.path / path).read_text()
    assert muster("reconcile", "--repo", repo.path, *NOW)[1] == "nothing to do\n"


def report(data: str, time: str = "00:00:00") -> str:
    return (
        "apiVersion: muster.dev/v1alpha1\nkind: AdapterReport\nmetadata: {name: dns, namespace: a}\n"
        "spec: {resource: {kind: ManagedCluster, name: a}, adapter: dns, observed_generation: 1, "
        f'observed_time: "2026-01-01T{time}Z", data: {{x: {data}}},\n'
        "  conditions: [{type: Applied, status: 'True'}, {type: Available, status: 'True'},"
        " {type: Health, status: 'True'}]}\n"
    )


@pytest.mark.parametrize("depth", [1, 30, 58])
def test_a_large_deep_report_is_remembered_at_its_own_size(tmp_path: Path, muster: Run, depth: int) -> None:
    data = "[" * depth + ",".join("1" for _ in range(20_000)) + "]" * depth
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    repo.commit_to("refs/heads/agents/a", {"reports/dns.yaml": report(data)})
    reconciled(muster, repo)
    assert len(repo.show("derived/adapterreports/a/dns.yaml")) < 2 * len(data)


TOO_MUCH = {
    "bytes": "'" + "é" * ((1 << 19) - 300) + "'",
    "values": "[" + "1," * 199_970 + "1]",
    "depth": "[" * 61 + "]" * 61,
}


@pytest.mark.parametrize("sort", TOO_MUCH)
def test_a_report_that_cannot_be_remembered_counts_as_not_sent(tmp_path: Path, muster: Run, sort: str) -> None:
    path = "derived/adapterreports/a/dns.yaml"
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    repo.commit_to("refs/heads/agents/a", {"reports/dns.yaml": report("1")})
    reconciled(muster, repo)
    remembered = repo.show(path)
    repo.commit_to("refs/heads/agents/a", {"reports/dns.yaml": report(TOO_MUCH[sort], "00:00:01")})
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", "2026-01-01T00:00:02Z")
    assert (code, out) == (0, "nothing to do\n"), err
    assert "agents/a:reports/dns.yaml:1:1: warning MUS520: what is derived of AdapterReport/a/dns" in err
    assert repo.show(path) == remembered
    repo.commit_to("refs/heads/agents/a", {})
    repo.commit({"dns.yaml": report(TOO_MUCH[sort], "00:00:03")})
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", "2026-01-01T00:00:04Z")
    assert (code, out) == (1, "nothing to do\n")
    assert "dns.yaml:1:1: error MUS520" in err
