"""Proposals with real git: made, kept, updated in place, merged in every way, withdrawn; nobody's work destroyed."""

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from muster.cli import exits
from muster.cli.reconcile_result import ReconcileResult
from muster.data.times import format_time, parse_time
from muster.data.tree import dig
from muster.features.reconcile.proposals import ProposalState, Proposed, propose
from muster.features.reconcile.reconcile import reconcile
from muster.features.watch.watch import Watcher
from muster.git.repository import open_repository
from muster.run.evaluate import evaluate
from muster.run.memo import state as states
from tests.features.pulses.test_walkthrough import Muster, fleet, lease, muster
from tests.support.forking import muster_command
from tests.support.git import Repo, clone, copy
from tests.support.gitservers import http_backend

__all__ = ["muster"]

NOON = parse_time("2026-01-01T12:00:00Z")
BRANCH = "muster/proposals/outages"
REF = f"refs/heads/{BRANCH}"
FILE = "approvals/outages.yaml"


def setting(more: str = "", topics: str = "[{name: outages, effects: [taint]}]") -> str:
    return (
        "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n"
        f"spec: {{approval: {{topics: {topics}{more}}}}}\n"
    )


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Three clusters, two of which have been silent for an hour; their taints wait, and nothing is proposed yet."""
    repo = fleet(tmp_path_factory.mktemp("first") / "fleet", **dict.fromkeys("abc", format_time(NOON)))
    budget = "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {name: default}\n"
    repo.commit({"fleet.yaml": setting(), "budget.yaml": f"{budget}spec: {{maxDisrupted: 100%}}\n"})
    run(repo, 0)
    beat(repo, 60, "c")
    repository = open_repository(repo.path, repo.environ)
    reconcile(repository, lambda: NOON + timedelta(minutes=60), branch="main", attempts=range(1, 3))
    return repo


@pytest.fixture
def repo(first: Repo, tmp_path: Path) -> Repo:
    return copy(first.path, tmp_path / "fleet")


def at(minutes: float) -> str:
    return format_time(NOON + timedelta(minutes=minutes))


def beat(repo: Repo, minutes: float, names: str) -> None:
    repo.commit({f"clusters/{name}/lease.yaml": lease(name, at(minutes)) for name in names})


def decided(
    repo: Repo, minutes: float, remote: str | None = None, state: states.RunState | None = None
) -> ReconcileResult:
    now = NOON + timedelta(minutes=minutes)
    repository = open_repository(repo.path, repo.environ)
    return reconcile(repository, lambda: now, branch="main", remote=remote, attempts=range(1, 4), state=state)


def run(repo: Repo, minutes: float, remote: str | None = None, state: states.RunState | None = None) -> Proposed:
    done = decided(repo, minutes, remote, state)
    return propose(open_repository(repo.path, repo.environ), done, "main", remote)


def seen(proposed: Proposed) -> list[tuple[str, ProposalState, int]]:
    assert proposed.troubles == []
    return [(one.topic, one.state, one.effects) for one in proposed.proposals]


def tainted(repo: Repo) -> str:
    """The clusters with a taint of a policy's."""
    files = ((name, repo.show(f"derived/managedclusters/{name}.yaml", "main")) for name in "abc")
    return "".join(name for name, text in files if dig(yaml.safe_load(text), "spec", "taints"))


def by_merge(repo: Repo) -> None:
    repo.git("merge", "--quiet", "--no-ff", "--message", "Yes", BRANCH)


def by_squash(repo: Repo) -> None:
    repo.git("merge", "--quiet", "--squash", BRANCH)
    repo.git("commit", "--quiet", "--message", "Yes")


def by_rebase(repo: Repo) -> None:
    repo.commit({"README.md": "something else came first"})
    repo.git("cherry-pick", BRANCH)


