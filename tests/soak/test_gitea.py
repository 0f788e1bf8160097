"""Three thousand clusters on a real forge: pushed at once, with agents' branches, decided, and planned as a comment."""

from pathlib import Path

from benchmarks.fleets import NOON, files_of, lease_text, name_of

from muster.data.times import format_time
from tests.e2e.test_gitea import Fleet, comment, forge, new_fleet, planned  # noqa: F401 - a fixture
from tests.support.gitea import Gitea, needs_gitea
from tests.support.in_process import muster

pytestmark = needs_gitea
CLUSTERS, AGENTS = 3_000, 300
AT = ("--now", format_time(NOON))


def test_three_thousand_clusters(forge: Gitea, tmp_path: Path) -> None:  # noqa: F811 - the fixture
    fleet = new_fleet(forge, tmp_path)
    engine, ada = fleet.clones["muster"], fleet.clones["ada"]
    engine.git("reset", "--quiet", "--hard")
    engine.commit(dict(files_of(CLUSTERS, 12)))
    assert fleet.push("muster", "main") == ""
    _agents(fleet)
    code, out, err = muster("reconcile", "--push", *AT, environ=engine.environ, cwd=engine.path)
    assert code == 0, err[-2000:]
    assert f"{CLUSTERS:,}" in out or str(CLUSTERS) in out, out[-2000:]
    ada.git("fetch", "--quiet", "origin")
    derived = ada.git("ls-tree", "-r", "--name-only", "origin/main", "derived/").split()
    assert sum("/managedclusters/" in path for path in derived) >= CLUSTERS
    assert muster("reconcile", "--push", *AT, environ=engine.environ, cwd=engine.path)[0] == 0
    _plan_of_everything(fleet)


def _agents(fleet: Fleet) -> None:
    """Push branches of agents at once. The forge's rules for them, which another test has, are taken away first."""
    rules = fleet.call("GET", "/branch_protections")
    assert isinstance(rules, list)
    for rule in rules:
        if str(rule["rule_name"]).startswith("agents/"):
            fleet.call("DELETE", f"/branch_protections/{str(rule['rule_name']).replace('/', '%2F')}")
    repo = fleet.clones["agent-c1"]
    stream = []
    for number in range(AGENTS):
        text = lease_text(number, NOON).encode()
        stream.append(
            b"commit refs/heads/agents/%b\ncommitter a <a@example.com> 0 +0000\ndata 1\nx\n"
            b"M 100644 inline lease.yaml\ndata %d\n%b\n" % (name_of(number).encode(), len(text), text)
        )
    repo.git("fast-import", "--quiet", stdin=b"".join(stream))
    repo.git("push", "--quiet", "origin", "refs/heads/agents/*:refs/heads/agents/*")


def _plan_of_everything(fleet: Fleet) -> None:
    """A pull request that changes a decision about every cluster has a comment that the forge takes."""
    ada = fleet.clones["ada"]
    ada.git("checkout", "--quiet", "-b", "topic", "origin/main")
    ada.commit({f"taint-{number}.yaml": _taint(number) for number in range(3)})
    assert fleet.push("ada", "topic") == ""
    pull = fleet.pull("topic")
    planned(fleet, *AT)
    assert comment(fleet) == "commented\n"
    assert "night-0" in fleet.comments(pull)[0]


def _taint(number: int) -> str:
    return (
        f"apiVersion: muster.dev/v1alpha1\nkind: TaintPolicy\nmetadata: {{name: night-{number}}}\nspec:\n"
        f"  target: {{kind: ManagedCluster}}\n  taints:\n"
        f'  - {{key: example.com/night-{number}, effect: PreferNoSelect, when: "true"}}\n'
    )
