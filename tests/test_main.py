"""The command line: exit codes, help, and what a mistyped word gets for an answer."""

import errno
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from muster import commandline as cli
from muster.cli import exits
from muster.commandline import VERBS
from tests.features.pulses.test_walkthrough import cluster, fleet, lease, observed
from tests.support.commandline import Run
from tests.support.git import Repo, git_environ, new_repository

NOW = ("--now", "2026-01-01T00:00:30Z")


def _commands(context: click.Context) -> Iterator[click.Context]:
    """The contexts of a command and of those below it."""
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            assert command is not None
            yield from _commands(click.Context(command, info_name=name, parent=context))


COMMANDS = list(_commands(click.Context(cli.cli, info_name="muster", **cli.cli.context_settings)))


@pytest.mark.parametrize("context", COMMANDS, ids=lambda context: context.command_path)
def test_every_help_text_fits_80_columns(context: click.Context) -> None:
    context.terminal_width = context.max_content_width = 80
    text = context.get_help()
    assert text.startswith(f"Usage: {context.command_path}")
    assert [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("context", COMMANDS, ids=lambda context: context.command_path)
def test_every_example_of_a_help_text_is_understood(
    context: click.Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (
        "event.json",
        "job.yaml",
        "cluster.yaml",
        "new-policy.yaml",
        "ca.crt",
        "tokens",
        "clusters.csv",
        "grace.json",
    ):
        (tmp_path / name).touch()
    (tmp_path / "dump").mkdir()
    text = (context.command.help or "").replace("\\\n", "")
    for line in re.findall(rf"^  .*?({context.command_path} .*)", text, re.MULTILINE):
        words = shlex.split(re.split(r"[|>]", line)[0])[len(context.command_path.split()) :]
        context.command.make_context(context.info_name, words, parent=context.parent).close()


@pytest.mark.parametrize(
    ("option", "ours", "unused"),
    [
        ("--version", {"version"}, {"click", "typing", "re"}),
        ("--help", {"version", "commandline", "cli", "cli.exits"}, {"rich", "json", "pathlib", "subprocess"}),
    ],
)
def test_what_says_little_loads_little(option: str, ours: set[str], unused: set[str]) -> None:
    code = f"import atexit, sys; atexit.register(lambda: print(*sys.modules)); sys.argv[1:] = [{option!r}]"
    main = "from muster.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", f"{code}; {main}"], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert {name for name in loaded if name.startswith("muster.")} == {f"muster.{name}" for name in {"__main__", *ours}}
    assert unused.isdisjoint(loaded)


def test_the_version_is_printed_as_in_a_longer_command_line(muster: Run) -> None:
    short = subprocess.run([sys.executable, "-m", "muster", "--version"], capture_output=True, text=True, check=True)
    assert muster("--version") == (0, short.stdout, short.stderr)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("reconcil",), "did you mean 'reconcile'?"),
        (("delete", "cluster", "a"), "delete the object's file and commit; muster deny removes a cluster"),
        (("apply", "-f", "x.yaml"), "an object is a file: change it and commit"),
        (("edit", "cluster/a"), "an object is a file: change it and commit"),
        (("logs", "a"), "muster history KIND/NAME"),
        (("rollout", "status", "web"), "muster get rollouts"),
        (("--repo", "x", "plan"), "--repo belongs after the command: muster plan --repo …"),
        (("get", "managedclustres"), "did you mean 'managedclusters'?"),
        (("explain", "cluster/shop"), "did you mean 'shop-1'?"),
        (("explain", "nowhere-7"), "no kind is called 'nowhere-7'; write KIND/NAME, as in cluster/NAME"),
        (("explain", "mus999"), "no finding has the code mus999"),
        (("plan", "--report", "cluster/shop", "Ready=False"), "there is no cluster/shop; did you mean 'shop-1'?"),
        (("history", "cluster/shop"), "derives cluster/shop; did you mean 'shop-1'?"),
        (("get", "stes"), "did you mean 'sets'?"),
        (("get", "shop-11"), "no cluster and no kind is called 'shop-11'; did you mean 'shop-1'?"),
        (("plan", "--now", "2026-01-02"), "'2026-01-02' is not a time such as 2026-01-02T00:00:00Z"),
        (("drill", "--now", "9999-12-31T23:59:59Z"), "'9999-12-31T23:59:59Z' is after the year 9000"),
        (
            ("wait", "shop-1", "--for", "condition=Ready=Yes"),
            "a condition cannot be 'Yes'; it is True, False or Unknown",
        ),
        (("get", "--bogus"), "See 'muster get --help'."),
        (("plan", "--now", "yesterday"), "2026-01-01T00:00:00Z"),
        (("plan", "--rev", "HEAD", "--worktree"), "exclude each other"),
        (("plan", "-o", "xml"), "'xml' is not one of"),
        (("plan", "--wroktree"), "--worktree"),
    ],
)
def test_usage_errors_say_what_was_meant(arguments: tuple[str, ...], said: str, tmp_path: Path, muster: Run) -> None:
    repo = fleet(tmp_path / "fleet", **{"shop-1": "2026-01-01T00:00:00Z"})
    where = () if arguments[0] not in VERBS else ("--repo", str(repo.path))
    code, _, err = muster(*arguments, *where)
    assert code == exits.USAGE
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("verb", ["plan", "get", "reconcile", "watch"])
def test_not_a_git_repository(verb: str, tmp_path: Path, muster: Run) -> None:
    code, _, err = muster(verb, "--repo", str(tmp_path))
    assert code == exits.REPOSITORY
    assert "not a git repository" in err or "not in a git repository" in err


CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: a
spec: {hubAcceptsClient: true}
"""


@pytest.mark.parametrize("command", ["validate", "validate -o json", "lint"])
def test_nothing_is_checked_outside_of_a_repository(command: str, tmp_path: Path, muster: Run) -> None:
    code, out, err = muster(*command.split(), "--repo", str(tmp_path))
    assert (code, out) == (exits.REPOSITORY, "")
    assert "is not in a git repository, and no file in it declares an object" in err
    new_repository(tmp_path / "empty")
    assert muster(*command.split(), "--repo", str(tmp_path / "empty"))[0] == exits.FINE


@pytest.mark.parametrize(
    ("encoding", "command"),
    [
        *(("ascii", command) for command in ("get clusters -o json", "describe a", "get --help", "get nö", "plan")),
        *(("cp037", command) for command in ("get clusters -o json", "get --help", "get nö")),
        ("latin-1", "describe a"),
    ],
)
def test_what_an_encoding_lacks_is_escaped(encoding: str, command: str, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    text = CLUSTER.replace("metadata:", "metadata:\n  annotations: {note: 'ü… 🚢'}")
    repo.commit({"a.yaml": text})
    environ = {**repo.environ, "PYTHONIOENCODING": encoding}
    muster = [sys.executable, "-m", "muster", *command.split(), "--repo", str(repo.path)]
    done = subprocess.run(muster, env=environ, capture_output=True, check=False)
    assert done.returncode in (exits.FINE, exits.FINDINGS, exits.USAGE), done.stderr
    if command.endswith("json"):
        (body,) = json.loads(done.stdout.decode(encoding))["items"]
        assert body["metadata"]["annotations"]["note"] == "ü… 🚢"


@pytest.mark.parametrize("kilobytes", [0, 4, 16])
def test_a_limit_for_files_leaves_no_locks(kilobytes: int, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({f"{number}.yaml": CLUSTER.replace("name: a", f"name: a{number}") for number in range(100)})
    before = repo.tip("main")
    script = f'ulimit -f {kilobytes * 2}; exec "$@"'  # POSIX counts blocks of 512 bytes
    reconcile = [sys.executable, "-m", "muster", "reconcile", "--repo", str(repo.path)]
    # Python itself would leave bytecode that is cut off, which every later process stumbles over.
    environ = {**repo.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["/bin/sh", "-c", script, "sh", *reconcile]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, "File too large" in done.stderr, repo.tip("main")) == (exits.REPOSITORY, True, before)
    assert "ulimit -f" in done.stderr
    assert list(repo.path.glob(".git/**/*.lock")) == []
    assert repo.git("status", "--porcelain") == ""


def test_no_such_directory(tmp_path: Path, muster: Run) -> None:
    code, _, err = muster("plan", "--repo", str(tmp_path / "nowhere"))
    assert code == exits.REPOSITORY
    assert "nowhere is not a directory" in err


@pytest.mark.parametrize("verb", ["plan", "reconcile"])
def test_an_empty_repository(verb: str, tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "empty")
    code, _, err = muster(verb, "--repo", str(repo.path))
    assert code == exits.REPOSITORY
    assert err.startswith("error: ")
    assert "Traceback" not in err


def test_a_revision_that_does_not_exist_names_near_ones(tmp_path: Path, muster: Run) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    code, _, err = muster("get", "--repo", str(repo.path), "--rev", "mian")
    assert code == exits.REPOSITORY
    assert "mian" in err
    assert "main" in err


def test_a_detached_head_can_be_read_but_not_committed_to(tmp_path: Path, muster: Run) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    repo.git("checkout", "--quiet", "--detach")
    assert muster("get", "--repo", str(repo.path), *NOW)[0] == exits.FINE
    code, _, err = muster("reconcile", "--repo", str(repo.path), *NOW)
    assert code == exits.REPOSITORY
    assert "HEAD is detached" in err
    assert "--branch" in err
    assert muster("reconcile", "--repo", str(repo.path), "--branch", "main", *NOW)[0] == exits.FINE


def test_what_the_system_refuses_is_no_fault_of_muster(muster: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = [OSError(errno.EROFS, "Read-only file system", "/fleet"), OSError(errno.ENOSPC, "No space left")]

    def refused(*_arguments: object, **_named: object) -> None:
        raise refusals.pop(0)

    monkeypatch.setattr(cli.cli, "main", refused)
    code, out, err = muster("init", "/fleet")
    assert (code, out) == (exits.REPOSITORY, "")
    assert err.startswith("error: /fleet cannot be written or read: Read-only file system\nhint: check its permissions")
    code, _, err = muster("get")
    assert (code, err.splitlines()[0]) == (
        exits.REPOSITORY,
        "error: the output or a file cannot be written or read: No space left",
    )


def test_a_closed_pipe_is_no_finding(muster: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_text: str) -> int:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("muster.features.about.resources.print_resources", closed)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", sys.stdout)  # click replaces it
        patch.setattr(sys, "stderr", sys.stderr)
        assert muster("api-resources")[0] == exits.FINE


def test_plan_tells_and_writes_nothing(tmp_path: Path, muster: Run) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    before = repo.refs(), repo.status()
    code, out, _ = muster("plan", "--repo", str(repo.path), *NOW)
    assert code == exits.FINE
    assert "a available" in out
    assert "Next change without new input: 2026-01-01T00:05:00Z." in out
    assert (repo.refs(), repo.status()) == before
    assert muster("plan", "--repo", str(repo.path), "--exit-code", *NOW)[0] == exits.FINDINGS
    plan = json.loads(muster("plan", "--repo", str(repo.path), "-o", "json", *NOW)[1])
    assert plan["summary"] == "a available"
    assert list(plan["files"]) == ["derived/managedclusters/a.yaml"]


def test_get_in_a_pipe_is_plain_text(tmp_path: Path, muster: Run) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    code, out, err = muster("get", "--repo", str(repo.path), *NOW)
    assert (code, err) == (exits.FINE, "")
    assert out.splitlines()[0].split() == ["NAME", "ACCEPTED", "AVAILABLE", "SINCE", "TAINTS", "REASON"]
    assert out.splitlines()[1].split() == ["a", "yes", "True", "0s", "-", "Ok"]
    assert "\x1b" not in out


def test_validate_shows_what_these_files_answer_for(
    tmp_path: Path, muster: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    bad = cluster("b").replace("hubAcceptsClient", "hubAcceptClient")
    repo.write("clusters/b/cluster.yaml", bad)
    monkeypatch.chdir(repo.path)
    assert muster("validate", "clusters/a/cluster.yaml")[0] == exits.FINE
    code, out, _ = muster("validate", "clusters/b/cluster.yaml")
    assert code == exits.FINDINGS
    assert "clusters/b/cluster.yaml:5:8: error MUS201: unknown field spec.hubAcceptClient" in out
    assert muster("validate", "--staged")[0] == exits.FINE
    assert muster("validate")[0] == exits.FINDINGS
    found = json.loads(muster("validate", "-o", "json")[1])
    assert [(f["code"], f["line"], f["object"]["name"]) for f in found] == [("MUS201", 5, "b")]


def test_init_lays_down_a_fleet_that_can_be_reconciled(tmp_path: Path, muster: Run) -> None:
    target = tmp_path / "mine"
    code, out, _ = muster("init", str(target))
    assert code == exits.FINE
    assert "created fleet.yaml" in out
    repo = Repo(target, git_environ(tmp_path))
    assert muster("validate", "--repo", str(target))[0] == exits.FINE
    repo.commit()
    assert muster("reconcile", "--repo", str(target), *NOW)[0] == exits.FINE
    assert "derived/managedclusters/example.yaml" in repo.paths()
    (target / "fleet.yaml").write_text("# mine\n")
    assert "kept    fleet.yaml (exists)" in muster("init", str(target))[1]
    assert (target / "fleet.yaml").read_text() == "# mine\n"


def test_init_names_the_groups_of_other_programs(tmp_path: Path, muster: Run) -> None:
    target = tmp_path / "mine"
    assert muster("init", "--with", "argocd,flux", str(target))[0] == exits.FINE
    (target / "app.yaml").write_text(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\n---\n"
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web}\n"
    )
    code, out, _ = muster("validate", "--repo", str(target))
    assert (code, "no findings" in out) == (exits.FINE, True)
    code, _, errors = muster("init", "--with", "argo", str(tmp_path / "other"))
    assert (code, "'argo' is none of argocd, flux" in errors) == (exits.USAGE, True)


def test_the_work_tree_is_read_with_the_agents_refs(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"clusters/a/cluster.yaml": cluster("a")})
    repo.commit_to("refs/heads/agents/a", {"o.yaml": observed("a"), "l.yaml": lease("a", "2026-01-01T00:00:00Z")})
    for where in ("--worktree", "--rev=HEAD"):
        code, out, err = muster("get", "--repo", str(repo.path), where, *NOW)
        assert (code, err) == (exits.FINE, "")
        assert out.splitlines()[1].split()[:3] == ["a", "yes", "True"]


def test_what_an_agent_says_moves_no_cursor(muster: Run, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": cluster("a"), "lease.yaml": lease("a", "2026-01-01T00:00:00Z"), "seen.yaml": observed("a")})
    assert muster("reconcile", "--repo", repo.path, *NOW)[0] == exits.FINE
    hostile = observed("a").replace("reason: Ok", 'reason: "R\\e]0;x\\a"')
    repo.commit({"seen.yaml": hostile.replace("status: 'True'", "status: 'False'")})
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", "2026-01-01T00:01:00Z")
    assert "R\\x1b]0;x\\x07" in out, (code, err)
    assert all(line.isprintable() for said in (out, err, repo.git("log", "-1")) for line in said.splitlines())