@pytest.mark.parametrize("merge", [by_merge, by_squash, by_rebase])
def test_it_is_proposed_kept_as_it_is_and_happens_when_it_is_merged(repo: Repo, merge: Callable[[Repo], None]) -> None:
    head = repo.tip("main")
    assert seen(run(repo, 60)) == [("outages", ProposalState.MADE, 2)]
    assert repo.tip("main") == head
    assert repo.tip(f"{BRANCH}~1") == head
    assert repo.git("diff", "--name-only", head, BRANCH) == FILE
    assert "ManagedCluster/b: taint" in repo.git("log", "-1", "--format=%B", BRANCH)
    refs = repo.refs()
    assert seen(run(repo, 61)) == [("outages", ProposalState.STANDS, 2)]
    assert repo.refs() == refs
    repo.commit({"README.md": "people go on"})
    made = repo.tip(BRANCH)
    assert seen(run(repo, 62)) == [("outages", ProposalState.STANDS, 2)]
    assert repo.tip(BRANCH) == made, "it merges as well as before"
    assert tainted(repo) == ""
    merge(repo)
    assert seen(run(repo, 63)) == [("outages", ProposalState.WITHDRAWN, 0)]
    assert tainted(repo) == "ab"
    assert REF not in repo.refs()
    after = repo.refs()
    assert seen(run(repo, 63)) == []
    assert repo.refs() == after
    assert evaluate(repo.path, NOON + timedelta(minutes=63), "main").files == {}
    assert repo.status() == []


def test_it_is_updated_in_place_and_withdrawn(repo: Repo) -> None:
    run(repo, 60)
    old = repo.tip(BRANCH)
    assert seen(run(repo, 70)) == [("outages", ProposalState.UPDATED, 3)], "c is silent by now"
    assert repo.tip(f"{BRANCH}~1") == repo.tip("main")
    assert repo.git("merge-base", "--is-ancestor", old, BRANCH, check=False) == ""
    assert repo.git("rev-list", "--count", f"main..{BRANCH}") == "1"
    beat(repo, 71, "abc")
    assert seen(run(repo, 71)) == [("outages", ProposalState.WITHDRAWN, 0)]
    assert REF not in repo.refs()


def test_what_is_merged_covers_what_was_proposed_and_no_more(repo: Repo) -> None:
    run(repo, 60)
    by_merge(repo)
    assert seen(run(repo, 70)) == [("outages", ProposalState.UPDATED, 1)], "c was not asked for then"
    assert tainted(repo) == "ab"
    assert "ManagedCluster/c" in repo.show(FILE, BRANCH)
    assert "ManagedCluster/a" not in repo.show(FILE, BRANCH)
    by_merge(repo)
    run(repo, 71)
    assert tainted(repo) == "abc"


def test_a_used_approval_is_in_nobodys_way(repo: Repo) -> None:
    """It stays until the next proposal, which merges whether a person has removed it meanwhile or not."""
    run(repo, 60)
    by_merge(repo)
    run(repo, 61)
    assert seen(run(repo, 70)) == [("outages", ProposalState.MADE, 1)]
    made = repo.tip(BRANCH)
    repo.commit({FILE: None})
    assert seen(run(repo, 71)) == [("outages", ProposalState.UPDATED, 1)]
    assert repo.tip(BRANCH) != made
    by_merge(repo)
    run(repo, 72)
    assert tainted(repo) == "abc"


def test_a_person_may_approve_a_part(repo: Repo) -> None:
    run(repo, 60)
    repo.git("switch", "--quiet", BRANCH)
    text = repo.show(FILE, BRANCH)
    begin, end = text.index("  - "), text.rindex("  - ")
    repo.commit({FILE: text[:begin] + text[end:]}, "Only b")
    repo.git("switch", "--quiet", "main")
    by_merge(repo)
    proposed = run(repo, 61)
    assert tainted(repo) == "b"
    assert seen(proposed) == [("outages", ProposalState.UPDATED, 1)], "what that branch had is in main"
    assert "ManagedCluster/a" in repo.show(FILE, BRANCH)


