"""A pull request, from fork to merge, by the scripts of the jobs that `muster init` lays down, on real repositories."""

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.features.plan.test_commenting import Forge, serve
from tests.support.commandline import Run
from tests.support.commandline import muster as muster
from tests.support.forking import search_path
from tests.support.git import Repo, clone, git_environ, new_repository
from tests.support.pulls import OTHERS, REMEDY, files, remedy
from tests.support.workflows import run_github, run_gitlab

NOTES = "/repos/acme/fleet/issues/7/comments"
MERGE_REQUEST = "/projects/5/merge_requests/7/notes"
HELD = "<code>eu-2</code>, <code>eu-3</code>, <code>eu-4</code>, <code>eu-5</code>"


@dataclass
class World:
    """A server with a fleet, a fork of it, somebody's clone of the fork, and what a runner has."""

    server: Repo
    fork: Repo
    person: Repo
    forge: Forge
    folder: Path
    jobs: int = 0
    annotations: str = ""

    def environ(self, **more: str) -> dict[str, str]:
        """What a runner gives to scripts; the tools of this checkout are installed."""
        return git_environ(self.folder, PATH=search_path(), **more)

    def pushed(self, **changed: str | None) -> str:
        """Somebody commits to their fork; return the commit."""
        made = self.person.commit({path.replace("__", "/"): text for path, text in changed.items()})
        self.person.git("push", "--quiet", "origin", "topic")
        return made

    def merge_ref(self) -> None:
        """What GitHub makes of a pull request: a merge of both, as it would be."""
        self.server.git("fetch", "--quiet", str(self.fork.path), "+topic:refs/pull/7/head")
        merging = clone(self.server, self.folder / f"merging-{self.jobs}")
        merging.git("fetch", "--quiet", "origin", "refs/pull/7/head")
        merging.git("merge", "--quiet", "--no-ff", "--no-edit", "FETCH_HEAD")
        merging.git("push", "--quiet", "--force", "origin", "HEAD:refs/pull/7/merge")

    def checked_out(self, repo: Repo, ref: str, depth: int) -> Path:
        """What `actions/checkout` and GitLab's runner do."""
        self.jobs += 1
        made = new_repository(self.folder / f"job-{self.jobs}" / "fleet")
        made.git("remote", "add", "origin", f"file://{repo.path}")
        made.git("fetch", "--quiet", *([f"--depth={depth}"] if depth else []), "origin", ref)
        made.git("checkout", "--quiet", "--detach", "FETCH_HEAD")
        return made.path

    def github(self) -> tuple[str, list[int]]:
        """Both jobs, the first without secrets. Return what the other planned as data, and what the steps `plan` and
        `check` of the first exit with."""
        self.merge_ref()
        checkout = self.checked_out(self.server, "refs/pull/7/merge", depth=1)
        context = {"github.base_ref": "main", "github.event.pull_request.base.sha": self.server.tip("main")}
        environ = self.environ(GITHUB_STEP_SUMMARY=str(checkout.parent / "summary.md"))
        done = [run_github(checkout, "plan", name, context, environ, checkout) for name in ("plan", "check")]
        self.annotations = done[1].stdout
        return self.comment(), [one.returncode for one in done]

    def comment(self) -> str:
        """The job that has a token: of `main`, which is checked out. Return what it planned."""
        main = self.checked_out(self.server, "main:refs/remotes/origin/main", depth=1)
        event = "github.event.pull_request"
        context = {
            "github.token": "secret",
            f"{event}.number": "7",
            f"{event}.base.ref": "main",
            f"{event}.head.ref": "topic",
            f"{event}.head.repo.owner.login": "ada",
            f"{event}.head.sha": self.person.tip(),
        }
        self.forge.pulls = [{"number": 7, "from": "ada:topic", "head": {"sha": self.person.tip()}}]
        environ = self.environ(
            GITHUB_API_URL=self.forge.url, GITHUB_REPOSITORY="acme/fleet", RUNNER_TEMP=str(main.parent)
        )
        before = sorted(path for path in main.rglob("*") if ".git" not in path.parts)
        for name in ("plan", "comment"):
            done = run_github(main, "comment", name, context, environ, main)
            assert done.returncode == 0, done.stderr
        assert sorted(path for path in main.rglob("*") if ".git" not in path.parts) == before
        return (main.parent / "plan.md").read_text()


