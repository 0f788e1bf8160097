"""A person's edit, whichever it is: one commit on the newest head, pushed where asked, and never one that breaks."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from muster.features.edits.accepting import accept, deny
from muster.features.edits.claiming import claim, release
from muster.features.edits.editing import Draft, Edit, EditRefusedError, commit_edit
from muster.features.edits.tainting import TaintEdit, taint
from muster.git.errors import RepositoryError
from muster.git.repository import open_repository
from tests.support.git import Repo, clone, new_repository

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: NAME}
spec: {hubAcceptsClient: ACCEPTED}
"""
POOL = """\
apiVersion: hive.openshift.io/v1
kind: ClusterPool
metadata: {name: small, namespace: pools}
spec: {size: 0, baseDomain: example.com, imageSetRef: {name: v1}, platform: {aws: {region: eu}}}
"""
CLAIM = """\
apiVersion: hive.openshift.io/v1
kind: ClusterClaim
metadata: {name: mine, namespace: pools}
spec: {clusterPoolName: small}
"""
EDITS: dict[str, tuple[Edit, str]] = {
    "accept": (partial(accept, clusters=["new"]), "clusters/new.yaml"),
    "deny": (partial(deny, clusters=["old"]), "clusters/old.yaml"),
    "taint": (partial(taint, clusters=["old"], edits=[TaintEdit.parse("a:NoSelect")]), "clusters/old.yaml"),
    "claim": (partial(claim, name="yours", pool="small", now=NOW), "pools/claims/pools/yours.yaml"),
    "release": (partial(release, name="mine"), "pools/mine.yaml"),
}


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit(
        {
            "clusters/new.yaml": CLUSTER.replace("NAME", "new").replace("ACCEPTED", "false"),
            "clusters/old.yaml": CLUSTER.replace("NAME", "old").replace("ACCEPTED", "true"),
            "pools/small.yaml": POOL,
            "pools/mine.yaml": CLAIM,
        }
    )
    return repo


def changed(repo: Repo, revision: str = "main") -> list[str]:
    return repo.git("diff", "--name-only", f"{revision}^", revision).splitlines()


@pytest.mark.parametrize("verb", EDITS)
def test_an_edit_is_pushed_and_made_anew_where_somebody_was_faster(fleet: Repo, tmp_path: Path, verb: str) -> None:
    edit, path = EDITS[verb]
    origin = clone(fleet, tmp_path / "origin.git", "--bare")
    here, rival = clone(origin, tmp_path / "here"), clone(origin, tmp_path / "rival")
    rivals = iter(["theirs.yaml"])

    def contested(draft: Draft) -> None:
        edit(draft)
        for name in rivals:
            rival.commit({name: "# nothing\n"})
            rival.git("push", "--quiet")

    done = commit_edit(
        open_repository(here.path, here.environ),
        contested,
        "Edit",
        branch="main",
        remote="origin",
        attempts=range(2),
    )
    assert done.pushed
    assert done.commit == origin.tip("main") == here.tip("main")
    assert changed(origin) == [path]
    assert changed(origin, "main^") == ["theirs.yaml"]


@pytest.mark.parametrize("verb", EDITS)
def test_an_edit_gives_up_where_others_are_faster_every_time(fleet: Repo, verb: str) -> None:
    edit, _ = EDITS[verb]

    def contested(draft: Draft) -> None:
        edit(draft)
        fleet.git("commit", "--quiet", "--allow-empty", "-m", "Theirs")

    with pytest.raises(RepositoryError, match="main kept moving, so nothing was committed"):
        commit_edit(
            open_repository(fleet.path, fleet.environ),
            contested,
            "Edit",
            branch="main",
            remote=None,
            attempts=range(2),
        )
    assert fleet.git("log", "--format=%s", "--max-count=2").splitlines() == ["Theirs", "Theirs"]


@pytest.mark.parametrize("verb", EDITS)
def test_an_edit_that_would_break_the_fleet_is_refused(fleet: Repo, verb: str) -> None:
    edit, _ = EDITS[verb]
    head = fleet.tip()

    def breaking(draft: Draft) -> None:
        edit(draft)
        body = {"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster"}
        draft.create("clusters/worse.yaml", {**body, "metadata": {"name": "worse"}, "spec": {"hubAcceptsClient": "no"}})

    with pytest.raises(EditRefusedError, match="would not be valid") as refused:
        commit_edit(
            open_repository(fleet.path, fleet.environ), breaking, "Edit", branch="main", remote=None, attempts=range(1)
        )
    assert [found.file for found in refused.value.findings] == ["clusters/worse.yaml"]
    assert fleet.tip() == head
