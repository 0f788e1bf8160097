"""The ManifestWorks of a cluster, as its agent reads them: from the hub's repository, and as a relay reads them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from muster.agents.hub.local import LocalHub
from muster.agents.hub.protocol import decode_view, decode_works, encode_view
from muster.agents.hub.remote import RemoteHub
from muster.agents.hub.view import ClusterWorks, HubView
from muster.data.kinds import MANIFEST_WORK
from muster.data.locations import derived_path
from muster.data.tree import Tree
from muster.git.errors import RepositoryError
from muster.git.repository import open_repository
from tests.support.git import Repo, git_environ, new_repository

CLUSTER = "ab"  # which is a folder of shards, too
ACCEPTED = """\
kind: ManagedCluster
status:
  conditions: [{type: HubAcceptedManagedCluster, status: "True"}]
"""
Look = Callable[[], HubView]


def work(name: str, cluster: str = CLUSTER, shards: int = 1) -> dict[str, str | None]:
    text = f"kind: ManifestWork\nmetadata: {{name: {name}, namespace: {cluster}}}\n"
    return {derived_path(MANIFEST_WORK.id(name, cluster), shards): text}


def names(view: HubView) -> list[str] | None:
    return None if view.works is None else sorted(view.works.bodies)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "hub")
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    return repo


@pytest.fixture(params=["remote", "local"])
def look(request: pytest.FixtureRequest, repo: Repo, tmp_path: Path) -> Look:
    if request.param == "remote":
        remote = RemoteHub(f"file://{repo.path}", "main", CLUSTER, git_environ(tmp_path), with_works=True)
        request.addfinalizer(remote.close)
        return remote.look
    local = LocalHub(open_repository(repo.path, repo.environ), "main")

    def looked() -> HubView:
        local.refresh()
        return local.view(CLUSTER, known_works="")

    return looked


def test_works_are_those_of_an_accepted_cluster_in_any_layout(repo: Repo, look: Look) -> None:
    repo.commit(work("web"))
    assert names(look()) is None, "nothing says that the cluster is accepted"
    repo.commit({f"derived/managedclusters/{CLUSTER}.yaml": ACCEPTED})
    first = look()
    assert names(first) == ["web"]
    repo.commit({"notes.txt": "x"})
    assert look() == first
    repo.commit(work("db") | work("other", "zz"))
    second = look()
    assert names(second) == ["db", "web"]
    assert first.works is not None and second.works is not None and first.works.digest != second.works.digest
    # The fleet begins to use shards: the folder of the cluster's name now has clusters in it.
    gone = {path: None for name in ("web", "db") for path in work(name)}
    repo.commit({**gone, **work("web", shards=256), f"derived/manifestworks/{CLUSTER}/cd/web.yaml": "kind: Other\n"})
    assert names(look()) == ["web"]
    repo.commit(dict.fromkeys(work("web", shards=256)))
    assert names(look()) == []
    repo.commit({f"derived/managedclusters/{CLUSTER}.yaml": ACCEPTED.replace('"True"', '"False"')})
    assert names(look()) is None


@pytest.mark.parametrize("text", ["kind: [", "kind: ManifestWork\n", "kind: ConfigMap\nmetadata: {namespace: ab}\n"])
def test_a_file_that_cannot_be_read_is_not_a_work_that_is_gone(repo: Repo, look: Look, text: str) -> None:
    repo.commit({f"derived/managedclusters/{CLUSTER}.yaml": ACCEPTED, **dict.fromkeys(work("web"), text)})
    with pytest.raises(RepositoryError):
        look()


def test_a_lost_folder_is_not_an_empty_one(repo: Repo) -> None:
    repo.commit({f"derived/managedclusters/{CLUSTER}.yaml": ACCEPTED, **work("web")})
    tree = repo.git("rev-parse", f"main:derived/manifestworks/{CLUSTER}")
    (repo.path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    local = LocalHub(open_repository(repo.path, repo.environ), "main")
    local.refresh()
    with pytest.raises(RepositoryError):
        local.view(CLUSTER, known_works="")


def test_a_relay_sends_works_that_the_agent_does_not_have() -> None:
    body = {"kind": "ManifestWork", "metadata": {"name": "web", "namespace": CLUSTER}}
    works = ClusterWorks("d", {"web": body})
    view = HubView(accepted=True, works=works)
    for known, expected in ((None, works), (works, works), (ClusterWorks("e", {}), works)):
        message = encode_view(view, known.digest if known else "")
        assert decode_works(message, CLUSTER, known) == expected
        assert (message["works"]["bodies"] is None) is (known is works)
    assert decode_view(encode_view(view)) == HubView(accepted=True)
    wrongs: list[Tree] = [
        {},
        {"works": {}},
        {"works": {"digest": "d", "bodies": None}},
        {"works": {"digest": 1, "bodies": []}},
        {"works": {"digest": "d", "bodies": [{"kind": "ManifestWork"}]}},
    ]
    assert [decode_works(wrong, CLUSTER, None) for wrong in wrongs] == [None] * len(wrongs)
