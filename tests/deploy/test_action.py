"""action.yml, run by a small runner on real repositories: it does what the workflows of `muster init` do."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from tests.e2e.test_pull_requests import HELD, NOTES, World
from tests.e2e.test_pull_requests import world as world
from tests.features.pulses.test_walkthrough import cluster
from tests.features.sync.test_cli import SETS
from tests.support.commandline import muster as muster
from tests.support.git import Repo, git_environ
from tests.support.pulls import OTHERS, REMEDY, remedy
from tests.support.workflows import run_action

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
STEPS = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
#: Those of `muster init`, where it is to be filled in what they install.
WORKFLOWS = sorted((ROOT / "fleet-repo-example/.github/workflows").glob("*.yaml"))


class Runner:
    """A machine of GitHub's that has muster already: what `install` does is a test of its own."""

    def __init__(self, world: World, cwd: Path, **context: str) -> None:
        self.world, self.cwd, self.used = world, cwd, list[tuple[str, Mapping[str, str]]]()
        self.temp = world.folder / f"temp-{world.jobs}"
        self.temp.mkdir(exist_ok=True)
        self.context = {"runner.temp": str(self.temp), "github.token": "secret", "github.run_id": "1", **context}

    def outputs(self) -> dict[str, str]:
        """What the last run wrote; a later line of a name counts."""
        lines = (self.temp / "outputs").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def run(self, job: str, **inputs: str) -> dict[str, "subprocess.CompletedProcess[str]"]:
        environ = self.world.environ(
            GITHUB_STEP_SUMMARY=str(self.temp / "summary.md"),
            RUNNER_TEMP=str(self.temp),
            GITHUB_OUTPUT=str(self.temp / "outputs"),
            GITHUB_API_URL=self.world.forge.url,
            GITHUB_REPOSITORY="acme/fleet",
        )
        action = self.world.folder / "action.yml"
        described = yaml.safe_load(ACTION.read_text())
        described["runs"]["steps"] = [step for step in described["runs"]["steps"] if step["name"] != "install"]
        action.write_text(yaml.safe_dump(described))
        return run_action(
            action, {"job": job, **inputs}, self.context, environ, self.cwd, lambda *one: self.used.append(one)
        )


def pull_request(world: World, **more: str) -> dict[str, str]:
    """What GitHub says of a pull request."""
    event = "github.event.pull_request"
    world.forge.pulls = [{"number": 7, "from": "ada:topic", "head": {"sha": world.person.tip()}}]
    return {
        "github.base_ref": "main",
        f"{event}.base.sha": world.server.tip("main"),
        f"{event}.base.ref": "main",
        f"{event}.number": "7",
        f"{event}.head.repo.owner.login": "ada",
        f"{event}.head.ref": "topic",
        f"{event}.head.sha": world.person.tip(),
        **more,
    }


def test_a_pull_request_is_planned_and_commented_on_and_then_reconciled(world: World) -> None:
    """Whatever it does to the workflows: what comments has checked out the branch that it goes to."""
    world.pushed(**{REMEDY.replace("/", "__"): remedy(OTHERS), ".github__workflows__fleet.yaml": "on: {}\n"})
    world.merge_ref()
    runner = Runner(world, world.checked_out(world.server, "refs/pull/7/merge", depth=1), **pull_request(world))
    done = runner.run("plan")
    assert {name: one.returncode for name, one in done.items()} == {"plan": 0, "check": 0}
    assert world.forge.bodies(NOTES) == []
    assert HELD in (runner.temp / "summary.md").read_text()

    main = world.checked_out(world.server, "main:refs/remotes/origin/main", depth=1)
    runner = Runner(world, main, **pull_request(world))
    done = runner.run("comment")
    assert {name: one.returncode for name, one in done.items()} == {"plan as data": 0, "comment": 0}
    plan = (runner.temp / "plan.md").read_text()
    assert f"<code>remedy TrafficControl held</code> | {HELD} |" in plan
    assert world.forge.bodies(NOTES) == [plan]
    assert runner.used == []

    world.server.git("update-ref", "refs/heads/main", "refs/pull/7/merge")
    job = world.checked_out(world.server, "main:refs/remotes/origin/main", 0)
    Repo(job, world.environ()).git("switch", "--quiet", "--create", "main", "--track", "origin/main")
    runner = Runner(world, job)
    before = world.server.tip("main")
    done = runner.run("reconcile")
    assert (list(done), done["reconcile"].returncode) == (["reconcile"], 0), done["reconcile"].stderr
    assert world.server.tip("main") != before
    made = {"changed": "true", "commit": world.server.tip("main"), "held": "4", "findings": "0"}
    assert runner.outputs() == {**made, "matrix": '{"cluster": []}'}
    ((name, given),) = runner.used
    assert name == "actions/cache"
    assert (Path(given["path"]) / "state.sqlite").is_file()