@pytest.fixture
def world(tmp_path: Path, muster: Run) -> Iterator[World]:
    """The fleet is reconciled; nobody has an idea of the change yet."""
    work = new_repository(tmp_path / "work")
    assert muster("init", work.path)[0] == 0
    shutil.rmtree(work.path / "clusters/example")
    work.commit(files())
    assert muster("reconcile", "--repo", work.path, "--now", "2026-01-01T12:00:00Z")[0] == 0
    server = clone(work, tmp_path / "server.git", "--bare")
    server.git("remote", "remove", "origin")
    fork = clone(server, tmp_path / "fork.git", "--bare")
    person = clone(fork, tmp_path / "person")
    person.git("switch", "--quiet", "--create", "topic")
    forge = Forge(comments={NOTES: [], MERGE_REQUEST: []})
    serving = serve(forge)
    yield World(server, fork, person, forge, tmp_path)
    serving.shutdown()
    serving.server_close()


def test_from_fork_to_merge(world: World, muster: Run) -> None:
    world.pushed(**{REMEDY.replace("/", "__"): remedy(OTHERS)})
    plan, codes = world.github()
    assert codes == [0, 0]
    (comment,) = world.forge.bodies(NOTES)
    assert comment == plan
    assert "| <code>TrafficControl&#44; by dns-down</code> | <code>lifted from</code> | <code>eu-1</code> |" in plan
    assert f"<code>remedy TrafficControl held</code> | {HELD} |" in plan
    assert "4 of 6 clusters are disrupted" in plan
    world.pushed(**{REMEDY.replace("/", "__"): remedy("[eu-1, eu-2]")})
    world.github()
    (comment,) = world.forge.bodies(NOTES)
    assert "| <code>applied to</code> | <code>eu-2</code> |" in str(comment)
    assert "Held back" not in str(comment)

    world.server.git("update-ref", "refs/heads/main", "refs/pull/7/merge")
    job = world.checked_out(world.server, "main:refs/remotes/origin/main", 0)
    Repo(job, world.environ()).git("switch", "--quiet", "--create", "main", "--track", "origin/main")
    done = run_github(
        job, "reconcile", "muster reconcile --push", {"runner.temp": str(world.folder)}, world.environ(), job
    )
    assert done.returncode == 0, done.stderr
    assert "remedy TrafficControl applied (dns-down)" in done.stdout
    assert "remedies:\n    - action: TrafficControl" in world.server.show("derived/clusters/eu-2.yaml", "main")


def test_a_change_of_words_plans_nothing_and_is_not_commented_on(world: World) -> None:
    world.pushed(**{"README.md": "Other words.\n"})
    plan, codes = world.github()
    assert codes == [0, 0]
    assert "### Plan: nothing that is derived changes\n" in plan
    assert world.forge.bodies(NOTES) == []


def test_an_error_fails_both_steps_and_is_commented_on(world: World) -> None:
    world.pushed(**{"remedies__other.yaml": remedy().replace("dns-down", "other").replace("actions:", "acions:")})
    plan, codes = world.github()
    assert all(codes)
    (comment,) = world.forge.bodies(NOTES)
    assert "**error** MUS" in plan
    assert "::error file=remedies/other.yaml,line=" in world.annotations
    assert comment == plan


HOSTILE = "$(touch broken); `touch broken` 'x\" @everyone <img src=x> ${{ secrets.X }}"


def test_names_of_anybodys_are_no_commands(world: World) -> None:
    """In file names, in names of objects, and in what a workflow of theirs says that its plan is."""
    world.pushed(
        **{
            f"remedies__{HOSTILE.replace('/', '')}.yaml": remedy().replace("{name: dns-down}", "{name: other}"),
            "remedies__-x.yaml": remedy().replace("{name: dns-down}", f'{{name: "{HOSTILE.replace(chr(34), "")}"}}'),
        }
    )
    plan, _ = world.github()
    assert not any(world.folder.rglob("broken"))
    assert not re.search(r"@everyone|<img|\$\(|\$\{\{", plan)
    assert all(body == plan for body in world.forge.bodies(NOTES))


