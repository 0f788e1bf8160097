"""deploy/git/pre-receive keeps everybody to their own refs and paths, in a real bare repository."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.features.pulses.test_walkthrough import cluster
from tests.support.forking import search_path
from tests.support.git import Repo, clone, new_repository

HOOK = Path(__file__).parents[2] / "deploy/git/pre-receive"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    path = tmp_path_factory.mktemp("hub")
    seed = new_repository(path / "seed")
    seed.commit({"clusters/c1.yaml": "a: 1\n", "derived/x.yaml": "a: 1\n"})
    bare = clone(seed, path / "hub.git", "--bare")
    hook = bare.path / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    shutil.copy(HOOK, hook)
    return bare


def pushed(
    hub: Repo,
    user: str | dict[str, str],
    ref: str,
    files: dict[str, str] | None,
    *,
    onto: str = "",
    date: float = 0,
) -> str:
    """Push a commit of these files to a ref as somebody (None: delete the ref); return what was refused.

    `user`: a name, or the variables that a forge sets.
    """
    work = hub.path.parent / "work"
    repo = Repo(work, hub.environ) if work.exists() else new_repository(work)
    if files is None:
        source = ""
    else:
        repo.git("read-tree", *([onto] if onto else ["--empty"]))
        for name, text in files.items():
            blob = repo.git("hash-object", "-w", "--stdin", stdin=text.encode()).strip()
            repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
        when = f"@{int(date or time.time())} +0000"
        dated = repo.with_environ(GIT_COMMITTER_DATE=when, GIT_AUTHOR_DATE=when)
        source = dated.git(
            "commit-tree", *(["-p", onto] if onto else []), "-m", "x", repo.git("write-tree").strip()
        ).strip()
    variables = user if isinstance(user, dict) else {"MUSTER_USER": user}
    done = subprocess.run(
        ["git", "push", "--force", str(hub.path), f"{source}:{ref}"],
        cwd=work,
        env={**hub.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line.removeprefix("remote: ").strip() for line in done.stderr.splitlines() if "may not" in line]
    assert bool(said) == bool(done.returncode), done.stderr
    return said[0].partition(" may not ")[2] if said else ""


def fetched(hub: Repo) -> str:
    work = hub.path.parent / "work"
    repo = Repo(work, hub.environ) if work.exists() else new_repository(work)
    repo.git("fetch", "--quiet", str(hub.path), "main")
    return repo.tip("FETCH_HEAD")


def test_an_agent_replaces_its_own_ref_and_nothing_else(hub: Repo) -> None:
    own, lease, now = "refs/heads/agents/c1", {"lease.yaml": "a: 1\n"}, time.time()
    assert pushed(hub, "agent-c1", own, lease, date=now - 60) == ""
    assert pushed(hub, "agent-c1", own, {"lease.yaml": "a: 2\n"}, date=now) == ""
    assert pushed(hub, "agent-c1", own, lease, date=now - 60) == "put an older commit back"
    assert pushed(hub, "agent-c1", own, lease, date=now + 3600) == "date a commit ahead"
    assert pushed(hub, "agent-c1", own, lease, onto=fetched(hub)).startswith("push history here")
    assert pushed(hub, "agent-c1", own, None) == "delete it"
    assert pushed(hub, "agent-c1", "refs/heads/agents/c10", lease) == "speak for this cluster"
    assert pushed(hub, "", own, lease) == "speak for this cluster"
    assert pushed(hub, "ada", own, lease) == "speak for this cluster"
    for ref in ("refs/heads/main", "refs/heads/other", "refs/tags/v1"):
        assert pushed(hub, "agent-c1", ref, lease, onto=fetched(hub)) == "push here"
    assert pushed(hub, "agent-c1", "refs/muster/pulses", lease) == "touch muster's own"


@pytest.mark.parametrize(
    ("variables", "allowed"),
    [
        ({"GITEA_PUSHER_NAME": "ada", "GITEA_DEPLOY_KEY_ID": "0", "GITEA_PUSHER_ID": "1"}, True),
        ({"GITEA_PUSHER_NAME": "ada", "GITEA_DEPLOY_KEY_ID": "3"}, False),
        ({"GITEA_PUSHER_NAME": "agent-c1"}, False),
        ({"GL_USERNAME": "ada", "GL_ID": "user-7", "GL_PROTOCOL": "ssh"}, True),
        ({"GL_USERNAME": "", "GL_ID": "key-7"}, False),
        ({"GITHUB_USER_LOGIN": "ada"}, True),
        ({"GITHUB_USER_LOGIN": "agent-c2"}, False),
        ({"BB_USER_NAME": "ada"}, True),
        ({"GOGS_AUTH_USER_NAME": "ada"}, True),
        ({"SOFT_SERVE_USERNAME": "ada"}, True),
        ({"GL_USER": "ada"}, True),
        ({"REMOTE_USER": "ada"}, True),
        ({"REMOTE_USER": "agent-c1"}, False),
        ({"MUSTER_USER": "agent-c1", "GITEA_PUSHER_NAME": "ada"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_each_forge_says_in_its_own_variable_who_pushes(hub: Repo, variables: dict[str, str], *, allowed: bool) -> None:
    files = {"clusters/c1.yaml": f"a: {sorted(variables.items())}\n", "derived/x.yaml": "a: 1\n"}
    refused = pushed(hub, variables, "refs/heads/main", files, onto=fetched(hub))
    assert refused == ("" if allowed else "push here")


def test_gerrit_calls_it_with_options_for_each_ref(hub: Repo) -> None:
    tip = fetched(hub)

    def called(user: str, ref: str) -> tuple[int, str]:
        options = {"project": "fleet", "uploader": "Ada (a@b)", "oldrev": "0" * 40, "newrev": tip, "refname": ref}
        arguments = [
            part for name, value in {**options, "uploader-username": user}.items() for part in (f"--{name}", value)
        ]
        done = subprocess.run(
            [hub.path / "hooks/pre-receive", *arguments],
            cwd=hub.path,
            env={**hub.environ, "MUSTER_USER": "muster"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    assert called("ada", "refs/heads/topic") == (0, "")
    assert called("agent-c1", "refs/heads/topic") == (1, "refs/heads/topic: agent-c1 may not push here\n")
    assert called("ada", "refs/heads/agents/c1")[0] == 1


@pytest.mark.parametrize(
    ("user", "path", "refused"),
    [
        ("muster", "derived/y.yaml", ""),
        ("muster", "clusters/c1.yaml", "change anything outside derived/"),
        ("muster", "derived\n/x.yaml", "change anything outside derived/"),
        ("muster-signer", "derived/certificatesigningrequests/a.yaml", ""),
        ("muster-signer", "derived/managedclusters/c1.yaml", "change anything but certificates"),
        ("ada", "clusters/c2.yaml", ""),
        ("ada", "derived/y.yaml", "change derived/"),
    ],
)
def test_on_main_everybody_has_their_own_paths(hub: Repo, user: str, path: str, refused: str) -> None:
    assert pushed(hub, user, "refs/heads/main", {path: f"by: {user}\n"}, onto=fetched(hub)) == refused


def test_on_its_own_branches_the_engine_proposes_and_derives(hub: Repo) -> None:
    state, proposal = "refs/heads/muster/state", "refs/heads/muster/proposals/x"
    main, approval, derived = fetched(hub), {"approvals/x.yaml": "a: 1\n"}, {"derived/x.yaml": "a: 2\n"}
    assert pushed(hub, "muster", state, derived) == ""
    assert pushed(hub, "muster", state, approval) == "rewrite it"
    assert pushed(hub, "ada", state, {"derived/x.yaml": "a: 3\n"}) == "rewrite it"
    assert pushed(hub, "muster", "refs/heads/main", approval, onto=main) == "change anything outside derived/"
    for user, refused in {
        "muster": "",
        "ada": "",
        **dict.fromkeys(("agent-c1", "muster-signer", ""), "push here"),
    }.items():
        assert pushed(hub, user, proposal, {"approvals/x.yaml": f"by: {user}\n"}, onto=main) == refused, user
    assert pushed(hub, "muster", proposal, None) == "", "it is withdrawn"
    assert pushed(hub, "muster", "refs/heads/other", approval, onto=main) == "push here"


def test_nobody_rewrites_or_deletes_main(hub: Repo) -> None:
    fetched(hub)
    assert pushed(hub, "ada", "refs/heads/main", {"a.yaml": "a: 1\n"}) == "rewrite it"
    assert pushed(hub, "muster", "refs/heads/main", None) == "delete it"
    assert pushed(hub, "ada", "refs/heads/feature", {"a.yaml": "a: 1\n"}) == ""
    assert pushed(hub, "muster", "refs/muster/pulses", {"a.yaml": "a: 1\n"}) == ""


def test_what_muster_could_not_decide_on_is_refused_where_that_is_asked_for(hub: Repo) -> None:
    """The hook sees what was pushed in git's quarantine alone; mistakes that are there already are nobody's fault."""
    main = "refs/heads/main"
    wrong = {"clusters/c9.yaml": cluster("c9").replace("hubAcceptsClient", "hubAcceptClient")}
    hub = hub.with_environ(PATH=search_path())
    hub.git("config", "muster.validate", "true")
    try:
        assert pushed(hub, "ada", main, wrong, onto=fetched(hub)) == "push what muster cannot decide on"
        assert pushed(hub, "ada", main, {"clusters/c9.yaml": cluster("c9")}, onto=fetched(hub)) == ""
        hub.git("config", "muster.validate", "false")
        assert pushed(hub, "ada", main, wrong, onto=fetched(hub)) == ""
        hub.git("config", "muster.validate", "true")
        assert pushed(hub, "ada", main, {"clusters/c8.yaml": cluster("c8")}, onto=fetched(hub)) == ""
    finally:
        hub.git("config", "--unset", "muster.validate")


def test_shellcheck_finds_nothing() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("shellcheck"), HOOK], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