def test_its_outputs_start_a_job_for_each_cluster(world: World) -> None:
    placement = (
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n"
        "metadata: {name: web, namespace: shop}\nspec: {tolerations: [{operator: Exists}]}\n"
    )
    cluster = (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        "metadata: {{name: {}}}\nspec: {{hubAcceptsClient: true}}\n"
    )
    clusters = {f"{name}.yaml": cluster.format(name) for name in ("eu-1", "eu-2")}
    world.pushed(**clusters, **{"sets.yaml": SETS.format(ns="shop"), "web.yaml": placement})
    world.server.git("fetch", "--quiet", str(world.fork.path), "topic")
    world.server.git("update-ref", "refs/heads/main", "FETCH_HEAD")
    job = world.checked_out(world.server, "main:refs/remotes/origin/main", 0)
    Repo(job, world.environ()).git("switch", "--quiet", "--create", "main", "--track", "origin/main")
    runner = Runner(world, job)
    assert runner.run("reconcile", placement="shop/web")["reconcile"].returncode == 0
    outputs = runner.outputs()
    assert outputs["commit"] == world.server.tip("main")
    assert json.loads(outputs["matrix"]) == {"cluster": ["eu-1", "eu-2"]}
    assert runner.run("reconcile", placement="shop/web")["reconcile"].returncode == 0
    again = runner.outputs()
    assert (again["changed"], again["commit"], again["matrix"]) == ("false", "", outputs["matrix"])
    Repo(job, world.environ()).git("remote", "set-url", "origin", str(world.folder / "nowhere.git"))
    assert runner.run("reconcile", placement="shop/none")["reconcile"].returncode == 4
    assert runner.outputs() == {**again, "held": "0", "findings": "0", "matrix": '{"cluster": []}'}


def test_what_is_wrong_fails_and_is_still_said_and_names_are_no_commands(world: World) -> None:
    world.pushed(**{"remedies__other.yaml": remedy().replace("dns-down", "other").replace("actions:", "acions:")})
    world.merge_ref()
    job = world.checked_out(world.server, "refs/pull/7/merge", depth=1)
    runner = Runner(world, job, **pull_request(world))
    done = runner.run("plan")
    assert {name: one.returncode for name, one in done.items()} == {"plan": 1, "check": 123}  # as xargs has it
    assert "::error file=remedies/other.yaml,line=" in done["check"].stdout
    done = Runner(world, job).run("validate")
    assert done["validate"].returncode == 1
    assert "::error file=remedies/other.yaml,line=" in done["validate"].stdout

    name = "$(touch broken)`touch broken`'; touch broken; '\"; touch broken; \""
    event = "github.event.pull_request.head"
    context = pull_request(world, **{"github.base_ref": name, f"{event}.ref": name, f"{event}.repo.owner.login": name})
    assert Runner(world, job, **context).run("plan")["plan"].returncode
    context |= {"github.event.pull_request.number": name, "github.event.pull_request.base.ref": name}
    assert Runner(world, job, **context).run("comment")["plan as data"].returncode
    assert not any(world.folder.rglob("broken"))