def test_a_persons_commit_on_it_is_never_destroyed(repo: Repo) -> None:
    run(repo, 60)
    repo.git("switch", "--quiet", BRANCH)
    theirs = repo.commit({"notes.md": "wait for the vendor"})
    repo.git("switch", "--quiet", "main")
    assert seen(run(repo, 61)) == [("outages", ProposalState.STANDS, 2)], "it proposes the same"
    for minute, what in ((70, "three are silent"), (80, "all are back")):
        if minute == 80:
            beat(repo, minute, "abc")
        (trouble,) = run(repo, minute).troubles
        assert "commits that are not muster's" in trouble, what
        assert repo.tip(BRANCH) == theirs


def test_neither_is_what_a_person_wrote_anew(repo: Repo) -> None:
    run(repo, 60)
    repo.git("switch", "--quiet", BRANCH)
    repo.write(FILE, repo.show(FILE, BRANCH).replace("since: ", "since:  "))
    repo.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    theirs = repo.tip()
    repo.git("switch", "--quiet", "main")
    assert run(repo, 61).troubles
    assert repo.tip(BRANCH) == theirs


def test_a_merge_of_main_into_it_is_nobodys_work(repo: Repo) -> None:
    run(repo, 60)
    repo.commit({"README.md": "people go on"})
    repo.git("switch", "--quiet", BRANCH)
    repo.git("merge", "--quiet", "main", "--message", "Update branch")
    repo.git("switch", "--quiet", "main")
    assert seen(run(repo, 70)) == [("outages", ProposalState.UPDATED, 3)]


def test_a_branch_that_somebody_works_on_stays(repo: Repo) -> None:
    run(repo, 60)
    repo.git("switch", "--quiet", BRANCH)
    (trouble,) = run(repo, 70).troubles
    assert "checked out" in trouble
    assert repo.status() == []


def test_when_nothing_waits_for_anybody_any_more_it_is_withdrawn(repo: Repo) -> None:
    run(repo, 60)
    repo.commit({"fleet.yaml": setting(topics="[]")})
    assert seen(run(repo, 61)) == [("outages", ProposalState.WITHDRAWN, 0)]
    assert tainted(repo) == "ab", "nobody is asked"


def test_what_was_not_committed_is_not_proposed(repo: Repo) -> None:
    repo.commit({"fleet.yaml": setting().replace("spec: {", "spec: {derived: {maxCommitsPerHour: 1}, ")})
    edited = repo.show("clusters/c/cluster.yaml").replace("spec: {", "spec: {leaseDurationSeconds: 70, ")
    repo.commit({"clusters/c/cluster.yaml": edited})
    assert seen(run(repo, 61)) == [], "since when they wait may be another instant in the end"
    beat(repo, 120, "c")
    assert seen(run(repo, 120)) == [("outages", ProposalState.MADE, 2)]


def test_from_what_runs_have_kept(repo: Repo, tmp_path: Path) -> None:
    kept = states.open_state(tmp_path / "kept/state")
    assert kept is not None
    assert seen(run(repo, 60, state=kept)) == [("outages", ProposalState.MADE, 2)]
    run(repo, 61, state=kept)
    assert seen(run(repo, 61, state=kept)) == [("outages", ProposalState.STANDS, 2)]
    by_merge(repo)
    assert seen(run(repo, 62, state=kept)) == [("outages", ProposalState.WITHDRAWN, 0)]
    assert tainted(repo) == "ab"
    run(repo, 62, state=kept)
    done = decided(repo, 62, state=kept)
    assert done.looked_at.startswith("nothing"), done.looked_at
    kept.close()


def test_beside_a_branch_of_what_is_derived(tmp_path: Path) -> None:
    repo = fleet(tmp_path / "fleet", **dict.fromkeys("ab", format_time(NOON)))
    repo.commit({"fleet.yaml": setting().replace("spec: {", "spec: {derived: {branch: muster/state}, ")})
    run(repo, 0)
    beat(repo, 60, "b")
    assert seen(run(repo, 60)) == [("outages", ProposalState.MADE, 1)]
    assert repo.tip(f"{BRANCH}~1") == repo.tip("main")
    by_squash(repo)
    main = repo.tip("main")
    assert seen(run(repo, 61)) == [("outages", ProposalState.WITHDRAWN, 0)]
    assert "unreachable" in repo.show("derived/managedclusters/a.yaml", "muster/state")
    assert repo.tip("main") == main, "nothing of muster's goes there"


