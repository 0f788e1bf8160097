"""What collectors say is on disk at once, within the limits of an agent, and goes out with the relay's commit."""

from pathlib import Path

import pytest

from muster.agents.relay.collected import REF, CollectedFiles, TooMuchError
from muster.agents.relay.relay import Relay
from muster.data.snapshot import AgentLimits
from muster.data.source import SourceFile
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.git.snapshot import CommitSnapshot
from tests.agents.relay.test_relay import NOW, SETTINGS, Site, site
from tests.support.git import Repo, clone, new_repository

__all__ = ["site"]  # a fixture
HERE = ("edge-a", "alerts/conditions/Ready.yaml")


def write(files: CollectedFiles, **texts: str) -> None:
    files.change([], lambda _: {("edge-a", f"alerts/{name}.yaml"): text.encode() for name, text in texts.items()})


def heard(hub: Repo) -> list[tuple[str, str]]:
    """The agents' files that a run reads."""
    repository = open_repository(hub.path, hub.environ)
    refs = local_agent_refs(repository, "main")
    snapshot = CommitSnapshot(repository, hub.git("rev-parse", "main").strip(), refs.refs, refs.agents)
    found: list[SourceFile] = [file for file in snapshot.files() if file.ref]
    return [(file.ref, file.path) for file in found]


def test_files_are_changed_and_removed(site: Site) -> None:
    files = site.relay.collected
    assert files.tree == ""
    files.change([HERE], lambda known: {HERE: b"one\n"} if not known else {})
    files.change([HERE], lambda known: {HERE: known[HERE] + b"two\n"})
    assert site.repo.git("show", f"{REF}:{_folder(site)}/{HERE[1]}") == "one\ntwo"
    tree = files.tree
    files.change([HERE], lambda _: {})
    assert files.tree == tree
    files.change([HERE], lambda _: {HERE: None})
    assert files.tree == ""
    assert int(site.repo.git("rev-list", "--count", REF)) == 1  # no history


def _folder(site: Site) -> str:
    (line,) = {path.rpartition("/alerts/")[0] for path in site.repo.git("ls-tree", "-r", "--name-only", REF).split()}
    return line


def test_a_cluster_has_as_much_as_an_agent_may_have(site: Site) -> None:
    files = site.relay.collected
    files.limits = AgentLimits(max_bytes=100, max_files=4)
    write(files, a="x", b="x", c="x")
    with pytest.raises(TooMuchError, match="edge-a: more than 4 files"):
        write(files, d="x", e="x")
    with pytest.raises(TooMuchError, match="edge-a: 102 bytes, more than 100"):
        write(files, a="x" * 100)
    assert "d.yaml" not in site.repo.git("ls-tree", "-r", "--name-only", REF)


def test_collectors_speak_beside_the_agent_whatever_way_it_takes(site: Site) -> None:
    """One agent pushes to the relay, one sends over HTTP, one pushes to the hub: none is silenced by a collector."""
    site.beat("edge-a", 1)
    site.relay.post("edge-b", None, {"lease.yaml": b"edge-b: 1\n"})
    site.hub.commit_to("refs/heads/agents/edge-c", {"lease.yaml": "edge-c: 1\n"})
    for cluster in ("edge-a", "edge-b", "edge-c", "edge-d"):
        path = (cluster, "alerts/x.yaml")
        site.relay.collected.change([], lambda _, path=path: {path: b"x: 1\n"})  # type: ignore[misc]
    site.relay.step()
    assert site.relay.step() == 0
    assert heard(site.hub) == [
        ("agents/edge-c", "lease.yaml"),
        ("relays/edge~collected~edge-a", "alerts/x.yaml"),
        ("relays/edge~collected~edge-b", "alerts/x.yaml"),
        ("relays/edge~collected~edge-c", "alerts/x.yaml"),
        ("relays/edge~collected~edge-d", "alerts/x.yaml"),
        ("relays/edge~edge-a", "lease.yaml"),
        ("relays/edge~edge-b", "lease.yaml"),
    ]
    refs = local_agent_refs(open_repository(site.hub.path, site.hub.environ), "main")
    assert refs.agents.present == {"edge-a", "edge-b", "edge-c"}  # a collector is no agent
    again = site.again()
    again.fetch_hub()
    assert again.step() == 0


def test_a_fleet_that_asks_for_signatures_does_not_hear_collectors(site: Site, tmp_path: Path) -> None:
    person = Repo(tmp_path / "person", site.hub.environ)
    person.commit({"fleet.yaml": SETTINGS.replace("relays:", "signing: required, relays:")})
    person.git("push", "--quiet", "origin", "main")
    write(site.relay.collected, x="x: 1\n")
    site.relay.step()
    assert heard(site.hub) == []
    refs = local_agent_refs(open_repository(site.hub.path, site.hub.environ), "main").refs
    assert [ref.refused for ref in refs] == [("not-signed", "edge-a")]


def test_a_relay_that_lost_its_repository_takes_its_collectors_words_over(site: Site, tmp_path: Path) -> None:
    write(site.relay.collected, x="x: 1\n")
    site.relay.step()
    fresh = new_repository(tmp_path / "fresh.git", bare=True)
    relay = Relay(open_repository(fresh.path, fresh.environ), "edge", str(site.hub.path), "main", lambda: NOW)
    relay.fetch_hub()
    write(relay.collected, y="y: 1\n")
    relay.step()
    assert [path for _, path in heard(site.hub)] == ["alerts/x.yaml", "alerts/y.yaml"]
    assert clone(site.hub, tmp_path / "there").git("rev-parse", "origin/relays/edge")