def test_the_install_step_installs_this_action_and_adds_only_muster(tmp_path: Path) -> None:
    """Offline: what muster needs, and its build backend, are found where these tests have theirs."""
    cwd = tmp_path / "work"
    cwd.mkdir()
    (cwd / "cluster.yaml").write_text(cluster("a"))
    source = tmp_path / "action"
    source.mkdir()
    for name in ("engine", "policies", "schemas", "fleet-repo-example"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, source / name)
    libraries = Path(yaml.__file__).parents[1]
    python = tmp_path / "bin/python3"  # on whose path there is no muster; the system's own may lack pip
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    environ = git_environ(
        tmp_path,
        RUNNER_TEMP=str(tmp_path),
        PYTHONPATH=str(libraries),
        PIP_NO_INDEX="1",
        PIP_NO_DEPS="1",
        PIP_NO_BUILD_ISOLATION="0",
        PIP_NO_COMPILE="1",
        PATH=f"{python.parent}:/usr/bin:/bin",
    )
    context = {"github.action_path": str(source)}
    done = run_action(ACTION, {"job": "validate"}, context, environ, cwd, lambda *_: None)
    assert done["install"].returncode == 0, done["install"].stderr
    assert (done["validate"].returncode, done["validate"].stderr) == (0, "")  # it is on the path now
    assert [path.name for path in (tmp_path / "muster-bin").iterdir()] == ["muster"]


def test_a_job_that_there_is_not_is_refused(tmp_path: Path) -> None:
    cwd = tmp_path / "work"
    cwd.mkdir()
    context = {"github.action_path": str(tmp_path)}
    done = run_action(ACTION, {"job": "plan; x"}, context, git_environ(tmp_path), cwd, lambda *_: None)
    assert {name: one.returncode for name, one in done.items()} == {"install": 2}
    assert "none of validate, plan, comment and reconcile" in done["install"].stdout


def scripts(workflow: Path) -> dict[str, str]:
    (job,) = yaml.safe_load(workflow.read_text())["jobs"].values()
    return {step.get("name", "reconcile"): step["run"] for step in job["steps"] if "run" in step}


def test_its_scripts_are_those_of_the_workflows() -> None:
    """But that of `reconcile`, which has outputs: in a workflow of one's own the next step can ask muster itself."""
    own = {step["name"]: step["run"] for step in STEPS if "run" in step}
    laid_down = {name: text for workflow in WORKFLOWS for name, text in scripts(workflow).items()}
    assert len(laid_down) == 4
    assert f"\n{laid_down.pop('reconcile').strip()} -o json >" in own["reconcile"]
    for name, text in laid_down.items():
        assert own[name].strip() == text.strip()


def test_expressions_stand_in_no_script_and_everything_used_is_pinned() -> None:
    for step in STEPS:
        assert "${{" not in step.get("run", "")
    pins: dict[str, str] = {}
    for path in (ACTION, *WORKFLOWS, *(ROOT / "docs").rglob("*.md")):
        for name, pin in re.findall(r"uses: (actions/[\w-]+)@(.*)", path.read_text()):
            assert re.fullmatch(r"[0-9a-f]{40}  # v\d+\.\d+\.\d+", pin), (path, name)
            assert pins.setdefault(name, pin) == pin, (path, name)
    assert len(pins) == 5


def test_github_would_read_it(tmp_path: Path) -> None:
    """By the schemas that GitHub's editors use; also the workflows that the pages show."""
    shown = []
    for page in ("on-github.md", "page.md"):
        (text,) = re.findall(r"^```yaml\n(# \.github/.*?)^```$", (ROOT / "docs" / page).read_text(), re.M | re.S)
        shown.append(tmp_path / f"{page}.yaml")
        shown[-1].write_text(text)
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    for schema, paths in (("vendor.github-actions", [ACTION]), ("vendor.github-workflows", [*WORKFLOWS, *shown])):
        done = subprocess.run([*command, schema, *map(str, paths)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


#: What zizmor finds otherwise, and why it stays.
ACCEPTED = {
    "dangerous-triggers": ["comment.yaml"],  # it checks out and runs the base alone; the pull request's commit is data
    "artipacked": ["plan.yaml", "comment.yaml", "reconcile.yaml"],  # nothing is kept; fetches and pushes need them
    "github-env": ["action.yml"],  # a folder of the runner's
}


def test_zizmor_finds_nothing(tmp_path: Path) -> None:
    config = tmp_path / "zizmor.yml"
    config.write_text(json.dumps({"rules": {rule: {"ignore": files} for rule, files in ACCEPTED.items()}}))
    files = (str(ACTION), str(ROOT / "fleet-repo-example/.github"))
    zizmor = str(Path(sys.executable).with_name("zizmor"))
    command = [zizmor, "--offline", "--no-progress", "--config", str(config), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
