"""One ref for many clusters: what a relay says of each is heard as if it were that agent's ref."""

from pathlib import Path

import pytest

from muster.data.times import parse_time
from muster.git.agents.listing import fetch_agent_refs, local_agent_refs, newest_commit_time
from muster.git.agents.refs import AgentRef
from muster.git.agents.relays import COMMIT, RelayedFolders, cluster_folder, relayed_folders
from muster.git.repository import Repository, open_repository
from muster.git.snapshot import CommitSnapshot
from tests.support.git import Repo, clone, new_repository

SETTINGS = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec:
  agents:
    maxFiles: 5
    relays: [{name: edge, clusters: ["edge-*"]}]
"""
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def said(at: str, **files: str) -> dict[str, str]:
    """What a relay's folder holds of a cluster."""
    committer = f"committer Agent <a@b> {int(parse_time(at).timestamp())} +0000"
    return {COMMIT: f"tree {'0' * 40}\n{committer}\n\nBeat\n", **{f"{name}.yaml": text for name, text in files.items()}}


def relay(repo: Repo, clusters: dict[str, dict[str, str]], ref: str = "refs/heads/relays/edge") -> str:
    files = {f"{cluster_folder(name)}/{path}": text for name, own in clusters.items() for path, text in own.items()}
    return repo.commit_to(ref, files, date=LATE)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"fleet.yaml": SETTINGS})
    return made


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def heard(repo: Repo, refs: tuple[AgentRef, ...] | None = None) -> dict[str, str]:
    """The files by label, and of what was left out the reason."""
    repository, found = opened(repo), local_agent_refs(opened(repo))
    snapshot = CommitSnapshot(repository, repo.tip(), found.refs if refs is None else refs, found.agents)
    files = {file.label: file.read().decode() for file in snapshot.files() if file.ref}
    return files | {skip.ref: skip.reason for skip in snapshot.skipped}


def test_each_cluster_is_heard_by_itself(repo: Repo) -> None:
    first = relay(repo, {"edge-a": said(EARLY, lease="a: 1\n"), "edge-b.c": said(EARLY, lease="b: 1\n", more="m\n")})
    assert heard(repo) == {
        "relays/edge~edge-a:lease.yaml": "a: 1\n",
        "relays/edge~edge-b.c:lease.yaml": "b: 1\n",
        "relays/edge~edge-b.c:more.yaml": "m\n",
    }
    before = {ref.cluster: ref.commit for ref in local_agent_refs(opened(repo)).refs}
    second = relay(repo, {"edge-a": said(LATE, lease="a: 2\n"), "edge-b.c": said(EARLY, lease="b: 1\n", more="m\n")})
    after = {ref.cluster: ref.commit for ref in local_agent_refs(opened(repo)).refs}
    assert (before["edge-a"] == after["edge-a"], before["edge-b.c"] == after["edge-b.c"]) == (False, True)
    assert len({first, second}) == 2
    assert newest_commit_time(opened(repo), local_agent_refs(opened(repo)).refs, parse_time(LATE)) == parse_time(LATE)


def test_a_relay_speaks_for_what_it_is_given(repo: Repo) -> None:
    relay(repo, {"edge-a": said(EARLY, lease="a: 1\n"), "prod": said(EARLY, lease="p: 1\n")})
    relay(repo, {"edge-b": said(EARLY, lease="b: 1\n")}, "refs/heads/relays/stranger")
    assert heard(repo) == {"relays/edge~edge-a:lease.yaml": "a: 1\n", "relays/edge~prod": "not-given"}


@pytest.mark.parametrize(("own", "chosen"), [(EARLY, "relays/edge~edge-a"), (LATE, "agents/edge-a")])
def test_of_a_relay_s_word_and_the_agent_s_own_the_later_counts(repo: Repo, own: str, chosen: str) -> None:
    """By when the relay heard it, not by when it committed: it does that all the time."""
    relay(repo, {"edge-a": said("2026-01-01T00:00:30Z", lease="relayed\n")})
    repo.commit_to("refs/heads/agents/edge-a", {"lease.yaml": "own\n"}, date=own)
    assert [ref.short for ref in local_agent_refs(opened(repo)).refs] == [chosen]


def test_one_that_says_too_much_costs_the_others_nothing(repo: Repo) -> None:
    many = {f"f{number}": "x\n" for number in range(6)}
    relay(repo, {"edge-a": said(EARLY, **many), "edge-b": said(EARLY, lease="b: 1\n")})
    assert heard(repo) == {"relays/edge~edge-b:lease.yaml": "b: 1\n", "relays/edge~edge-a": "over-limit"}


def test_a_relay_s_ref_is_fetched_like_an_agent_s(repo: Repo, tmp_path: Path) -> None:
    checkout = clone(repo, tmp_path / "checkout", "--single-branch")
    for number in (1, 2):
        relay(repo, {"edge-a": said(LATE, lease=f"a: {number}\n")})
        found = fetch_agent_refs(opened(checkout), frozenset)
        assert heard(checkout, found.refs) == {"origin/relays/edge~edge-a:lease.yaml": f"a: {number}\n"}


def test_what_is_not_as_it_should_be_is_nothing(repo: Repo) -> None:
    odd = {"README": "x", "00/notes.yaml": "x", "00/Not A Name/l.yaml": "x", "00/edge-a/l.yaml": "a\n"}
    commit = repo.commit_to("refs/heads/relays/edge", odd)
    assert [name for shard in relayed_folders(opened(repo), commit).agents for name, _ in shard] == ["edge-a"]
    assert relayed_folders(opened(repo), "0" * 40) == RelayedFolders()
    damaged = repo.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=b"40000 00\0short")
    repo.git("update-ref", "refs/heads/relays/edge", repo.git("commit-tree", damaged, "-m", "x"))
    assert local_agent_refs(opened(repo)).refs == ()
