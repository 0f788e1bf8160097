"""A fleet on a real forge, by its API, as docs/on-gitea.md sets it up: protected branches, agents with tokens of their
own, a watch that a webhook wakes, a pull request with its plan, and a proposal that is approved by merging it."""

import re
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from muster.data.tree import Tree, dig
from tests.agents.detect.servers import http_server
from tests.support.git import Repo, git_environ, new_repository
from tests.support.gitea import Gitea, RefusedError, needs_gitea, running_gitea
from tests.support.in_process import muster
from tests.support.patience import wait_until
from tests.support.processes import running

pytestmark = needs_gitea

ROOT = Path(__file__).resolve().parents[2]
SECRET = "known to the forge and to the watch"
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec: {approval: {topics: [{name: closures, effects: [removal]}]}}
---
apiVersion: muster.dev/v1alpha1
kind: DisruptionBudget
metadata: {name: default}
spec: {maxRemoved: 0}
"""
USERS = ("ada", "muster", "agent-c1", "agent-c2")


def cluster(name: str, more: str = "") -> str:
    return (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        f"metadata: {{name: {name}{more}}}\nspec: {{hubAcceptsClient: true}}\n"
    )


@dataclass(frozen=True)
class Fleet:
    """A fleet on the forge. Ada owns it; each user has a clone."""

    forge: Gitea
    clones: Mapping[str, Repo]

    def call(self, method: str, path: str, body: Tree = None) -> Tree:
        """Ada's request about the repository."""
        return self.forge.api(method, f"/repos/ada/fleet{path}", body, "ada")

    def push(self, user: str, *refs: str, force: bool = False) -> str:
        """Why a push is refused; empty if it is not."""
        repo = self.clones[user]
        repo.git("push", "--quiet", *(["--force"] if force else []), "origin", *refs, check=False)
        local, _, remote = refs[0].partition(":")
        there = repo.git("ls-remote", "origin", remote or local).partition("\t")[0]
        return "" if there == repo.git("rev-parse", local) else f"{there} is there"

    def main(self) -> str:
        """The paths and subjects of the main branch."""
        ada = self.clones["ada"]
        ada.git("fetch", "--quiet", "--prune", "origin")
        return (
            ada.git("log", "--format=%s", "origin/main") + "\n" + ada.git("ls-tree", "-r", "--name-only", "origin/main")
        )

    def pull(self, branch: str) -> int:
        """Open a pull request."""
        number = dig(self.call("POST", "/pulls", {"head": branch, "base": "main", "title": branch}), "number")
        assert isinstance(number, int)
        return number

    def merge(self, number: int) -> None:
        """Merge one, once the forge has found out that it can be merged."""
        wait_until(lambda: self._merged(number))

    def _merged(self, number: int) -> bool:
        try:
            self.call("POST", f"/pulls/{number}/merge", {"Do": "merge"})
        except RefusedError as error:
            if "try again later" not in str(error):
                raise
            return False
        return True

    def comments(self, number: int) -> list[str]:
        """The bodies of a pull request's comments."""
        found = self.call("GET", f"/issues/{number}/comments")
        assert isinstance(found, list)
        return [str(dig(comment, "body")) for comment in found]


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    with running_gitea(tmp_path_factory.mktemp("forge") / "gitea") as found:
        for user in USERS:
            found.add_user(user)
        yield found


def new_fleet(forge: Gitea, folder: Path) -> Fleet:
    """Make the repository, push the fleet, and restrict the branches."""
    clones = dict[str, Repo]()
    forge.api("POST", "/admin/users/ada/repos", {"name": "fleet", "private": True, "default_branch": "main"})
    for user in USERS:
        environ = git_environ(folder, GIT_AUTHOR_NAME=user, GIT_COMMITTER_NAME=user)
        clones[user] = replace(new_repository(folder / user), environ=environ)
        clones[user].git("remote", "add", "origin", forge.remote(user, "ada/fleet"))
    fleet = Fleet(forge, clones)
    clones["ada"].commit({"fleet.yaml": FLEET, **{f"clusters/{name}.yaml": cluster(name) for name in ("c1", "c2")}})
    assert fleet.push("ada", "main") == ""
    for user in USERS[1:]:
        fleet.call("PUT", f"/collaborators/{user}", {"permission": "write"})
        clones[user].git("pull", "--quiet", "origin", "main")
    for branch, user in (("main", "muster"), ("agents/c1", "agent-c1"), ("agents/c2", "agent-c2"), ("agents/*", "")):
        may = [user] if user else []
        replaces = branch.startswith("agents/") and bool(user)
        fleet.call(
            "POST",
            "/branch_protections",
            {
                "rule_name": branch,
                "enable_push": bool(user),
                "enable_push_whitelist": True,
                "push_whitelist_usernames": may,
                "enable_force_push": replaces,
                "enable_force_push_allowlist": replaces,
                "force_push_allowlist_usernames": may if replaces else [],
            },
        )
    return fleet


