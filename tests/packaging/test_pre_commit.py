"""The real pre-commit tool, with our hooks, on a real repository."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.features.pulses.test_walkthrough import cluster
from tests.support.forking import search_path
from tests.support.git import Repo, new_repository
from tests.support.pre_commit import commit, install

ROOT = Path(__file__).resolve().parents[2]

#: What `language: python` would install lies in this very environment already; only that differs from the shipped hook.
CONFIG = """\
repos:
- repo: {hooks}
  rev: {rev}
  hooks:
  - id: muster-validate
    language: system
"""

#: The same for the others, which a fleet has to ask for.
OTHERS = f"{CONFIG}  - id: muster-test\n    language: system\n  - id: muster-lint\n    language: system\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A fleet repository in which pre-commit is installed as the commit hook."""
    hooks = new_repository(tmp_path / "hooks")
    rev = hooks.commit({".pre-commit-hooks.yaml": (ROOT / ".pre-commit-hooks.yaml").read_text()})
    repo = new_repository(tmp_path / "fleet")
    repo = repo.with_environ(PATH=search_path(), PRE_COMMIT_HOME=str(tmp_path / "cache"))
    repo.commit(
        {
            ".pre-commit-config.yaml": CONFIG.format(hooks=hooks.path, rev=rev),
            "clusters/a/cluster.yaml": cluster("a"),
        }
    )
    assert shutil.which("pre-commit", path=repo.environ["PATH"])
    install(repo)
    return repo


def test_a_good_commit_passes(repo: Repo) -> None:
    repo.write("clusters/b/cluster.yaml", cluster("b"))
    done = commit(repo)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "clusters/b/cluster.yaml" in repo.paths()


def test_a_bad_commit_is_blocked_at_its_place(repo: Repo) -> None:
    tip = repo.tip()
    repo.write("clusters/b/cluster.yaml", cluster("b").replace("hubAcceptsClient", "hubAcceptClient"))
    done = commit(repo)
    assert done.returncode != 0
    assert "clusters/b/cluster.yaml:5:8: error MUS201" in done.stdout + done.stderr
    assert "hubAcceptsClient" in done.stdout + done.stderr
    assert repo.tip() == tip


def test_what_is_staged_counts_not_what_lies_in_the_work_tree(repo: Repo) -> None:
    repo.write("clusters/b/cluster.yaml", cluster("b"))
    repo.git("add", "--all")
    repo.write("clusters/b/cluster.yaml", "not: [yaml")
    done = subprocess.run(
        ["git", "commit", "-m", "change"], cwd=repo.path, env=repo.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_older_mistake_elsewhere_does_not_block_a_good_commit(repo: Repo) -> None:
    repo.write("clusters/b/cluster.yaml", cluster("b").replace("hubAcceptsClient", "hubAcceptClient"))
    repo.git("add", "--all")
    repo.git("commit", "--no-verify", "--quiet", "-m", "a mistake")
    repo.write("clusters/c/cluster.yaml", cluster("c"))
    done = commit(repo)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_commit_that_only_ignores_or_empties_is_looked_at(repo: Repo) -> None:
    """pre-commit names no file that matters here, so the hook asks git itself."""
    repo.write(".musterignore", "clusters/\n")
    done = commit(repo)
    assert done.returncode == 1
    assert "`.musterignore` names it now" in done.stdout + done.stderr
    repo.git("reset", "--quiet", "--hard")
    repo.write("clusters/a/cluster.yaml", "")
    done = commit(repo)
    assert done.returncode == 1
    assert "it is empty now" in done.stdout + done.stderr


def test_a_commit_that_touches_nothing_of_the_fleet_answers_for_nothing(repo: Repo) -> None:
    repo.write("clusters/a/cluster.yaml", "")
    repo.git("commit", "--quiet", "--all", "--no-verify", "--message", "a slip")
    repo.write("README.md", "Of what is broken elsewhere this commit is innocent.\n")
    assert commit(repo).returncode == 0


def test_the_other_hooks_test_policies_and_look_for_what_is_hardly_meant(repo: Repo) -> None:
    page = (ROOT / "docs/policy-tests.md").read_text()
    files = dict(re.findall(r"^```yaml file=(\S+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    config = repo.path / ".pre-commit-config.yaml"
    config.write_text(
        OTHERS.format(hooks=repo.path.parent / "hooks", rev=re.findall(r"rev: (\S+)", config.read_text())[0])
    )
    for name in ("policies/disks.yaml", "policies/disks.test.yaml"):
        repo.write(name, files[name])
    done = commit(repo)
    assert done.returncode == 0, done.stdout + done.stderr
    repo.write("policies/disks.yaml", files["policies/disks.yaml"].replace("reason: Silent", "reason: Quiet"))
    repo.write(
        "policies/again.yaml",
        files["policies/disks.yaml"]
        .replace("{name: disks}", "{name: nobody}")
        .replace("{kind: ManagedCluster}", "{kind: ManagedCluster, selector: {matchLabels: {region: nowhere}}}")
        .replace("type: DisksHealthy", "type: NobodysHealthy"),
    )
    done = commit(repo)
    assert done.returncode == 1
    assert re.search(r"muster validate\.+Passed\n.*muster test\.+Failed\n.*muster lint\.+Failed", done.stderr, re.S), (
        done.stderr
    )
