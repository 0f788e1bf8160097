"""Nobody else's code: what `muster init` lays down installs muster from where this one came from, or says so.

The real wheel and a real git repository are installed by the real pip, offline; what is stated in a table is what pip
would have written for places that no test can reach.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from muster.data.tree import Tree
from muster.features.init.origin import (
    MARK,
    InstallOrigin,
    filled,
    hook_lines,
    marked,
    origin_of,
    public_url,
    script_lines,
    workflow_lines,
)
from tests.support.git import Repo, git_environ
from tests.support.release import ROOT

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "ab" * 32


def installed(requirement: str, target: Path) -> Path:
    """Install with pip into a folder of its own, and return that."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
               "--no-compile", "--disable-pip-version-check", "--target", str(target), requirement]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=target.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def running(target: Path, tmp_path: Path) -> dict[str, str]:
    """The environment in which the muster that is installed there runs."""
    return git_environ(tmp_path, PYTHONPATH=str(target))


def init(tmp_path: Path, environ: Mapping[str, str]) -> tuple[str, str, Tree]:
    """Run `python -m muster init`; return what it said, the step that installs muster, and the hook's repository."""
    fleet = tmp_path / "fleet"
    done = subprocess.run(
        [sys.executable, "-m", "muster", "init", str(fleet)],
        env=environ, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, step(fleet), hook(fleet)


def step(fleet: Path) -> str:
    workflow = yaml.safe_load((fleet / ".github/workflows/reconcile.yaml").read_text())
    found: str = workflow["jobs"]["reconcile"]["steps"][2]["run"]
    return found


def hook(fleet: Path) -> Tree:
    (entry,) = yaml.safe_load((fleet / ".pre-commit-config.yaml").read_text())["repos"]
    return entry


def valid(fleet: Path, environ: Mapping[str, str]) -> bool:
    command = [sys.executable, "-m", "pre_commit", "validate-config", ".pre-commit-config.yaml"]
    return subprocess.run(command, cwd=fleet, env=environ, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def from_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where muster is installed from the wheel."""
    return installed(str(wheel), tmp_path_factory.mktemp("wheel") / "target")


@pytest.fixture(scope="module")
def from_checkout(source: Repo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where muster is installed from a checkout."""
    return installed(str(source.path), tmp_path_factory.mktemp("checkout") / "target")


def test_from_a_wheel_on_this_machine_the_job_is_to_be_filled_in(wheel: Path, from_wheel: Path, tmp_path: Path) -> None:
    environ = running(from_wheel, tmp_path)
    said, run, entry = init(tmp_path, environ)
    assert "this one was installed from a file on this machine." in said
    jobs = [f".github/workflows/{name}" for name in ("comment.yaml:26", "plan.yaml:25", "reconcile.yaml:29")]
    assert f"in the lines marked FILL IN: {', '.join(jobs)}, .gitlab-ci.yml:23." in said
    assert "exit 1" in run
    digest = sha256(wheel.read_bytes()).hexdigest()
    assert f"sha256 {digest}" in (tmp_path / "fleet/.github/workflows/reconcile.yaml").read_text()
    assert entry["hooks"][0]["additional_dependencies"] == [f"muster-fleet @ {wheel.as_uri()}#sha256={digest}"]
    assert valid(tmp_path / "fleet", environ)


def test_from_a_git_repository_on_this_machine_the_commit_is_known(source: Repo, tmp_path: Path) -> None:
    environ = running(installed(f"git+file://{source.path}", tmp_path / "target"), tmp_path)
    said, run, entry = init(tmp_path, environ)
    assert "a repository on this machine." in said
    assert "exit 1" in run
    assert f"(commit {source.tip()})" in (tmp_path / "fleet/.github/workflows/reconcile.yaml").read_text()
    assert (entry["repo"], entry["rev"]) == (str(source.path), source.tip())
    assert valid(tmp_path / "fleet", environ)


def test_from_a_checkout_its_remote_serves_if_it_has_the_commit(
    source: Repo, from_checkout: Path, tmp_path: Path
) -> None:
    environ = running(from_checkout, tmp_path)
    source.git("remote", "add", "origin", "https://ada:hunter2@git.example.com/team/muster.git")
    try:
        said, run, entry = init(tmp_path, environ)
        assert "a repository on this machine." in said  # as far as the checkout knows, the commit was never pushed
        shutil.rmtree(tmp_path / "fleet")
        source.git("update-ref", "refs/remotes/origin/main", "HEAD")
        said, run, entry = init(tmp_path, environ)
    finally:
        source.git("remote", "remove", "origin")
    assert MARK not in said
    url = "https://git.example.com/team/muster.git"
    assert run == f"pip install 'muster-fleet @ git+{url}@{source.tip()}'"
    assert (entry["repo"], entry["rev"]) == (url, source.tip())
    assert not any("hunter2" in path.read_text() for path in (tmp_path / "fleet").rglob("*") if path.is_file())


@pytest.mark.parametrize("change", ["dirty", "other code"])
def test_a_checkout_that_went_on_is_no_source(source: Repo, from_checkout: Path, tmp_path: Path, change: str) -> None:
    environ = running(from_checkout, tmp_path)
    file = source.path / ("README.md" if change == "dirty" else "engine/muster/__init__.py")
    before = file.read_text()
    file.write_text(f"{before}# more\n")
    try:
        said, run, entry = init(tmp_path, environ)
    finally:
        file.write_text(before)
    told = {"dirty": "a checkout on this machine with uncommitted changes", "other code": "that has changed since"}
    assert told[change] in said
    assert (entry["repo"], entry["rev"]) == (MARK, MARK)
    assert "exit 1" in run
    assert ".pre-commit-config.yaml:5, .pre-commit-config.yaml:6." in said


def test_from_an_index_nothing_is_believed(from_wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    shutil.copytree(from_wheel, target)
    environ = running(target, tmp_path)
    (found,) = target.glob("muster_fleet-*.dist-info/direct_url.json")
    found.unlink()
    said, run, entry = init(tmp_path, environ)
    assert "this one was installed from an index, where muster is not published." in said
    assert "exit 1" in run
    assert entry["repo"] == MARK


def test_what_exists_is_kept_and_not_to_be_filled_in(from_wheel: Path, tmp_path: Path) -> None:
    environ = running(from_wheel, tmp_path)
    own = tmp_path / "fleet/.github/workflows/reconcile.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("jobs: {reconcile: {steps: [{}, {}, {run: own}]}}\n")
    for name in (".github/workflows/comment.yaml", ".github/workflows/plan.yaml", ".gitlab-ci.yml"):
        (tmp_path / "fleet" / name).write_text("{}\n")
    said, run, _ = init(tmp_path, environ)
    assert run == "own"
    assert "kept    .github/workflows/reconcile.yaml (exists)" in said
    assert "marked so" not in said


def git(url: str, **more: object) -> Tree:
    return {"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT, **more}}


def archive(url: str, **info: object) -> Tree:
    return {"url": url, "archive_info": info or {"hashes": {"sha256": DIGEST}}}


@pytest.mark.parametrize(
    ("direct", "requirement"),
    [
        (git("https://git.example.com/a/muster.git"), f"git+https://git.example.com/a/muster.git@{COMMIT}"),
        (git("https://[::1]:8443/muster"), f"git+https://[::1]:8443/muster@{COMMIT}"),
        (git("ssh://git@git.example.com/a/muster"), f"git+ssh://git@git.example.com/a/muster@{COMMIT}"),
        (git("https://ada:secret@git.example.com/m.git"), f"git+https://git.example.com/m.git@{COMMIT}"),
        (git("https://secret@git.example.com/m.git"), f"git+https://git.example.com/m.git@{COMMIT}"),
        (git("https://${TOKEN}@git.example.com/m.git"), f"git+https://git.example.com/m.git@{COMMIT}"),
        (git("ssh://git:secret@git.example.com/m.git"), f"git+ssh://git@git.example.com/m.git@{COMMIT}"),
        (git("ssh://-oProxyCommand=x@git.example.com/m.git"), f"git+ssh://git.example.com/m.git@{COMMIT}"),
        (archive("https://files.example.com/m.whl"), f"https://files.example.com/m.whl#sha256={DIGEST}"),
        (archive("https://u:secret@files.example.com/m.whl"), f"https://files.example.com/m.whl#sha256={DIGEST}"),
        (archive("https://e.com/m.tar.gz", hash=f"sha256={DIGEST}"), f"https://e.com/m.tar.gz#sha256={DIGEST}"),
        (git("https://git.example.com/m.git", vcs="hg"), ""),
        (git("https://git.example.com/m.git", commit_id="main"), ""),
        (git("https://git.example.com/m.git", commit_id=["x"]), ""),
        (git("https://git.example.com/m.git?token=secret"), ""),
        (git("https://git.example.com/m.git#secret"), ""),
        (git("https://git.example.com/m .git"), ""),
        (git("https://git.example.com/m'; secret; '.git"), ""),
        (git("https://git.example.com/$(secret).git"), ""),
        (git("https://git.example.com/${{ secrets.X }}.git"), ""),
        (git("https://git.example.com/m.git\nsecret: x"), ""),
        (git("https://git.example.com/m.git\r\n- run: secret"), ""),
        (git("https://-x/m.git"), ""),
        (git("https:///m.git"), ""),
        (git("https://[/m.git"), ""),
        (git("ext::sh -c secret"), ""),
        (git("--upload-pack=secret"), ""),
        (git("file:///home/ada/it's here; secret"), ""),
        (git("file:///home/\u2028secret"), ""),
        (archive("https://files.example.com/m.whl", hashes={"md5": "x"}), ""),
        (archive("https://files.example.com/m.whl?X-Amz-Signature=secret"), ""),
        (archive("file:///tmp/m%20%22.whl"), ""),
        ({**git("https://git.example.com/mono.git"), "subdirectory": "muster"}, ""),
        ({"url": "https://git.example.com/x"}, ""),
        ({"url": 1}, ""),
        ([], ""),
        ({}, ""),
        (None, ""),
    ],
)  # fmt: skip
def test_sources(direct: Tree, requirement: str) -> None:
    found = origin_of(direct)
    assert found.requirement.removeprefix("muster-fleet @ ") == requirement
    for lines in (workflow_lines(found), script_lines(found), hook_lines(found)):
        text = "\n".join(lines)
        assert "secret" not in text
        assert text.isprintable() or all(line.isprintable() for line in lines)
        assert len(yaml.safe_load(text)) == 1
    assert bool(marked("\n".join(workflow_lines(found)))) == (not requirement)
    assert bool(marked("\n".join(hook_lines(found)))) == (
        not (requirement or found.local_requirement or found.repository)
    )


@pytest.mark.parametrize(
    ("path", "repository"), [("/home/ada/muster", "/home/ada/muster"), ("/home/ada/my muster", ""), ("/x'\n- a", "")]
)
def test_paths_that_mean_more_than_a_path_are_not_written(path: str, repository: str) -> None:
    found = origin_of(git(Path(path).as_uri()))
    assert (found.repository, found.requirement) == (repository, "")
    assert len(yaml.safe_load("\n".join(hook_lines(found)))) == 1


def test_a_public_url_is_the_url() -> None:
    assert public_url("https://git.example.com/~ada/a+b/%41@c.git") == "https://git.example.com/~ada/a+b/%41@c.git"


def test_the_example_fleet_is_to_be_filled_in() -> None:
    jobs = [f".github/workflows/{name}.yaml" for name in ("comment", "plan", "reconcile")]
    for name in (".pre-commit-config.yaml", ".gitlab-ci.yml", *jobs):
        skeleton = (ROOT / "engine/muster/features/init/skeleton" / name).read_text(encoding="utf-8")
        assert (ROOT / "fleet-repo-example" / name).read_text(encoding="utf-8") == filled(
            skeleton, InstallOrigin("its own checkout")
        )


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


def test_the_metadata_says_the_name(wheel: Path) -> None:
    assert wheel.name.startswith("muster_fleet-")