@contextmanager
def watched(fleet: Fleet) -> Iterator[None]:
    """A watch of the engine that asks once in an hour, and a webhook that wakes it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    engine = fleet.clones["muster"]
    environ = {**engine.environ, "MUSTER_WEBHOOK_SECRET": SECRET, "PYTHONUNBUFFERED": "1"}
    arguments = ("watch", "--repo", str(engine.path), "--push", "--interval", "1h", "--serve", address)
    with running(*arguments, environ=environ) as process:
        process.wait_for("accepted")
        fleet.call(
            "POST",
            "/hooks",
            {
                "type": "gitea",
                "active": True,
                "events": ["push", "create", "delete"],
                "branch_filter": "*",
                "config": {"url": f"http://{address}/webhook", "content_type": "json", "secret": SECRET},
            },
        )
        yield
        process.stop()


def branches_belong_to_their_agents(fleet: Fleet) -> None:
    """Each agent pushes its own branch, again and again; nobody else does, and no agent pushes main."""
    for user in ("agent-c1", "agent-c2"):
        fleet.clones[user].git("commit", "--quiet", "--allow-empty", "--message", "An idea")
        assert fleet.push(user, "main") != "", "main is the engine's"
    assert fleet.push("agent-c1", "main:refs/heads/agents/c2") != ""
    assert fleet.push("agent-c1", "main:refs/heads/agents/c3") != "", "no agent has it"
    assert fleet.push("ada", "main:refs/heads/agents/c1") != ""


def beat(fleet: Fleet, name: str) -> None:
    """One heartbeat of an agent, with its own token."""
    user = f"agent-{name}"
    with http_server() as server:
        code, out, err = muster(
            "heartbeat",
            "--cluster",
            name,
            "--remote",
            fleet.forge.remote(user, "ada/fleet"),
            "--api-server",
            f"http://127.0.0.1:{server.server_port}",
            environ=fleet.clones[user].environ,
            cwd=fleet.clones[user].path,
        )
    assert code == 0, out + err
    assert fleet.forge.tokens[user] not in out + err


def planned(fleet: Fleet, *at: str) -> None:
    """Plan Ada's branch, as the workflow of `muster init` does."""
    ada = fleet.clones["ada"]
    code, out, err = muster("plan", "--base", "origin/main", "-o", "markdown", *at, environ=ada.environ, cwd=ada.path)
    assert code == 0, err
    (ada.path.parent / "plan.md").write_text(out)


def comment(fleet: Fleet) -> str:
    """Comment with the plan, and return what was done."""
    ada = fleet.clones["ada"]
    environ = {
        **ada.environ,
        "GITHUB_API_URL": f"{fleet.forge.url}/api/v1",
        "GITHUB_REPOSITORY": "ada/fleet",
        "GITHUB_TOKEN": fleet.forge.tokens["muster"],
    }
    head = ("--head", "ada:topic", "--commit", ada.tip())
    code, out, err = muster("plan", "comment", "github", "../plan.md", *head, environ=environ, cwd=ada.path)
    assert code == 0, err
    return out


def words(text: str) -> set[str]:
    """The words of a text: the name of a cluster may also stand within the id of a commit."""
    return set(re.findall(r"\w+", text))


def test_a_fleet_on_a_forge(forge: Gitea, tmp_path: Path) -> None:
    fleet = new_fleet(forge, tmp_path)
    ada = fleet.clones["ada"]
    assert fleet.push("ada", "main") == ""
    branches_belong_to_their_agents(fleet)
    hook = forge.repository("ada/fleet") / "hooks/pre-receive.d/muster"
    shutil.copy(ROOT / "deploy/git/pre-receive", hook)
    hook.chmod(0o755)
    with watched(fleet):
        beat(fleet, "c1")
        wait_until(lambda: "c1 available" in fleet.main(), fleet.main)
        beat(fleet, "c1")  # replaces the root commit

        # Two pull requests: the plan is a comment of the one whose newest commit was planned, and is replaced.
        ada.git("fetch", "--quiet", "origin")
        ada.git("checkout", "--quiet", "-b", "other", "origin/main")
        ada.commit({"README.md": "words\n"})
        assert fleet.push("ada", "other") == ""
        ada.git("checkout", "--quiet", "-b", "topic", "origin/main")
        ada.commit({"clusters/c3.yaml": cluster("c3")})
        assert fleet.push("ada", "topic") == ""
        topic, other = fleet.pull("topic"), fleet.pull("other")
        planned(fleet)
        assert comment(fleet) == "commented\n"
        assert "c3" in words(fleet.comments(topic)[0])
        assert comment(fleet) == "the comment is up to date\n"
        ada.commit({"clusters/c3.yaml": None, "clusters/c2.yaml": None})
        assert fleet.push("ada", "topic") == ""
        planned(fleet)
        assert comment(fleet) == "replaced the comment\n"
        (body,) = fleet.comments(topic)
        assert ("c2" in words(body), "c3" in words(body), fleet.comments(other)) == (True, False, [])

        # The hook holds what rules of branches cannot: who may write which path.
        ada.git("checkout", "--quiet", "-b", "sneaky", "origin/main")
        ada.commit({"derived/managedclusters/c1.yaml": None})
        assert fleet.push("ada", "sneaky") == ""
        with pytest.raises(RefusedError, match="may not change derived/"):
            fleet.merge(fleet.pull("sneaky"))

        # Merging wakes the watch; what it may not do is proposed, and done once that is merged.
        fleet.merge(topic)
        wait_until(lambda: bool(ada.git("ls-remote", "origin", "muster/proposals/closures")), fleet.main)
        assert "derived/managedclusters/c2.yaml" in fleet.main()
        fleet.merge(fleet.pull("muster/proposals/closures"))
        wait_until(lambda: "derived/managedclusters/c2.yaml" not in fleet.main(), fleet.main)
        wait_until(lambda: not ada.git("ls-remote", "origin", "muster/proposals/closures"), fleet.main)
