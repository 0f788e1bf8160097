"""`muster init`: the hook runs at once; a CI job fails until a person says where it installs muster from."""

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.features.pulses.test_walkthrough import cluster
from tests.support.commandline import Run
from tests.support.forking import search_path
from tests.support.git import Repo, new_repository
from tests.support.pre_commit import commit, install
from tests.support.release import ROOT

SKELETON = ROOT / "engine/muster/features/init/skeleton"
JOBS = (".github/workflows/comment.yaml", ".github/workflows/plan.yaml", ".github/workflows/reconcile.yaml")


@pytest.fixture(name="fleet")
def _fleet(tmp_path: Path, muster: Run) -> Repo:
    """A repository in which `muster init` ran, with pre-commit as the commit hook."""
    repo = new_repository(tmp_path / "fleet").with_environ(
        PATH=search_path(), PRE_COMMIT_HOME=str(tmp_path / "cache"), HOME=str(tmp_path)
    )
    assert muster("init", repo.path)[0] == 0
    install(repo)
    return repo


def test_the_hook_checks_what_is_committed(fleet: Repo) -> None:
    done = commit(fleet)
    assert done.returncode == 0, done.stdout + done.stderr
    fleet.write("clusters/b/cluster.yaml", cluster("b").replace("hubAcceptsClient: true", "hubAcceptsClient: 3"))
    done = commit(fleet)
    assert done.returncode == 1
    assert "clusters/b/cluster.yaml" in done.stdout + done.stderr


def test_a_job_installs_nothing_before_it_is_filled_in(tmp_path: Path, muster: Run) -> None:
    status, said, _ = muster("init", tmp_path / "fleet")
    assert status == 0
    named = said.partition("FILL IN: ")[2].partition(".\n")[0].split(", ")
    assert [place.rpartition(":")[0] for place in named] == [*JOBS, ".gitlab-ci.yml"]
    for place in named:
        name, _, line = place.rpartition(":")
        marked = (tmp_path / "fleet" / name).read_text().split("\n")[int(line) - 1]
        (step,) = yaml.safe_load(marked)
        script = step if isinstance(step, str) else step["run"]
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert "where to install muster from" in done.stderr


def test_what_exists_is_kept_and_not_to_be_filled_in(tmp_path: Path, muster: Run) -> None:
    for name in (*JOBS, ".gitlab-ci.yml"):
        (tmp_path / "fleet" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fleet" / name).write_text("{}\n")
    status, said, _ = muster("init", tmp_path / "fleet")
    assert status == 0
    assert (tmp_path / "fleet" / JOBS[0]).read_text() == "{}\n"
    assert f"kept    {JOBS[0]} (exists)" in said
    assert "FILL IN" not in said


@pytest.mark.parametrize("name", [".pre-commit-config.yaml", ".gitlab-ci.yml", *JOBS])
def test_the_example_fleet_has_the_same_files(name: str) -> None:
    assert (ROOT / "fleet-repo-example" / name).read_bytes() == (SKELETON / name).read_bytes()


def test_the_hook_is_the_one_that_muster_ships() -> None:
    (shipped, *_) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (own,) = yaml.safe_load((SKELETON / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert own == {name: "system" if name == "language" else shipped[name] for name in own}


def test_nothing_in_the_project_installs_by_a_name_of_an_index() -> None:
    """Whatever is shown or laid down names a place: `pip install muster` is somebody else's package."""
    folders = ("engine", "docs", "fleet-repo-example", "policies")
    texts = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    for path in (*texts, ROOT / "README.md", ROOT / "CHANGELOG.md"):
        if path.is_file() and path.suffix in (".py", ".md", ".yaml", ".yml"):
            text = path.read_text(encoding="utf-8")
            assert "pip install muster" not in text, path
            assert "muster-dev" not in text, path
            assert "pip install 'muster[" not in text, path
