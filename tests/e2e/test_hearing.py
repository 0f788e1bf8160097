"""Not hearing is not silence: what muster does in checkouts that lack the agents' refs, or have old copies of them.

A hub that agents push to, and every way in which CI and people come to have a clone of it.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import muster as library
from muster.cli import exits
from muster.data.times import parse_time
from tests.features.pulses.test_walkthrough import available, cluster, lease, observed
from tests.support.commandline import Run
from tests.support.git import Repo, clone, copy, new_repository
from tests.support.processes import running

BEAT, NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:10:00Z"
#: The last second before a lease of `NOW` has run out, and the first after it.
ENDING, ENDED = "2026-01-01T00:05:29Z", "2026-01-01T00:05:30Z"
DEPTH = ("--depth=1",)


@dataclass
class Hub:
    """A bare repository that agents push to; its fleet has been reconciled once, with everybody heard."""

    repo: Repo
    path: Path

    def beat(self, name: str, at: str) -> None:
        """A cluster's agent renews its lease and says that all is well."""
        self.repo.commit_to(
            f"refs/heads/agents/{name}", {"lease.yaml": lease(name, at), "observed.yaml": observed(name)}, date=at
        )

    def retire(self, name: str) -> None:
        """A cluster's agent is gone for good, and its ref with it."""
        self.repo.git("update-ref", "-d", f"refs/heads/agents/{name}")

    def clone(self, name: str, *options: str) -> Repo:
        """Clone it over a transport, as CI does: a plain path ignores --depth."""
        self.repo.git("clone", "--quiet", *options, f"file://{self.repo.path}", str(self.path / name))
        return Repo(self.path / name, self.repo.environ)


