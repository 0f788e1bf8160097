"""A slip removes nothing of what was committed after the last run that had something to commit.

A policy, a budget, a Remedy for a condition that nobody has: nothing follows from them here, so the runs that see them
say "nothing to do", and no commit of a run has them in its tree. Of a cluster always something follows: no run saw it.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.features.reconcile.test_vanished import FOREIGN, REMEDY, TAINTS, cluster
from tests.support.commandline import Make, Run
from tests.support.git import Repo, new_repository

NOW = "2026-01-01T00:00:00Z"
MUSTER = "apiVersion: muster.dev/v1alpha1\n"
IDLE: Mapping[str, tuple[str, str]] = {
    "a policy": ("TaintPolicy/managed-cluster-builtin-taints", TAINTS.replace("DnsReady", "Never")),
    "a budget": (
        "DisruptionBudget/default",
        f"{MUSTER}kind: DisruptionBudget\nmetadata: {{name: default}}\nspec: {{maxDisrupted: 90%}}\n",
    ),
    "a Remedy": ("Remedy/later", REMEDY.replace("dns-down", "later").replace("DnsReady", "Never")),
    "a cluster": (
        "Cluster/k",
        "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: k}\nspec: {syncMode: Pull}\n",
    ),
}
SPOILED: Mapping[str, Callable[[str], str]] = {
    "emptied": lambda _: "",
    "a misspelt kind": lambda text: text.replace("\nkind: ", "\nkind: X", 1),
    "another program's object": lambda _: FOREIGN,
    "not YAML": lambda text: text.replace("metadata: {", "metadata: {{", 1),
    "truncated": lambda text: text[:27],
    "encrypted": lambda _: "\0GITCRYPT\0...\n",
    "too large": lambda text: text + "# x\n" * 300_000,
}
FILE = "later.yaml"


def idle(repo: Repo, muster: Run, files: Mapping[str, str | None]) -> None:
    """Commit what a run then has nothing to commit for."""
    tip = repo.commit(dict(files))
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, out.splitlines()[0], repo.tip()) == (0, "nothing to do", tip), f"{out}{err}"


@pytest.fixture
def repo(tmp_path: Path, muster: Run, once: Callable[[Path, Make], Repo]) -> Repo:
    def make(path: Path) -> Repo:
        repo = new_repository(path)
        repo.commit({"a.yaml": cluster("a"), "dns.yaml": REMEDY})
        assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
        return repo

    return once(tmp_path / "fleet", make)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", IDLE)
@pytest.mark.parametrize("spoiled", SPOILED)
def test_it_is_an_error_wherever_one_looks(kind: str, spoiled: str, repo: Repo, muster: Run, tmp_path: Path) -> None:
    _, text = IDLE[kind]
    repo.commit({FILE: text})
    if kind != "a cluster":
        idle(repo, muster, {})
    repo.write(FILE, SPOILED[spoiled](text))
    code, out, _ = muster("validate", "--repo", repo.path)
    assert (code, FILE in out) == (1, True), f"the work tree: {out}"
    repo.git("add", "--all")
    code, out, _ = muster("validate", "--staged", "--touched", "--repo", repo.path)
    assert (code, FILE in out) == (1, True), f"the hook: {out}"
    repo.commit({})
    bare = tmp_path / "bare.git"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(bare))
    for place in (repo.path, bare):
        code, out, err = muster("reconcile", "--repo", place, "--now", NOW)
        assert (code, out.splitlines()[0], FILE in err) == (1, "nothing to do", True), f"{place}: {out}{err}"
    repo.commit({"README.md": "More.\n"})
    code, out, _ = muster("validate", "--repo", repo.path)
    assert (code, FILE in out) == (1, True), f"the work tree, committed: {out}"


@pytest.mark.parametrize("kind", IDLE)
def test_the_error_says_what_the_file_held(kind: str, repo: Repo, muster: Run) -> None:
    id_, text = IDLE[kind]
    repo.commit({FILE: text})
    repo.commit({FILE: ""})
    assert f"held {id_}, and it is empty now" in muster("validate", "--repo", repo.path)[1]


@pytest.mark.parametrize("spoiled", SPOILED)
def test_the_built_in_policy_does_not_come_back(spoiled: str, repo: Repo, muster: Run) -> None:
    """It would taint a cluster that nobody has accepted; that is seen, and committed, run after run."""
    _, text = IDLE["a policy"]
    idle(repo, muster, {FILE: text})
    repo.commit({FILE: SPOILED[spoiled](text)})
    for name in ("b", "c"):
        repo.commit({f"{name}.yaml": cluster(name).replace("Client: true", "Client: false")})
        code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
        assert (code, f"ManagedCluster/{name}: " in out, "taint" in out) == (1, True, False), f"{out}{err}"
    repo.commit({FILE: None})
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, "ManagedCluster/b: taint" in out, "ManagedCluster/c: taint" in out) == (0, True, True), err


@pytest.mark.parametrize("kind", IDLE)
@pytest.mark.parametrize(
    "left",
    [
        pytest.param(None, id="the file"),
        pytest.param(
            f"{MUSTER}kind: TaintPolicy\nmetadata: {{name: other}}\n"
            "spec: {target: {kind: ManagedCluster}, "
            "taints: [{key: k, effect: NoSelect, when: 'false'}]}\n",
            id="the document",
        ),
    ],
)
def test_what_is_deleted_is_removed(kind: str, left: str | None, repo: Repo, muster: Run) -> None:
    _, text = IDLE[kind]
    both = text if left is None else f"{text}---\n{left}"
    repo.commit({FILE: both})
    if kind != "a cluster":
        idle(repo, muster, {})
    idle(repo, muster, {FILE: left})
    code, out, _ = muster("validate", "--repo", repo.path)
    assert (code, "error" in out) == (0, False), out
    if left is not None:
        repo.commit({FILE: ""})
        out = muster("validate", "--repo", repo.path)[1]
        assert "held TaintPolicy/other, and" in out


def test_what_was_moved_is_not_missed(repo: Repo, muster: Run) -> None:
    _, text = IDLE["a policy"]
    idle(repo, muster, {FILE: text})
    idle(repo, muster, {FILE: "", "elsewhere.yaml": text})


def test_a_file_that_was_empty_at_the_last_run_too(repo: Repo, muster: Run) -> None:
    id_, text = IDLE["a policy"]
    repo.commit({FILE: "", "b.yaml": cluster("b")})
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    idle(repo, muster, {FILE: text})
    repo.commit({FILE: ""})
    code, out, _ = muster("validate", "--repo", repo.path)
    assert (code, f"held {id_}" in out) == (1, True), out


def test_a_slip_that_is_followed_by_another(repo: Repo, muster: Run) -> None:
    id_, text = IDLE["a policy"]
    idle(repo, muster, {FILE: text})
    repo.commit({FILE: FOREIGN})
    repo.commit({FILE: text[:27]})
    repo.commit({FILE: ""})
    code, out, _ = muster("validate", "--repo", repo.path)
    assert (code, f"held {id_}" in out) == (1, True), out


def test_what_is_ignored_from_then_on(repo: Repo, muster: Run) -> None:
    id_, text = IDLE["a policy"]
    idle(repo, muster, {FILE: text})
    repo.commit({".musterignore": f"{FILE}\n"})
    code, out, _ = muster("validate", "--repo", repo.path)
    assert (code, f"held {id_}" in out) == (1, True), out


def test_what_was_ignored_all_the_time_is_none_of_the_fleets(repo: Repo, muster: Run) -> None:
    _, text = IDLE["a policy"]
    idle(repo, muster, {".musterignore": "samples/\n", "samples/a.yaml": text})
    idle(repo, muster, {"samples/a.yaml": text + "# more\n"})
    idle(repo, muster, {".musterignore": None, "samples/a.yaml": ""})


def test_a_link_in_the_place_of_a_folder(repo: Repo, muster: Run) -> None:
    id_, text = IDLE["a policy"]
    idle(repo, muster, {"policies/taints.yaml": text})
    shutil.move(repo.path / "policies", repo.path / ".elsewhere")
    (repo.path / "policies").symlink_to(".elsewhere")
    repo.git("add", "--all")
    repo.commit({})
    code, out, _ = muster("validate", "--repo", repo.path)
    assert (code, f"held {id_}" in out) == (1, True), out


def test_moved_into_a_file_that_names_nothing(repo: Repo, muster: Run) -> None:
    _, text = IDLE["a policy"]
    idle(repo, muster, {FILE: text})
    newcomer = cluster("b").replace("Client: true", "Client: false")
    repo.commit({FILE: None, "moved.yaml": "\0GITCRYPT\0...\n", "b.yaml": newcomer})
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, "ManagedCluster/b: " in out, "taint" in out) == (1, True, False), f"{out}{err}"


def test_in_a_shallow_clone_what_history_there_is_counts(repo: Repo, muster: Run, tmp_path: Path) -> None:
    id_, text = IDLE["a policy"]
    idle(repo, muster, {FILE: text})
    repo.commit({FILE: ""})
    shallow = tmp_path / "shallow"
    repo.git("clone", "--quiet", "--depth", "2", f"file://{repo.path}", str(shallow))
    code, out, _ = muster("validate", "--repo", shallow)
    assert (code, f"held {id_}" in out) == (1, True), out


def test_what_came_by_a_merge(repo: Repo, muster: Run) -> None:
    id_, text = IDLE["a policy"]
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit({FILE: text})
    repo.git("checkout", "--quiet", "-")
    repo.commit({"README.md": "More.\n"})
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", "topic")
    repo.commit({FILE: ""})
    code, out, _ = muster("validate", "--repo", repo.path)
    assert (code, f"held {id_}" in out) == (1, True), out