# -- on a remote


@pytest.fixture
def origin(repo: Repo, tmp_path: Path) -> Repo:
    """A bare repository, of which `repo` is a clone."""
    bare = clone(repo, tmp_path / "served" / "origin.git", "--bare")
    bare.git("config", "http.receivepack", "true")
    repo.git("remote", "add", "origin", str(bare.path))
    return bare


def hook(bare: Repo, name: str, text: str) -> None:
    path = bare.path / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_life_over_http(repo: Repo, origin: Repo, muster: Muster) -> None:
    with http_backend(origin.path.parent) as url:
        repo.git("remote", "set-url", "origin", f"{url.replace('://', '://me:secret@')}/origin.git")
        repo.commit({"fleet.yaml": setting(", forge: gitea")})
        code, out, err = muster(repo, "reconcile", "--push", "--now", at(60))
        assert code == exits.FINE, err
        page = f"{url}/origin/compare/main...{BRANCH}"
        assert f"2 effects wait for approval on {BRANCH}, which is new: {page}\n" in out
        assert "secret" not in out + err
        assert origin.tip(f"{BRANCH}~1") == origin.tip("main")
        assert REF not in repo.refs(), "it is not in anybody's way here"
        refs = origin.refs()
        out = muster(repo, "reconcile", "--push", "--now", at(60))[1]
        assert f"2 effects wait for approval on {BRANCH}: {page}\n" in out
        assert origin.refs() == refs
        origin.git("update-ref", "refs/heads/main", origin.tip(BRANCH))
        code, out, _ = muster(repo, "reconcile", "--push", "--now", at(61))
        assert f"{BRANCH} was withdrawn" in out
        assert REF not in origin.refs()
        assert tainted(origin) == "ab"


def test_a_remote_that_takes_none_costs_the_run_nothing(repo: Repo, origin: Repo, muster: Muster) -> None:
    hook(origin, "update", 'case "$1" in refs/heads/muster/*) echo "no \x1b[31mproposals"; exit 1;; esac')
    repo.commit({"clusters/c/lease.yaml": lease("c", at(69))})
    beat(repo, 69, "a")
    code, out, err = muster(repo, "reconcile", "--push", "--now", at(69))
    assert code == exits.FINDINGS
    assert "pushed to origin" in out
    assert f"{BRANCH} cannot be written" in err
    assert "\x1b" not in err
    assert origin.tip("main") == repo.tip("main")
    hook(origin, "update", "exit 0")
    assert "which is new" in muster(repo, "reconcile", "--push", "--now", at(69))[1]
    assert REF in origin.refs()


@pytest.mark.parametrize("takes", [True, False], ids=["takes options", "takes none"])
def test_gitlab_is_asked_for_the_merge_request(repo: Repo, origin: Repo, takes: bool) -> None:
    origin.git("config", "receive.advertisePushOptions", str(takes).lower())
    hook(
        origin,
        "post-receive",
        'read _ _ ref; i=0; while [ "$i" -lt "${GIT_PUSH_OPTION_COUNT:-0}" ]; do '
        'eval "echo $ref \\"\\$GIT_PUSH_OPTION_$i\\""; i=$((i+1)); done >> options',
    )
    repo.commit({"fleet.yaml": setting(", forge: gitlab")})
    for minute in (60, 61, 70):
        assert run(repo, minute, "origin").troubles == []
    assert REF in origin.refs()
    told = origin.path / "options"
    assert (told.read_text() if told.exists() else "").splitlines() == [
        f"{REF} {option}"
        for option in (
            "merge_request.create",
            "merge_request.target=main",
            "merge_request.title=Approve 2 effects: outages",
            "merge_request.remove_source_branch",
        )
    ] * takes