@pytest.fixture(scope="module")
def reconciled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test makes the hub, of which each gets a copy."""
    return tmp_path_factory.mktemp("reconciled")


@pytest.fixture
def hub(reconciled: Path, tmp_path: Path, muster: Run) -> Hub:
    if not any(reconciled.iterdir()):
        made = Hub(new_repository(reconciled / "hub.git", bare=True), reconciled)
        person = clone(made.repo, reconciled / "person")
        person.commit({f"clusters/{name}/cluster.yaml": cluster(name) for name in "abc"})
        person.git("push", "--quiet", "origin", "main")
        for name in "abc":
            made.beat(name, BEAT)
        assert muster("reconcile", "--repo", person.path, "--push", "--now", NOW)[0] == exits.FINE
    return Hub(copy(reconciled / "hub.git", tmp_path / "hub.git"), tmp_path)


CHECKOUTS = {
    "depth 1": DEPTH,
    "one branch": ("--single-branch",),
    "depth 1 without a work tree": (*DEPTH, "--bare"),
    "depth 50": ("--depth=50",),
    "a mirror": ("--mirror",),
    "a bare clone": ("--bare",),
    "a whole clone": (),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("options", CHECKOUTS.values(), ids=CHECKOUTS.keys())
@pytest.mark.parametrize("verb", ["plan", "reconcile", "reconcile --push"])
def test_in_any_checkout_the_agents_are_heard(hub: Hub, muster: Run, verb: str, options: tuple[str, ...]) -> None:
    checkout = hub.clone("ci", *options)
    code, out, err = muster(*verb.split(), "--repo", checkout.path, "--now", NOW)
    assert (code, err) == (exits.FINE, "")
    assert out.lower().startswith("nothing to do")
    assert hub.repo.git("log", "-1", "--format=%s", "main") == "a, b and c available"


@pytest.mark.parametrize("options", CHECKOUTS.values(), ids=CHECKOUTS.keys())
def test_news_are_heard_in_any_checkout_although_its_copies_are_old(
    hub: Hub,
    muster: Run,
    options: tuple[str, ...],
) -> None:
    checkout = hub.clone("ci", *options)
    for name in "abc":
        hub.beat(name, LATER)
    code, out, _ = muster("plan", "--repo", checkout.path, "--now", LATER)
    assert code == exits.FINE
    assert out.splitlines()[0] == "Nothing to do."
    assert f"agents heard until {LATER} (0s ago)" in out
    code, out, err = muster("reconcile", "--repo", checkout.path, "--now", LATER, "-v")
    assert (code, out) == (exits.FINE, "nothing to do\n")
    assert err.splitlines()[1:] == [f"agents heard until {LATER} (0s ago)"]


def test_only_agents_refs_are_fetched_and_nothing_of_a_persons_changes(hub: Hub, muster: Run) -> None:
    checkout = hub.clone("ci", *DEPTH)
    elsewhere = clone(hub.repo, hub.path / "elsewhere")
    elsewhere.commit({"notes.txt": "newer"})
    elsewhere.git("push", "--quiet", "origin", "main", "HEAD:topic")
    elsewhere.git("push", "--quiet", "origin", "HEAD:refs/tags/v1")
    config, before, shallow = (checkout.path / ".git/config").read_bytes(), checkout.refs(), checkout.git("log")
    assert muster("get", "--repo", checkout.path, "--now", NOW)[0] == exits.FINE
    after = checkout.refs()
    assert {name for name in after if name not in before} == {f"refs/remotes/origin/agents/{name}" for name in "abc"}
    assert {name: after[name] for name in before} == before
    assert (checkout.path / ".git/config").read_bytes() == config
    assert checkout.git("log") == shallow
    assert not (checkout.path / ".git/FETCH_HEAD").exists()


def test_an_agents_ref_with_a_history_does_not_make_a_whole_clone_shallow(hub: Hub, muster: Run) -> None:
    person = clone(hub.repo, hub.path / "whole", "--single-branch")
    history = person.git("rev-list", "HEAD")
    hub.repo.git("update-ref", "refs/heads/agents/d", "main~1")
    assert muster("plan", "--repo", person.path, "--now", NOW)[0] in (exits.FINE, exits.FINDINGS)
    assert person.git("rev-list", "HEAD") == history
    assert not (person.path / ".git/shallow").exists()


@pytest.mark.parametrize("verb", ["plan", "get", "reconcile", "get pulses", "export objects"])
def test_without_a_remote_nothing_is_decided(hub: Hub, muster: Run, verb: str) -> None:
    checkout = hub.clone("ci", *DEPTH)
    checkout.git("remote", "remove", "origin")
    before = checkout.refs()
    code, out, err = muster(*verb.split(), "--repo", checkout.path, "--now", LATER)
    assert (code, out) == (exits.REPOSITORY, "")
    assert "3 clusters report through refs (refs/heads/agents/...) that are missing here: a, b, c" in err
    assert "git remote add origin URL" in err
    assert checkout.refs() == before


def test_a_fork_has_no_agents_and_another_remote_does(hub: Hub, muster: Run) -> None:
    hub.repo.git("clone", "--quiet", "--bare", "--single-branch", ".", str(hub.path / "fork.git"))
    fork = Repo(hub.path / "fork.git", hub.repo.environ)
    fork.git("remote", "remove", "origin")
    fork.git("clone", "--quiet", *DEPTH, f"file://{fork.path}", str(hub.path / "ci"))
    checkout = Repo(hub.path / "ci", hub.repo.environ)
    for verb in ("plan", "reconcile"):
        code, _, err = muster(verb, "--repo", checkout.path, "--now", LATER)
        assert code == exits.REPOSITORY
        assert "no remote here has any of them, for example because this is a fork" in err
    checkout.git("remote", "add", "upstream", str(hub.repo.path))
    code, out, err = muster("plan", "--repo", checkout.path, "--now", NOW)
    assert (code, err) == (exits.FINE, "")
    assert out.startswith("Nothing to do.")


def test_a_remote_that_does_not_answer(hub: Hub, muster: Run) -> None:
    whole, shallow = hub.clone("whole"), hub.clone("shallow", *DEPTH)
    hub.repo.path.rename(hub.path / "away.git")
    code, _, err = muster("plan", "--repo", shallow.path, "--now", NOW)
    assert code == exits.REPOSITORY
    assert "a, b, c" in err
    assert "origin could not be asked" in err
    code, out, _ = muster("plan", "--repo", whole.path, "--now", LATER)
    assert code == exits.FINE  # it shows what follows from what is known, and says how old that is
    assert f"agents heard until {BEAT} (10m ago); origin could not be asked" in out
    before = whole.refs()
    code, _, err = muster("reconcile", "--repo", whole.path, "--now", LATER)
    assert code == exits.REPOSITORY  # but commits nothing on the strength of copies
    assert "the agents' refs here are copies and may be old" in err
    assert whole.refs() == before
    code, out, _ = muster("reconcile", "--repo", whole.path, "--now", LATER, "--offline")
    assert "a, b and c Unknown" in out  # by name


def test_a_ref_that_is_gone_is_no_news_until_the_lease_has_run_out(hub: Hub, muster: Run) -> None:
    hub.retire("b")
    checkout = hub.clone("ci", *DEPTH)
    code, _, err = muster("reconcile", "--repo", checkout.path, "--push", "--now", NOW)
    assert code == exits.FINE
    assert "warning MUS511: ManagedCluster/b spoke through agents/b at the last run, and that ref is gone" in err
    assert available(checkout, "b") == available(checkout, "a") == ("True", False)
    # A clone that never saw the ref goes by what is derived, and so does the next one.
    for name in "ac":
        hub.beat(name, ENDING)
    again = hub.clone("again", *DEPTH)
    code, out, err = muster("reconcile", "--repo", again.path, "--push", "--now", ENDING)
    assert (code, out, err.count("MUS511")) == (exits.FINE, "nothing to do\n", 1)
    code, out, _ = muster("forecast", "--repo", again.path, "--now", ENDING, "--for", "1m")
    assert "2026-01-01T00:05:30Z" in out
    assert "ManagedCluster/b" in out
    code, _, err = muster("reconcile", "--repo", again.path, "--push", "--now", ENDED)
    assert (code, err.count("MUS511")) == (exits.FINE, 1)
    assert available(again, "b") == ("Unknown", True)
    assert available(again, "a") == ("True", False)
    last = hub.clone("last", *DEPTH)
    assert muster("reconcile", "--repo", last.path, "--push", "--now", ENDED) == (exits.FINE, "nothing to do\n", "")
    hub.beat("b", ENDED)
    assert muster("reconcile", "--repo", last.path, "--push", "--now", ENDED)[0] == exits.FINE
    assert available(last, "b") == ("True", False)


HOSTILE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n"


@pytest.mark.parametrize("files", [{"README.md": "hello\n"}, {"x.yaml": HOSTILE}, {"lease.yaml": "{"}])
def test_a_ref_that_holds_something_else_is_no_news_either(hub: Hub, muster: Run, files: dict[str, str]) -> None:
    hub.repo.commit_to("refs/heads/agents/b", files, date=NOW)
    trees = set()
    for name, workers in (("one", "1"), ("other", "2"), ("one", "1")):
        checkout = hub.path / name
        checkout = checkout if checkout.exists() else hub.clone(name, *DEPTH).path
        code, _, err = muster("reconcile", "--repo", checkout, "--now", NOW, "--workers", workers)
        assert (code, "holds nothing that counts now" in err) == (exits.FINE, True)
        here = Repo(checkout, hub.repo.environ)
        assert available(here, "b") == ("True", False)
        trees.add(here.git("rev-parse", "HEAD^{tree}"))
    assert len(trees) == 1
    for name in "ac":
        hub.beat(name, ENDED)
    for name in ("one", "other"):
        assert muster("reconcile", "--repo", hub.path / name, "--now", ENDED)[0] == exits.FINE
        here = Repo(hub.path / name, hub.repo.environ)
        assert available(here, "b") == ("Unknown", True)
        assert muster("reconcile", "--repo", hub.path / name, "--now", ENDED)[1] == "nothing to do\n"


@pytest.mark.parametrize("way", ["denied", "removed"])
def test_what_people_say_of_a_cluster_whose_ref_is_gone_counts_at_once(hub: Hub, muster: Run, way: str) -> None:
    hub.retire("b")
    person = hub.clone("person-too")
    assert muster("reconcile", "--repo", person.path, "--push", "--now", NOW)[0] == exits.FINE
    if way == "denied":
        assert muster("deny", "--clusters", "b", "--repo", person.path, "--push")[0] == exits.FINE
    else:
        person.git("rm", "--quiet", "clusters/b/cluster.yaml")
        person.commit()
        person.git("push", "--quiet", "origin", "main")
    assert muster("reconcile", "--repo", person.path, "--push", "--now", NOW)[0] == exits.FINE
    if way == "denied":
        assert "HubClusterAdminDenied" in person.show("derived/managedclusters/b.yaml")
    else:
        assert "derived/managedclusters/b.yaml" not in person.paths("HEAD")


def test_where_the_refs_of_all_are_missing_somebody_has_to_say_that_they_retired(hub: Hub, muster: Run) -> None:
    for name in "abc":
        hub.retire(name)
    checkout = hub.clone("ci", *DEPTH)
    code, _, err = muster("reconcile", "--repo", checkout.path, "--push", "--now", NOW)
    assert code == exits.REPOSITORY
    assert "--agents-gone" in err
    code, out, err = muster("plan", "--repo", checkout.path, "--now", NOW, "--agents-gone")
    assert code == exits.FINE
    assert "a, b and c Unknown" in out
    assert err.count("warning MUS511") == 3
    assert muster("reconcile", "--repo", checkout.path, "--push", "--now", NOW, "--agents-gone")[0] == exits.FINE
    again = hub.clone("again", *DEPTH)
    code, out, err = muster("reconcile", "--repo", again.path, "--push", "--now", NOW)
    assert (code, err) == (exits.FINE, "")
    assert out.startswith("nothing to do\n")


@pytest.mark.parametrize("push", [(), ("--push",)], ids=["here", "pushed"])
def test_a_clone_that_sees_a_ref_go_knows_that_it_is_gone(hub: Hub, muster: Run, push: tuple[str, ...]) -> None:
    checkout = hub.clone("standing")
    for name in "abc":
        hub.retire(name)
    for now, subject in ((NOW, ""), (ENDING, ""), (ENDED, "a, b and c Unknown")):
        code, out, err = muster("reconcile", "--repo", checkout.path, *push, "--now", now)
        assert code == exits.FINE
        assert subject in out
        assert ("Unknown" in out) == bool(subject)
        assert err.count("MUS511") == 3
    code, out, err = muster("reconcile", "--repo", checkout.path, *push, "--now", ENDED)
    assert (code, out.splitlines()[0], err) == (exits.FINE, "nothing to do", "")


def test_from_a_ref_to_a_file_and_back(hub: Hub, muster: Run) -> None:
    person = hub.clone("person-too")
    for name in "abc":
        person.write(f"clusters/{name}/lease.yaml", lease(name, BEAT))
        person.write(f"clusters/{name}/observed.yaml", observed(name))
        hub.retire(name)
    person.commit()
    person.git("push", "--quiet", "origin", "main")
    checkout = hub.clone("files", *DEPTH)
    code, out, err = muster("reconcile", "--repo", checkout.path, "--push", "--now", NOW)
    assert (code, err) == (exits.FINE, "")
    assert "ManagedCluster/a: agent ref agents/a -> gone" in out
    assert available(checkout, "a") == ("True", False)
    assert "agentRef" not in checkout.show("derived/managedclusters/a.yaml")
    person.git("pull", "--quiet")
    person.git("rm", "--quiet", *(f"clusters/{name}/{file}.yaml" for name in "abc" for file in ("lease", "observed")))
    person.commit()
    person.git("push", "--quiet", "origin", "main")
    for name in "abc":
        hub.beat(name, BEAT)
    checkout = hub.clone("refs-again", *DEPTH)
    assert muster("reconcile", "--repo", checkout.path, "--push", "--now", NOW)[0] == exits.FINE
    assert "agentRef: agents/a" in checkout.show("derived/managedclusters/a.yaml")
    assert available(checkout, "a") == ("True", False)


def test_where_agents_push_no_remote_is_needed(hub: Hub, muster: Run) -> None:
    code, out, err = muster("reconcile", "--repo", hub.repo.path, "--now", NOW)
    assert (code, out, err) == (exits.FINE, "nothing to do\n", "")
    hub.retire("c")
    code, out, err = muster("reconcile", "--repo", hub.repo.path, "--now", NOW)
    assert "MUS511" in err
    hub.beat("a", LATER)
    hub.beat("b", LATER)
    assert "c Unknown" in muster("reconcile", "--repo", hub.repo.path, "--now", LATER)[1]


def test_the_library_keeps_what_it_could_not_hear_of(hub: Hub, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    archive = hub.repo.git_bytes("archive", "main")
    subprocess.run(["tar", "x", "-C", str(plain)], input=archive, check=True)
    checkout = hub.clone("ci", *DEPTH)
    for run in (
        library.evaluate(plain, parse_time(LATER)),
        library.evaluate(checkout.path, parse_time(LATER)),
        library.evaluate(checkout.path, parse_time(LATER), rev="HEAD"),
    ):
        assert run.files == {}
        assert [found.code for found in run.findings] == ["MUS510"]
        assert "a, b, c" in run.findings[0].message
    heard = library.evaluate(hub.repo.path, parse_time(LATER), rev="main")
    assert sum(path.startswith("derived/managedclusters/") for path in heard.files) == 3
    assert heard.findings == []


def test_machines_are_told_the_age_apart_from_the_data(hub: Hub, muster: Run) -> None:
    checkout = hub.clone("ci", *DEPTH)
    for verb in ("get", "plan"):
        code, out, err = muster(verb, "--repo", checkout.path, "--now", "2026-01-01T00:02:00Z", "-o", "json")
        assert code == exits.FINE
        json.loads(out)
        assert err == f"agents heard until {BEAT} (2m ago)\n"
    _, out, err = muster("get", "--repo", checkout.path, "--now", "2026-01-01T00:02:00Z")
    assert out.splitlines()[-1] == f"agents heard until {BEAT} (2m ago)"
    assert err == ""


def test_the_hook_asks_nobody(hub: Hub, muster: Run) -> None:
    checkout = hub.clone("ci", *DEPTH)
    before = checkout.refs()
    for options in (("--staged",), (), ("--rev", "HEAD")):
        assert muster("validate", "--repo", checkout.path, *options)[0] == exits.FINE
    assert checkout.refs() == before


def test_watch_hears_agents_that_push_elsewhere(hub: Hub) -> None:
    """It runs in a clone and pushes nothing; what an agent says on the hub reaches it at the interval."""
    from datetime import UTC, datetime

    from muster.data.times import format_time

    standing = hub.clone("standing")
    present = format_time(datetime.now(UTC).replace(microsecond=0))
    for name in "abc":
        hub.beat(name, present)
    environ = {key: value for key, value in standing.environ.items() if not key.endswith("_DATE")}
    environ["PYTHONUNBUFFERED"] = "1"
    with running("watch", "--repo", str(standing.path), "--interval", "0.3", environ=environ) as process:
        process.wait_for("watching main")
        failing = observed("b").replace("status: 'True'", "status: 'False'")
        hub.repo.commit_to("refs/heads/agents/b", {"lease.yaml": lease("b", present), "o.yaml": failing}, date=present)
        process.wait_for("b unavailable")
        assert not any("Unknown" in line for line in process.lines), process.lines


@pytest.fixture
def young(tmp_path: Path, muster: Run) -> tuple[Hub, Repo]:
    """A hub to which no agent has pushed yet, and a clone of that day in which the fleet was reconciled."""
    hub = Hub(new_repository(tmp_path / "young.git", bare=True), tmp_path)
    standing = clone(hub.repo, tmp_path / "standing")
    standing.commit({"clusters/a/cluster.yaml": cluster("a")})
    standing.git("push", "--quiet", "origin", "main")
    assert muster("reconcile", "--repo", standing.path, "--now", BEAT)[0] == exits.FINE
    return hub, standing


@pytest.mark.parametrize("verb", ["plan", "reconcile"])
def test_the_first_agent_is_heard_in_a_clone_that_is_older(young: tuple[Hub, Repo], muster: Run, verb: str) -> None:
    hub, standing = young
    hub.beat("a", NOW)
    code, out, _ = muster(verb, "--repo", standing.path, "--now", NOW)
    assert code == exits.FINE
    assert "condition ManagedClusterConditionAvailable" in out
    assert "True" in out


@pytest.mark.parametrize("verb", ["plan", "reconcile"])
def test_a_fleet_without_agents_needs_no_remote_that_answers(young: tuple[Hub, Repo], muster: Run, verb: str) -> None:
    hub, standing = young
    hub.repo.path.rename(hub.path / "away.git")
    standing.commit({"clusters/b/cluster.yaml": cluster("b")})
    code, out, _ = muster(verb, "--repo", standing.path, "--now", NOW)
    assert code == exits.FINE
    assert "ManagedCluster/b" in out


def test_copies_of_a_repository_that_was_named_by_its_url_are_no_news_later(hub: Hub, muster: Run) -> None:
    checkout = hub.clone("ci", *DEPTH)
    checkout.git("remote", "remove", "origin")
    url = f"file://{hub.repo.path}"
    done = muster("reconcile", "--repo", checkout.path, "--push", "--remote", url, "--now", NOW)
    assert done == (exits.FINE, "nothing to do\n", "")
    code, out, err = muster("reconcile", "--repo", checkout.path, "--now", LATER)
    assert (code, out) == (exits.REPOSITORY, "")
    assert "the agents' refs here are copies and may be old" in err
    assert "git remote add" in err
    for name in "abc":
        hub.beat(name, LATER)
    done = muster("reconcile", "--repo", checkout.path, "--push", "--remote", url, "--now", LATER)
    assert done == (exits.FINE, "nothing to do\n", "")


def test_a_request_to_join_is_heard_of_before_it_is_accepted(hub: Hub, muster: Run) -> None:
    checkout = hub.clone("ci", *DEPTH)
    hub.repo.commit_to("refs/heads/agents/d", {"cluster.yaml": cluster("d", accepts=False)})
    code, out, err = muster("accept", "--repo", checkout.path, "--clusters", "d")
    assert (code, err) == (exits.FINE, "")
    assert "d: accepted, written to clusters/d/cluster.yaml" in out


def test_a_ref_among_others_that_was_not_fetched_is_fetched(hub: Hub, muster: Run) -> None:
    checkout = hub.clone("ci", *DEPTH)
    checkout.git("fetch", "--quiet", "origin", "+refs/heads/agents/a:refs/heads/agents/a")
    code, out, err = muster("plan", "--repo", checkout.path, "--now", NOW)
    assert (code, err) == (exits.FINE, "")
    assert out.startswith("Nothing to do.")


def test_clusters_that_only_agents_declare_are_in_nobodys_way(hub: Hub, muster: Run) -> None:
    """The hook sees no agents, and so not the clusters that joined by themselves: it takes none of them for removed."""
    fleet = (
        "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {registration: {autoAccept: true}}\n"
    )
    person = hub.clone("joining")
    person.commit({"fleet.yaml": fleet})
    person.git("push", "--quiet", "origin", "main")

    def propose(name: str, at: str) -> None:
        status = observed(name).partition("status:")
        files = {"l.yaml": lease(name, at), "c.yaml": cluster(name, accepts=False) + "".join(status[1:])}
        hub.repo.commit_to(f"refs/heads/agents/{name}", files, date=at)

    for name in "stuvwx":
        propose(name, BEAT)
    assert muster("reconcile", "--repo", person.path, "--push", "--now", NOW)[0] == exits.FINE
    checkout = hub.clone("ci", *DEPTH)
    checkout.write("clusters/n/cluster.yaml", cluster("n"))
    checkout.git("add", "--all")
    for options in (("--staged",), ("--staged", "--touched"), ()):
        code, out, _ = muster("validate", "--repo", checkout.path, *options)
        assert (code, "MUS420" in out) == (exits.FINE, False), out
    assert muster("plan", "--repo", hub.clone("other", *DEPTH).path, "--now", NOW)[1].startswith("Nothing to do.")
    hub.retire("s")
    code, out, err = muster("reconcile", "--repo", person.path, "--push", "--now", NOW)
    assert (code, "removed" in out) == (exits.FINE, False)
    assert "ManagedCluster/s spoke through agents/s at the last run, and that ref is gone: " in err
    assert "nothing else declares it" in err
    for name in "abc":
        hub.beat(name, ENDED)
    for name in "tuvwx":
        propose(name, ENDED)
    code, out, err = muster("plan", "--repo", hub.clone("another", *DEPTH).path, "--now", ENDED)
    assert (code, "s removed" in out) == (exits.FINE, True)


def settings(agents: str) -> str:
    return f"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: f}}\nspec: {{agents: {{{agents}}}}}\n"


@pytest.mark.parametrize("path", ["fleet.yaml", "settings/all.yaml"])
def test_an_agent_that_says_too_much_costs_itself_its_word(hub: Hub, muster: Run, path: str) -> None:
    """What it said before goes on counting, wherever the settings lie; everybody else is heard."""
    person = hub.clone("person-too")
    person.commit({path: settings("maxBytes: 4096, maxFiles: 4")})
    person.git("push", "--quiet", "origin", "main")
    assert muster("reconcile", "--repo", person.path, "--push", "--now", NOW)[0] == exits.FINE
    hub.beat("b", LATER)
    hub.beat("c", LATER)
    many = {f"{number}.yaml": "a: 1\n" for number in range(5)}
    hub.repo.commit_to("refs/heads/agents/a", {"lease.yaml": lease("a", LATER), **many}, date=LATER)
    hub.repo.commit_to(
        "refs/heads/agents/c", {"lease.yaml": lease("c", LATER), "core": os.urandom(200_000)}, date=LATER
    )
    code, _, err = muster("reconcile", "--repo", person.path, "--push", "--now", LATER)
    assert code == exits.FINE
    said = [line for line in err.splitlines() if "MUS131" in line]
    assert ["more than 4 files" in line for line in said] == [True, False]
    assert "still counts" in said[1]
    assert hub.repo.git("log", "-1", "--format=%s", "main") == "c Unknown"
    assert available(person, "a") == ("True", False)
    assert muster("get", "clusters", "--repo", person.path, "--now", LATER)[0] == exits.FINE