def test_a_pull_request_that_edits_the_workflows_has_its_true_plan_posted(world: World) -> None:
    """Its own jobs may say anything. What is posted comes of the workflow on `main`, and of its files as data."""
    evil = "on: pull_request\njobs: {plan: {runs-on: x, steps: [{name: plan, run: touch broken}]}}\n"
    changed = {f".github__workflows__{name}.yaml": evil for name in ("plan", "comment")}
    world.pushed(**{REMEDY.replace("/", "__"): remedy(OTHERS), "pip.conf": "x", "muster__x.py": "raise X", **changed})
    world.merge_ref()
    plan = world.comment()
    assert world.forge.bodies(NOTES) == [plan]
    assert f"<code>remedy TrafficControl held</code> | {HELD} |" in plan
    assert not any(world.folder.rglob("broken"))


def test_what_nobody_trusts_reaches_scripts_in_variables_only(world: World) -> None:
    """No expression of GitHub's stands in a script; none of the first stage's jobs may write or knows a secret."""
    folder = clone(world.server, world.folder / "laid-down").path / ".github/workflows"
    for path in folder.glob("*.yaml"):
        workflow = yaml.safe_load(path.read_text())
        for job in workflow["jobs"].values():
            assert not any("${{" in step.get("run", "") for step in job["steps"]), path
            checkouts = [step for step in job["steps"] if "checkout" in step.get("uses", "")]
            assert path.stem != "comment" or [step.get("with") for step in checkouts] == [None], "only the base"
    comment = yaml.load((folder / "comment.yaml").read_text(), yaml.BaseLoader)
    assert list(comment["on"]) == ["pull_request_target"]
    assert comment["permissions"] == {"contents": "read", "pull-requests": "write"}
    plan = yaml.safe_load((folder / "plan.yaml").read_text())
    assert plan["permissions"] == {"contents": "read"}
    assert not re.search(r"\bsecrets\.|github\.token", (folder / "plan.yaml").read_text())


def gitlab(world: World, repo: Repo, *, fork: bool) -> Mapping[str, str]:
    return world.environ(
        CI_PROJECT_ID="6" if fork else "5",
        CI_MERGE_REQUEST_PROJECT_ID="5",
        CI_MERGE_REQUEST_IID="7",
        CI_MERGE_REQUEST_PROJECT_URL=f"file://{world.server.path}".removesuffix(".git"),
        CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main",
        CI_MERGE_REQUEST_DIFF_BASE_SHA=repo.git("merge-base", "topic", world.server.tip("main")),
        CI_API_V4_URL=world.forge.url,
        CI_COMMIT_BRANCH="main",
        CI_COMMIT_SHA=world.server.tip("main"),
    )


@pytest.mark.parametrize(("depth", "fork"), [(20, True), (0, False)])
def test_on_gitlab(world: World, depth: int, fork: bool) -> None:
    world.pushed(**{REMEDY.replace("/", "__"): remedy(OTHERS)})
    if not fork:
        world.server.git("fetch", "--quiet", str(world.fork.path), "topic:topic")
    where = world.fork if fork else world.server
    job, environ = world.checked_out(where, "topic", depth), gitlab(world, world.fork, fork=fork)
    done = run_gitlab(job / ".gitlab-ci.yml", "plan", environ, job)
    assert done.returncode == 0, done.stderr
    plan = (job / "plan.md").read_text()
    assert f"<code>remedy TrafficControl held</code> | {HELD} |" in plan
    done = run_gitlab(job / ".gitlab-ci.yml", "comment", {**environ, "MUSTER_GITLAB_TOKEN": "secret"}, job)
    assert (done.returncode, done.stdout) == (0, "commented\n")
    assert world.forge.bodies(MERGE_REQUEST) == [plan]


def test_gitlab_reconciles_the_default_branch(world: World) -> None:
    world.pushed(**{REMEDY.replace("/", "__"): remedy("[eu-1, eu-2]")})
    world.server.git("fetch", "--quiet", str(world.fork.path), "+topic:main")
    job = world.checked_out(world.server, "main", 0)
    done = run_gitlab(job / ".gitlab-ci.yml", "reconcile", gitlab(world, world.fork, fork=False), job)
    assert done.returncode == 0, done.stderr
    assert "remedies:\n    - action: TrafficControl" in world.server.show("derived/clusters/eu-2.yaml", "main")