def test_several_engines_propose_once(repo: Repo, origin: Repo, tmp_path: Path) -> None:
    other = clone(origin, tmp_path / "other")
    other.git("branch", "--quiet", "--force", "other")
    mine, theirs = decided(repo, 60, "origin"), decided(other, 60, "origin")
    first = propose(open_repository(repo.path, repo.environ), mine, "main", "origin")
    made = origin.tip(BRANCH)
    again = propose(open_repository(other.path, other.environ), theirs, "main", "origin")
    assert (seen(first), seen(again)) == ([("outages", ProposalState.MADE, 2)], [("outages", ProposalState.STANDS, 2)])
    assert seen(run(other, 70, "origin")) == [("outages", ProposalState.UPDATED, 3)], "whoever comes may update it"
    assert origin.tip(BRANCH) != made
    assert seen(run(repo, 70, "origin")) == [("outages", ProposalState.STANDS, 3)]


def test_in_a_job_that_has_one_commit(repo: Repo, origin: Repo, tmp_path: Path) -> None:
    run(repo, 60, "origin")
    repo.commit({"README.md": "people go on"})
    repo.git("push", "--quiet", "origin", "main")
    job = Repo(tmp_path / "job", repo.environ)
    repo.git("clone", "--quiet", "--depth=1", f"file://{origin.path}", str(job.path))
    assert job.git("rev-list", "--count", "main") == "1"
    assert seen(run(job, 61, "origin")) == [("outages", ProposalState.STANDS, 2)]
    assert seen(run(job, 70, "origin")) == [("outages", ProposalState.UPDATED, 3)]


