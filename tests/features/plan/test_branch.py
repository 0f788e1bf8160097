"""What a branch changes, apart from what time alone does; and the same from what is kept as from nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.plan.plan import BranchComparison, branch, branch_document
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.run.incremental import answer
from muster.run.memo.state import RunState, open_state
from tests.features.pulses.test_walkthrough import cluster, fleet, lease, observed
from tests.support.git import Repo
from tests.support.living import Living

NOW = parse_time("2026-01-01T00:10:00Z")


def between(repo: Repo, base: str, now: str = "2026-01-01T00:10:00Z") -> BranchComparison:
    repository = open_repository(repo.path, repo.environ)
    return branch(repository, base, repo.tip(), local_agent_refs(repository), parse_time(now))


def changed(found: BranchComparison) -> set[tuple[str, str, str, str]]:
    return {(str(c.object), c.field, c.before, c.after) for c in found.comparison.changes}


def test_what_time_alone_changes_is_in_both(tmp_path: Path) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z", b="2026-01-01T00:00:00Z")
    base = repo.tip()
    repo.commit({"docs.md": "words"})
    found = between(repo, base)
    assert found.head.files, "nothing has ever been derived of this fleet, and leases have run out"
    assert (changed(found), bool(found.comparison), found.files) == (set(), False, 1)


def test_what_the_branch_changes_is_told_from_what_the_base_would_come_to(tmp_path: Path) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z", b="2026-01-01T00:00:00Z")
    base = repo.tip()
    repo.commit({"clusters/a/lease.yaml": lease("a", "2026-01-01T00:09:59Z"), "clusters/c.yaml": cluster("c")})
    found = between(repo, base)
    assert ("ManagedCluster/a", "condition ManagedClusterConditionAvailable", "Unknown", "True") in changed(found)
    assert [str(id_) for id_ in found.comparison.added] == ["ManagedCluster/c"]
    assert not any(object_ == "ManagedCluster/b" for object_, *_ in changed(found))


def derived(repo: Repo) -> str:
    """Commit what follows, as a reconcile does."""
    source = repo.tip()
    return repo.commit_run(between(repo, source).head.files, "Derived", now="2026-01-01T00:10:00Z")


def test_removals_by_name_and_what_a_budget_holds(tmp_path: Path) -> None:
    repo = fleet(tmp_path / "fleet", **{f"c{number}": "2026-01-01T00:09:30Z" for number in range(8)})
    base = derived(repo)
    for name in ("c0", "c1", "c2"):
        repo.git("rm", "-r", "--quiet", f"clusters/{name}")
    removed = repo.tip()
    repo.commit()
    told = between(repo, base).comparison
    assert [id_.name for id_ in told.removed if id_.kind == "ManagedCluster"] == ["c0", "c1", "c2"]
    assert [(held.object.name, held.effect) for held in told.held] == [(f"c{n}", "removal") for n in range(3)]
    assert [one.code for one in told.found] == ["MUS420"]
    repo.git("reset", "--quiet", "--soft", removed)
    repo.commit(message="Meant\n\nMuster-Allow-Removal: c0, c1, c2")
    told = between(repo, base).comparison
    assert (told.held, told.found) == ([], [])
    assert {str(c.object) for c in told.changes if c.now is None} >= {
        f"ManagedCluster/c{number}" for number in range(3)
    }


def test_findings_that_are_new_and_those_that_are_mended(tmp_path: Path) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    typo = cluster("b").replace("hubAcceptsClient", "hubAcceptClient")
    other = typo.replace("name: b", "name: c")
    base = repo.commit({"b.yaml": typo, "stays.yaml": other})
    repo.commit({"b.yaml": cluster("b"), "d.yaml": typo.replace("name: b", "name: d"), "stays.yaml": f"#\n#\n{other}"})
    told = between(repo, base).comparison
    assert [one.file for one in told.found] == ["d.yaml"]
    assert [one.file for one in told.mended] == ["b.yaml"], "and the one that moved by two lines is neither"


def test_what_is_done_about_a_cluster_that_is_no_longer_reported(tmp_path: Path) -> None:
    """A file of the agent's part alone goes: the cluster is not removed."""
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:09:30Z")
    base = derived(repo)
    assert observed("a") == repo.show("clusters/a/observed.yaml") + "\n"
    repo.commit({"clusters/a/observed.yaml": None})
    told = between(repo, base).comparison
    assert told.removed == []


def state_in(folder: Path) -> RunState:
    state = open_state(folder / "kept" / "state.sqlite")
    assert state is not None
    return state


def told(found: BranchComparison) -> Tree:
    return branch_document(found)


@pytest.mark.parametrize("seed", (6,))
def test_the_same_from_what_is_kept_as_from_nothing(tmp_path: Path, seed: int) -> None:
    """A fleet lives and is reconciled; more happens that is not; then a branch does something."""
    living, state = Living.small(tmp_path / "fleet", seed, 12), state_in(tmp_path)
    looked_at, differing = set[str](), 0
    for number in range(10):
        if number:
            living.step()
        found = answer(living.question(), state)
        living.land(found.settled)
        found.remember(state)
        behind, steps = living.repo.tip(), []
        if number % 3 == 1:
            steps.append(living.step())
        base = living.repo.tip()
        steps += [living.step(), living.step()]
        asked = living.question()
        looked_at.add(answer(replace(asked, commit=base), state).looked_at.split(":")[0].split(", ")[-1])
        arguments = (asked.repository, base, asked.commit, asked.heard, asked.now)
        warm, cold = branch(*arguments, state), branch(*arguments)
        assert told(warm) == told(cold), (steps, behind)
        differing += bool(cold.comparison)
    assert differing > 2, "what this is about has happened"
    assert looked_at - {"the whole fleet"}, looked_at
