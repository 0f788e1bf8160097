"""Completion as shells ask for it: bash itself, with the script that it is given, in a fleet of ten thousand."""

import resource
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from muster import commandline as cli
from tests.support.forking import muster_command, search_path
from tests.support.git import Repo, new_repository

SIZE = 10_000
REMEDY = """\
# a comment
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: dns-down}
spec: {}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata:
  labels: {a: b}
  name: web
  namespace: shop
"""
POOLS = """\
apiVersion: hive.openshift.io/v1
kind: ClusterPool
metadata: {name: small, namespace: pools}
---
apiVersion: hive.openshift.io/v1
kind: ClusterClaim
metadata: {name: mine, namespace: pools}
"""
_BASH = """
eval "$(_MUSTER_COMPLETE=bash_source muster)"
complete -p muster
COMP_WORDS=({words}) COMP_CWORD={at}
_muster_completion muster
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A fleet with ten thousand clusters of which something is derived, made without writing a file for each."""
    made = new_repository(tmp_path_factory.mktemp("completion") / "fleet")
    made.commit(
        {
            "remedies.yaml": REMEDY,
            "pools.yaml": POOLS,
            "clusters/x/cluster.yaml": "kind: ManagedCluster\nmetadata: {name: x}\n",
        }
    )
    blob = made.git("rev-parse", "HEAD:remedies.yaml").strip()
    lines = "".join(f"100644 {blob}\tderived/managedclusters/{n % 256:02x}/c-{n:05}.yaml\n" for n in range(SIZE))
    subprocess.run(
        ["git", "update-index", "--add", "--index-info"],
        cwd=made.path,
        env=made.environ,
        input=lines,
        text=True,
        check=True,
    )
    made.git("commit", "--quiet", "-m", "many")
    return made


def asked(repo: Repo, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    script = _BASH.format(words=" ".join(f"'{word}'" for word in ("muster", *words)), at=len(words))
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=repo.path,
        env={**repo.environ, "PATH": search_path()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    registered, *offered = done.stdout.splitlines()
    assert "-F _muster_completion" in registered
    return list(filter(None, offered))


def test_bash_offers_names_of_the_fleet(repo: Repo) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert asked(repo, "get", "cluster", "c-0123") == [f"c-0123{n}" for n in range(10)]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3, "two processes, no evaluation"
    assert len(asked(repo, "get", "mcl", "c-09")) == SIZE // 10
    assert asked(repo, "describe", "remedy/d") == ["remedy/dns-down"]
    assert asked(repo, "explain", "placement/") == ["placement/shop/web"]
    assert "managedclusters" in asked(repo, "get", "man")
    assert asked(repo, "get", "nonsense", "a") == []
    assert asked(repo, "hist") == ["history"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["get", "placement", "-n", "s"], ["shop"]),
        (["get", "clusters", "-n", ""], []),
        (["release", "m"], ["mine"]),
        (["claim", "x", "--pool", ""], ["small"]),
        (["waive", "mus20"], ["MUS201", "MUS202"]),
        (["waive", "MUS201", "remedy/"], ["remedy/dns-down"]),
    ],
    ids=" ".join,
)
def test_values_are_offered_where_only_some_do(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, words: list[str], offered: list[str]
) -> None:
    monkeypatch.chdir(repo.path)
    asking = ShellComplete(cli.cli, {}, "muster", "_MUSTER_COMPLETE")
    found = [one.value for one in asking.get_completions(words[:-1], words[-1])]
    assert found[: len(offered)] == offered
    assert bool(found) == bool(offered)


def spoken(folder: Path, environ: Mapping[str, str], **asked: str) -> str:
    """What a process says to a shell."""
    return subprocess.run(
        muster_command(environ),
        cwd=folder,
        env={**environ, **asked},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("zsh", {"COMP_WORDS": "muster get cluster c-01234", "COMP_CWORD": "3"}),
        ("fish", {"COMP_WORDS": "muster get cluster c-01234", "COMP_CWORD": "c-01234"}),
    ],
)
def test_what_other_shells_ask(repo: Repo, shell: str, words: Mapping[str, str]) -> None:
    script = spoken(repo.path, repo.environ, _MUSTER_COMPLETE=f"{shell}_source")
    assert "_muster_completion" in script
    assert "c-01234" in spoken(repo.path, repo.environ, _MUSTER_COMPLETE=f"{shell}_complete", **words)
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_outside_of_a_fleet_nothing_is_offered(tmp_path: Path, repo: Repo) -> None:
    words = {"COMP_WORDS": "muster get cluster ", "COMP_CWORD": "3"}
    assert spoken(tmp_path, repo.environ, _MUSTER_COMPLETE="bash_complete", **words).strip() == ""