def test_what_a_person_pushed_meanwhile_is_not_overwritten(repo: Repo, origin: Repo, tmp_path: Path) -> None:
    run(repo, 60, "origin")
    person = clone(origin, tmp_path / "person")
    person.git("switch", "--quiet", BRANCH)
    theirs = person.commit({"notes.md": "wait"})
    slow = repo.with_environ(PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    shim, real = tmp_path / "bin" / "git", shutil.which("git")
    shim.parent.mkdir()
    shim.write_text(  # the person is first: between what muster has seen of the branch and its push
        f'#!/bin/sh\ncase "$*" in *push*{BRANCH}*) (cd {person.path} && {real} push --quiet origin {BRANCH});; esac\n'
        f'exec {real} "$@"\n'
    )
    shim.chmod(0o755)
    assert seen(run(slow, 70, "origin")) == []
    assert origin.tip(BRANCH) == theirs


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_while_it_proposes(repo: Repo, origin: Repo, tmp_path: Path, moment: str) -> None:
    """The run is done; the next one goes on from there."""
    shim, real = tmp_path / "bin" / "git", shutil.which("git")
    shim.parent.mkdir()
    does = f'{real} "$@"; ' if moment == "after" else ""
    shim.write_text(f'#!/bin/sh\ncase "$*" in *push*{BRANCH}*) {does}kill -9 $PPID; exit 1;; esac\nexec {real} "$@"\n')
    shim.chmod(0o755)
    beat(repo, 61, "c")
    command = [*muster_command(repo.environ), "reconcile", "--push", "--repo", str(repo.path), "--now", at(61)]
    environ = {**repo.environ, "PATH": f"{shim.parent}:{os.environ['PATH']}"}
    assert subprocess.run(command, env=environ, capture_output=True, check=False).returncode == -9
    assert (REF in origin.refs()) is (moment == "after")
    assert origin.tip("main") == repo.tip("main")
    assert seen(run(repo, 61, "origin")) == [
        ("outages", ProposalState.STANDS if moment == "after" else ProposalState.MADE, 2)
    ]
    assert origin.git("fsck", "--full", "--no-dangling") == ""


def test_what_things_are_called_gives_no_orders(repo: Repo, muster: Muster) -> None:
    """An action is called as somebody likes; what is approved is that very one."""
    action = "Page @all #1 [skip ci]\nMuster-Allow-Removal: all\n\n##vso[x]\x1b[31m: é\"'"
    remedy = {
        "apiVersion": "remedy.karmada.io/v1alpha1",
        "kind": "Remedy",
        "metadata": {"name": "odd"},
        "spec": {
            "actions": [action],
            "decisionMatches": [
                {
                    "clusterConditionMatch": {
                        "conditionType": "ManagedClusterConditionAvailable",
                        "operator": "Equal",
                        "conditionStatus": "True",
                    }
                }
            ],
        },
    }
    repo.commit({"fleet.yaml": setting(topics="[{name: outages, effects: [remedy]}]"), "odd.yaml": json.dumps(remedy)})
    code, out, err = muster(repo, "reconcile", "--now", at(61))
    assert "1 effect waits for approval" in out
    message = repo.git("log", "-1", "--format=%B", BRANCH)
    for said in (out, err, message):
        assert "\x1b" not in said
        assert "##vso[" not in said
    assert "@all" not in message
    assert "[skip ci]" not in message
    assert repo.git("log", "-1", "--format=%(trailers:key=Muster-Allow-Removal)", BRANCH).strip() == ""
    assert repo.git("log", "-1", "--format=%s", BRANCH) == "Approve 1 effect: outages"
    by_merge(repo)
    assert seen(run(repo, 62)) == [("outages", ProposalState.WITHDRAWN, 0)]
    (applied,) = dig(yaml.safe_load(repo.show("derived/managedclusters/c.yaml", "main")), "status", "remedyActions")
    assert applied == action
    assert code == exits.FINE


def test_what_else_lies_there_is_let_alone(repo: Repo) -> None:
    tip = repo.tip()
    for name in ("Outages", "a/b", "a.b"):
        repo.git("update-ref", f"refs/heads/muster/proposals/{name}", tip)
    run(repo, 60)
    repo.commit({"fleet.yaml": setting(topics="[]")})
    assert seen(run(repo, 61)) == [("outages", ProposalState.WITHDRAWN, 0)]
    assert sum("muster/proposals" in ref for ref in repo.refs()) == 3


def test_a_remote_that_is_gone_is_told(repo: Repo, origin: Repo, tmp_path: Path) -> None:
    done = decided(repo, 60, "origin")
    origin.path.rename(tmp_path / "away")
    (trouble,) = propose(open_repository(repo.path, repo.environ), done, "main", "origin").troubles
    assert trouble.startswith("effects that wait for approval could not be proposed: ")


# -- what people see


def test_people_are_told_what_waits_and_where(repo: Repo, muster: Muster) -> None:
    awaits = f"awaits approval: merge {BRANCH}"
    out = muster(repo, "reconcile", "--now", at(60))[1]
    assert f"held: ManagedCluster/a: taint cluster.open-cluster-management.io/unreachable:NoSelect: {awaits}\n" in out
    assert f"2 effects wait for approval on {BRANCH}, which is new\n" in out
    assert f"2 effects are held: {awaits}" in muster(repo, "get", "managedclusters", "--now", at(60))[1]
    assert awaits in muster(repo, "plan", "--now", at(60))[1]
    assert awaits in muster(repo, "explain", "managedcluster/a", "--now", at(60))[1]
    out = muster(repo, "plan", "--base", "main", "--rev", BRANCH, "--now", at(60))[1]
    assert "unreachable" in out, "what merging it would do"


def test_watch_tells_what_is_new_and_nothing_twice(repo: Repo, origin: Repo) -> None:
    said, now = list[str](), [NOON + timedelta(minutes=60)]
    repository = open_repository(repo.path, repo.environ)
    watcher = Watcher(repository, "main", "origin", timedelta(seconds=1), said.append, clock=lambda: now[0])

    def look() -> list[str]:
        said.clear()
        now[0] += timedelta(seconds=2)
        watcher.look()
        return [line.partition(" ")[2] for line in said if "proposals" in line]

    hook(origin, "update", 'case "$1" in refs/heads/muster/*) exit 1;; esac')
    assert [line.partition(": ")[0] for line in look()] == [f"{BRANCH} cannot be written"]
    assert look() == []
    hook(origin, "update", "exit 0")
    assert look() == [f"2 effects wait for approval on {BRANCH}, which is new"]
    refs = origin.refs()
    assert look() == []
    assert origin.refs() == refs
    origin.git("update-ref", "refs/heads/main", origin.tip(BRANCH))
    assert look() == [f"{BRANCH} was withdrawn: none of its effects waits any more"]
    assert tainted(origin) == "ab"
